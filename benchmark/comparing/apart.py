"""How many pairs of systems does a measure separate?

A measure that separates no two of nine systems cannot rank them, however well it is defined. Pairs are compared over the
topics that both have, by a sign-flip test, as `eval.aggregate.paired` does. The pairs of a single measure are adjusted by Holm;
the headline is one family of all pairs and all its metrics, and separates a pair when one of its metrics does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from eval.aggregate import holm

Pair = tuple[str, str]
Rows = Mapping[str, Mapping[str, float | None]]
"""Values by metric, by topic."""


@dataclass(frozen=True, slots=True)
class Apart:
    """The pairs that are separated, of `n_pairs`: by the headline, and by each measure alone."""

    n_pairs: int = 0
    headline: tuple[Pair, ...] = ()
    measures: Mapping[str, tuple[Pair, ...]] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The single measure that separates most pairs, the first of several; empty where nothing was measured."""
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

    A pair that shares no scored topic in a metric is not separated by it. Under Holm the smallest p counts once for each test
    of its family, so `resamples` must exceed their number divided by `level`.
    """
    pairs = list(combinations(rows, 2))
    found = _ps(rows, pairs, tuple(dict.fromkeys((*measures, *headline))), seed, resamples)

    def clear(names: Sequence[str]) -> tuple[Pair, ...]:
        tests = [(pair, name) for name in names for pair in pairs if (pair, name) in found]
        adjusted = holm([found[test] for test in tests])
        told = {pair for (pair, _), p in zip(tests, adjusted, strict=True) if p <= level}
        return tuple(pair for pair in pairs if pair in told)

    return Apart(len(pairs), clear(tuple(dict.fromkeys(headline))), {name: clear((name,)) for name in measures})


def _ps(
    rows: Mapping[str, Rows], pairs: Sequence[Pair], metrics: Sequence[str], seed: int, resamples: int
) -> dict[tuple[Pair, str], float]:
    """Two-sided p of each pair and metric that share a scored topic. Tests over the same topics see the same flips, so that one
    product of matrices answers them all; one by one, nine systems on sixty topics take thirty times as long."""
    by_topics: dict[tuple[str, ...], list[tuple[Pair, str]]] = {}
    for a, b in pairs:
        shared = sorted(rows[a].keys() & rows[b].keys())
        for name in metrics:
            topics = tuple(t for t in shared if rows[a][t].get(name) is not None and rows[b][t].get(name) is not None)
            if topics:
                by_topics.setdefault(topics, []).append(((a, b), name))
    found: dict[tuple[Pair, str], float] = {}
    for topics, tests in by_topics.items():
        differences = [[_value(rows[a], t, name) - _value(rows[b], t, name) for (a, b), name in tests] for t in topics]
        found |= dict(zip(tests, _flipped(differences, seed, resamples), strict=True))
    return found


def _value(rows: Rows, topic: str, metric: str) -> float:
    value = rows[topic][metric]
    assert value is not None
    return value


def _flipped(differences: Sequence[Sequence[float]], seed: int, resamples: int) -> list[float]:
    """p of each column over random signs of the rows, the observed signs counted in."""
    import numpy as np

    given = np.asarray(differences, dtype=np.float64)
    observed = np.abs(given.sum(axis=0))
    as_extreme = np.zeros(given.shape[1], dtype=np.int64)
    generator = np.random.default_rng([seed, len(given)])
    for start in range(0, resamples, _BLOCK):
        size = min(_BLOCK, resamples - start)
        signs = generator.integers(0, 2, size=(size, len(given)), dtype=np.int8) * 2.0 - 1.0
        as_extreme += (np.abs(signs @ given) >= observed - 1e-9).sum(axis=0)
    return [float(p) for p in (as_extreme + 1) / (resamples + 1)]


_BLOCK = 1_000
"""Flips at a time: the products of all tests then fit in a few megabytes."""
