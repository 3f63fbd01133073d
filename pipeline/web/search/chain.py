"""Several providers as one: the first that answers is used, and every change from one to the next is recorded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

from data.types import Strict
from pipeline.web.pacing import Clock, SystemClock
from pipeline.web.search.provider import Provider, SearchFailed, SearchHit

logger = logging.getLogger(__name__)

MOST_WAIT_S = 10.0
"""A provider that asks to wait longer is not asked again for this query."""
PAUSE_S = 1.0
"""Before the second try, where the provider does not say how long."""
MOST_FAILURES = 3
"""The last provider is given up after so many failed queries in a row; others as soon as the next can take over."""


@dataclass(frozen=True, slots=True)
class SearchFailure(Strict):
    """A query that a provider did not answer, after a second try where that made sense."""

    query: str
    provider: str
    reason: str


@dataclass(frozen=True, slots=True)
class ProviderSwitch(Strict):
    """From this query on, `after` is asked in place of `before`."""

    query: str
    before: str
    after: str
    reason: str


@dataclass(frozen=True, slots=True)
class QueryAnswer(Strict):
    """What one query brought: `provider` is who answered, "" if nobody did; no hits are an answer too."""

    query: str
    provider: str
    hits: tuple[SearchHit, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer and how it came about."""

    answer: QueryAnswer
    failures: tuple[SearchFailure, ...]
    switches: tuple[ProviderSwitch, ...]


class ProviderChain:
    """Asks its providers in order, one request at a time to each and `min_delay_s` apart. Not for several threads.

    429, 5xx and broken connections are tried once more, then the next provider takes over, for good.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        *,
        min_delay_s: float = 1.0,
        clock: Clock | None = None,
    ) -> None:
        self.providers = tuple(providers)
        self._min_delay_s = min_delay_s
        self._clock: Clock = clock or SystemClock()
        self._failed_in_a_row = [0] * len(self.providers)
        self._earliest = [self._clock.monotonic()] * len(self.providers)

    @property
    def name(self) -> str:
        return ",".join(provider.name for provider in self.providers)

    def search(
        self, query: str, *, max_results: int, since: date | None = None, until: date | None = None, language: str | None = None
    ) -> list[SearchHit]:
        """As `Provider.search`, of the first provider that answers."""
        asked = self.ask(query, max_results=max_results, since=since, until=until, language=language)
        if not asked.answer.provider:
            raise SearchFailed("; ".join(failure.reason for failure in asked.failures))
        return list(asked.answer.hits)

    def ask(
        self, query: str, *, max_results: int, since: date | None = None, until: date | None = None, language: str | None = None
    ) -> Asked:
        """Never raises SearchFailed: what went wrong is in the result."""
        failures: list[SearchFailure] = []
        switches: list[ProviderSwitch] = []
        in_use = self._in_use()
        for at, i in enumerate(in_use):
            provider = self.providers[i]
            try:
                search = partial(provider.search, query, max_results=max_results, since=since, until=until, language=language)
                hits = self._try_twice(i, search)
            except SearchFailed as error:
                self._failed_in_a_row[i] += 1
                failures.append(SearchFailure(query, provider.name, error.reason))
                for after in in_use[at + 1 : at + 2]:
                    switches.append(ProviderSwitch(query, provider.name, self.providers[after].name, error.reason))
                    logger.warning("search: from %s to %s (%s)", provider.name, self.providers[after].name, error.reason)
                continue
            self._failed_in_a_row[i] = 0
            return Asked(QueryAnswer(query, provider.name, tuple(hits)), tuple(failures), tuple(switches))
        if not in_use:
            failures.append(SearchFailure(query, self.name, "not asked: too many queries before this one failed"))
        return Asked(QueryAnswer(query, "", ()), tuple(failures), tuple(switches))

    def _in_use(self) -> list[int]:
        """Providers that have not failed yet; when all have, the last one until it has failed too often."""
        sound = [i for i, n in enumerate(self._failed_in_a_row) if n == 0]
        last = len(self.providers) - 1
        return sound or [i for i in (last,) if i >= 0 and self._failed_in_a_row[i] < MOST_FAILURES]

    def _try_twice(self, i: int, search: Callable[[], list[SearchHit]]) -> list[SearchHit]:
        self._wait_for_turn(i)
        try:
            return search()
        except SearchFailed as error:
            asked = error.retry_after_s
            if not error.passing or (asked is not None and asked > MOST_WAIT_S):
                raise
            logger.warning("search: %s; trying once more", error.reason)
            self._clock.sleep(PAUSE_S if asked is None else asked)
        self._wait_for_turn(i)
        return search()

    def _wait_for_turn(self, i: int) -> None:
        now = self._clock.monotonic()
        if (wait := self._earliest[i] - now) > 0:
            self._clock.sleep(wait)
        self._earliest[i] = max(now, self._earliest[i]) + self._min_delay_s
