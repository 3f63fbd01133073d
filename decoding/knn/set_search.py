"""Which sub-layers to leave out: a search over sets, whatever scores them.

Greedy removal with swaps first: few evaluations, the same ones every time. Then Bayesian optimisation as in Self-SD (Zhang et
al. 2024, section 3.2): a Gaussian process over one number in [0, 1] for each sub-layer, which is left out above 0.5. The
first and the last block are kept: they read and write the model's own alphabet, and no published set does without them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from data.types import Strict
from decoding.acquisition import one_climb
from decoding.backend import FULL, SkipSet

Evaluate = Callable[[Sequence[SkipSet]], Sequence[float]]
"""Scores of sets, in tokens for each full step's time: plain decoding has 1. Asked for several at once, since they can share
the reading of a prompt; equal sets must get equal scores."""

SubLayer = tuple[str, int]

WIDTH = 12
"""Sub-layers tried in each greedy step, of those that did best when last tried."""
PATIENCE = 6
"""Greedy steps without a better set before it gives up."""
SWAPS = 4
"""How many of the best removals and additions are tried together."""
MAX_SWAPS = 12
FEW = 4
"""With so few sub-layers (the four of a model of four blocks) all sets are scored instead."""
_KAPPA = 2.5
_NOISE = 1e-2


@dataclass(frozen=True, slots=True)
class Found(Strict):
    """The best set, its score on the prompts it was searched with, and how many sets were scored."""

    plan: SkipSet
    score: float
    n_evaluated: int


def pool(n_layers: int) -> tuple[SubLayer, ...]:
    """The sub-layers that may be left out."""
    return tuple((kind, layer) for layer in range(1, n_layers - 1) for kind in ("attention", "mlp"))


def search(
    evaluate: Evaluate,
    n_layers: int,
    *,
    iterations: int = 64,
    seed: int = 0,
    start: Sequence[SkipSet] = (),
    greedy: bool = True,
) -> Found:
    """The best set found; the empty one (score 1) when there is nothing that may be left out.

    Args:
        iterations: steps of the Bayesian optimisation, each one evaluation; 0 for none.
        start: sets to score besides (those of other clusters, say).
        greedy: whether to begin with greedy removal; it takes too many evaluations where each is a timed run.
    """
    choices = pool(n_layers)
    if not choices:
        return Found(FULL, 1.0, 0)
    scores = _Scores(evaluate)
    if len(choices) <= FEW:
        scores.of([_set(set(some)) for n in range(1, len(choices) + 1) for some in combinations(choices, n)])
        return Found(scores.best(), scores.one(scores.best()), len(scores))
    first = [*start, SkipSet(_odd(n_layers), _odd(n_layers)), SkipSet(attention=_odd(n_layers))]
    scores.of([plan for plan in first if plan])
    if greedy:
        grown = _grow(scores, choices, at_once=max(1, n_layers // 16))
        _swap(scores, choices, max(grown, scores.best(), key=scores.one))
    _refine(scores, choices, iterations, seed)
    best = scores.best()
    return Found(best, scores.one(best), len(scores))


class _Scores:
    """Every set is scored once."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._known: dict[SkipSet, float] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, plans: Sequence[SkipSet]) -> list[float]:
        new = [plan for plan in dict.fromkeys(plans) if plan and plan not in self._known]
        if new:
            self._known.update(zip(new, self._evaluate(new), strict=True))
        return [self._known.get(plan, 1.0) for plan in plans]

    def one(self, plan: SkipSet) -> float:
        return self.of([plan])[0]

    def best(self) -> SkipSet:
        """Of equals the first scored."""
        return max(self._known, key=lambda plan: self._known[plan])

    def items(self) -> list[tuple[SkipSet, float]]:
        return list(self._known.items())


def _odd(n_layers: int) -> tuple[int, ...]:
    return tuple(range(1, n_layers - 1, 2))


def _set(sub_layers: set[SubLayer]) -> SkipSet:
    return SkipSet(
        tuple(layer for kind, layer in sub_layers if kind == "attention"),
        tuple(layer for kind, layer in sub_layers if kind == "mlp"),
    )


def _members(plan: SkipSet) -> set[SubLayer]:
    return {("attention", layer) for layer in plan.attention} | {("mlp", layer) for layer in plan.mlp}


def _grow(scores: _Scores, choices: Sequence[SubLayer], at_once: int) -> SkipSet:
    """From nothing, leave out what costs least, until that has not helped for a while; the best set on the way."""
    out: set[SubLayer] = set()
    gains = dict.fromkeys(choices, float("inf"))
    best, best_score, stale = FULL, float("-inf"), 0
    while len(out) < len(choices) and stale < PATIENCE:
        order = sorted((x for x in choices if x not in out), key=lambda x: -gains[x])
        tried = order if not out else order[:WIDTH]  # all at first: an untried one has no rank
        before = scores.one(_set(out))
        for sub_layer, score in zip(tried, scores.of([_set(out | {x}) for x in tried])):
            gains[sub_layer] = score - before
        out |= set(sorted(tried, key=lambda x: -gains[x])[:at_once])
        score = scores.one(_set(out))
        if score > best_score:
            best, best_score, stale = _set(out), score, 0
        else:
            stale += 1
    return best


def _swap(scores: _Scores, choices: Sequence[SubLayer], plan: SkipSet) -> None:
    """Take the best single removal, addition or exchange, as long as one helps."""
    for _ in range(MAX_SWAPS):
        out = _members(plan)
        back = [x for x in choices if x in out and len(out) > 1]
        more = [x for x in choices if x not in out]
        back_scores = dict(zip(back, scores.of([_set(out - {x}) for x in back])))
        more_scores = dict(zip(more, scores.of([_set(out | {x}) for x in more])))
        moves = [_set(out - {x}) for x in back] + [_set(out | {x}) for x in more]
        for leaves in sorted(back, key=lambda x: -back_scores[x])[:SWAPS]:
            for enters in sorted(more, key=lambda x: -more_scores[x])[:SWAPS]:
                moves.append(_set(out - {leaves} | {enters}))
        ranked = scores.of(moves)
        if not moves or max(ranked) <= scores.one(plan):
            return
        plan = moves[ranked.index(max(ranked))]


def _refine(scores: _Scores, choices: Sequence[SubLayer], iterations: int, seed: int) -> None:
    """Bayesian optimisation that knows all scores so far; upper confidence bound, as in Self-SD."""
    if iterations < 1:
        return
    from bayes_opt import BayesianOptimization

    names = {f"{kind}_{layer:03d}": (kind, layer) for kind, layer in choices}
    optimiser = BayesianOptimization(
        f=None,
        pbounds=dict.fromkeys(names, (0.0, 1.0)),
        acquisition_function=one_climb(_KAPPA),
        random_state=seed,
        verbose=0,
    )
    optimiser.set_gp_params(alpha=_NOISE)
    seen: set[tuple[object, ...]] = set()
    # only the best are registered: a Gaussian process of hundreds of points would take longer than the model does
    for plan, score in sorted(scores.items(), key=lambda item: -item[1])[: 4 * len(choices)]:
        members = _members(plan)
        corner = {name: float(x in members) for name, x in names.items()}
        seen.add(tuple(corner.values()))
        optimiser.register(corner, score)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bounds of the kernel's length are reached: expected of a step function
        for _ in range(iterations):
            point = optimiser.suggest()
            while tuple(point.values()) in seen:  # a corner that is known
                (point,) = optimiser.random_sample(1)
            seen.add(tuple(point.values()))
            plan = _set({x for name, x in names.items() if point[name] > 0.5})
            optimiser.register(point, scores.one(plan))
