"""All queries of one round to a provider, and the log of it that a run's manifest keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from data.types import DropReason, Strict
from pipeline.web.addresses import Refused, admit
from pipeline.web.search.chain import ProviderChain, ProviderSwitch, QueryAnswer, SearchFailure
from pipeline.web.search.merging import merge
from pipeline.web.search.provider import Provider, SearchHit, plain_query


@dataclass(frozen=True, slots=True)
class RefusedHit(Strict):
    """A result whose address may not be asked, so that no page was fetched for it."""

    hit: SearchHit
    reason: DropReason
    detail: str


@dataclass(frozen=True, slots=True)
class SearchLog(Strict):
    """`hits` are the addresses to fetch, best first, merged from `answers`, which hold what each query brought."""

    hits: tuple[SearchHit, ...]
    refused: tuple[RefusedHit, ...]
    answers: tuple[QueryAnswer, ...]
    failures: tuple[SearchFailure, ...]
    switches: tuple[ProviderSwitch, ...]

    @property
    def failed(self) -> bool:
        """Whether no query at all was answered; an empty answer is one."""
        return bool(self.answers) and not any(answer.provider for answer in self.answers)

    def describe(self) -> str:
        """One line for a person: queries and results, and the first failure."""
        told = f"{len(self.answers)} queries found {len(self.hits)} addresses"
        if self.refused:
            told += f", {len(self.refused)} more are refused"
        if self.failures:
            told += f"; {len(self.failures)} failures, the first: {self.failures[0].reason}"
        return told


def search_all(
    provider: Provider,
    queries: Iterable[str],
    *,
    max_results: int,
    since: date | None = None,
    until: date | None = None,
    language: str | None = None,
    allow_origins: frozenset[str] = frozenset(),
) -> SearchLog:
    """Ask every query once, in order. A query that fails is in the log and stops nothing.

    `allow_origins` as in `addresses.admit`.
    """
    chain = provider if isinstance(provider, ProviderChain) else ProviderChain([provider])
    plain = dict.fromkeys(query for query in map(plain_query, queries) if query)
    asked = [chain.ask(query, max_results=max_results, since=since, until=until, language=language) for query in plain]
    answers, refused = _admitted([one.answer for one in asked], allow_origins)
    return SearchLog(
        hits=merge([answer.hits for answer in answers]),
        refused=refused,
        answers=answers,
        failures=tuple(failure for one in asked for failure in one.failures),
        switches=tuple(switch for one in asked for switch in one.switches),
    )


def join(logs: Sequence[SearchLog]) -> SearchLog:
    """The log of several rounds; their lists are merged as if they had been one."""
    answers = tuple(answer for log in logs for answer in log.answers)
    refused = {one.hit.url: one for log in reversed(logs) for one in reversed(log.refused)}
    return SearchLog(
        hits=merge([answer.hits for answer in answers]),
        refused=tuple(reversed(refused.values())),
        answers=answers,
        failures=tuple(failure for log in logs for failure in log.failures),
        switches=tuple(switch for log in logs for switch in log.switches),
    )


def _admitted(
    answers: Sequence[QueryAnswer], allow_origins: frozenset[str]
) -> tuple[tuple[QueryAnswer, ...], tuple[RefusedHit, ...]]:
    """The answers without addresses that may not be asked, and those with the reason, each once."""
    refused: dict[str, RefusedHit] = {}

    def admitted(hit: SearchHit) -> bool:
        try:
            admit(hit.url, allow_origins=allow_origins)
        except Refused as why:
            refused.setdefault(hit.url, RefusedHit(hit, why.reason, why.detail))
            return False
        return True

    kept = tuple(replace(answer, hits=tuple(filter(admitted, answer.hits))) for answer in answers)
    return kept, tuple(refused.values())
