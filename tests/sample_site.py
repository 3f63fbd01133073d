"""The pages of a sample event as live ones: each on its own host of a `tests.web_server`, at its own path."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from data.settings import WebSettings
from data.snapshot import SAMPLE
from pipeline.web.fetching import Fetcher, Limits
from tests.search_server import Found
from tests.web_server import Asked, Names, Reply, Route, WebServer

EVENT = "9000002"
TITLE = "2032 Halvenport mayoral election"


class StoppedClock:
    """Sleeping takes no time, and it is always the same moment, after all that the sample tells of."""

    def __init__(self, now: datetime = datetime(2034, 1, 1, 12, tzinfo=UTC)) -> None:
        self.moment = now

    def monotonic(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None: ...

    def now(self) -> datetime:
        return self.moment


def put_sample(server: WebServer, *, etag: str = "", delay: Callable[[], float] | None = None) -> list[Found]:
    """Serve all pages of the event; what a search engine would give for them, best first."""
    found = []
    for item in json.loads((SAMPLE / "google" / f"{EVENT}.json").read_text(encoding="utf-8")):
        parts = urlsplit(item["link"])
        body = (SAMPLE / item["html"]).read_bytes()
        host = str(parts.hostname)
        server.put(f"{host}{parts.path}", _route(body, etag, delay))
        url = server.url(parts.path, host) + (f"?{parts.query}" if parts.query else "")
        found.append(Found(url, item["title"]))
    return found


def _route(body: bytes, etag: str, delay: Callable[[], float] | None) -> Route:
    headers = (("ETag", etag),) if etag else ()

    def answer(asked: Asked) -> Reply:
        if delay is not None:
            time.sleep(delay())
        if etag and asked.headers.get("If-None-Match") == etag:
            return Reply(status=304, headers=headers)
        return Reply(body, headers=headers)

    return answer


def random_delay(seed: int, most_s: float = 0.1) -> Callable[[], float]:
    chance = random.Random(seed)
    return lambda: chance.uniform(0, most_s)


def web_settings(server: WebServer, found: list[Found], **more: Any) -> WebSettings:
    """Settings that may ask the hosts of these pages."""
    origins = {server.origin(str(urlsplit(one.url).hostname)) for one in found}
    given = {"min_delay_s": 0.0, "allow_origins": tuple(sorted(origins | {server.origin()}))}
    return WebSettings(**(given | more))


def make_fetcher(clock: StoppedClock | None = None) -> Callable[[WebSettings], Fetcher]:
    """Names lead to loopback; requests wait for nothing."""
    limits = Limits(connect_s=1, read_s=3, total_s=5, retries=0)
    return lambda settings: Fetcher(settings, resolve=Names(), clock=clock or StoppedClock(), limits=limits)
