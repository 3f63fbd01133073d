"""Evidence from a web on loopback: what is found, in which order, and what becomes of the rest."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from data import codec
from data.errors import NoEvidence, UserError
from data.snapshot import SAMPLE
from data.types import Event
from pipeline.web.archive import Archive
from pipeline.web.bundle import Bundle
from pipeline.web.cache import PageCache
from pipeline.web.fetching import Fetcher, Limits
from pipeline.web.live import LiveEvidence
from pipeline.web.local_files import local_files
from pipeline.web.queries import first_queries
from pipeline.web.replaying import BundleEvidence
from pipeline.web.search.building import build_provider
from pipeline.web.search.chain import ProviderChain
from tests.sample_site import TITLE, StoppedClock, make_fetcher, put_sample, web_settings
from tests.search_server import HOSTILE_URLS, Found, SearchServer, search_server
from tests.web_server import Names, Reply, WebServer, serving

EVENT = Event("e", TITLE)
SAMPLE_PAGE = SAMPLE / json.loads((SAMPLE / "google" / "9000002.json").read_text(encoding="utf-8"))[0]["html"]


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving() as server:
        yield server


@pytest.fixture
def engine() -> Iterator[SearchServer]:
    with search_server() as running:
        running.found[""] = []
        yield running


def provider(engine: SearchServer) -> ProviderChain:
    return ProviderChain(build_provider("searxng", base_urls=engine.base_urls()).providers, min_delay_s=0, clock=StoppedClock())


def live(tmp_path: Path, server: WebServer, found: list[Found], **more: Any) -> LiveEvidence:
    settings = web_settings(server, found, **more.pop("settings", {}))
    given: dict[str, Any] = {"cache": PageCache(tmp_path / "cache"), "clock": StoppedClock(), "fetcher": make_fetcher()}
    return LiveEvidence(settings, **(given | more))


def _article(text: str) -> str:
    return f"<html><head><title>Mayor</title></head><body><article><h1>Mayor</h1><p>{text}</p></article></body></html>"


def test_given_pages(tmp_path: Path, server: WebServer) -> None:
    found = put_sample(server)
    urls = [one.url for one in found] + [found[0].url + "#again", "file:///etc/passwd", server.url("/gone")]
    evidence = live(tmp_path, server, found, urls=urls, bundle=tmp_path / "bundle")
    pages = evidence.collect(EVENT)
    reasons = Counter(page.drop_reason for page in pages)
    assert reasons == {None: 8, "duplicate": 1, "consent": 1, "scheme": 1, "http_4xx": 1}
    assert [page.url for page in pages] == [one.url for one in found] + urls[11:]  # in the order of the command
    (copy,) = [page for page in pages if page.drop_reason == "duplicate"]
    assert copy.duplicate_of == 4 and pages[4].usable
    assert all(page.retrieved_at == "2034-01-01T12:00:00+00:00" for page in pages)
    assert pages[0].published == "2032-05-31" and pages[0].origin == "url"
    _check_records(tmp_path / "bundle", server)


def _check_records(folder: Path, server: WebServer) -> None:
    records = Bundle(folder).records()
    assert len({record.id for record in records}) == len(records)
    first, gone = records[0], records[-1]
    assert first.published.timestamp == "2032-05-31T06:30:00+00:00" and first.published.source == "meta"
    assert (first.http_status, first.content_type, first.charset) == (200, "text/html; charset=utf-8", "utf-8")
    assert first.sha256_text == codec.sha256(first.text) and first.extractor.startswith("trafilatura/")
    assert Bundle(folder).body(first.sha256_raw) and first.bytes == len(Bundle(folder).body(first.sha256_raw))
    assert (gone.http_status, gone.drop_reason, gone.text, gone.extractor) == (404, "http_4xx", "", "")
    copy = next(record for record in records if record.drop_reason == "duplicate")
    assert copy.dup_of == records[4].id


def test_two_rounds_of_searches(tmp_path: Path, server: WebServer, engine: SearchServer) -> None:
    found = put_sample(server)
    queries = first_queries(TITLE)
    hostile = [Found(url) for url in HOSTILE_URLS[:4]]
    engine.found = {query: [*found[:6], *hostile] for query in queries} | {"": found[6:8]}
    evidence = live(tmp_path, server, found, provider=provider(engine), urls=[found[8].url], settings={"max_pages": 8})
    gathered = evidence.gather(TITLE)
    asked = gathered.manifest.queries
    assert tuple(query.query for query in asked if query.round == 1) == queries
    assert len([query for query in asked if query.round == 2]) > 3 and all(query.provider == "searxng" for query in asked)
    assert any("maren oldvik" in query.query for query in asked if query.round == 2)  # a name that the first pages share
    rounds = {record.url: record.round for record in gathered.records}
    assert [rounds[one.url] for one in found[:9]] == [1, 1, 1, 1, 1, 2, 2, 2, 0]  # five of seven: two thirds of the room
    assert gathered.records == tuple(sorted(gathered.records, key=lambda r: (r.round, r.rank)))
    assert {r.url: r.drop_reason for r in gathered.records if r.url in HOSTILE_URLS} == {
        HOSTILE_URLS[0]: "scheme",
        HOSTILE_URLS[1]: "scheme",
        HOSTILE_URLS[2]: "host_rule",
        HOSTILE_URLS[3]: "host_rule",
    }
    assert sum(gathered.manifest.counts.values()) == len(gathered.records) == 13
    assert len(gathered.records) - gathered.manifest.counts["kept"] == sum(r.drop_reason is not None for r in gathered.records)


def test_what_the_run_has_no_number_left_for_is_recorded(tmp_path: Path, server: WebServer, engine: SearchServer) -> None:
    found = put_sample(server)
    engine.found[""] = found
    urls = [found[9].url, found[8].url]
    given = live(tmp_path, server, found, urls=urls, provider=provider(engine), settings={"max_pages": 1})
    records = given.gather(TITLE).records
    assert records[0].url == urls[0] and records[0].drop_reason != "budget"
    assert {record.drop_reason for record in records[1:]} == {"budget"} and len(records) == 10
    assert records[1].url == urls[1] and server.targets() == ["/robots.txt", "/drennar/halvenport-2032.htm"]


def test_a_page_without_text_is_read_in_its_version_for_phones(tmp_path: Path, server: WebServer) -> None:
    found = put_sample(server)
    story = SAMPLE_PAGE.read_text(encoding="utf-8")
    app = '<html><head><title>M</title><link rel="amphtml" href="{}"></head><body><div id="app"></div>{}</body></html>'
    script = "<script src='/app.js'></script>"
    whole = story.replace("</head>", '<link rel="amphtml" href="/amp/whole"></head>')
    server.put("/app", app.format("/amp", script))
    server.put("/elsewhere", app.format(server.url("/amp", "other.example"), script))
    server.put("/refused", app.format("ftp://127.0.0.1/amp", script))
    server.put("/whole", whole)
    server.put("/amp", story.replace("</p>", " It was so.</p>", 3))
    urls = [server.url(path) for path in ("/app", "/elsewhere", "/refused", "/whole")]
    evidence = live(tmp_path, server, found, urls=urls, bundle=tmp_path / "bundle")
    records = evidence.gather("").records
    amp = server.url("/amp")
    assert {record.url: record.rank for record in records} == {urls[0]: 1, amp: 1, urls[1]: 2, urls[2]: 3, urls[3]: 4}
    reasons = {record.url: record.drop_reason for record in records}
    assert [reasons[url] for url in urls[:3]] == ["js_required"] * 3
    assert {reasons[amp], reasons[urls[3]]} == {None, "duplicate"}
    assert all("save the page" in record.drop_detail for record in records if record.drop_reason == "js_required")
    assert "/amp/whole" not in server.targets()  # of a page with a text nothing more is needed
    again = BundleEvidence(tmp_path / "bundle").gather()
    assert again.records == records


def test_nothing_that_can_be_used(tmp_path: Path, server: WebServer) -> None:
    found = put_sample(server)
    server.put("/closed", "<html><body><p>The office is closed on Monday.</p></body></html>")
    urls = [found[7].url, server.url("/closed"), server.url("/a"), server.url("/b"), "ftp://site.org/"]
    counts = (
        r"only a consent dialogue \(1\)",
        r"refused, or gone \(2\)",
        r"not an address of the web \(1\)",
        r"too little text \(1\)",
    )
    told = rf"among 5 \({'; '.join(counts)}\)"
    with pytest.raises(NoEvidence, match=told):
        live(tmp_path, server, found, urls=urls, bundle=tmp_path / "bundle").collect(EVENT)
    assert Bundle(tmp_path / "bundle").manifest().counts == {"consent": 1, "http_4xx": 2, "scheme": 1, "too_short": 1}


def test_a_search_without_an_answer(tmp_path: Path, server: WebServer, engine: SearchServer) -> None:
    found = put_sample(server)
    title = "fault-500 election"
    with pytest.raises(UserError, match=r"5 queries found 0 addresses; .*failures, the first: searxng: status 500.*--url"):
        live(tmp_path, server, found, provider=provider(engine)).collect(Event("e", title))
    gathered = live(tmp_path, server, found, provider=provider(engine), urls=[found[0].url]).gather(title)
    assert gathered.manifest.counts == {"kept": 1} and "status 500" in gathered.manifest.failures[0].reason
    with pytest.raises(NoEvidence, match="none were found"):
        live(tmp_path, server, found, provider=provider(engine)).collect(EVENT)  # answered, with nothing


def test_cut_off_and_leaks(tmp_path: Path, server: WebServer) -> None:
    found = put_sample(server)
    server.put("en.wikipedia.org/wiki/X", _article("The mayor of the town was elected by its people. " * 20))
    found.append(Found(server.url("/wiki/X", "en.wikipedia.org")))
    urls = [found[0].url, found[2].url, found[4].url, found[10].url]
    for settings, expected in (
        ({}, [None, None, None, None]),
        ({"as_of": "2032-05-20"}, ["after_cutoff", "after_cutoff", None, None]),
        ({"as_of": "2032-05-20", "strict_dates": True}, ["after_cutoff", "after_cutoff", None, "undated"]),
        ({"leak_hosts": True}, [None, None, None, "leak_host"]),
    ):
        records = live(tmp_path, server, found, urls=urls, settings=settings).gather("").records
        assert [record.drop_reason for record in records] == expected, settings


def test_files_are_pages_of_their_own_kind(tmp_path: Path, server: WebServer) -> None:
    found = put_sample(server)
    body = (SAMPLE / "html" / "9000002" / "01.html").read_bytes()
    folder = tmp_path / "secret place" / "pages"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.html").write_bytes(body)
    (folder / "sub" / "a.txt").write_text("The harbour of Halvenport was dredged in spring. " * 20)
    files = local_files([folder / "a.html", folder / "sub" / "a.txt", folder / "sub" / ".." / "a.html"])
    bundle = tmp_path / "bundle"
    pages = live(tmp_path, server, found, files=files, bundle=bundle).collect(EVENT)
    assert [page.url for page in pages] == ["file:a.html", "file:sub/a.txt"] and all(page.usable for page in pages)
    assert "Oldvik" in pages[0].text
    assert not [path for path in bundle.rglob("*.json*") if "secret place" in path.read_text(encoding="utf-8")]
    assert server.targets() == []


def test_files_that_are_no_pages(tmp_path: Path) -> None:
    (tmp_path / "a.exe").write_bytes(b"MZ")
    (tmp_path / "d.html").mkdir()
    with (tmp_path / "huge.pdf").open("wb") as huge:
        huge.truncate(30_000_000)
    os.mkfifo(tmp_path / "p.html")
    for name, why in (
        ("p.html", "it is a pipe"),
        ("a.exe", r"must end in one of \.html"),
        ("none.txt", "No such file"),
        ("d.html", "Is a directory"),
        ("huge.pdf", "more than"),
    ):
        with pytest.raises(UserError, match=f"{name}.*{why}"):
            local_files([tmp_path / name])


def test_a_page_that_is_gone_comes_from_the_archive(tmp_path: Path, server: WebServer) -> None:
    found = put_sample(server)
    gone = server.url("/gone")
    answer = '{"archived_snapshots": {"closest": {"available": true, "status": "200", "timestamp": "20320601101112"}}}'
    server.put("/wayback/available", Reply(answer, content_type="application/json"))
    server.put(f"/web/20320601101112id_/{gone}", (SAMPLE / "html" / "9000002" / "01.html").read_bytes())

    def fetcher(settings: Any) -> Fetcher:
        services = Archive(server.origin(), server.origin(), 0.0)
        return Fetcher(settings, resolve=Names(), clock=StoppedClock(), limits=Limits(retries=0), archive=services)

    (page,) = live(tmp_path, server, found, urls=[gone], settings={"archive": True}, fetcher=fetcher).collect(EVENT)
    assert page.usable and page.url == gone and page.archive_date == "2032-06-01"
    assert page.archive_url == f"{server.origin()}/web/20320601101112/{gone}"
