"""Fetching against a web on loopback: what becomes of each kind of answer, and how hosts are treated on the way."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from data.errors import UserError
from pipeline.web.archive import Archive
from pipeline.web.fetched import Fetched
from pipeline.web.fetching import Fetcher, Limits, default_user_agent
from tests.pipeline.web.made_fetchers import OTHER, SITE, Make, fault, in_order, put_robots
from tests.web_server import Asked, QuickClock, Reply, WebServer

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
    found = in_order(came)
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
    found = in_order(fetcher(total_s=4.5, clock=clock).fetch_all(urls))
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
