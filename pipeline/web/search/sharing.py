"""One search service for several events at once: asked by one at a time, as far apart as if there were one."""

from __future__ import annotations

import threading
from datetime import date

from pipeline.web.pacing import Clock, SystemClock
from pipeline.web.search.provider import Provider, SearchHit


class SharedProvider:
    """Implements `Provider` for several threads: requests start `min_delay_s` apart or more, none before the last has ended."""

    def __init__(self, provider: Provider, *, min_delay_s: float = 1.0, clock: Clock | None = None) -> None:
        self._provider = provider
        self._min_delay_s = min_delay_s
        self._clock: Clock = clock or SystemClock()
        self._earliest = self._clock.monotonic()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._provider.name

    def search(
        self, query: str, *, max_results: int, since: date | None = None, until: date | None = None, language: str | None = None
    ) -> list[SearchHit]:
        with self._lock:
            if (wait := self._earliest - self._clock.monotonic()) > 0:
                self._clock.sleep(wait)
            self._earliest = self._clock.monotonic() + self._min_delay_s
            return self._provider.search(query, max_results=max_results, since=since, until=until, language=language)
