"""Fetchers and live evidence on loopback, as several tests have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pipeline.web.cache import PageCache
from pipeline.web.fetched import Fetched
from pipeline.web.fetching import Fetcher, Limits
from pipeline.web.live import LiveEvidence
from tests.sample_site import StoppedClock, make_fetcher, web_settings
from tests.search_server import Found
from tests.web_server import Reply, WebServer

SITE, OTHER = "site.org", "other.site.net"
SMALL = Limits(connect_s=1, read_s=2, total_s=3, html_bytes=50_000, pdf_bytes=200_000)


class OnePageFetcher(Fetcher):
    """With a call for one page, as no run asks."""

    def fetch(self, url: str, *, etag: str = "", last_modified: str = "") -> Fetched:
        validators = {url: (etag, last_modified)} if etag or last_modified else None
        ((_, found),) = self.fetch_all([url], validators=validators)
        return found


Make = Callable[..., OnePageFetcher]


def in_order(records: Iterable[tuple[int, Fetched]]) -> list[Fetched]:
    found = sorted(records, key=lambda record: record[0])
    assert [place for place, _ in found] == list(range(len(found)))
    return [fetched for _, fetched in found]


def fault(fetched: Fetched) -> tuple[str | None, int | None]:
    assert not fetched.drop_reason or (fetched.drop_detail and not fetched.body)
    return fetched.drop_reason, fetched.status


def put_robots(server: WebServer, text: str, host: str = SITE) -> None:
    server.put(f"{host}/robots.txt", Reply(text, content_type="text/plain"))


def live(root: Path, server: WebServer, found: list[Found], **more: Any) -> LiveEvidence:
    settings = web_settings(server, found, **more.pop("settings", {}))
    given: dict[str, Any] = {"cache": PageCache(root / "cache"), "clock": StoppedClock(), "fetcher": make_fetcher()}
    return LiveEvidence(settings, **(given | more))
