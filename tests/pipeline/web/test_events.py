"""Live pages of several events: together they ask no host too often, one's dead search engine is not the next one's, and what
is there is not fetched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from data.errors import StageError
from data.runs import RunFolder
from data.settings import EvidenceSettings, Settings, WebSettings
from data.types import Event, RawPage
from pipeline.web.cache import PageCache
from pipeline.web.events import EventEvidence
from pipeline.web.pacing import Budget, Hosts, Pacing
from pipeline.web.search.building import build_provider
from pipeline.web.search.chain import ProviderChain
from pipeline.web.search.provider import Provider
from pipeline.web.search.searxng import SearxngProvider
from pipeline.web.search.sharing import SharedProvider
from tests.sample_site import StoppedClock
from tests.search_server import Found, search_server
from tests.web_server import QuickClock, WebServer, serving

STORY = " ".join(f"On day {n} the council of Tolvane met for hour {n + 3} and voted on item {n * 7}." for n in range(12))
DELAY_S = 0.05


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving() as server:
        for n in range(3):
            server.put(f"/{n}", f"<html><body><article><p>{STORY} It was case {n}.</p></article></body></html>")
        yield server


def settings(server: WebServer, *, search: str = "", min_delay_s: float = 0.0) -> Settings:
    return Settings(
        evidence=EvidenceSettings(source="search" if search else "links"),
        web=WebSettings(search=search, allow_origins=(server.origin(),), min_delay_s=min_delay_s),
    )


def test_events_at_once_share_the_pace_of_a_host(server: WebServer, tmp_path: Path) -> None:
    def links(event: Event) -> Sequence[RawPage]:
        return [RawPage(server.url(f"/{event.id}"), "News", "", "text", "cited")]

    evidence = EventEvidence(
        settings(server, min_delay_s=DELAY_S), RunFolder(tmp_path), links=links, cache=PageCache(tmp_path / "cache")
    )
    events = [Event(f"{n}", f"Case {n}") for n in range(3)]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(evidence.collect, events))
    assert [(page.url, page.origin, page.drop_reason) for (page,) in found] == [
        (server.url(f"/{n}"), "cited", None) for n in range(3)
    ]
    times = sorted(asked.at for asked in server.asked)
    assert len(times) == 6  # each asked for robots.txt
    assert all(b - a >= 0.9 * DELAY_S for a, b in pairwise(times))
    assert [evidence.collect(event) for event in events] == found and len(server.asked) == 6


def test_runs_on_the_same_hosts_wait_for_each_other_and_give_up_alone() -> None:
    clock = QuickClock()
    hosts = Hosts(at_once=4)
    first, second = (
        Pacing(at_once=4, min_delay_s=2.0, budget=Budget(9, 100.0, clock), clock=clock, hosts=hosts) for _ in range(2)
    )
    with first.turn("a.org") as turn:
        turn.close("unreachable", "refused")
    with second.turn("a.org"), first.turn("b.org"):
        assert clock.slept == [2.0]


def test_a_search_engine_is_asked_by_one_chain_at_a_time() -> None:
    clock = QuickClock()
    with search_server([Found("https://a.org/")]) as engine:
        shared = SharedProvider(SearxngProvider(engine.url), min_delay_s=1.5, clock=clock)
        for query in ("one", "two"):
            asked = ProviderChain([shared], min_delay_s=0, clock=clock).ask(query, max_results=1)
            assert asked.answer.provider == "searxng" and len(asked.answer.hits) == 1
    assert clock.slept == [1.5]


@pytest.fixture
def engine_of(server: WebServer) -> Iterator[tuple[Provider, ...]]:
    with search_server([Found(server.url("/0"))]) as engine:
        yield build_provider("searxng", base_urls={"searxng": engine.url}).providers


def test_an_engine_that_fails_for_one_event_is_asked_for_the_next(
    server: WebServer, tmp_path: Path, engine_of: tuple[Provider, ...]
) -> None:
    told: list[str] = []
    evidence = EventEvidence(
        settings(server, search="searxng"),
        RunFolder(tmp_path),
        providers=engine_of,
        cache=PageCache(tmp_path / "cache"),
        clock=StoppedClock(),
        tell=told.append,
    )
    with pytest.raises(StageError, match=r"5 queries found 0 addresses; .* failures, the first: ") as failed:
        evidence.collect(Event("1", "fault-500 in Tolvane"))
    assert failed.value.stage == "search" and "--url" not in failed.value.why
    assert not (tmp_path / "events" / "1" / "evidence" / "manifest.json").exists()
    with pytest.raises(StageError, match="holds no word"):
        evidence.collect(Event("2", '("")'))
    (page,) = evidence.collect(Event("3", "Tolvane council"))
    assert page.usable and page.origin == "search" and told[-1].startswith("Tolvane council: ")


def test_a_bundle_that_was_changed_is_its_event_s_trouble(server: WebServer, tmp_path: Path) -> None:
    def links(event: Event) -> Sequence[RawPage]:
        return [RawPage(server.url("/0"), "News", "", "text", "search")]

    evidence = EventEvidence(settings(server), RunFolder(tmp_path), links=links, cache=PageCache(tmp_path / "cache"))
    assert len(evidence.collect(Event("1", "Case"))) == 1
    records = tmp_path / "events" / "1" / "evidence" / "evidence.jsonl"
    records.write_text(records.read_text(encoding="utf-8").replace("council", "board"), encoding="utf-8")
    with pytest.raises(StageError, match="was changed"):
        evidence.collect(Event("1", "Case"))
