"""Fetching answers that are made to harm, and redirects that lead where nothing may be asked."""

from __future__ import annotations

import gzip
import threading
import tracemalloc
import zlib
from dataclasses import replace
from typing import Any

import pytest

from tests.pipeline.web.made_fetchers import OTHER, SITE, SMALL, Make, fault
from tests.web_server import Names, Reply, WebServer

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
