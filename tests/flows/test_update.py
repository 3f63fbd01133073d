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
from tests.search_server import Found, search_server
from tests.web_server import Asked, Reply, WebServer, serving

NAME = "arvik-flood"
FIRST = Path("runs/write") / NAME
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
    told = fact or FACT[key]
    more = "Reporters of the paper visited the valley again and spoke with people of the town about the days after the water."
    return (
        f"<html lang='en'><head><title>Arvik flood: {key}</title>"
        f"<meta property='article:published_time' content='{day}'></head>"
        f"<body><article><h1>Arvik flood: {key}</h1><p>{told} {FILLER[key]}</p>"
        f"<p>{more} The {key} report was checked by two "
        "editors of the paper before it was printed in the morning edition for the whole region and the capital.</p></article>"
        "</body></html>"
    )


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


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Path]]:
    """The site, and the run that was written from it, once for all tests."""
    folder = tmp_path_factory.mktemp("first")
    with serving() as server, stand_in_encoder(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("WIKIGEN_CACHE", str(folder / "cache"))
        site = Site(server)
        site.reset()
        web = WebSettings(allow_origins=(server.origin(),), min_delay_s=0)
        urls = tuple(server.url(f"/{key}") for key in KEYS)
        write(Request(Settings(web=web), "Arvik flood", "extractive", urls, out=folder / "run"))
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


def text_of(article: Article) -> str:
    return " ".join(s.text for section in article.all_sections for s in section.sentences)


def update(wikigenben: Command, run: Path, *more: str, code: int = 0) -> tuple[str, str]:
    ran = wikigenben("update", str(run), *more)
    assert ran.code == code, ran.err
    return ran.out, ran.err


def report_of(run: Path) -> UpdateReport:
    return codec.read(UpdateReport, run / "changes.json")


def test_a_site_that_changed(wikigenben: Command, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    before = article_of(FIRST)
    stored = files_of(FIRST)
    site.put("toll", body("toll", "2026-03-03", FACT["toll"].replace("12", "15")))
    site.put("aid", body("aid", "2026-03-03", "Parliament voted for *aid* for the Arvik flood on 12 May 2026 in the capital."))
    site.server.put("/rail", Reply("gone", 410))
    site.put("toll2", body("toll2", "2026-03-08"))
    with search_server() as engine:
        engine.found[""] = [Found(site.server.url("/toll2"))]
        monkeypatch.setenv("WIKIGEN_SEARXNG_URL", engine.url)
        monkeypatch.setattr("pipeline.web.pacing.SystemClock.sleep", lambda self, seconds: None)
        out, _ = update(wikigenben, FIRST, "--search", "searxng", "--out", "second")
    assert files_of(FIRST) == stored, "the earlier run stays as it is"
    assert (site.known, sorted(site.full)) == (["dam"], ["aid", "toll", "toll2"])

    report, after = report_of(Path("second")), article_of(Path("second"))
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
    told = text_of(after)
    assert "At least 15 people were killed in the Arvik flood" in told and "voted for *aid*" in told
    assert not any(gone in told for gone in ("12 people", "scheduled", "pillar", "Buses", "5 May"))
    assert {repair.kind for repair in report.repairs} >= {"sentence_replaced", "sentence_removed", "marker_dropped"}
    assert after.repairs == report.repairs
    assert all(f"- {heading}: byte-identical" in out for heading in kept) and f"- {part}: written anew" in out
    assert "410" in out and (Path("second") / "changes.md").read_text(encoding="utf-8").startswith("# Changes to “Arvik flood”")
    assert r"voted for \*aid\*" in (Path("second") / "changes.md").read_text(encoding="utf-8"), "words, not markup"
    check_citations(Path("second"))
    old, pages = pages_of(FIRST), pages_of(Path("second"))
    assert [page.text for page in pages[: len(old)]] == [page.text for page in old], "an index keeps its text"
    assert pages[0].drop_detail.startswith("superseded by page 4") and pages[0].duplicate_of == 4
    assert pages[1] == old[1] and pages[3].drop_reason == "http_4xx"

    again = files_of(Path("second") / "events")
    site.forget()
    out, _ = update(wikigenben, Path("second"), "--out", "third")
    assert "Nothing that the article says has changed." in out
    assert (sorted(site.known), site.full) == (["aid", "dam", "toll", "toll2"], [])
    assert files_of(Path("third") / "events") == again, "all bytes are copied"
    third = report_of(Path("third"))
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
    update(wikigenben, FIRST, "--out", "second")
    report, after = report_of(Path("second")), article_of(Path("second"))
    (change,) = report.changes
    assert (change.kind, change.new, change.figures[0].new_date) == ("outdated", FACT["toll2"], "2026-03-08")
    (found,) = report.contradictions
    assert [(side.value, side.last, side.n_sources) for side in found.sides] == [
        ("15 people", "2026-03-08", 1),
        ("At least 12 people", "2026-03-03", 1),
    ]
    assert [section.identical for section in report.sections] == [False, *[True] * (len(report.sections) - 1)]
    assert FACT["toll2"] in text_of(after)
    check_citations(Path("second"))

    out, _ = update(wikigenben, Path("second"), "--out", "third")
    third = report_of(Path("third"))
    assert third.is_empty and third.standing == (found,) and "Contradictions known before" in out


def test_pages_on_disk_are_read_anew_where_they_are_named(
    wikigenben: Command, fixed_encoder: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file has no address to ask: that it is taken as it was is said, and a newer version of it may be given."""
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))
    Path("pages").mkdir()
    for key in ("rail", "dam"):
        Path(f"pages/{key}.html").write_text(body(key, "2026-03-03"), encoding="utf-8")
    words = ("--system", "extractive", "--file", "pages/rail.html", "--file", "pages/dam.html", "--out", "one")
    assert wikigenben("write", "Arvik flood", *words).code == 0
    Path("pages/rail.html").write_text(body("rail", "2026-03-08", f"{FACT['rail']} {FACT['toll2']}"), encoding="utf-8")
    out, err = update(wikigenben, Path("one"), "--out", "as-it-was")
    assert "2 unchanged" in out and "taken as they were: rail.html, dam.html; give newer versions with --file" in err
    Path("pages/toll.html").write_text(body("toll", "2026-03-03"), encoding="utf-8")
    out, err = update(wikigenben, Path("one"), "--out", "two", "--file", "pages/rail.html", "--file", "pages/toll.html")
    assert "Pages of one: 1 unchanged, 1 changed; 1 new." in out and "as they were: dam.html; give" in err
    names = [page.url.removeprefix("file:") for page in pages_of(Path("two"))]
    assert names == ["rail.html", "dam.html", "rail.html", "toll.html"]
    assert wikigenben("update", "one", "--file", "pages/none.html").code == 2


RESULT = "The court of Arvik sentenced the engineer Tomas Lind to 4 years in prison for the Arvik flood on 9 June 2026."


def test_a_fact_that_no_page_said_before_is_added(wikigenben: Command, site: Site) -> None:
    site.put("dam", body("dam", "2026-06-10", f"{FACT['dam']} {RESULT}"))
    before = article_of(FIRST)
    update(wikigenben, FIRST, "--out", "mended", "--no-news")
    assert "Tomas Lind" not in text_of(article_of(Path("mended")))
    out, err = update(wikigenben, FIRST, "--out", "second")
    after, report = article_of(Path("second")), report_of(Path("second"))
    assert "Tomas Lind" in text_of(after) and "new: writing" in err and "sentence added" in out
    added = [repair for repair in report.repairs if repair.kind == "sentence_added"]
    assert any("Tomas Lind" in repair.text for repair in added)
    assert {s.text for s in before.lead.sentences} == {s.text for s in after.lead.sentences}
    assert [s.id for s in after.sources[: len(before.sources)]] == [s.id for s in before.sources]
    touched = {repair.section for repair in added}
    assert {s.heading for s in report.sections if not s.identical} >= touched
    check_citations(Path("second"))


def test_what_was_struck_stays_struck(wikigenben: Command, site: Site) -> None:
    corrections = f"events/{NAME}/corrections.json"
    struck = article_of(FIRST).lead.sentences[0].text
    codec.write_atomic(FIRST / corrections, codec.to_json(Corrections((Correction(struck),))))
    site.put("dam", body("dam", "2026-06-10", f"{FACT['dam']} {RESULT}"))
    update(wikigenben, FIRST, "--out", "second")
    assert (Path("second") / corrections).read_bytes().strip() and struck in text_of(article_of(Path("second")))
    assert struck.rstrip(".") not in (Path("second") / f"articles/{NAME}.wiki").read_text(encoding="utf-8")
    checked = wikigenben("check", "second", "--judge", "lexical", "--json").json["findings"]
    assert checked and struck not in {finding["text"] for finding in checked}


def test_a_page_that_cannot_be_read_is_not_gone(wikigenben: Command, site: Site) -> None:
    without_bodies()
    site.server.put("/rail", Reply("", 503, headers=(("Retry-After", "999"),)))
    site.server.put("/aid", Reply("no", 403))
    out, _ = update(wikigenben, FIRST, "--out", "second")
    assert "2 unchanged, 2 unread" in out and article_of(Path("second")) == article_of(FIRST)
    assert (sorted(site.full), site.known) == (["dam", "toll"], []), "without bodies a 304 would leave nothing to read"


def without_bodies() -> None:
    """What `wikigenben write --no-bodies` leaves."""
    bundle = Bundle(FIRST / "evidence")
    codec.write_atomic(bundle.folder / "manifest.json", codec.to_json(replace(bundle.manifest(), has_bodies=False)))
    shutil.rmtree(bundle.bodies.root)


def test_where_it_goes_and_what_is_wrong(wikigenben: Command, site: Site) -> None:
    _, err = update(wikigenben, Path("nowhere"), code=2)
    assert "nowhere" in err and "wikigenben write" in err
    ran = wikigenben("update", str(FIRST), "--json")
    day = ran.json["day"]
    assert ran.json["run"] == str(Path(f"runs/write/{NAME}-{day}").resolve()) and ran.json["changes"] == []
    again = wikigenben("update", str(FIRST), "--json")
    assert again.json["run"] == str(Path(f"runs/write/{NAME}-{day}-2").resolve()), "a second update of one day"
    _, err = update(wikigenben, FIRST, "--out", f"runs/write/{NAME}-{day}", code=2)
    assert f"{NAME}-{day}" in err and "--out" in err
    _, err = update(wikigenben, FIRST, "--as-of", "yesterday", "--out", "x", code=2)
    assert "yesterday" in err
    _, err = update(wikigenben, FIRST, "--as-of", "2000-01-01", "--out", "w", code=2)
    assert "2000-01-01" in err and "published later" in err and not Path("w").exists()
    (FIRST / "events" / NAME / "article.json").unlink()
    _, err = update(wikigenben, FIRST, "--out", "y", code=2)
    assert "no article" in err and "wikigenben write" in err


def test_nothing_is_left(wikigenben: Command, site: Site) -> None:
    for key in ("toll", "dam", "aid", "rail"):
        site.server.put(f"/{key}", Reply("gone", 404))
    _, err = update(wikigenben, FIRST, "--out", "second", code=3)
    assert "refused, or gone (4)" in err and not (Path("second") / "events").exists()


def test_ours_reads_only_what_is_new(wikigenben: Command, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the subject is stays as it was written down, so the passages of before are asked of with the same words."""
    from flows.wiring import systems

    model = NotingModel()
    monkeypatch.setattr(systems, "build_generator", lambda *_: model)
    monkeypatch.setattr(write_flow, "check_request", lambda _: None)
    monkeypatch.setattr(taking, "SAME_PASSAGE", 1.1)  # by their letters, as the stand-in compares them, all are the same
    web = WebSettings(allow_origins=(site.server.origin(),), min_delay_s=0)
    urls = tuple(site.server.url(f"/{key}") for key in KEYS)
    write(Request(Settings(web=web), "Arvik flood", "ours", urls, out=Path("ours")))
    assert model.asked.count("card") == 4 and len(model.prompts_of("notes")) == len(KEYS)
    model.asked.clear()
    model.prompts.clear()
    site.put("dam", body("dam", "2026-06-10", f"{FACT['dam']} {RESULT}"))
    update(wikigenben, Path("ours"), "--out", "second")
    assert "card" not in model.asked
    (read,) = model.prompts_of("notes")
    assert "Tomas Lind" in read
    assert "Tomas Lind" in text_of(article_of(Path("second")))
    update(wikigenben, Path("second"), "--out", "third")
    assert codec.read(Card, Path("third") / "events" / NAME / "card.json").by == "model"
