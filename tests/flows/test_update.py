"""`wikigenben update` against a site that changes between two runs: what is told, written anew, and left as it is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from data import codec
from data.settings import Settings, WebSettings
from data.types import Article, Page
from flows import write as write_flow
from flows.write import write
from flows.write_request import Request
from pipeline.editing.corrections import Correction, Corrections
from pipeline.following.updating import UpdateReport
from pipeline.notes import Card
from pipeline.noting import taking
from pipeline.web.bundle import Bundle
from tests.conftest import Command, stand_in_encoder
from tests.fakes import NotingModel
from tests.flows.told import findings, refused
from tests.search_server import Found, search_server
from tests.web_server import Asked, Reply, WebServer, serving

NAME = "arvik-flood"
FIRST, SECOND, THIRD = Path("runs/write") / NAME, Path("second"), Path("third")
KEYS = ("toll", "dam", "aid", "rail")
FILLER = {
    "toll": "Rescue teams from three counties searched the lower streets with boats and dogs through the night. The mayor "
    "thanked the volunteers who had brought blankets and soup to the school on the hill. Doctors at the county hospital "
    "treated people for cold and shock until the morning.",
    "dam": "The dam above the town had been built to hold back the spring melt of the mountains. Engineers had warned the "
    "council of cracks in its northern wall. The council ordered a new survey of the wall by an office from the capital.",
    "aid": "The government of the region promised money for every family that had lost its home. A fund was opened at the "
    "savings bank and collected gifts from all over the country. Builders offered timber and tools without payment to the "
    "families.",
    "rail": "The railway along the river was closed between the two towns because the bridge had lost a pillar. Buses drove "
    "passengers over the hills instead.",
    "toll2": "Neighbours told how the water came down the valley in the dark and filled the cellars within minutes. Divers "
    "looked for missing persons below the mill. The county governor spoke to the families at the church in the evening.",
}
FACT = {
    "toll": "At least 12 people were killed in the Arvik flood on 2 March 2026.",
    "dam": "The Arvik flood began when the northern wall of the dam above Arvik broke after a week of rain.",
    "aid": "Parliament is scheduled to vote on aid for the Arvik flood on 5 May 2026 in the capital.",
    "rail": "The Arvik flood carried away a pillar of the railway bridge, and 1,400 passengers were stranded in Arvik.",
    "toll2": "The Arvik flood has killed 15 people, the county governor said.",
}


def body(key: str, day: str, fact: str | None = None) -> str:
    said = (
        f"<h1>Arvik flood: {key}</h1><p>{fact or FACT[key]} {FILLER[key]}</p><p>Reporters of the paper visited the valley "
        "again and spoke with people of the town about the days after the water. "
        f"The {key} report was checked by two editors before it was printed in the morning edition.</p>"
    )
    meta = f"<title>Arvik flood: {key}</title><meta property='article:published_time' content='{day}'>"
    return f"<html lang='en'><head>{meta}</head><body><article>{said}</article></body></html>"


class Site:
    """Pages with an ETag: `known` are those answered with 304, `full` those that were sent."""

    def __init__(self, server: WebServer) -> None:
        self.server = server
        self.full: list[str] = []
        self.known: list[str] = []

    def put(self, key: str, text: str) -> None:
        tag = f'"{codec.sha256(text)[:12]}"'

        def route(asked: Asked) -> Reply:
            if asked.headers.get("If-None-Match") == tag:
                self.known.append(key)
                return Reply(status=304, headers=(("ETag", tag),))
            self.full.append(key)
            return Reply(text, headers=(("ETag", tag),))

        self.server.put(f"/{key}", route)

    def reset(self) -> None:
        for key in KEYS:
            self.put(key, body(key, "2026-03-03"))
        self.forget()

    def forget(self) -> None:
        self.full.clear()
        self.known.clear()


def written(site: Site, system: str, out: Path) -> None:
    web = WebSettings(allow_origins=(site.server.origin(),), min_delay_s=0)
    urls = tuple(site.server.url(f"/{key}") for key in KEYS)
    write(Request(Settings(web=web), "Arvik flood", system, urls, out=out))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Path]]:
    """The site, and the run that was written from it, once for all tests."""
    folder = tmp_path_factory.mktemp("first")
    with serving() as server, stand_in_encoder(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("WIKIGEN_CACHE", str(folder / "cache"))
        site = Site(server)
        site.reset()
        written(site, "extractive", folder / "run")
        yield site, folder / "run"


@pytest.fixture
def site(
    first: tuple[Site, Path], fixed_encoder: None, wikigenben: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Site:
    """The site as it was, and the run in the working directory."""
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))
    shutil.copytree(first[1], FIRST)
    first[0].reset()
    return first[0]


def article_of(run: Path) -> Article:
    return codec.read(Article, run / "events" / NAME / "article.json")


def pages_of(run: Path) -> list[Page]:
    lines = (run / "events" / NAME / "pages.jsonl").read_bytes().splitlines()
    return [codec.from_json(Page, line, where="pages") for line in lines]


def files_of(folder: Path) -> Mapping[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def text_of(run: Path) -> str:
    return " ".join(s.text for section in article_of(run).all_sections for s in section.sentences)


def report_of(run: Path) -> UpdateReport:
    return codec.read(UpdateReport, run / "changes.json")


def update(wikigenben: Command, run: Path, *more: str | Path, code: int = 0) -> tuple[str, str]:
    ran = wikigenben("update", run, *more)
    assert ran.code == code, ran.err
    return ran.out, ran.err


def test_a_site_that_changed(wikigenben: Command, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    before, stored = article_of(FIRST), files_of(FIRST)
    site.put("toll", body("toll", "2026-03-03", FACT["toll"].replace("12", "15")))
    site.put("aid", body("aid", "2026-03-03", "Parliament voted for *aid* for the Arvik flood on 12 May 2026 in the capital."))
    site.server.put("/rail", Reply("gone", 410))
    site.put("toll2", body("toll2", "2026-03-08"))
    with search_server() as engine:
        engine.found[""] = [Found(site.server.url("/toll2"))]
        monkeypatch.setenv("WIKIGEN_SEARXNG_URL", engine.url)
        monkeypatch.setattr("pipeline.web.pacing.SystemClock.sleep", lambda self, seconds: None)
        out, _ = update(wikigenben, FIRST, "--search", "searxng", "--out", SECOND)
    assert files_of(FIRST) == stored, "the earlier run stays as it is"
    assert (site.known, sorted(site.full)) == (["dam"], ["aid", "toll", "toll2"])

    report, after = report_of(SECOND), article_of(SECOND)
    states = {page.url.rpartition("/")[2]: page.state for page in report.pages}
    assert states == {"toll": "changed", "dam": "unchanged", "aid": "changed", "rail": "gone"}
    assert report.new_pages == (site.server.url("/toll2"),)
    kinds = {(change.heading, change.sentence): change.kind for change in report.changes}
    assert kinds["", FACT["toll"]] == "figures" and kinds["", FACT["aid"]] == "figures" and kinds["", FACT["rail"]] == "gone"
    closed = "The railway along the river was closed between the two towns because the bridge had lost a pillar."
    part = next(heading for heading, sentence in kinds if sentence == closed)
    assert part and kinds[part, closed] == "gone"
    (toll,) = next(change.figures for change in report.changes if change.sentence == FACT["toll"])
    assert (toll.old, toll.new) == ("At least 12 people", "At least 15 people")
    assert (toll.n_sources_old, toll.n_sources_new) == (0, 2), "the edited page, and the one that the search found"
    assert "At least 12 people (2026-03-03, 0 independent sources today) -> At least 15 people" in out

    fates = {section.heading: section.identical for section in report.sections}
    assert not fates[""] and not fates[part]
    kept = [heading for heading, is_identical in fates.items() if is_identical]
    assert kept, "a section that nothing changed in"
    for heading in kept:
        same = [codec.to_json(s) for article in (before, after) for s in article.sections if s.heading.text == heading]
        assert same[0] == same[1]
    told, changes = text_of(SECOND), (SECOND / "changes.md").read_text(encoding="utf-8")
    assert "At least 15 people were killed in the Arvik flood" in told and "voted for *aid*" in told
    assert not any(gone in told for gone in ("12 people", "scheduled", "pillar", "Buses", "5 May"))
    assert {repair.kind for repair in report.repairs} >= {"sentence_replaced", "sentence_removed", "marker_dropped"}
    assert after.repairs == report.repairs
    assert all(f"- {heading}: byte-identical" in out for heading in kept) and f"- {part}: written anew" in out and "410" in out
    assert changes.startswith("# Changes to “Arvik flood”")
    assert r"voted for \*aid\*" in changes, "words, not markup"
    check_citations(SECOND)
    old, pages = pages_of(FIRST), pages_of(SECOND)
    assert [page.text for page in pages[: len(old)]] == [page.text for page in old], "an index keeps its text"
    assert pages[0].drop_detail.startswith("superseded by page 4") and pages[0].duplicate_of == 4
    assert pages[1] == old[1] and pages[3].drop_reason == "http_4xx"

    site.forget()
    out, _ = update(wikigenben, SECOND, "--out", THIRD)
    assert "Nothing that the article says has changed." in out
    assert (sorted(site.known), site.full) == (["aid", "dam", "toll", "toll2"], [])
    assert files_of(THIRD / "events") == files_of(SECOND / "events"), "all bytes are copied"
    third = report_of(THIRD)
    assert third.is_empty and all(section.identical for section in third.sections) and not third.repairs
    assert {page.state for page in third.pages} == {"unchanged"} and third.new_pages == ()


def check_citations(run: Path) -> None:
    """Each is a source, each source is cited, and stands where it says in the stored pages."""
    article, pages = article_of(run), pages_of(run)
    cited = {cite for section in article.all_sections for s in section.sentences for cite in s.cites}
    assert cited | {cite for fact in article.infobox for cite in fact.cites} == {source.id for source in article.sources}
    for source in article.sources:
        passage = source.passage
        assert pages[passage.page].text[passage.start : passage.end] == passage.text and source.url == pages[passage.page].url


def test_a_newer_page_outdates_a_figure(wikigenben: Command, site: Site) -> None:
    site.put("rail", body("rail", "2026-03-08", f"{FACT['rail']} {FACT['toll2']}"))
    dry, _ = update(wikigenben, FIRST, "--dry-run")
    assert "outdated (lead): At least 12 people" in dry and "dry run" in dry and sorted(Path().iterdir()) == [Path("runs")]
    update(wikigenben, FIRST, "--out", SECOND)
    report = report_of(SECOND)
    (change,) = report.changes
    assert (change.kind, change.new, change.figures[0].new_date) == ("outdated", FACT["toll2"], "2026-03-08")
    (found,) = report.contradictions
    sides = [(side.value, side.last, side.n_sources) for side in found.sides]
    assert sides == [("15 people", "2026-03-08", 1), ("At least 12 people", "2026-03-03", 1)]
    assert [section.identical for section in report.sections] == [False, *[True] * (len(report.sections) - 1)]
    assert FACT["toll2"] in text_of(SECOND)
    check_citations(SECOND)

    out, _ = update(wikigenben, SECOND, "--out", THIRD)
    third = report_of(THIRD)
    assert third.is_empty and third.standing == (found,) and "Contradictions known before" in out


def test_pages_on_disk_are_read_anew_where_they_are_named(
    wikigenben: Command, fixed_encoder: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file has no address to ask: that it is taken as it was is said, and a newer version of it may be given."""

    def put(key: str, *text: str) -> None:
        Path(f"pages/{key}.html").write_text(body(key, *text), encoding="utf-8")

    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))
    Path("pages").mkdir()
    put("rail", "2026-03-03")
    put("dam", "2026-03-03")
    words = ("--system", "extractive", "--file", "pages/rail.html", "--file", "pages/dam.html", "--out", "one")
    assert wikigenben("write", "Arvik flood", *words).code == 0
    put("rail", "2026-03-08", f"{FACT['rail']} {FACT['toll2']}")
    out, err = update(wikigenben, Path("one"), "--out", "as-it-was")
    assert "2 unchanged" in out and "taken as they were: rail.html, dam.html; give newer versions with --file" in err
    put("toll", "2026-03-03")
    out, err = update(wikigenben, Path("one"), "--out", SECOND, "--file", "pages/rail.html", "--file", "pages/toll.html")
    assert "Pages of one: 1 unchanged, 1 changed; 1 new." in out and "as they were: dam.html; give" in err
    names = [page.url.removeprefix("file:") for page in pages_of(SECOND)]
    assert names == ["rail.html", "dam.html", "rail.html", "toll.html"]
    update(wikigenben, Path("one"), "--file", "pages/none.html", code=2)


RESULT = "The court of Arvik sentenced the engineer Tomas Lind to 4 years in prison for the Arvik flood on 9 June 2026."


def test_a_fact_that_no_page_said_before_is_added_and_what_was_struck_stays_struck(wikigenben: Command, site: Site) -> None:
    site.put("dam", body("dam", "2026-06-10", f"{FACT['dam']} {RESULT}"))
    update(wikigenben, FIRST, "--out", "mended", "--no-news")
    assert "Tomas Lind" not in text_of(Path("mended"))
    before, corrections = article_of(FIRST), f"events/{NAME}/corrections.json"
    struck = before.lead.sentences[0].text
    codec.write_atomic(FIRST / corrections, codec.to_json(Corrections((Correction(struck),))))
    out, err = update(wikigenben, FIRST, "--out", SECOND)
    after, report = article_of(SECOND), report_of(SECOND)
    assert "Tomas Lind" in text_of(SECOND) and "new: writing" in err and "sentence added" in out
    added = [repair for repair in report.repairs if repair.kind == "sentence_added"]
    assert any("Tomas Lind" in repair.text for repair in added)
    assert {s.text for s in before.lead.sentences} == {s.text for s in after.lead.sentences}
    assert [s.id for s in after.sources[: len(before.sources)]] == [s.id for s in before.sources]
    assert {s.heading for s in report.sections if not s.identical} >= {repair.section for repair in added}
    check_citations(SECOND)
    assert (SECOND / corrections).read_bytes().strip() and struck in text_of(SECOND)
    assert struck.rstrip(".") not in (SECOND / f"articles/{NAME}.wiki").read_text(encoding="utf-8")
    checked = findings(wikigenben("check", SECOND, "--judge", "lexical", "--json"))
    assert checked and struck not in {finding["text"] for finding in checked}


def test_a_page_that_cannot_be_read_is_not_gone(wikigenben: Command, site: Site) -> None:
    bundle = Bundle(FIRST / "evidence")  # as `wikigenben write --no-bodies` leaves it
    codec.write_atomic(bundle.folder / "manifest.json", codec.to_json(replace(bundle.manifest(), has_bodies=False)))
    shutil.rmtree(bundle.bodies.root)
    site.server.put("/rail", Reply("", 503, headers=(("Retry-After", "999"),)))
    site.server.put("/aid", Reply("no", 403))
    out, _ = update(wikigenben, FIRST, "--out", SECOND)
    assert "2 unchanged, 2 unread" in out and article_of(SECOND) == article_of(FIRST)
    assert (sorted(site.full), site.known) == (["dam", "toll"], []), "without bodies a 304 would leave nothing to read"
    for key in KEYS:
        site.server.put(f"/{key}", Reply("gone", 404))
    _, err = update(wikigenben, FIRST, "--out", THIRD, code=3)
    assert "refused, or gone (4)" in err and not (THIRD / "events").exists(), "nothing is left"


def test_where_it_goes_and_what_is_wrong(wikigenben: Command, site: Site) -> None:
    ran = wikigenben("update", FIRST, "--json")
    run = f"runs/write/{NAME}-{ran.json['day']}"
    assert ran.json["run"] == str(Path(run).resolve()) and ran.json["changes"] == []
    again = wikigenben("update", FIRST, "--json")
    assert again.json["run"] == str(Path(f"{run}-2").resolve()), "a second update of one day"

    for words, *told in (
        (["nowhere"], "nowhere", "wikigenben write"),
        ([FIRST, "--out", run], run.rpartition("/")[2], "--out"),
        ([FIRST, "--as-of", "yesterday", "--out", "x"], "yesterday"),
        ([FIRST, "--as-of", "2000-01-01", "--out", "w"], "2000-01-01", "published later"),
    ):
        refused(wikigenben("update", *words), *told)
    assert not Path("w").exists()
    (FIRST / "events" / NAME / "article.json").unlink()
    refused(wikigenben("update", FIRST, "--out", "y"), "no article", "wikigenben write")


def test_ours_reads_only_what_is_new(wikigenben: Command, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the subject is stays as it was written down, so the passages of before are asked of with the same words."""
    from flows.wiring import systems

    model = NotingModel()
    monkeypatch.setattr(systems, "build_generator", lambda *_: model)
    monkeypatch.setattr(write_flow, "check_request", lambda _: None)
    monkeypatch.setattr(taking, "SAME_PASSAGE", 1.1)  # by their letters, as the stand-in compares them, all are the same
    written(site, "ours", Path("ours"))
    assert model.asked.count("card") == 4 and len(model.prompts_of("notes")) == len(KEYS)
    model.asked.clear()
    model.prompts.clear()
    site.put("dam", body("dam", "2026-06-10", f"{FACT['dam']} {RESULT}"))
    update(wikigenben, Path("ours"), "--out", SECOND)
    assert "card" not in model.asked
    (read,) = model.prompts_of("notes")
    assert "Tomas Lind" in read and "Tomas Lind" in text_of(SECOND)
    update(wikigenben, SECOND, "--out", THIRD)
    assert codec.read(Card, THIRD / "events" / NAME / "card.json").by == "model"
