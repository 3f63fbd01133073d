"""Merging, the chain of providers, and a whole round of queries with its log."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import codec
from pipeline.web.addresses import exempt
from pipeline.web.search.building import build_provider
from pipeline.web.search.chain import ProviderChain
from pipeline.web.search.merging import merge
from pipeline.web.search.provider import SearchFailed, SearchHit
from pipeline.web.search.searching import SearchLog, join, search_all
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


def ranked(*urls: str, query: str = "q") -> list[SearchHit]:
    return [hit(url, rank, query) for rank, url in enumerate(urls, 1)]


# --- merging ---------------------------------------------------------------------------------------------------------


def test_what_several_lists_hold_comes_first() -> None:
    a, b, c = (f"https://{name}.example.org/" for name in "abc")
    merged = merge([ranked(a, b), ranked(c, b)])
    assert [one.url for one in merged] == [b, a, c]  # 2/62 beats 1/61; a and c tie and go by address
    assert [one.rank for one in merged] == [1, 2, 3]
    assert [one.url for one in merge([ranked(a, b), ranked(c, b)], k=1)] == [b, a, c]
    assert merge([ranked(a, b, c), ranked(c)], k=1)[0].url == c  # 1/4 + 1/2 beats 1/2


def test_spellings_of_an_address_are_one() -> None:
    first = hit("https://www.a.example.org/x?b=2&a=1#top", 2, published=None)
    second = hit("http://A.example.org:80/x/?a=1&b=2&utm_source=feed", 1, published=None)
    third = hit("https://a.example.org/x?a=1&b=2", 3, published="3 days ago")
    (merged,) = merge([[first], [second], [third]])
    assert (merged.url, merged.published, merged.rank) == (second.url, "3 days ago", 1)


def test_an_address_counts_once_a_list() -> None:
    a, b = "https://a.example.org/", "https://b.example.org/"
    assert [one.url for one in merge([ranked(b, a, a + "#1", a + "#2")])] == [b, a]


def test_nothing_to_merge() -> None:
    assert merge([]) == merge([[], []]) == ()


@given(
    lists=st.lists(st.lists(st.sampled_from([f"https://{c}.example.org/" for c in "abcdefg"]), unique=True), max_size=6),
    seed=st.integers(0, 99),
)
def test_merging_knows_no_order_of_lists(lists: list[list[str]], seed: int) -> None:
    hits = [ranked(*urls, query=f"q{n}") for n, urls in enumerate(lists)]
    shuffled = random.Random(seed).sample(hits, len(hits))
    merged = merge(hits)
    assert merge(shuffled) == merged
    assert sorted(one.url for one in merged) == sorted({url for urls in lists for url in urls})
    assert [one.rank for one in merged] == list(range(1, len(merged) + 1))
    scores = {one.url: sum(1 / (60 + urls.index(one.url) + 1) for urls in lists if one.url in urls) for one in merged}
    assert all(scores[x.url] >= scores[y.url] - 1e-12 for x, y in pairwise(merged))


# --- the chain -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fault", "wait"), [("fault-503-once", 1.0), ("fault-429-once", 1.0), ("fault-429-soon", 2.0)])
def test_one_retry_is_enough(fault: str, wait: float, server: SearchServer) -> None:
    clock = FakeClock()
    asked = chain("brave,searxng", server, clock).ask(fault, max_results=5)
    assert [one.url for one in asked.answer.hits] == ["https://again.example.org/"]
    assert asked.answer.provider == "brave" and not asked.failures and not asked.switches
    assert clock.slept == [wait] and len(server.asked) == 2


@pytest.mark.parametrize(
    ("fault", "n_requests", "slept"), [("fault-500", 2, [1.0]), ("fault-401", 1, []), ("fault-429-long", 1, [])]
)
def test_the_next_provider_takes_over(fault: str, n_requests: int, slept: list[float], server: SearchServer) -> None:
    clock = FakeClock()
    providers = chain("brave,tavily", server, clock)
    asked = providers.ask(fault, max_results=5)
    to_brave = [request for request in server.asked if request.service == "brave"]
    assert len(to_brave) == n_requests and clock.slept[: len(slept)] == slept
    (switch,) = asked.switches
    assert (switch.query, switch.before, switch.after) == (fault, "brave", "tavily")
    assert asked.failures[0].reason == switch.reason and switch.reason.startswith("brave: status ")
    later = providers.ask("Tolvane", max_results=5)  # brave is not bothered again
    assert later.answer.provider == "tavily" and not later.switches and not later.failures
    assert len([request for request in server.asked if request.service == "brave"]) == n_requests


def test_nothing_found_is_an_answer(server: SearchServer) -> None:
    asked = chain("brave,tavily", server, FakeClock()).ask("nothing", max_results=5)
    assert asked.answer.provider == "brave" and asked.answer.hits == () and not asked.failures
    assert [request.service for request in server.asked] == ["brave"]


def test_the_last_provider_is_given_up_after_three_failures_in_a_row(server: SearchServer) -> None:
    providers = chain("searxng", server, FakeClock())
    for query in ("fault-403 a", "fault-403 b"):
        assert not providers.ask(query, max_results=5).answer.provider
    assert providers.ask("Tolvane", max_results=5).answer.provider == "searxng"
    for n in range(3):
        providers.ask(f"fault-403 {n}", max_results=5)
    n_before = len(server.asked)
    asked = providers.ask("Tolvane", max_results=5)
    assert len(server.asked) == n_before and asked.answer.provider == ""
    assert asked.failures[0].reason == "not asked: too many queries before this one failed"


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


def test_rounds_are_joined_as_one(server: SearchServer) -> None:
    queries = ["Tolvane", "hostile", "Tolvane timeline", "fault-401"]
    server.found["Tolvane timeline"] = list(reversed(server.found[""]))
    whole = search_all(chain("tavily", server, FakeClock()), queries, max_results=10)
    provider = chain("tavily", server, FakeClock())
    rounds = [search_all(provider, part, max_results=10) for part in (queries[:2], queries[2:])]
    assert join(rounds) == whole
    assert not join([]).answers and not join([]).failed


def test_a_bare_provider_is_enough(server: SearchServer) -> None:
    (single,) = build_provider("tavily", base_urls=server.base_urls()).providers
    log = search_all(single, ["Tolvane"], max_results=2)
    assert [replace(hit, rank=0) for hit in log.hits] == [replace(hit, rank=0) for hit in log.answers[0].hits]
