"""From values per event to estimates per system, and whether two systems differ.

The unit of resampling is the event. Sentences of one event share its pages, so they are never pooled across events.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from data.scores import Estimate
from data.types import Strict

if TYPE_CHECKING:
    import numpy as np

_INTERVAL = (2.5, 97.5)
_Z_TEST, _Z_POWER = NormalDist().inv_cdf(0.975), NormalDist().inv_cdf(0.80)
_BLOCK = 1_000  # resamples drawn at a time: the draws of 300 events then fit in a few megabytes


@dataclass(frozen=True, slots=True)
class PairedDifference(Strict):
    """Mean of a - b over the `n` events that both scored, its 95% interval, and a two-sided p for "no difference".

    `sd` is the standard deviation of the differences, 0 for a single event.
    """

    mean: float
    low: float
    high: float
    p: float
    n: int
    sd: float = 0.0

    @property
    def detectable(self) -> float | None:
        """The smallest true difference that a two-sided test at 5% finds in 80% of such samples of events; None for fewer
        than two, or when all differ by the same. Normal approximation, (z.975 + z.80) sd / sqrt(n)."""
        return (_Z_TEST + _Z_POWER) * self.sd / math.sqrt(self.n) if self.n > 1 and self.sd else None


@dataclass(frozen=True, slots=True)
class EventDifference:
    """a - b on one event: `values` by metric, None where one side is unscored; `distance` is the mean of their sizes."""

    event_id: str
    statuses: tuple[str, str]
    values: dict[str, float | None]
    distance: float


def estimate(
    values: Sequence[float | None], *, name: str = "", n_failed: int = 0, seed: int = 0, resamples: int = 10_000
) -> Estimate:
    """Mean over events with a 95% percentile bootstrap interval (Efron and Tibshirani 1993).

    `values` holds one value per event in id order: None where unscored, and 0 already put in for failed events where
    higher is better, so that a failure lowers the mean; `n_failed` only reports them. The draws depend on (seed, name)
    alone, so neither the order of metrics nor other systems move an interval.
    Raises ValueError when no event is scored: an unknown mean is not 0.
    """
    scored = [value for value in values if value is not None]
    if not scored:
        raise ValueError(f"no event has a value of {name or 'this metric'}, so it has no mean")
    mean, low, high = _bootstrap(scored, _generator(seed, name), resamples)
    return Estimate(mean=mean, low=low, high=high, n=len(scored), n_failed=n_failed, n_unscored=len(values) - len(scored))


def estimates(
    rows: Sequence[Mapping[str, float | None]], names: Iterable[str], *, n_failed: int, seed: int, resamples: int
) -> dict[str, Estimate]:
    """`estimate` of each of these metrics over rows in id order. A metric that no row has a value of is left out."""
    values = {name: [row.get(name) for row in rows] for name in names}
    return {
        name: estimate(of, name=name, n_failed=n_failed, seed=seed, resamples=resamples)
        for name, of in values.items()
        if any(value is not None for value in of)
    }


def paired(
    a: Sequence[float | None],
    b: Sequence[float | None],
    seed: int = 0,
    *,
    name: str = "",
    resamples: int = 10_000,
) -> PairedDifference:
    """Difference a - b of two systems on the same events in the same order.

    The interval is a paired bootstrap (Koehn 2004), p a sign-flip permutation test with the observed labelling counted
    in, so it is never 0. Events that one side leaves unscored are left out. Raises ValueError when none remains.
    """
    import numpy as np

    differences = [x - y for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    if not differences:
        raise ValueError("the two systems share no scored event, so there is nothing to compare")
    generator = _generator(seed, name)
    mean, low, high = _bootstrap(differences, generator, resamples)
    observed = np.asarray(differences, dtype=np.float64)
    as_extreme = 0
    for size in _blocks(resamples):
        signs = generator.integers(0, 2, size=(size, len(observed)), dtype=np.int8) * 2.0 - 1.0
        flipped = signs @ observed / len(observed)
        as_extreme += int((np.abs(flipped) >= abs(observed.mean()) - 1e-12).sum())
    return PairedDifference(
        mean=mean,
        low=low,
        high=high,
        p=(as_extreme + 1) / (resamples + 1),
        n=len(differences),
        sd=float(observed.std(ddof=1)) if len(differences) > 1 else 0.0,
    )


def holm(pvalues: Sequence[float]) -> list[float]:
    """P values adjusted for having looked at all of them (Holm 1979), in the given order."""
    adjusted = [0.0] * len(pvalues)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(pvalues)), key=pvalues.__getitem__)):
        largest = max(largest, min(1.0, (len(pvalues) - rank) * pvalues[i]))
        adjusted[i] = largest
    return adjusted


def _bootstrap(values: Sequence[float], generator: np.random.Generator, resamples: int) -> tuple[float, float, float]:
    """(mean, low, high) of the mean over resampled events."""
    import numpy as np

    array = np.asarray(values, dtype=np.float64)
    offsets = array - array[0]  # equal values then give an interval of width 0, not of some rounding error
    means = [offsets[generator.integers(0, len(array), size=(size, len(array)))].mean(axis=1) for size in _blocks(resamples)]
    low, high = array[0] + np.percentile(np.concatenate(means), _INTERVAL)
    bounds = array.min(), array.max()  # no mean lies beyond; rounding could put a bound there by 1e-16
    return float(array[0] + offsets.mean()), float(np.clip(low, *bounds)), float(np.clip(high, *bounds))


def _blocks(resamples: int) -> list[int]:
    return [min(_BLOCK, resamples - start) for start in range(0, resamples, _BLOCK)]


def _generator(seed: int, name: str) -> np.random.Generator:
    import numpy as np

    return np.random.default_rng([seed, int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")])
