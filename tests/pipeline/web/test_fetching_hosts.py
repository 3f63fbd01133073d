"""How hosts are treated while their pages are fetched: robots.txt, delays, and asking again."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from typing import Any

import pytest

from tests.pipeline.web.made_fetchers import OTHER, SITE, SMALL, Make, fault, put_robots
from tests.web_server import Names, QuickClock, Reply, WebServer, serving

# --- robots.txt -------------------------------------------------------------------------------------------------------


def test_what_robots_txt_disallows_is_not_asked(server: WebServer, fetcher: Make) -> None:
    put_robots(server, "User-agent: WikiGenBen\nDisallow: /page")
    asked = fetcher()
    assert fault(asked.fetch(server.url("/page", SITE))) == ("robots", None)
    assert fault(asked.fetch(server.url("/page?x", SITE))) == ("robots", None)
    assert asked.fetch(server.url("/page", OTHER)).drop_reason is None
    assert server.targets(SITE) == ["/robots.txt"]
    own = fetcher(respect_robots=False).fetch(server.url("/page", SITE))
    assert own.body == b"<p>here" and own.flags == ("robots_ignored",)


def test_a_redirect_asks_the_rules_again(server: WebServer, fetcher: Make) -> None:
    put_robots(server, "User-agent: *\nDisallow: /page", OTHER)
    server.redirect(f"{SITE}/a", server.url("/page", OTHER))
    assert fault(fetcher().fetch(server.url("/a", SITE))) == ("robots", None)
    assert server.targets(OTHER) == ["/robots.txt"]


def test_a_robots_txt_that_cannot_be_decoded_allows_nothing(server: WebServer, fetcher: Make) -> None:
    server.put(f"{SITE}/robots.txt", Reply("", headers=(("Content-Encoding", "br"),)))
    assert fetcher().fetch(server.url("/page", SITE)).drop_reason == "robots"


def test_robots_txt_may_be_elsewhere_but_not_everywhere(server: WebServer, fetcher: Make) -> None:
    server.redirect(f"{SITE}/robots.txt", server.url("/rules", OTHER))
    server.put(f"{OTHER}/rules", Reply("User-agent: *\nDisallow: /page", content_type="text/plain"))
    assert fetcher().fetch(server.url("/page", SITE)).drop_reason == "robots"
    server.redirect(f"{SITE}/robots.txt", "http://127.0.0.1/robots.txt")
    assert fetcher().fetch(server.url("/page", SITE)).drop_reason == "robots"  # not known, so not allowed
    server.redirect(f"{SITE}/robots.txt", "/robots.txt")
    assert fetcher().fetch(server.url("/page", SITE)).body == b"<p>here"  # RFC 9309: round and round is as none


def test_a_server_that_is_not_well_is_left_alone(server: WebServer, fetcher: Make) -> None:
    server.put(f"{SITE}/robots.txt", Reply("", 500))
    asked = fetcher()
    for _ in range(2):
        unwell = asked.fetch(server.url("/page", SITE))
        assert fault(unwell) == ("robots", None) and "status 500, which forbids everything" in unwell.drop_detail
    assert server.targets() == ["/robots.txt"]
    came, done = threading.Event(), threading.Event()
    server.put_raw(f"{OTHER}/robots.txt", lambda handler: (came.set(), done.wait(30)))
    hung = fetcher(limits=replace(SMALL, read_s=0.1))
    slow = [hung.fetch(server.url(path, OTHER)) for path in ("/page", "/page?again")]
    assert came.wait(30)  # the server may be later than its client's patience
    done.set()
    assert [fault(one) for one in slow] == [("timeout", None)] * 2
    assert all(one.drop_detail.startswith("robots.txt did not answer: ") for one in slow)
    assert server.targets(OTHER) == ["/robots.txt"]  # the second page waits for nothing


def test_an_unreachable_host_is_told_as_one(fetcher: Make) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and nobody listens
        port = unused.getsockname()[1]
        closed = fetcher(allow_origins=(f"http://{SITE}:{port}",)).fetch(f"http://{SITE}:{port}/page")
    assert fault(closed) == ("unreachable", None) and closed.drop_detail.startswith("robots.txt: ")


def test_only_the_start_of_a_long_robots_txt_is_read(server: WebServer, fetcher: Make) -> None:
    put_robots(server, "User-agent: *\nDisallow: /secret\n" + "# nothing\n" * 60_000 + "Disallow: /page\n")
    asked = fetcher()
    assert asked.fetch(server.url("/page", SITE)).body == b"<p>here"
    assert asked.fetch(server.url("/secret", SITE)).drop_reason == "robots"


@pytest.mark.parametrize(("delay", "slept"), [("2.5", [2.5, 2.5]), ("0.2", [1.0, 1.0]), ("30", [30.0, 30.0])])
def test_crawl_delay_is_kept(server: WebServer, fetcher: Make, delay: str, slept: list[float]) -> None:
    put_robots(server, f"User-agent: *\nCrawl-delay: {delay}")
    clock = QuickClock()
    asked = fetcher(clock=clock)
    for _ in range(2):
        assert asked.fetch(server.url("/page", SITE)).body
    assert clock.slept == slept


def test_a_host_that_wants_a_minute_is_skipped(server: WebServer, fetcher: Make) -> None:
    put_robots(server, "User-agent: *\nCrawl-delay: 60")
    fetched = fetcher().fetch(server.url("/page", SITE))
    assert fault(fetched) == ("robots", None) and "Crawl-delay 60 s" in fetched.drop_detail


# --- asking again -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_pass_is_asked_twice_again(server: WebServer, fetcher: Make, status: int) -> None:
    server.put("/a", [Reply("", status), Reply("", status), Reply("at last")])
    server.put("/b", Reply("", status))
    clock = QuickClock()
    asked = fetcher(respect_robots=False, min_delay_s=0, clock=clock)
    assert asked.fetch(server.url("/a", SITE)).body == b"at last"
    assert len(clock.slept) == 2 and clock.slept[0] <= 1 and clock.slept[1] <= 2
    assert fault(asked.fetch(server.url("/b", SITE))) == ("rate_limited" if status == 429 else "http_5xx", status)
    assert server.targets() == ["/a"] * 3 + ["/b"] * 3


@pytest.mark.parametrize(
    ("value", "slept"),
    [
        ("7", 7.0),
        ("60", 60.0),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30.0),
        ("Sat, 28 Feb 2026 12:00:00 GMT", 1.0),  # past: the delay between requests remains
        ("0", 1.0),
    ],
)
def test_retry_after_is_honoured(server: WebServer, fetcher: Make, value: str, slept: float) -> None:
    server.put("/a", [Reply("", 503, headers=(("Retry-After", value),)), Reply("at last")])
    clock = QuickClock()
    assert fetcher(respect_robots=False, clock=clock).fetch(server.url("/a", SITE)).body == b"at last"
    assert clock.slept == [slept]


@pytest.mark.parametrize("value", ["61", "99999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_host_that_wants_too_long_a_pause_is_dropped(server: WebServer, fetcher: Make, value: str) -> None:
    server.put("/a", Reply("", 429, headers=(("Retry-After", value),)))
    clock = QuickClock()
    asked = fetcher(respect_robots=False, clock=clock)
    assert fault(asked.fetch(server.url("/a", SITE))) == ("rate_limited", 429)
    assert fault(asked.fetch(server.url("/page", SITE))) == ("rate_limited", None)
    assert asked.fetch(server.url("/page", OTHER)).body
    assert server.targets(SITE) == ["/a"] and clock.slept == []


def test_broken_connections_are_tried_again(server: WebServer, fetcher: Make) -> None:
    failing = [2]

    def broken(handler: Any) -> None:
        failing[0] -= 1
        if failing[0] < 0:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nat last")

    server.put_raw("/a", broken)
    assert fetcher(respect_robots=False).fetch(server.url("/a", SITE)).body == b"at last"
    assert server.targets() == ["/a"] * 3
    left = [b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nETag: old\r\n\r\n", b"", b""]
    server.put_raw("/b", lambda handler: handler.wfile.write(left.pop(0)))
    fetched = fetcher(respect_robots=False).fetch(server.url("/b", SITE))
    assert (fault(fetched), fetched.etag) == (("unreachable", None), "")  # nothing of the answer before
    names = Names()
    with serving() as gone:
        url = gone.url("/a", SITE)
    fetched = fetcher(allow_origins=(url[:-2],), respect_robots=False, resolve=names).fetch(url)
    assert fault(fetched) == ("unreachable", None) and "refused" in fetched.drop_detail.lower()
    assert names.asked == [SITE] * 3


def test_guard_refusals_are_not_tried_again(server: WebServer, fetcher: Make) -> None:
    names = Names({"inner.site.net": [["10.0.0.1"]], "unknown.site.net": [[]]})
    asked = fetcher(resolve=names)
    assert fault(asked.fetch("http://inner.site.net/")) == ("ip_blocked", None)
    assert fault(asked.fetch("http://unknown.site.net/")) == ("dns", None)
    assert fault(asked.fetch("ftp://site.org/")) == ("scheme", None)
    assert fault(asked.fetch("http://127.0.0.1/")) == ("host_rule", None)
    assert names.asked == ["inner.site.net", "unknown.site.net"]


def test_three_failing_pages_close_a_host(server: WebServer, fetcher: Make) -> None:
    server.put(f"{SITE}/bad", Reply("", 500))
    asked = fetcher(respect_robots=False)
    for _ in range(2):
        asked.fetch(server.url("/bad", SITE))
    assert asked.fetch(server.url("/page", SITE)).body  # not in a row
    for _ in range(3):
        assert fault(asked.fetch(server.url("/bad", SITE))) == ("http_5xx", 500)
    closed = asked.fetch(server.url("/page", SITE))
    assert fault(closed) == ("http_5xx", None) and "3 failures in a row" in closed.drop_detail
    assert asked.fetch(server.url("/page", OTHER)).body
    assert server.targets(SITE).count("/page") == 1
