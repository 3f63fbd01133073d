"""A small web on loopback, and fetchers that may ask it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from data.settings import WebSettings
from tests.pipeline.web.made_fetchers import OTHER, SITE, SMALL, Make, OnePageFetcher
from tests.web_server import Names, QuickClock, WebServer, serving


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving() as server:
        server.put("/page", "<p>here")
        yield server


@pytest.fixture
def fetcher(server: WebServer) -> Iterator[Make]:
    """Makes fetchers that may ask the server as SITE and OTHER. Settings by name; `limits`, `clock` and the like too."""
    made: list[OnePageFetcher] = []

    def make(*hosts: str, **more: Any) -> OnePageFetcher:
        given = {name: more.pop(name) for name in list(more) if name in WebSettings.__dataclass_fields__}
        origins = tuple(server.origin(host) for host in hosts or (SITE, OTHER))
        settings = WebSettings(**({"allow_origins": origins} | given))
        more["archive"] = more.pop("services", None)
        made.append(OnePageFetcher(settings, **({"resolve": Names(), "clock": QuickClock(), "limits": SMALL} | more)))
        return made[-1]

    yield make
    for fetcher in made:
        fetcher.close()
