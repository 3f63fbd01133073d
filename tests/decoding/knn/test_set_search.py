"""The search, on evaluators whose best set is known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from decoding.backend import FULL, SkipSet
from decoding.knn.set_search import pool, search

PLANTED = SkipSet(attention=(2, 3, 5), mlp=(4,))


def _distance(plan: SkipSet) -> int:
    def members(one: SkipSet) -> set[tuple[str, int]]:
        return {("a", i) for i in one.attention} | {("m", i) for i in one.mlp}

    return len(members(plan) ^ members(PLANTED))


def _smooth(plans: Sequence[SkipSet]) -> list[float]:
    return [2.0 - 0.1 * _distance(plan) for plan in plans]


@pytest.mark.parametrize("iterations", [0, 2])
def test_greedy_finds_the_planted_set(iterations: int) -> None:
    found = search(_smooth, 8, iterations=iterations)
    assert found.plan == PLANTED and found.score == pytest.approx(2.0)
    assert found.n_evaluated < 150  # of 4,095


def test_a_bait_that_greedy_takes_is_exchanged() -> None:
    """Alone, leaving out mlp 6 looks best; with the others it is in the way, and nothing shorter than a swap is better."""

    def scores(plans: Sequence[SkipSet]) -> list[float]:
        found = []
        for plan in plans:
            score = 2.0 - 0.1 * _distance(plan)
            if plan == SkipSet(mlp=(6,)):
                score = 1.9
            if plan == SkipSet(attention=(2, 3, 5), mlp=(6,)):
                score = 1.95
            if plan == SkipSet(attention=(2, 3, 5), mlp=(4, 6)):
                score = 1.9
            if plan == SkipSet(attention=(2, 3, 5)):
                score = 0.5
            found.append(score)
        return found

    assert search(scores, 8, iterations=0).plan == PLANTED


def test_each_set_is_scored_once_and_never_the_empty_one_nor_the_ends() -> None:
    asked: list[SkipSet] = []

    def scores(plans: Sequence[SkipSet]) -> list[float]:
        asked.extend(plans)
        return _smooth(plans)

    found = search(scores, 8, iterations=3)
    assert len(asked) == len(set(asked)) == found.n_evaluated
    assert all(plan and not {0, 7} & {*plan.attention, *plan.mlp} for plan in asked)


def test_the_same_seed_asks_for_the_same_sets() -> None:
    def run(seed: int) -> list[SkipSet]:
        asked: list[SkipSet] = []
        search(lambda plans: [asked.append(plan) or _smooth([plan])[0] for plan in plans], 6, iterations=2, seed=seed)
        return asked

    assert run(1) == run(1) != run(2)


def test_bayesian_search_alone_beats_where_it_started(capsys: pytest.CaptureFixture[str]) -> None:
    start = SkipSet(attention=(1,), mlp=(1, 2, 3))
    found = search(_smooth, 8, iterations=6, greedy=False, start=[start])
    hand_made = [SkipSet((1, 3, 5), (1, 3, 5)), SkipSet((1, 3, 5))]
    assert found.score > max(_smooth([start, *hand_made]))
    assert capsys.readouterr().out == ""


def test_a_very_small_model_is_searched_whole_and_a_smaller_one_not_at_all() -> None:
    found = search(_smooth, 4)
    assert found.n_evaluated == 15  # every subset of four sub-layers but the empty one
    assert search(_smooth, 2).plan == FULL and pool(2) == ()
