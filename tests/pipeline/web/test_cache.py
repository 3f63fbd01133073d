"""Pages of earlier fetches: found again, asked for conditionally, and never used where a run might not have fetched them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from data import codec
from data.errors import UserError
from data.settings import WebSettings
from pipeline.web.cache import Bodies, PageCache, StoredFetch, pages_as_completed
from pipeline.web.fetched import Fetched
from tests.pipeline.web.made_fetchers import in_order
from tests.sample_site import StoppedClock, make_fetcher
from tests.web_server import Asked, Reply, WebServer, serving

SITE, OTHER = "site.org", "other.org"
Get = Callable[..., list[Fetched]]


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving() as server:
        yield server


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def get(server: WebServer, clock: StoppedClock, tmp_path: Path) -> Get:
    """Fetches paths as a run of its own would; settings by name."""

    def fetch(*paths: str, host: str = SITE, **given: Any) -> list[Fetched]:
        origins = (server.origin(SITE), server.origin(OTHER))
        settings = WebSettings(**({"min_delay_s": 0.0, "allow_origins": origins} | given))
        with make_fetcher(clock)(settings) as fetcher:
            urls = [server.url(path, host) for path in paths]
            return in_order(pages_as_completed(fetcher, PageCache(tmp_path / "cache"), urls, settings, clock=clock))

    return fetch


def pages_asked(server: WebServer) -> list[str]:
    return [target for target in server.targets() if target != "/robots.txt"]


def test_an_old_page_is_asked_for_conditionally(server: WebServer, get: Get, clock: StoppedClock) -> None:
    def answer(asked: Asked) -> Reply:
        same = asked.headers.get("If-None-Match") == '"1"' and asked.headers.get("If-Modified-Since") == "long ago"
        return Reply(status=304) if same else Reply("<p>one", headers=(("ETag", '"1"'), ("Last-Modified", "long ago")))

    server.put("/a", answer)
    (first,) = get("/a")
    clock.moment += timedelta(hours=23)
    assert get("/a") == [first]
    clock.moment += timedelta(hours=2)
    (second,) = get("/a")
    assert second == replace(first, retrieved_at=clock.now().isoformat(timespec="seconds"))
    assert len(pages_asked(server)) == 2
    clock.moment += timedelta(hours=23)
    assert get("/a") == [second]  # fresh again since the server said so
    server.put("/a", "<p>two")
    assert get("/a", cache_hours=0.0)[0].body == b"<p>two"
    assert get("/a")[0].body == b"<p>two"


@pytest.mark.parametrize("damage", ["body", "record", "no body", "no digest"])
def test_what_is_damaged_is_fetched_anew(server: WebServer, get: Get, tmp_path: Path, damage: str) -> None:
    server.put("/a", "<p>one")
    get("/a")
    (body,) = (tmp_path / "cache" / "bodies").glob("*/*")
    (record,) = (tmp_path / "cache" / "fetches").glob("*/*.json")
    match damage:
        case "body":
            body.write_bytes(b"<p>other")
        case "record":
            record.write_text("{")
        case "no digest":
            record.write_text(codec.to_json(replace(codec.read(StoredFetch, record), sha256="")))
        case _:
            body.unlink()
    assert [get("/a")[0].body for _ in range(2)] == [b"<p>one", b"<p>one"]
    assert len(pages_asked(server)) == 2


def test_what_robots_txt_forbids_is_not_had_from_a_run_that_ignored_it(server: WebServer, get: Get) -> None:
    server.put("/robots.txt", Reply("User-agent: *\nDisallow: /", content_type="text/plain"))
    server.put("/a", "<p>one")
    assert get("/a", respect_robots=False)[0].body
    assert get("/a")[0].drop_reason == "robots"
    assert get("/a", respect_robots=False)[0].body and len(pages_asked(server)) == 1


def test_an_origin_that_is_no_longer_allowed(server: WebServer, get: Get) -> None:
    server.put(f"{SITE}/a", "<p>one")
    server.redirect(f"{SITE}/b", server.url("/c", OTHER))
    server.put(f"{OTHER}/c", "<p>three")
    assert all(fetched.body for fetched in get("/a", "/b"))
    assert [fetched.drop_reason for fetched in get("/a", "/b", allow_origins=(server.origin(SITE),))] == [None, "port"]
    assert get("/a", allow_origins=())[0].drop_reason == "port"


def test_captures_are_for_runs_that_ask_the_archive(server: WebServer, get: Get, tmp_path: Path, clock: StoppedClock) -> None:
    url = server.url("/gone", SITE)
    capture = Fetched(
        url, url, body=b"<p>was", retrieved_at=clock.now().isoformat(), archive_url="u", archive_date="2033-05-01"
    )
    PageCache(tmp_path / "cache").put(url, capture)
    assert get("/gone", archive=True)[0].body == b"<p>was"
    assert get("/gone")[0].drop_reason == "http_4xx"
    assert get("/gone", archive=True, as_of="2033-05-01")[0].body == b"<p>was"
    assert get("/gone", as_of="2033-04-30")[0].drop_reason == "http_4xx"


def _page(n: int) -> tuple[str, Fetched]:
    url = f"http://site.org/{n}"
    return url, Fetched(url, url, body=b"%d" % n * 300_000)


def _age(root: Path, days: float) -> None:
    """As if nothing had been used or pruned for so long."""
    for path in root.rglob("*"):
        moment = path.stat().st_mtime - days * 86_400
        os.utime(path, (moment, moment))


def _kept(root: Path) -> set[int]:
    numbers = {codec.sha256_bytes(_page(n)[1].body): n for n in range(10)}
    return {numbers[path.name] for path in root.glob("bodies/*/*")}


def test_what_is_not_used_goes_first_by_age_then_by_size(tmp_path: Path) -> None:
    cache = PageCache(tmp_path)
    for n in range(5):
        cache.put(*_page(n))
        _age(tmp_path, 10)
    assert cache.find(_page(1)[0]) == _page(1)[1]  # the others are unused for 50, 30, 20 and 10 days
    cache.prune(100, 45)
    assert _kept(tmp_path) == {1, 2, 3, 4}
    _age(tmp_path, 1)
    cache.prune(1, 45)  # MiB, for pages of 300 kB
    assert _kept(tmp_path) == {1, 3, 4}
    assert cache.find(_page(2)[0]) is None and cache.find(_page(3)[0]) == _page(3)[1]


def test_a_page_that_says_what_an_old_one_said_is_as_new(tmp_path: Path) -> None:
    cache = PageCache(tmp_path)
    url, fetched = _page(1)
    cache.put(url, fetched)
    _age(tmp_path, 100)
    cache.put("http://site.org/again", replace(fetched, url="http://site.org/again"))
    cache.prune(100, 90)
    assert cache.find("http://site.org/again") is not None and cache.find(url) is None


def test_a_cache_that_cannot_be_pruned_is_used_all_the_same(tmp_path: Path) -> None:
    PageCache(tmp_path / "nowhere").prune(1, 1)
    (tmp_path / "file").write_text("")
    PageCache(tmp_path / "file").prune(1, 1)
    cache = PageCache(tmp_path / "busy")
    cache.put(*_page(1))
    with FileLock(tmp_path / "busy" / ".pruning"):
        _age(tmp_path / "busy", 100)
        cache.prune(1, 1)  # another process is at it
    assert cache.find(_page(1)[0]) is not None


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "own"))
    assert PageCache().root == tmp_path / "own" / "web"
    monkeypatch.delenv("WIKIGEN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert PageCache().root == tmp_path / "xdg" / "wikigenben" / "web"


def test_a_disk_that_refuses(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="WIKIGEN_CACHE"):
        PageCache(tmp_path / "file").put("http://site.org/", Fetched("u", "u", body=b"x"))
    with pytest.raises(UserError, match="cannot write"):
        Bodies(tmp_path / "file").put(b"x")
