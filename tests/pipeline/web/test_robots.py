"""robots.txt: what each answer allows (RFC 9309, 2.3.1), and the rules that the standard library's parser gets wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from data.types import DropReason
from pipeline.web.addresses import Refused
from pipeline.web.robots import KEPT_S, MOST_BYTES, Robots, parse
from tests.web_server import QuickClock

AGENT = "WikiGenBen"
ORIGIN = "https://site.org"


def allowed(text: str | bytes, path: str, agent: str = AGENT) -> bool:
    rules = parse(text.encode() if isinstance(text, str) else text, agent)
    try:
        rules.check(ORIGIN + path)
    except Refused as refused:
        assert refused.reason == "robots"
        return False
    return True


@pytest.mark.parametrize(
    ("text", "path", "may"),
    [
        ("", "/a", True),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: *\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow: /private", "/private/a", False),
        ("User-agent: *\nDisallow: /private", "/public", True),
        ("user-AGENT:*\ndisALLOW:/private#all", "/private", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf", False),  # `*` and `$`
        ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf?x", True),
        ("User-agent: *\nDisallow: /a*/z", "/abc/z", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),  # the longest match, not the first
        ("User-agent: *\nAllow: /a\nDisallow: /a/b", "/a/b/c", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),  # of equals the one that allows
        ("User-agent: *\n\nDisallow: /a", "/a", False),  # a blank line ends nothing
        ("User-agent: *\nDisallow: /a\n\nDisallow: /b", "/b", False),
        ("User-agent: WikiGenBen\nDisallow: /a\n\nUser-agent: *\nDisallow: /", "/b", True),  # its own group alone
        ("User-agent: *\nDisallow: /\n\nUser-agent: wikigenben\nAllow: /", "/b", True),
        ("User-agent: other\nUser-agent: WikiGenBen\nDisallow: /a", "/a", False),
        ("User-agent: WikiGen\nDisallow: /", "/a", False),  # the start of a name counts: Protego errs on the site's side
        ("User-agent: Ben\nDisallow: /", "/a", True),  # another name
        ("User-agent: other\nDisallow: /", "/a", True),
        ("User-agent: *\nDisallow: /%C3%BC", "/%C3%BC", False),
        ("User-agent: *\nDisallow: /ü", "/%C3%BC", False),
        ("User-agent: *\nDisallow: /a?b=", "/a?b=1", False),
        ("\ufeffUser-agent: *\nDisallow: /a", "/a", False),  # a byte order mark
        (b"User-agent: *\r\nDisallow: /a\r\n", "/a", False),
        (b"User-agent: *\nDisallow: /\xff\xfe\nDisallow: /a", "/a", False),
        ("<!doctype html><p>User-agent: * Disallow: /", "/a", True),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("User-agent: *\nDisallow: /" + "*a" * 2000 + "$", "/" + "a" * 2000 + "b", True),  # made to be slow
    ],
)
def test_rules(text: str | bytes, path: str, may: bool) -> None:
    assert allowed(text, path) is may


def test_only_the_first_500_kib_count() -> None:
    fill = b"User-agent: *\n" + b"# nothing\n" * (MOST_BYTES // 10)
    assert not allowed(fill[: MOST_BYTES - 100] + b"\nDisallow: /a\n" + fill, "/a")
    assert allowed(fill + b"\nDisallow: /a\n", "/a")
    cut = b"User-agent: *\nDisallow: /b\n" + b"#" * (MOST_BYTES - 38) + b"\nDisallow: /abc"
    assert allowed(cut, "/a") and not allowed(cut, "/b")  # half a line is no rule


@pytest.mark.parametrize(
    ("line", "seconds"),
    [("2.5", 2.5), ("10", 10.0), ("0", 0.0), ("-3", 0.0), ("nan", 0.0), ("inf", 0.0), ("soon", 0.0), ("", 0.0)],
)
def test_crawl_delay(line: str, seconds: float) -> None:
    assert parse(f"User-agent: *\nCrawl-delay: {line}\nDisallow: /a".encode(), AGENT).crawl_delay_s == seconds


def asked_with(answer: Callable[[], tuple[int, bytes]], clock: QuickClock | None = None) -> tuple[Robots, list[str]]:
    asked: list[str] = []

    def ask(url: str) -> tuple[int, bytes]:
        asked.append(url)
        return answer()

    return Robots(AGENT, ask, clock or QuickClock()), asked


CLOSED = b"User-agent: *\nDisallow: /"


@pytest.mark.parametrize(
    ("status", "body", "may"),
    [
        (200, CLOSED, False),
        (200, b"", True),
        (204, b"", True),
        (400, CLOSED, True),
        (401, CLOSED, True),
        (403, CLOSED, True),
        (404, CLOSED, True),
        (410, CLOSED, True),
        (429, CLOSED, True),
        (500, b"", False),
        (503, b"", False),
        (599, b"", False),
    ],
)
def test_each_status(status: int, body: bytes, may: bool) -> None:
    robots, asked = asked_with(lambda: (status, body))
    if may:
        robots.rules(ORIGIN).check(f"{ORIGIN}/a")
    else:
        with pytest.raises(Refused) as refused:
            robots.rules(ORIGIN).check(f"{ORIGIN}/a")
        assert refused.value.reason == "robots"
    assert asked == [f"{ORIGIN}/robots.txt"]


@pytest.mark.parametrize(
    ("reason", "then"),
    [
        ("timeout", "timeout"),
        ("rate_limited", "robots"),
        ("host_rule", "robots"),
        ("too_large", "robots"),
        ("dns", "dns"),
        ("ip_blocked", "ip_blocked"),
        ("unreachable", "unreachable"),
        ("tls", "tls"),
        ("budget", "budget"),
        ("too_many_redirects", None),
    ],
)
def test_a_robots_txt_that_cannot_be_had(reason: DropReason, then: str | None) -> None:
    def fail() -> tuple[int, bytes]:
        raise Refused(reason, "what happened")

    robots, _ = asked_with(fail)
    if then is None:
        robots.rules(ORIGIN).check(f"{ORIGIN}/a")
        return
    with pytest.raises(Refused, match=r"robots\.txt( did not answer)?: what happened") as refused:
        robots.rules(ORIGIN).check(f"{ORIGIN}/a")
    assert refused.value.reason == then


def test_rules_are_kept_for_a_day_by_origin() -> None:
    clock = QuickClock()
    robots, asked = asked_with(lambda: (200, CLOSED), clock)
    for _ in range(3):
        robots.rules(ORIGIN)
    robots.rules("http://site.org")
    assert asked == [f"{ORIGIN}/robots.txt", "http://site.org/robots.txt"]
    clock.sleep(KEPT_S + 1)
    robots.rules(ORIGIN)
    assert len(asked) == 3
