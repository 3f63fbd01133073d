"""The package ddgs itself, its engines pointed at a server on loopback: its HTTP client is outside Python's sockets."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date

import pytest

from data.errors import MissingExtra, UserError
from pipeline.web.search.building import build_provider
from pipeline.web.search.ddgs import ENGINES, DdgsProvider
from pipeline.web.search.provider import SearchFailed
from tests.search_server import HOSTILE_URLS, Found, SearchServer, search_server

TODAY = date(2031, 6, 1)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)
    monkeypatch.setitem(sys.modules, "ddgs.engines", None)
    with pytest.raises(MissingExtra, match=r"pip install 'wikigenben\[ddgs\]'"):
        build_provider("ddgs")


def test_engines_are_named_and_no_encyclopedia_is_among_them() -> None:
    known = pytest.importorskip("ddgs.engines").ENGINES["text"]
    assert not {"wikipedia", "grokipedia", "auto", "all"} & set(ENGINES)
    assert set(ENGINES) <= set(known)  # an unknown name alone would mean all of them, those two first
    with pytest.raises(UserError, match="knows none of gone"):
        DdgsProvider(engines=("gone",))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchServer]:
    engines = pytest.importorskip("ddgs.engines").ENGINES["text"]
    for variable in ("DDGS_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)
    with search_server() as running:
        for engine in engines.values():
            monkeypatch.setattr(engine, "search_url", f"{running.url}/nobody")
        monkeypatch.setattr(engines["duckduckgo"], "search_url", f"{running.url}/html/")
        yield running


def provider() -> DdgsProvider:
    return DdgsProvider(engines=("duckduckgo", "gone"), timeout_s=5, today=lambda: TODAY)


def test_result_pages_are_read(server: SearchServer) -> None:
    server.found["Tolvane flood"] = [
        Found(f"https://site{i}.example.org/", f"Tolvane flood {i}", "Water rose.") for i in range(9)
    ]
    hits = provider().search("Tolvane flood", max_results=4, since=date(2031, 5, 28), language="de")
    assert len(hits) == 4 and [hit.rank for hit in hits] == [1, 2, 3, 4]
    assert {hit.title for hit in hits} <= {f"Tolvane flood {i}" for i in range(9)}
    assert all("Water rose." in hit.snippet and hit.published is None and hit.provider == "ddgs" for hit in hits)
    (request,) = server.asked
    assert (request.service, request.params["df"], request.params["l"]) == ("html", "w", "de-de")


def test_nothing_and_refused_look_alike(server: SearchServer) -> None:
    for query in ("nothing", "fault-429", "fault-500"):
        with pytest.raises(SearchFailed, match="nothing found, or refused") as raised:
            provider().search(query, max_results=4)
        assert not raised.value.passing


def test_hostile_results_are_cleaned(server: SearchServer) -> None:
    hits = provider().search("hostile", max_results=20)
    assert 0 < len(hits) <= len(HOSTILE_URLS)
    assert all(text.isprintable() and "<" not in text for hit in hits for text in (hit.title, hit.snippet))


def test_nobody_listens(server: SearchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from ddgs.engines import ENGINES as known

    monkeypatch.setattr(known["text"]["duckduckgo"], "search_url", "http://127.0.0.1:9/html/")
    with pytest.raises(SearchFailed, match="ddgs: the engines did not answer") as raised:
        provider().search("Tolvane", max_results=4)
    assert raised.value.passing
