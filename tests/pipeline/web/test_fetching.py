"""Fetching against a web on loopback: what becomes of each kind of answer, and how hosts are treated on the way."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from data.errors import UserError
from data.settings import WebSettings
from pipeline.web.archive import Archive
from pipeline.web.fetched import Fetched
from pipeline.web.fetching import Fetcher, Limits, default_user_agent, in_order
from tests.web_server import Asked, Names, QuickClock, Reply, WebServer, serving

SITE, OTHER = "site.org", "other.site.net"
SMALL = Limits(connect_s=1, read_s=2, total_s=3, html_bytes=50_000, pdf_bytes=200_000)
Make = Callable[..., Fetcher]


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving() as server:
        server.put("/page", "<p>here")
        yield server


@pytest.fixture
def fetcher(server: WebServer) -> Iterator[Make]:
    """Makes fetchers that may ask the server as SITE and OTHER. Settings by name; `limits`, `clock` and the like too."""
    made: list[Fetcher] = []

    def make(*hosts: str, **more: Any) -> Fetcher:
        given = {name: more.pop(name) for name in list(more) if name in WebSettings.__dataclass_fields__}
        origins = tuple(server.origin(host) for host in hosts or (SITE, OTHER))
        settings = WebSettings(**({"allow_origins": origins} | given))
        more["archive"] = more.pop("services", None)
        fetcher = Fetcher(settings, **({"resolve": Names(), "clock": QuickClock(), "limits": SMALL} | more))
        made.append(fetcher)
        return fetcher

    yield make
    for fetcher in made:
        fetcher.close()


def fault(fetched: Fetched) -> tuple[str | None, int | None]:
    assert not fetched.drop_reason or (fetched.drop_detail and not fetched.body)
    return fetched.drop_reason, fetched.status


# --- what becomes of an answer ---------------------------------------------------------------------------------------


def test_a_page(server: WebServer, fetcher: Make) -> None:
    headers = (("ETag", '"v1"'), ("Last-Modified", "Sun, 01 Mar 2026 10:00:00 GMT"))
    server.put("/a", Reply("<p>Größe", headers=headers, content_type="Text/HTML; Charset=UTF-8"))
    url = server.url("/a", SITE)
    assert fetcher().fetch(url) == Fetched(
        url=url,
        final_url=url,
        status=200,
        content_type="Text/HTML; Charset=UTF-8",
        etag='"v1"',
        last_modified="Sun, 01 Mar 2026 10:00:00 GMT",
        body="<p>Größe".encode(),
        retrieved_at="2026-03-01T12:00:01+00:00",  # a second after robots.txt
    )
    assert server.targets() == ["/robots.txt", "/a"]
    assert server.asked[1].headers["User-Agent"].startswith("WikiGenBen")
    assert "Authorization" not in server.asked[1].headers


def test_the_contact_stands_in_the_user_agent(server: WebServer, fetcher: Make) -> None:
    fetcher(contact="mail@site.org").fetch(server.url("/page", SITE))
    assert all(asked.headers["User-Agent"].endswith(" (+mail@site.org)") for asked in server.asked)
    for contact in ("a\r\nX: y", "ü@site.org", "a)b"):
        with pytest.raises(UserError, match=r"web\.contact"):
            default_user_agent(contact)


@pytest.mark.parametrize(
    ("status", "reason"),
    [(204, None), (400, "http_4xx"), (401, "http_4xx"), (403, "http_4xx"), (404, "http_4xx"), (410, "http_4xx"),
     (451, "http_4xx"), (500, "http_5xx"), (501, "http_5xx"), (304, "http_5xx"), (302, "http_5xx"), (399, "http_5xx")],
)  # fmt: skip
def test_statuses_that_are_not_asked_again(server: WebServer, fetcher: Make, status: int, reason: str | None) -> None:
    server.put("/a", Reply(b"" if status in (204, 304) else "why", status))
    assert fault(fetcher().fetch(server.url("/a", SITE))) == (reason, status)
    assert server.targets().count("/a") == 1


@pytest.mark.parametrize(
    ("content_type", "body", "reason"),
    [
        ("text/html", b"<p>a", None),
        ("application/xhtml+xml", b"<html/>", None),
        ("text/plain; charset=latin-1", b"a", None),
        ("", b"<p>a", None),
        ("application/pdf", b"%PDF-1.7 ...", None),
        ("text/html", b"\xef\xbb\xbf\n%PDF-1.7", None),
        ("application/octet-stream", b"%PDF-1.4", None),
        ("application/pdf", b"<p>log in first", "bad_type"),
        ("image/png", b"\x89PNG\r\n\x1a\n", "bad_type"),
        ("text/html", b"\x89PNG\r\n\x1a\n" + b"0" * 2000, "bad_type"),
        ("text/html", b"\xff\xd8\xff\xe0", "bad_type"),
        ("text/html", b"GIF89a", "bad_type"),
        ("text/html", b"PK\x03\x04", "bad_type"),
        ("text/plain", b"MZ\x90\x00", "bad_type"),
        ("text/html", b"\x7fELF", "bad_type"),
        ("application/json", b"{}", "bad_type"),
        ("video/mp4", b"....ftyp", "bad_type"),
    ],
)
def test_kinds_of_bodies(server: WebServer, fetcher: Make, content_type: str, body: bytes, reason: str | None) -> None:
    server.put("/a", Reply(body, content_type=content_type))
    fetched = fetcher().fetch(server.url("/a", SITE))
    assert fault(fetched) == (reason, 200)
    assert fetched.content_type == content_type
    assert fetched.body == (b"" if reason else body)


def test_a_kind_is_told_from_a_body_in_pieces(server: WebServer, fetcher: Make) -> None:
    def chunked(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
        for byte in b"%PDF-1.7" + b" " * 60:
            handler.wfile.write(b"1\r\n" + bytes([byte]) + b"\r\n")
        handler.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (100_000, b"x" * 100_000))

    server.put_raw("/a", chunked)
    fetched = fetcher().fetch(server.url("/a", SITE))
    assert fault(fetched) == (None, 200)
    assert len(fetched.body) == 100_068  # more than a page may have


@pytest.mark.parametrize("declared", [True, False])
def test_a_page_may_be_5_mb_and_a_pdf_20(server: WebServer, fetcher: Make, declared: bool) -> None:
    assert (Limits().html_bytes, Limits().pdf_bytes) == (5_000_000, 20_000_000)
    bodies = {
        "/page-fits": b"x" * 50_000,
        "/page": b"x" * 50_001,
        "/pdf-fits": b"%PDF-".ljust(200_000),
        "/pdf": b"%PDF-".ljust(200_001),
    }
    for path, body in bodies.items():
        length = b"Content-Length: %d\r\n" % len(body) if declared else b""
        server.put_raw(path, lambda handler, b=body, n=length: handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + n + b"\r\n" + b))
    found = {path: fetcher().fetch(server.url(path, SITE)).drop_reason for path in bodies}
    assert found == {"/page-fits": None, "/page": "too_large", "/pdf-fits": None, "/pdf": "too_large"}


# --- hostile answers --------------------------------------------------------------------------------------------------


def _zeros(times: int, wbits: int) -> bytes:
    """30 MB of zeros, packed and then gzipped until it was packed so many times."""
    packer = zlib.compressobj(9, wbits=wbits)
    body = b"".join(packer.compress(bytes(3_000_000)) for _ in range(10)) + packer.flush()
    return body if times == 1 else gzip.compress(body)


@pytest.mark.parametrize(("coding", "times"), [("gzip", 1), ("gzip, gzip", 2), ("deflate", 1), ("deflate, gzip", 2)])
def test_a_bomb_is_left_at_the_limit(server: WebServer, fetcher: Make, coding: str, times: int) -> None:
    body = _zeros(times, zlib.MAX_WBITS if coding.startswith("deflate") else 31)
    assert len(body) < (30_000 if times == 1 else 500)
    server.put("/bomb", Reply(body, headers=(("Content-Encoding", coding),)))
    asked = fetcher()
    asked.fetch(server.url("/page", SITE))
    tracemalloc.start()
    try:
        assert fault(asked.fetch(server.url("/bomb", SITE))) == ("too_large", 200)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_what_is_gzipped_twice_and_said_once_is_an_archive(server: WebServer, fetcher: Make) -> None:
    server.put("/a", Reply(gzip.compress(gzip.compress(b"<p>a")), headers=(("Content-Encoding", "gzip"),)))
    server.put("/b", Reply(gzip.compress(b"<p>b"), headers=(("Content-Encoding", "GZIP"),)))
    assert fault(fetcher().fetch(server.url("/a", SITE))) == ("bad_type", 200)
    assert fetcher().fetch(server.url("/b", SITE)).body == b"<p>b"


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, br", "compress", "gzip"])
def test_codings_that_were_not_asked_for_or_do_not_hold(server: WebServer, fetcher: Make, coding: str) -> None:
    server.put("/a", Reply(b"no such coding", headers=(("Content-Encoding", coding),)))
    assert fault(fetcher().fetch(server.url("/a", SITE))) == ("bad_type", 200)


def test_an_endless_body_is_left(server: WebServer, fetcher: Make) -> None:
    sent = [0]

    def endless(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:
            handler.wfile.write(b"<p>more " * 1000)
            sent[0] += 8000

    server.put_raw("/endless", endless)
    server.put_raw(
        "/away", lambda handler: (handler.wfile.write(b"HTTP/1.1 302 Found\r\nLocation: /page\r\n\r\n"), endless(handler))
    )
    assert fault(fetcher().fetch(server.url("/endless", SITE))) == ("too_large", 200)
    assert fetcher().fetch(server.url("/away", SITE)).body == b"<p>here"  # a redirect's body is not needed
    assert sent[0] < 20_000_000  # what sockets buffer


@pytest.mark.timeout(60, func_only=True)  # bytes come for as long as the connection stands: to wait for their end is to hang
@pytest.mark.parametrize(
    "start", [b"", b"HTTP/1.1 200 OK\r\nX-A: ", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"]
)
def test_a_slow_drip_ends_with_the_time(server: WebServer, fetcher: Make, start: bytes) -> None:
    came, done = threading.Event(), threading.Event()

    def drip(handler: Any) -> None:
        came.set()
        handler.wfile.write(start)
        while not done.wait(0.02):
            handler.wfile.write(b"H")
            handler.wfile.flush()

    server.put_raw("/drip", drip)
    try:
        fetched = fetcher(limits=replace(SMALL, read_s=30, total_s=0.3), respect_robots=False).fetch(server.url("/drip", SITE))
        assert came.wait(30)  # the server may be later than its client's patience
    finally:
        done.set()
    assert fetched.drop_reason == "timeout" and "0.3 s" in fetched.drop_detail
    assert server.targets() == ["/drip"]  # not asked again


def test_silence_ends_with_the_read_timeout(server: WebServer, fetcher: Make) -> None:
    came, done = threading.Event(), threading.Event()
    server.put_raw("/silent", lambda handler: (came.set(), done.wait(30)))
    fetched = fetcher(limits=replace(SMALL, read_s=0.1), respect_robots=False).fetch(server.url("/silent", SITE))
    assert came.wait(30)  # the server may be later than its client's patience
    done.set()
    assert fault(fetched) == ("timeout", None)
    assert server.targets() == ["/silent"]


@pytest.mark.parametrize(
    "headers", [b"X-Long: " + b"a" * 10_000_000 + b"\r\n", b"".join(b"X-%d: a\r\n" % i for i in range(200))]
)
def test_huge_headers_are_left(server: WebServer, fetcher: Make, headers: bytes) -> None:
    server.put_raw("/huge", lambda handler: handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n<p>a"))
    assert fault(fetcher().fetch(server.url("/huge", SITE))) == ("too_large", None)
    assert server.targets().count("/huge") == 1


def test_what_is_not_http_or_breaks_off(server: WebServer, fetcher: Make) -> None:
    server.put_raw("/other", lambda handler: handler.wfile.write(b"SSH-2.0-OpenSSH_9.9\r\n"))
    server.put_raw("/short", lambda handler: handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n<p>a"))
    assert fault(fetcher().fetch(server.url("/other", SITE))) == ("unreachable", None)
    assert fault(fetcher().fetch(server.url("/short", SITE))) == ("unreachable", 200)
    assert server.targets().count("/other") == server.targets().count("/short") == 1


def test_certificates_are_always_verified(server: WebServer, fetcher: Make) -> None:
    """A server that speaks no TLS, asked for over https: not asked again, and never without TLS."""
    url = f"https://{SITE}:{server.port}/page"
    fetched = fetcher(allow_origins=(f"https://{SITE}:{server.port}",), respect_robots=False).fetch(url)
    assert fault(fetched) == ("tls", None)
    assert server.asked == [] and server.connections == 1


# --- redirects --------------------------------------------------------------------------------------------------------


def test_redirects_are_followed_by_hand(server: WebServer, fetcher: Make) -> None:
    server.redirect(f"{SITE}/a", "/b?x=1", 301)
    server.redirect(f"{SITE}/b", server.url("/c d/", OTHER), 307)
    server.put(f"{OTHER}/c%20d/", "there")
    fetched = fetcher().fetch(server.url("/a", SITE))
    assert fetched.body == b"there" and fetched.url == server.url("/a", SITE)
    assert fetched.redirects == (server.url("/b?x=1", SITE), server.url("/c%20d/", OTHER))
    assert fetched.final_url == fetched.redirects[-1]
    assert server.targets(OTHER) == ["/robots.txt", "/c%20d/"]  # each host is asked for its rules


@pytest.mark.parametrize(("charset", "path"), [("utf-8", "/gr%C3%B6%C3%9F%20e"), ("latin-1", "/gr%F6%DF%20e")])
def test_a_location_that_is_not_quoted(server: WebServer, fetcher: Make, charset: str, path: str) -> None:
    answer = "HTTP/1.1 302 Found\r\nLocation:  /größ e \r\n\r\n".encode(charset)
    server.put_raw("/a", lambda handler: handler.wfile.write(answer))
    server.put(path, "there")
    assert fetcher().fetch(server.url("/a", SITE)).body == b"there"


@pytest.mark.parametrize(("redirects", "reason"), [(5, None), (6, "too_many_redirects"), (20, "too_many_redirects")])
def test_five_redirects_and_no_more(server: WebServer, fetcher: Make, redirects: int, reason: str | None) -> None:
    for i in range(redirects):
        server.redirect(f"/{i}", f"/{i + 1}")
    server.put(f"/{redirects}", "there")
    fetched = fetcher().fetch(server.url("/0", SITE))
    assert fault(fetched)[0] == reason
    assert len(fetched.redirects) == 5 and len(server.targets()) == 7


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://127.0.0.1/", "host_rule"),
        ("http://169.254.169.254/latest/meta-data/", "host_rule"),
        ("http://0x7f.1/", "host_rule"),
        ("http://localhost/", "host_rule"),
        ("http://site.org:22/", "port"),
        ("file:///etc/passwd", "scheme"),
        ("javascript:alert(1)", "scheme"),
        ("http://me:secret@site.org/", "host_rule"),
        ("//[::1]/", "host_rule"),
        ("http://[", "host_rule"),
        ("\\\\127.0.0.1\\", "host_rule"),
        ("http://inner.site.net/", "ip_blocked"),
        ("http://mixed.site.net/", "ip_blocked"),
        ("http://unknown.site.net/", "dns"),
    ],
)
def test_redirects_lead_nowhere_that_is_not_admitted(server: WebServer, fetcher: Make, location: str, reason: str) -> None:
    names = Names(
        {
            "inner.site.net": [["169.254.169.254"]],
            "mixed.site.net": [["8.8.8.8", "127.0.0.1"]],
            "unknown.site.net": [[]],
            "site.org": [["127.0.0.1"]],
        }
    )
    server.redirect("/a", location)
    fetched = fetcher(SITE, resolve=names).fetch(server.url("/a", SITE))
    assert fetched.drop_reason == reason
    assert server.targets() == ["/robots.txt", "/a"]


def test_the_public_web_does_not_lead_into_exempt_origins(server: WebServer, fetcher: Make) -> None:
    """An exempt origin may lead to another; a site that is not exempt may not. The proxy stands for the public web."""
    server.redirect(f"http://{SITE}/a", server.url("/page", OTHER))
    server.redirect(f"{SITE}/a", server.url("/page", OTHER))
    outside = fetcher(OTHER, proxy=server.origin()).fetch(f"http://{SITE}/a")
    assert fault(outside)[0] == "ip_blocked" and outside.flags == ("proxied",)
    assert server.targets(OTHER) == []
    assert fetcher().fetch(server.url("/a", SITE)).body == b"<p>here"


def test_a_redirect_from_https_to_http_is_flagged(server: WebServer, fetcher: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    import requests

    real = requests.Session.get

    def over_tls(self: requests.Session, url: str, **more: Any) -> requests.Response:
        """What a TLS server of that name would answer; its certificate cannot be had on loopback."""
        return real(self, url.replace("https://secure.", "http://secure.", 1), **more)

    monkeypatch.setattr(requests.Session, "get", over_tls)
    server.redirect("secure.site.org/a", server.url("/page", SITE))
    secure = f"https://secure.site.org:{server.port}"
    allowed = (secure, server.origin("secure.site.org"), server.origin(SITE))
    fetched = fetcher(allow_origins=allowed).fetch(f"{secure}/a")
    assert fetched.body == b"<p>here" and fetched.flags == ("downgraded",)
    assert fetcher().fetch(server.url("/page", SITE)).flags == ()


# --- robots.txt -------------------------------------------------------------------------------------------------------


def put_robots(server: WebServer, text: str, host: str = SITE) -> None:
    server.put(f"{host}/robots.txt", Reply(text, content_type="text/plain"))


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


# --- conditions -------------------------------------------------------------------------------------------------------


def test_a_stored_body_that_still_holds(server: WebServer, fetcher: Make) -> None:
    def route(asked: Asked) -> Reply:
        same = asked.headers.get("If-None-Match") == '"v1"' or asked.headers.get("If-Modified-Since") == "then"
        return (
            Reply("", 304, content_type="", headers=(("ETag", '"v1"'),)) if same else Reply("new", headers=(("ETag", '"v2"'),))
        )

    server.put("/a", route)
    asked, url = fetcher(), server.url("/a", SITE)
    for given in ({"etag": '"v1"'}, {"last_modified": "then"}):
        kept = asked.fetch(url, **given)
        assert (kept.not_modified, kept.body, kept.status, kept.etag, kept.drop_reason) == (True, b"", 304, '"v1"', None)
    changed = asked.fetch(url, etag='"v0"')
    assert (changed.not_modified, changed.body, changed.etag) == (False, b"new", '"v2"')
    ((place, kept),) = asked.fetch_all([url], validators={url: ('"v1"', "")})
    assert place == 0 and kept.not_modified


# --- many pages -------------------------------------------------------------------------------------------------------


def test_records_come_as_they_are_done_and_can_be_put_in_order(server: WebServer, fetcher: Make) -> None:
    hosts = [f"h{i}.site.org" for i in range(6)]
    release = threading.Event()

    def first(asked: Asked) -> Reply:
        assert release.wait(5)
        return Reply("first")

    def last(asked: Asked) -> Reply:
        release.set()
        return Reply("last")

    server.put(f"{hosts[0]}/0", first)
    server.put(f"{hosts[5]}/9", last)
    for host in hosts:
        for i in range(1, 4):
            server.put(f"{host}/{i}", f"{host} {i}")
    urls = [server.url(f"/{i}", host) for i in range(4) for host in hosts] + [server.url("/9", hosts[5]), "http://localhost/"]
    came = list(fetcher(*hosts, min_delay_s=0).fetch_all(urls))
    found = list(in_order(iter(came)))
    assert [f.url for f in found] == urls
    assert found[0].body == b"first" and found[-2].body == b"last" and found[-1].drop_reason == "host_rule"
    assert found[7].body == b"h1.site.org 1"
    places = [place for place, _ in came]
    assert sorted(places) == list(range(len(urls))) and places[0] == len(urls) - 1  # what is not asked for is there first
    assert places.index(0) > places.index(23)  # h5 /3, asked before what lets the first page go on
    assert all(server.targets(host).count("/robots.txt") == 1 for host in hosts)
    assert server.connections == len(hosts)  # one each, kept alive through the guard
    assert list(fetcher().fetch_all([])) == []


def test_a_host_is_asked_for_one_page_at_a_time(server: WebServer, fetcher: Make) -> None:
    now, most, lock = [0], [0], threading.Lock()

    def route(asked: Asked) -> Reply:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)
        with lock:
            now[0] -= 1
        return Reply("here")

    server.put(f"{SITE}/p", route)
    for i in range(3):
        server.redirect(f"{OTHER}/{i}", server.url("/p", SITE))
    clock = QuickClock()
    urls = [server.url(path, host) for i in range(3) for path, host in (("/p", SITE), (f"/{i}", OTHER))]
    assert all(found.body == b"here" for _, found in fetcher(clock=clock).fetch_all(urls))
    assert most[0] == 1 and len(server.targets(SITE)) == 7
    assert sum(clock.slept) > 5


def test_the_budget_of_pages_goes_by_order(server: WebServer, fetcher: Make) -> None:
    asked = fetcher(max_pages=2)
    urls = ["ftp://a.org", server.url("/page", SITE), server.url("/page?b", SITE), server.url("/page?c", SITE)]
    assert [found.drop_reason for found in in_order(asked.fetch_all(urls))] == ["scheme", None, None, "budget"]
    assert asked.fetch(urls[1]).drop_reason == "budget"  # it is the run's, not the call's
    assert server.targets() == ["/robots.txt", "/page", "/page?b"]


def test_the_budget_of_time(server: WebServer, fetcher: Make) -> None:
    clock = QuickClock()
    urls = [server.url(f"/page?{i}", SITE) for i in range(10)]
    found = list(in_order(fetcher(total_s=4.5, clock=clock).fetch_all(urls)))
    assert [f.drop_reason for f in found] == [None] * 4 + ["budget"] * 6
    assert clock.slept == [1.0] * 4


def test_a_caller_that_has_enough_stops_the_rest(server: WebServer, fetcher: Make) -> None:
    going_on = threading.Event()

    def route(asked: Asked) -> Reply:
        assert going_on.wait(5)
        return Reply("here")

    server.put("/slow", route)
    records = fetcher(min_delay_s=0).fetch_all(
        [server.url("/page", SITE)] + [server.url(f"/slow?{i}", SITE) for i in range(20)]
    )
    assert next(records)[1].body == b"<p>here"
    threading.Timer(0.05, going_on.set).start()
    records.close()  # type: ignore[attr-defined]
    assert len(server.targets()) <= 3


# --- the archive ------------------------------------------------------------------------------------------------------


def put_capture(server: WebServer, url: str, timestamp: str = "20240507080910", **more: object) -> None:
    closest = {"available": True, "status": "200", "timestamp": timestamp, "url": "http://elsewhere.org/"} | more
    server.put("archive.org/wayback/available", Reply(json.dumps({"url": url, "archived_snapshots": {"closest": closest}})))


def with_archive(server: WebServer, fetcher: Make, **more: Any) -> Fetcher:
    services = Archive(availability=server.origin("archive.org"), captures=server.origin("web.archive.org"))
    return fetcher(SITE, "archive.org", "web.archive.org", services=services, archive=True, **more)


def test_a_page_that_is_gone_is_read_in_the_archive(server: WebServer, fetcher: Make) -> None:
    url = server.url("/gone?a=1&b=2", SITE)
    put_capture(server, url)
    capture = f"/web/20240507080910id_/{server.url('/gone', SITE)}"
    server.redirect(f"web.archive.org{capture}", "/web/20240507080911id_/x")
    server.put("web.archive.org/web/20240507080911id_/x", Reply("<p>then", content_type="text/html"))
    clock = QuickClock()
    fetched = with_archive(server, fetcher, clock=clock, min_delay_s=0).fetch(url)
    assert fetched.body == b"<p>then" and fault(fetched) == (None, 200)
    assert (fetched.url, fetched.final_url, fetched.redirects) == (url, url, ())
    assert fetched.archive_url == f"{server.origin('web.archive.org')}/web/20240507080910/{url}"
    assert fetched.archive_date == "2024-05-07"
    question = f"/wayback/available?url=http%3A%2F%2Fsite.org%3A{server.port}%2Fgone%3Fa%3D1%26b%3D2"
    assert server.targets() == ["/robots.txt", "/gone?a=1&b=2", question, f"{capture}?a=1&b=2", "/web/20240507080911id_/x"]
    assert clock.slept == [1.0]  # between two requests to the archive, whatever min_delay_s is


def test_the_archive_is_asked_for_the_day_and_for_nothing_later(server: WebServer, fetcher: Make) -> None:
    url = server.url("/gone", SITE)
    for timestamp, reason in (("20240507080910", None), ("20240508000000", "http_4xx")):
        put_capture(server, url, timestamp)
        server.put(f"web.archive.org/web/{timestamp}id_/{url}", "<p>then")
        assert with_archive(server, fetcher, as_of="2024-05-07").fetch(url).drop_reason == reason
        assert server.targets("archive.org")[-1].endswith("&timestamp=20240507")


@pytest.mark.parametrize(
    "answer",
    [
        Reply('{"archived_snapshots": {}}'),
        Reply('{"archived_snapshots": {"closest": {"available": false, "status": "200", "timestamp": "20240507080910"}}}'),
        Reply('{"archived_snapshots": {"closest": {"available": true, "status": "404", "timestamp": "20240507080910"}}}'),
        Reply('{"archived_snapshots": {"closest": {"available": true, "status": "200", "timestamp": "2024/../../x"}}}'),
        Reply('{"archived_snapshots": []}'),
        Reply("[" * 100_000),
        Reply("<p>busy"),
        Reply("", 500),
        Reply("", status=302, headers=(("Location", "http://127.0.0.1/"),)),
    ],
)
def test_without_a_capture_the_page_stays_gone(server: WebServer, fetcher: Make, answer: Reply) -> None:
    server.put("archive.org/wayback/available", answer)
    fetched = with_archive(server, fetcher).fetch(server.url("/gone", SITE))
    assert fault(fetched) == ("http_4xx", 404) and "archive" in fetched.drop_detail
    assert not fetched.archive_url and server.targets("web.archive.org") == []


def test_a_capture_stays_in_the_archive(server: WebServer, fetcher: Make) -> None:
    url = server.url("/gone", SITE)
    put_capture(server, url)
    server.redirect(f"web.archive.org/web/20240507080910id_/{url}", server.url("/page", SITE))
    assert fault(with_archive(server, fetcher).fetch(url)) == ("http_4xx", 404)
    assert "/page" not in server.targets()


@pytest.mark.parametrize("status", [401, 403, 429, 451, 500])
def test_the_archive_is_not_asked_for_what_is_refused(server: WebServer, fetcher: Make, status: int) -> None:
    server.put("/refused", Reply("", status))
    put_robots(server, "User-agent: *\nDisallow: /gone")
    asked = with_archive(server, fetcher)
    assert asked.fetch(server.url("/gone", SITE)).drop_reason == "robots"
    assert asked.fetch(server.url("/refused", SITE)).status == status
    assert fetcher().fetch(server.url("/lost", SITE)).status == 404  # nor where nobody wants it
    assert server.targets("archive.org") == []
