"""Merging, the chain of providers, and a whole round of queries with its log."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

import pytest

from data import codec
from pipeline.web.addresses import exempt
from pipeline.web.search.building import build_provider
from pipeline.web.search.chain import ProviderChain
from pipeline.web.search.provider import SearchFailed, SearchHit
from pipeline.web.search.searching import SearchLog, search_all
from tests.search_server import HOSTILE_URLS, Found, SearchServer, search_server

KEY = "sk-very-secret-0815"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchServer]:
    monkeypatch.setenv("BRAVE_API_KEY", KEY)
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    with search_server() as running:
        yield running


class FakeClock:
    """Time passes only in `sleep`."""

    def __init__(self) -> None:
        self.time = 100.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    def now(self) -> datetime:
        return datetime(2031, 6, 1, tzinfo=UTC)


def chain(names: str, server: SearchServer, clock: FakeClock, min_delay_s: float = 0.0) -> ProviderChain:
    built = build_provider(names, base_urls=server.base_urls())
    return ProviderChain(built.providers, min_delay_s=min_delay_s, clock=clock)


def hit(url: str, rank: int, query: str = "q", published: str | None = None) -> SearchHit:
    return SearchHit(url, f"title of {url}", "snippet", published, rank, "brave", query)


# --- merging ---------------------------------------------------------------------------------------------------------


# --- the chain -------------------------------------------------------------------------------------------------------


def test_requests_are_apart(server: SearchServer) -> None:
    clock = FakeClock()
    providers = chain("searxng", server, clock, min_delay_s=1.5)
    for query in ("a", "b", "fault-500"):
        providers.ask(query, max_results=5)
    assert clock.slept == [1.5, 1.5, 1.0, 0.5]  # the retry waits for its own second, then for the rest of the turn


def test_a_chain_is_a_provider(server: SearchServer) -> None:
    providers = chain("brave,searxng", server, FakeClock())
    assert len(providers.search("Tolvane", max_results=3)) == 3
    with pytest.raises(SearchFailed, match=r"brave: status 403.*; searxng: status 403"):
        providers.search("fault-403", max_results=3)


# --- a round ---------------------------------------------------------------------------------------------------------


def test_a_round_and_its_log(server: SearchServer) -> None:
    both, one, other = (Found(f"https://{name}.example.org/") for name in ("both", "one", "other"))
    server.found |= {"Tolvane": [one, both], "Tolvane timeline": [other, both]}
    log = search_all(
        chain("brave", server, FakeClock()),
        ["Tolvane", "Tolvane  (timeline)", "Tolvane", "fault-500", "nothing", "()"],
        max_results=5,
        until=date(2031, 5, 31),
    )
    assert [hit.url for hit in log.hits] == [both.url, one.url, other.url]
    assert [(a.query, a.provider, len(a.hits)) for a in log.answers] == [
        ("Tolvane", "brave", 2),
        ("Tolvane timeline", "brave", 2),
        ("fault-500", "", 0),
        ("nothing", "brave", 0),
    ]
    assert [(f.query, f.provider) for f in log.failures] == [("fault-500", "brave")] and not log.switches
    assert all(request.params["freshness"].endswith("to2031-05-31") for request in server.asked)
    assert not log.failed and log.describe().startswith("4 queries found 3 addresses; 1 failures, the first: brave: status 500")
    text = codec.to_json(log)
    assert codec.from_json(SearchLog, text, where="log") == log and KEY not in text


def test_addresses_that_may_not_be_asked_stay_in_the_log(server: SearchServer) -> None:
    log = search_all(chain("brave,tavily", server, FakeClock()), ["hostile", "hostile again", "Tolvane"], max_results=20)
    assert len(log.refused) == len(HOSTILE_URLS)
    assert {refused.reason for refused in log.refused} == {"scheme", "host_rule"}
    assert all(refused.detail.isprintable() and refused.hit.rank for refused in log.refused)
    assert all(hit.url.startswith("https://site") for hit in log.hits) and len(log.hits) == 20
    assert codec.from_json(SearchLog, codec.to_json(log).encode(), where="log") == log
    assert "more are refused" in log.describe()


def test_an_exempt_origin_is_admitted(server: SearchServer) -> None:
    server.found["wiki"] = [Found("http://127.0.0.1:8080/page")]
    provider = chain("tavily", server, FakeClock())
    assert not search_all(provider, ["wiki"], max_results=5).hits
    log = search_all(provider, ["wiki"], max_results=5, allow_origins=exempt(["http://127.0.0.1:8080"]))
    assert [hit.url for hit in log.hits] == ["http://127.0.0.1:8080/page"] and not log.refused


def test_switches_and_total_failure_are_told(server: SearchServer) -> None:
    log = search_all(chain("brave,tavily", server, FakeClock()), ["fault-500 a", "fault-500 b"], max_results=5)
    assert log.failed and not log.hits and [s.after for s in log.switches] == ["tavily"]
    assert [f.provider for f in log.failures] == ["brave", "tavily", "tavily"]
