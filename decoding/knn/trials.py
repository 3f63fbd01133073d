"""Layer sets tried on prompts: agreements measured once, speeds replayed from them, or whole runs timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from decoding.api import SamplingParams
from decoding.backend import FULL, CostTable, SkipSet, StepBackend
from decoding.drafters.hazard import RoundLog
from decoding.drafters.lengths import Threshold
from decoding.drafters.plain import NoDrafter
from decoding.drafters.skip import SkipDrafter
from decoding.knn.artefact import Interval
from decoding.knn.draft_agreement import ORIGINAL, POLICIES, Agreement, Logged, agreements, replay
from decoding.knn.kept_stages import Stages, Timing
from decoding.knn.set_search import Evaluate
from decoding.sampling import Sampler
from decoding.speculative import decode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Drafted:
    """A layer set with its stop rule."""

    skip: SkipSet
    policy: Threshold = ORIGINAL


class Trials:
    """What sets do on prompts of one model. Speeds are tokens for each full step's time, ratios of sums over the prompts."""

    def __init__(self, backend: StepBackend, stages: Stages, costs: CostTable) -> None:
        self._backend, self._stages, self.costs = backend, stages, costs
        self.n_layers = backend.info.n_layers

    def agreements(self, logged: Logged, plans: Sequence[SkipSet]) -> list[Agreement]:
        return self._stages.agreements(logged, plans, lambda new: agreements(self._backend, logged, new))

    def tokens_and_cost(self, logged: Logged, drafted: Drafted) -> tuple[int, float]:
        """Of the answer after its first token."""
        if not drafted.skip:
            n = len(logged.answer) - 1
            return n, float(n)
        (agreement,) = self.agreements(logged, [drafted.skip])
        return self._replayed(agreement, logged, drafted)

    def speed(self, prompts: Sequence[Logged], drafted: Drafted) -> float:
        return _ratio([self.tokens_and_cost(logged, drafted) for logged in prompts])

    def best_policy(self, prompts: Sequence[Logged], skip: SkipSet) -> Threshold:
        """Of the stop rules in POLICIES the fastest; of equals the first."""
        return max(POLICIES, key=lambda policy: self.speed(prompts, Drafted(skip, policy))) if skip else ORIGINAL

    def evaluate(self, prompts: Sequence[Logged], tick: Callable[[str], None] = lambda line: None) -> Evaluate:
        """Scores sets by the speed under each one's best stop rule. `tick` hears of each prompt, of which one may take long."""

        def scores(plans: Sequence[SkipSet]) -> list[float]:
            found = []
            for n, logged in enumerate(prompts, 1):
                found.append(self.agreements(logged, plans))  # a prompt is read once for all plans
                tick(f"{len(plans)} sets on prompt {n}/{len(prompts)}")
            return [self._best_speed(prompts, [row[i] for row in found], plan) for i, plan in enumerate(plans)]

        return scores

    def evaluate_by_time(self, prompts: Sequence[Logged]) -> Evaluate:
        """Scores sets as the original does: seconds of whole runs under its own stop rule, here over those of plain runs."""

        def rate(plan: SkipSet) -> float:
            timings = [self._stages.timing(logged, plan, lambda logged=logged: self._timed(logged, plan)) for logged in prompts]  # type: ignore[misc]
            return sum(t.n_tokens for t in timings) / sum(t.seconds for t in timings)

        def scores(plans: Sequence[SkipSet]) -> list[float]:
            plain = rate(FULL)
            return [rate(plan) / plain for plan in plans]

        return scores

    def interval(self, prompts: Sequence[Logged], drafted: Drafted, seed: int) -> Interval | None:
        """Speed with bootstrap percentiles over the prompts' events; None without prompts."""
        if not prompts:
            return None
        pairs = self._by_event(prompts, drafted)
        low, high = _percentiles(_resampled(pairs, seed))
        return Interval(round(_ratio(pairs), 4), round(low, 4), round(high, 4))

    def gain(self, prompts: Sequence[Logged], new: Drafted, old: Drafted, seed: int) -> Interval:
        """How much faster `new` is than `old`, as a difference of speeds with paired bootstrap percentiles."""
        a, b = self._by_event(prompts, new), self._by_event(prompts, old)
        low, high = _percentiles(_resampled(a, seed) - _resampled(b, seed))  # equal seeds draw equal events
        return Interval(_ratio(a) - _ratio(b), low, high)

    def _by_event(self, prompts: Sequence[Logged], drafted: Drafted) -> list[tuple[int, float]]:
        """Sums by event: prompts of one event are about the same pages, so they are drawn together or not at all."""
        sums: dict[str, tuple[int, float]] = {}
        for logged in prompts:
            (n, cost), (more, price) = sums.get(logged.group, (0, 0.0)), self.tokens_and_cost(logged, drafted)
            sums[logged.group] = (n + more, cost + price)
        return list(sums.values())

    def rounds(self, logged: Logged, skip: SkipSet) -> list[RoundLog]:
        """The answer as rounds of long drafts, for fitting confidence to acceptance."""
        (agreement,) = self.agreements(logged, [skip])
        policy = Threshold(0.0, ORIGINAL.max_tokens)
        found = replay(agreement, policy, logged.limit)
        logs: list[RoundLog] = []
        at = 0
        for n, stand in zip(found.drafted, found.accepted):
            if n:
                logs.append(RoundLog(logged.task, "skip", n, stand, agreement.confidence[at : at + n]))
            at += stand + 1
        return logs

    def _best_speed(self, prompts: Sequence[Logged], found: Sequence[Agreement], plan: SkipSet) -> float:
        return max(
            _ratio([self._replayed(a, logged, Drafted(plan, policy)) for a, logged in zip(found, prompts)])
            for policy in POLICIES
        )

    def _replayed(self, agreement: Agreement, logged: Logged, drafted: Drafted) -> tuple[int, float]:
        rounds = replay(agreement, drafted.policy, logged.limit)
        return rounds.n_tokens, rounds.cost(self.costs.c(drafted.skip, self.n_layers), self.costs)

    def _timed(self, logged: Logged, plan: SkipSet) -> Timing:
        n = len(logged.answer)
        left = iter(range(n - 1, -1, -1))
        drafter = SkipDrafter(plan, ORIGINAL) if plan else NoDrafter()
        sampler = Sampler(SamplingParams(max_new_tokens=n), len(logged.prompt))
        stats = decode(self._backend, drafter, logged.prompt, sampler, lambda token: next(left) > 0)
        return Timing(stats.total_s, n)


def _ratio(pairs: Sequence[tuple[int, float]]) -> float:
    cost = sum(cost for _, cost in pairs)
    return sum(tokens for tokens, _ in pairs) / cost if cost else 1.0


def _resampled(pairs: Sequence[tuple[int, float]], seed: int) -> NDArray[np.float64]:
    import numpy as np

    drawn = np.random.default_rng(seed).integers(0, len(pairs), (RESAMPLES, len(pairs)))
    sums = np.asarray(pairs, dtype=np.float64)[drawn].sum(axis=1)  # (RESAMPLES, 2)
    speeds: NDArray[np.float64] = np.where(sums[:, 1] > 0, sums[:, 0] / np.maximum(sums[:, 1], 1e-12), 1.0)
    return speeds


def _percentiles(values: NDArray[np.float64]) -> tuple[float, float]:
    import numpy as np

    low, high = np.percentile(values, [5, 95])
    return float(low), float(high)
