"""How many pairs of systems does a measure tell apart?

A measure that separates no two of nine systems cannot rank them, however well it is defined. Pairs are compared over the
topics that both have, by the sign-flip test of `eval.aggregate.paired`. The pairs of a single measure are adjusted by Holm; the
headline is one family of all pairs and all its metrics, and tells a pair apart when one of its metrics does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from eval.aggregate import holm, paired

Pair = tuple[str, str]
Rows = Mapping[str, Mapping[str, float | None]]
"""Values by metric, by topic."""


@dataclass(frozen=True, slots=True)
class Apart:
    """The pairs that are told apart, of `n_pairs`: by the headline, and by each measure alone."""

    n_pairs: int = 0
    headline: tuple[Pair, ...] = ()
    measures: Mapping[str, tuple[Pair, ...]] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The single measure that tells most pairs apart, the first of several; empty where nothing was measured."""
        return max(self.measures, key=lambda name: len(self.measures[name]), default="")


def told_apart(
    rows: Mapping[str, Rows],
    measures: Sequence[str],
    headline: Sequence[str],
    *,
    seed: int = 0,
    level: float = 0.05,
    resamples: int = 10_000,
) -> Apart:
    """`rows` holds for each system its values by topic; `measures` and `headline` name metrics.

    A pair that shares no scored topic in a metric is not told apart by it. Under Holm the smallest p counts once for each test
    of its family, so `resamples` must exceed their number divided by `level`.
    """
    pairs = list(combinations(rows, 2))
    found = {
        (pair, name): p
        for name in dict.fromkeys((*measures, *headline))
        for pair in pairs
        if (p := _p(rows[pair[0]], rows[pair[1]], name, seed, resamples)) is not None
    }

    def clear(names: Sequence[str]) -> tuple[Pair, ...]:
        tests = [(pair, name) for name in names for pair in pairs if (pair, name) in found]
        adjusted = holm([found[test] for test in tests])
        told = {pair for (pair, _), p in zip(tests, adjusted, strict=True) if p <= level}
        return tuple(pair for pair in pairs if pair in told)

    return Apart(len(pairs), clear(tuple(dict.fromkeys(headline))), {name: clear((name,)) for name in measures})


def _p(a: Rows, b: Rows, metric: str, seed: int, resamples: int) -> float | None:
    both = [(a[topic].get(metric), b[topic].get(metric)) for topic in sorted(a.keys() & b.keys())]
    if not any(x is not None and y is not None for x, y in both):
        return None
    return paired([x for x, _ in both], [y for _, y in both], seed, name=metric, resamples=resamples).p
