"""Benchmark events written from live pages: their links fetched anew, or what a search finds. A local server has the pages."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from data.runs import RunFolder
from data.snapshot import Snapshot
from data.types import Page
from pipeline.web.bundle import Bundle
from tests.conftest import COPIED, Command
from tests.flows.told import fetching_from, refused
from tests.search_server import Found, search_server
from tests.web_server import WebServer, serving

ELECTION, FINAL = COPIED
RUN = Path("run")
N_PAGES = 4

pytestmark = pytest.mark.usefixtures("fixed_encoder")


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving() as server:
        yield server


@pytest.fixture
def data(copied_sample: Path, server: WebServer) -> Path:
    """Two events whose links lead to the server. The first has two more: one that is gone, and one to a copy of its article."""
    human = json.loads((copied_sample / "wiki" / f"{ELECTION}.json").read_text(encoding="utf-8"))["text"]
    server.put("/copy", f"<html><head><title>A mirror</title></head><body><article><p>{human}</p></article></body></html>")
    for event_id in COPIED:
        listed = copied_sample / "google" / f"{event_id}.json"
        pages = json.loads(listed.read_text(encoding="utf-8"))[:N_PAGES]
        for page in pages:
            path = "/" + page.pop("html")
            server.put(path, (copied_sample / path[1:]).read_bytes())
            page.update(link=server.url(path), text="recorded, and not looked at")
        if event_id == ELECTION:
            pages += [{"title": name, "link": server.url(f"/{name}"), "text": ""} for name in ("gone", "copy")]
        listed.write_text(json.dumps(pages), encoding="utf-8")
    return copied_sample


@pytest.fixture
def words(data: Path, server: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))
    scored = ("--set", "evaluation.judge=lexical", "--set", "evaluation.resamples=100")
    return ["--system", "extractive", "--data", str(data), *scored, *fetching_from(server)]


def links(words: list[str], *more: str, out: Path | str = RUN) -> list[str]:
    return [*words, "--evidence", "links", "--out", str(out), "--json", *more]


def pages_of(event_id: str, run: Path = RUN) -> tuple[Page, ...]:
    pages = RunFolder(run).event(event_id).stored_pages()
    assert pages is not None
    return pages


def reasons(event_id: str) -> dict[str, str | None]:
    return {page.url.rpartition("/")[2]: page.drop_reason for page in pages_of(event_id)}


def test_links_fetched_anew(wikigenben: Command, server: WebServer, words: list[str]) -> None:
    ran = wikigenben("evaluate", *links(words, "--no-floors"))
    assert ran.code == 0, ran.err
    assert ran.json["n"] == 2 and ran.json["strata"]
    found = reasons(ELECTION)
    assert (found["gone"], found["copy"], found["01.html"]) == ("http_4xx", "leak_text", None)
    bundle = Bundle(RUN / "events" / ELECTION / "evidence")
    assert bundle.manifest().counts["http_4xx"] == 1 and [r.drop_reason for r in bundle.records()] == list(found.values())
    shown = (RUN / "articles" / f"{ELECTION}.html").read_text(encoding="utf-8")
    assert "status 404" in shown and "of the article&#x27;s 8-grams in the page" in shown.replace("&#39;", "&#x27;")
    article = RunFolder(RUN).event(ELECTION).article()
    assert article is not None and article.sources
    assert all(source.retrieved_at and source.url != server.url("/copy") for source in article.sources)

    made = json.loads((RUN / "submission.json").read_text(encoding="utf-8"))
    assert made["system"]["uses_web"] is True and made["system"]["evidence_track"] == "search"
    told = made["system"]["settings"]
    assert (told["source"], told["web.leak_hosts"], told["web.as_of"], told["leak_filter"]) == ("links", "True", "", "on")

    asked = len(server.targets())
    again = wikigenben("generate", *links(words))
    assert again.code == 0 and again.json["reused"] == 2 and len(server.targets()) == asked
    other = wikigenben("generate", *links(words, "--events", ELECTION, out="other"))
    assert other.code == 0 and server.targets()[asked:] == ["/robots.txt", "/gone"]  # the others are of today
    refused(wikigenben("evaluate", *links(words, "--as-of", "2033-01-01")), "web.as_of: '' there, '2033-01-01' now")
    refused(wikigenben("evaluate", *words, "--out", str(RUN)), "source: 'links' there, None now")


def test_a_replay_needs_no_network_and_no_human_article(
    wikigenben: Command, server: WebServer, words: list[str], data: Path
) -> None:
    assert wikigenben("generate", *links(words, "--events", ELECTION)).code == 0
    shutil.rmtree(data)
    asked = len(server.targets())
    bundle = RUN / "events" / ELECTION / "evidence"
    ran = wikigenben("write", "--bundle", bundle, "--system", "extractive", "--out", "replayed")
    assert ran.code == 0 and len(server.targets()) == asked
    assert Path("replayed/evidence/evidence.jsonl").read_bytes() == (bundle / "evidence.jsonl").read_bytes()
    assert b"mayor" not in (bundle / "manifest.json").read_bytes().replace(b"Halvenport mayoral election", b"")


def test_scoring_and_trying_again_fetch_nothing(wikigenben: Command, server: WebServer, words: list[str]) -> None:
    assert wikigenben("generate", *links(words)).code == 0
    before, asked = pages_of(ELECTION), len(server.targets())
    folder = RUN / "events" / ELECTION
    (folder / "article.json").unlink()
    (folder / "outline.json").write_text("{")
    failed = wikigenben("generate", *links(words))
    assert failed.code == 1 and failed.json["failed"] == [ELECTION]
    retried = wikigenben("generate", *links(words, "--retry-failed"))
    assert retried.code == 0 and retried.json["written"] == 1 and pages_of(ELECTION) == before

    (folder / "pages.jsonl").unlink()  # the bundle has them
    scored = wikigenben("evaluate", *links(words, "--no-floors"))
    assert scored.code == 0 and "evidence: medium" in scored.json["strata"]  # type: ignore[operator]  # both events have one
    (folder / "article.json").unlink()
    assert wikigenben("generate", *links(words)).code == 0 and pages_of(ELECTION) == before
    for path in (folder / "pages.jsonl", RUN / "scores.jsonl", RUN / "floors.jsonl"):
        path.unlink(missing_ok=True)
    shutil.rmtree(folder / "evidence")
    ran = wikigenben("evaluate", *links(words))
    assert ran.code == 0 and ran.json["n"] == 2 and ran.json["floors"]
    made = json.loads((RUN / "submission.json").read_text(encoding="utf-8"))
    assert made["scores"]["cite_recall"]["n_unscored"] == 1
    assert len(server.targets()) == asked


def test_an_event_without_a_page_is_fetched_again_when_asked_to(
    wikigenben: Command, server: WebServer, words: list[str]
) -> None:
    kept, server._routes = server._routes, {}
    ran = wikigenben("generate", *links(words, "--events", FINAL))
    assert ran.code == 3 and "no usable page" in ran.err and "refused, or gone (" in ran.err
    assert all(page.drop_reason == "http_4xx" for page in pages_of(FINAL))
    server._routes = kept
    assert wikigenben("generate", *links(words, "--events", FINAL, "--retry-failed")).code == 0


def test_pages_that_a_search_finds(
    wikigenben: Command, server: WebServer, words: list[str], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.web.pacing.SystemClock.sleep", lambda self, seconds: None)
    monkeypatch.setenv("WIKIGEN_SEARXNG_URL", "http://127.0.0.1:9")  # where nobody listens
    search = [*words, "--evidence", "search", "--search", "searxng", "--as-of", "2032-12-31", "--out", "run", "--json"]
    dead = wikigenben("generate", *search)
    assert dead.code == 1 and sorted(dead.json["failed"]) == sorted(COPIED)  # type: ignore[call-overload]
    assert dead.err.count(": search: ") == 2 and "searxng" in dead.err and "Traceback" not in dead.err
    assert not server.targets()
    with search_server() as engine:
        paths = [f"/html/{ELECTION}/{n:02}.html" for n in range(1, N_PAGES + 1)]
        engine.found[""] = [Found(server.url(path)) for path in (*paths, "/copy")]
        monkeypatch.setenv("WIKIGEN_SEARXNG_URL", engine.url)
        ran = wikigenben("generate", *search, "--events", ELECTION, "--retry-failed")
        queries = [asked.query for asked in engine.asked]
    assert ran.code == 0, ran.err
    title = Snapshot(data).event(ELECTION).title
    assert queries[0] == title and f"{title}: 5 queries found {N_PAGES + 1} addresses" in ran.err
    assert reasons(ELECTION)["copy"] == "leak_text"
    assert all(page.origin == "search" and (page.published or "") <= "2032-12-31" for page in pages_of(ELECTION) if page.usable)
    manifest = Bundle(RUN / "events" / ELECTION / "evidence").manifest()
    assert manifest.title == title and manifest.settings.as_of == "2032-12-31" and manifest.settings.leak_hosts
    assert json.loads((RUN / "run.json").read_text())["web.search"] == "searxng"


@pytest.mark.usefixtures("prefect_api")
def test_the_flow_hands_no_run_the_pages_of_another_day(
    server: WebServer, words: list[str], data: Path, tmp_path: Path
) -> None:
    from flows.wiki_gen import wiki_gen

    web = [f"web.allow_origins={server.origin()}", "web.min_delay_s=0", "web.cache_hours=0"]

    def flow(**more: Any) -> Any:
        given = {"system": "lead", "data": str(data), "events": [FINAL], "evidence": "links", "evaluate": False} | more
        return wiki_gen(return_state=True, out=str(tmp_path / "run"), settings=web, **given)

    assert flow().is_completed()
    before, asked = pages_of(FINAL, tmp_path / "run"), len(server.targets())
    assert flow(runner="threads:2").is_completed() and len(server.targets()) == asked
    shutil.rmtree(tmp_path / "run")
    path = f"/html/{FINAL}/01.html"
    server.put(path, (data / path[1:]).read_text(encoding="utf-8").replace("Kestrin", "Dornach"))
    assert flow().is_completed()
    after = pages_of(FINAL, tmp_path / "run")
    assert len(server.targets()) > asked and "Dornach" in after[0].text and "Dornach" not in before[0].text
    failed = flow(evidence="search")
    assert failed.is_failed() and "needs a search engine" in failed.message


@pytest.mark.parametrize(
    ("more", "names"),
    [
        (["--evidence", "search"], ["needs a search engine", "--search NAME"]),
        (["--evidence", "search", "--search", "searxing"], ["'searxing'", "did you mean 'searxng'?"]),
        (["--evidence", "links", "--search", "brave"], ["--search brave is for --evidence search"]),
        (["--search", "brave"], ["--search brave is for --evidence search"]),
        (["--as-of", "2032-01-01"], ["--as-of 2032-01-01 is for --evidence links or search"]),
        (["--evidence", "links", "--set", "web.contact=(me)"], ["web.contact"]),
    ],
)
def test_wrong_values(wikigenben: Command, more: list[str], names: list[str]) -> None:
    refused(wikigenben("evaluate", "--system", "extractive", "--data", "sample", *more), *names)
    assert not Path("runs").exists()


def test_live_pages_are_for_writing_alone(wikigenben: Command, words: list[str], tmp_path: Path) -> None:
    assert wikigenben("generate", *words, "--out", "recorded").code == 3  # of these events, no page was recorded
    refused(wikigenben("evaluate", *links(words, "--as-in", "recorded")), "--as-in recorded")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / f"{FINAL}.json").write_text(json.dumps({"text": "A final.", "retrieve": []}))
    refused(wikigenben("evaluate", "--articles", "mine", *links(words)[2:]), "drop --evidence links")
