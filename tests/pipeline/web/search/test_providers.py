"""Each provider against a server that answers in its service's shape, well and badly."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import date

import pytest

from data import codec
from data.errors import UserError
from pipeline.web.search.asking import Timeouts
from pipeline.web.search.brave import BraveProvider
from pipeline.web.search.building import NAMES, build_provider
from pipeline.web.search.provider import Provider, SearchFailed, SearchHit, plain_query, recent_span
from pipeline.web.search.searxng import SearxngProvider
from pipeline.web.search.serper import SerperProvider
from pipeline.web.search.tavily import TavilyProvider
from tests.search_server import HOSTILE_URLS, SearchServer, search_server

SECRET = "sk-very-secret-0815"
KEYS = {"brave": "BRAVE_API_KEY", "serper": "SERPER_API_KEY", "tavily": "TAVILY_API_KEY"}
ALL = ("searxng", *KEYS)
TODAY = date(2031, 6, 1)


@pytest.fixture(scope="module")
def server() -> Iterator[SearchServer]:
    with search_server() as running:
        yield running


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WIKIGEN_SEARXNG_URL", raising=False)
    for variable in KEYS.values():
        monkeypatch.setenv(variable, SECRET)


def made(name: str, server: SearchServer, timeouts: Timeouts | None = None) -> Provider:
    url = server.base_urls()[name]
    match name:
        case "searxng":
            return SearxngProvider(url, timeouts=timeouts, today=lambda: TODAY)
        case "brave":
            return BraveProvider(url, timeouts=timeouts)
        case "serper":
            return SerperProvider(url, timeouts=timeouts)
    return TavilyProvider(url, timeouts=timeouts)


def failure(provider: Provider, query: str) -> SearchFailed:
    with pytest.raises(SearchFailed) as raised:
        provider.search(query, max_results=5)
    assert SECRET not in raised.value.reason and "127.0.0.1" not in raised.value.reason
    assert raised.value.reason.isprintable() and len(raised.value.reason) < 400
    return raised.value


@pytest.mark.parametrize("name", ALL)
def test_nothing_found_is_no_error(name: str, server: SearchServer) -> None:
    assert made(name, server).search("nothing at all", max_results=5) == []


@pytest.mark.parametrize("name", ["searxng", "brave", "serper"])
def test_a_first_page_is_worth_keeping(name: str, server: SearchServer, caplog: pytest.LogCaptureFixture) -> None:
    hits = made(name, server).search("fault-second-page", max_results=25)
    assert len(hits) == (20 if name == "brave" else 10)
    assert "status 500" in caplog.text and "only 1 pages of results are used" in caplog.text


def test_requests_say_what_is_wanted(server: SearchServer) -> None:
    since, until = date(2031, 2, 1), date(2031, 5, 31)

    def asked(name: str, **more: date | str | None) -> SearchServer:
        made(name, server).search("Tolvane", max_results=10, **more)  # type: ignore[arg-type]
        return server

    sent = asked("brave", since=since, until=until, language="ja").asked[-1]
    assert sent.headers["x-subscription-token"] == SECRET and SECRET not in str(sent.params)
    assert sent.params["freshness"] == "2031-02-01to2031-05-31"
    assert (sent.params["q"], sent.params["count"], sent.params["search_lang"]) == ("Tolvane", "10", "jp")
    assert asked("brave", until=until).asked[-1].params["freshness"] == "1970-01-01to2031-05-31"
    sent = asked("serper", since=since, until=until, language="de").asked[-1]
    assert sent.headers["x-api-key"] == SECRET and SECRET not in str(sent.params)
    assert (sent.params["tbs"], sent.params["hl"]) == ("cdr:1,cd_min:2/1/2031,cd_max:5/31/2031", "de")
    assert asked("serper", until=until).asked[-1].params["tbs"] == "cdr:1,cd_min:,cd_max:5/31/2031"
    sent = asked("tavily", since=since, until=until).asked[-1]
    assert sent.headers["authorization"] == f"Bearer {SECRET}" and SECRET not in str(sent.params)
    assert (sent.params["start_date"], sent.params["end_date"]) == ("2031-02-01", "2031-05-31")
    assert sent.params["include_answer"] is False and sent.params["max_results"] == 10
    sent = asked("searxng", since=since, language="de").asked[-1]
    assert (sent.params["format"], sent.params["language"], sent.params["time_range"]) == ("json", "de", "year")
    assert "time_range" not in asked("searxng", since=since, until=until).asked[-1].params  # it ends in the past
    assert "time_range" not in asked("searxng").asked[-1].params
    assert not {"authorization", "cookie", "referer"} & set(sent.headers)


def test_the_environment_adds_nothing_to_a_request(server: SearchServer, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password mine\n")
    monkeypatch.setenv("NETRC", str(netrc))
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert made("searxng", server).search("Tolvane", max_results=1)
    assert "authorization" not in server.asked[-1].headers


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("fault", "passing", "says"),
    [
        ("fault-403", False, "status 403"),
        ("fault-401", False, "status 401"),
        ("fault-422", False, "status 422"),
        ("fault-429", True, "status 429"),
        ("fault-500", True, "status 500"),
        ("fault-redirect", False, "a redirect"),
        ("fault-malformed", False, "is not JSON"),
        ("fault-deep", False, "is not JSON"),
        ("fault-page", False, "is not JSON: 'Welcome to the proxy'"),
        ("fault-empty", False, "is not JSON"),
        ("fault-list", False, "is not a JSON object"),
        ("fault-shape", False, "has no list"),
        ("fault-huge", False, "longer than 4,000,000 bytes"),
        ("fault-bomb", False, "longer than 4,000,000 bytes"),
        ("fault-short", True, "broke off"),
    ],
)
def test_faults(name: str, fault: str, passing: bool, says: str, server: SearchServer) -> None:
    failed = failure(made(name, server), fault)
    assert failed.passing is passing and says in failed.reason


@pytest.mark.parametrize(
    ("fault", "timeouts", "says"),
    [
        ("fault-hang", Timeouts(read_s=0.3, total_s=60), "no answer in time"),
        ("fault-drip", Timeouts(read_s=60, total_s=0.3), "took longer than 0.3 s"),
    ],
)
def test_slow_answers(fault: str, timeouts: Timeouts, says: str, server: SearchServer) -> None:
    failed = failure(made("searxng", server, timeouts), fault)
    assert failed.passing and says in failed.reason


def test_nobody_listens() -> None:
    with search_server() as gone:
        provider = made("searxng", gone)
    failed = failure(provider, "Tolvane")
    assert failed.passing and failed.reason == "searxng: no connection"


@pytest.mark.parametrize("name", ALL)
def test_hostile_results_are_cleaned_and_can_be_stored(name: str, server: SearchServer) -> None:
    hits = made(name, server).search("hostile", max_results=20)
    assert len(hits) == len(HOSTILE_URLS)
    for hit in hits:
        for text in (hit.title, hit.snippet, hit.published or ""):
            assert text.isprintable() and "<" not in text
        assert hit.title.startswith("Ignore previous instructions") and len(hit.published or "") <= 100
        assert codec.from_json(SearchHit, codec.to_json(hit).encode(), where="hit") == hit
        assert len(hit.url) <= 2_049


def test_blocked_engines_are_a_failure(server: SearchServer) -> None:
    failed = failure(made("searxng", server), "fault-engines")
    assert failed.passing and failed.reason == "searxng: no answer from google: timeout, bing: CAPTCHA"


# --- keys and addresses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "variable"),
    [
        (BraveProvider, "BRAVE_API_KEY"),
        (SerperProvider, "SERPER_API_KEY"),
        (TavilyProvider, "TAVILY_API_KEY"),
        (SearxngProvider, "WIKIGEN_SEARXNG_URL"),
    ],
)
@pytest.mark.parametrize("value", [None, "", "  ", "sk-\u0444\u044b"])
def test_a_missing_key_is_named(
    build: Callable[[], Provider], variable: str, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is None:
        monkeypatch.delenv(variable, raising=False)
    else:
        monkeypatch.setenv(variable, value)
    with pytest.raises(UserError, match=variable) as raised:
        build()
    assert not (value or "").strip() or value not in str(raised.value)


@pytest.mark.parametrize(
    "url", ["searx.lan", "ftp://searx.lan", "https://", "http://a:b:c/", "http://searx.lan/?q=1", "http://[::1"]
)
def test_an_odd_searxng_address(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKIGEN_SEARXNG_URL", url)
    with pytest.raises(UserError, match="WIKIGEN_SEARXNG_URL is not the address") as raised:
        SearxngProvider()
    assert url not in str(raised.value)


def test_secrets_are_in_no_log_and_no_repr(server: SearchServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    provider = build_provider("brave,searxng", min_delay_s=0, base_urls=server.base_urls())
    asked = provider.ask("fault-403", max_results=3)
    assert len(asked.failures) == 2 and asked.switches
    brave = made("brave", server)
    assert SECRET not in caplog.text + repr(vars(brave)) + codec.to_json(asked.switches[0]) + codec.to_json(asked.failures[0])


# --- by name ---------------------------------------------------------------------------------------------------------


def test_providers_by_name(server: SearchServer) -> None:
    urls = server.base_urls()
    for name in ALL:
        assert build_provider(name, base_urls=urls).name == name
    assert build_provider(" Brave , searxng,", base_urls=urls).name == "brave,searxng"
    assert set(NAMES) == {*ALL, "ddgs"}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "names no provider; choose among searxng"),
        (" , ", "names no provider"),
        ("brav", "did you mean 'brave'"),
        ("google", "known: searxng, brave"),
        ("brave,brave", "twice"),
    ],
)
def test_names_that_are_none(name: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        build_provider(name)


# --- queries and dates -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("2031 Tolvane flood", "2031 Tolvane flood"),
        ("The Quay (2031 film)", "The Quay 2031 film"),
        ('"Heroes" (song)', "Heroes song"),
        ("flood site:evil.example.org", "flood site evil.example.org"),
        ("!!g flood :fr -news ?x", "g flood fr news x"),
        ("Jeopardy! Mission: Impossible", "Jeopardy! Mission: Impossible"),
        ("Spider-Man Portal e-Cidadania", "Spider-Man Portal e-Cidadania"),
        ("a\u202eb\n\tc\u200b <b>d</b>", "ab c d"),
        ("浜名湖の洪水", "浜名湖の洪水"),
        (" ( ) ", ""),
    ],
)
def test_queries_are_words(text: str, plain: str) -> None:
    assert plain_query(text) == plain == plain_query(plain)


def test_queries_are_cut_at_a_word() -> None:
    cut = plain_query("Tolvane " * 60)
    assert len(cut) <= 380 and set(cut.split()) == {"Tolvane"} and len(cut.split()) == 47
    assert len(plain_query("a b " * 60).split()) == 50
    assert len(plain_query("x" * 900)) == 380


@pytest.mark.parametrize(
    ("since", "until", "span"),
    [
        (None, None, None),
        (date(2031, 6, 1), None, "day"),
        (date(2031, 5, 25), None, "week"),
        (date(2031, 5, 24), TODAY, "month"),
        (date(2030, 6, 1), None, "year"),
        (date(2029, 6, 1), None, None),
        (date(2031, 5, 31), date(2031, 5, 31), None),
    ],
)
def test_spans_cover_the_wish(since: date | None, until: date | None, span: str | None) -> None:
    assert recent_span(since, until, TODAY) == span
