"""Length policies against decisions worked out by hand."""

from __future__ import annotations

from decoding.backend import CostTable
from decoding.drafters.affordable import Guard
from decoding.drafters.hazard import Hazard
from decoding.drafters.lengths import Expected

# v(T) = 1 + 0.1 * (T - 1): each further row costs 0.1
COSTS = CostTable(
    unit_s=0.01, verify=((1, 1.0), (11, 2.0)), fixed=0.1, attention=0.05, mlp=0.0625, context=64, machine="made up"
)


def hazard(next_chance: float) -> Hazard:
    """Confidence is acceptance."""
    return Hazard((0.0, 1.0), (0.0, 1.0), (next_chance,))


def test_expected_drafts_nothing_below_break_even() -> None:
    """One token costs c + 0.1 on top of 1: it pays iff its chance is above c + 0.1."""
    assert Expected(hazard(0.61), COSTS, plan_cost=0.5).plan(9) == 9
    assert Expected(hazard(0.59), COSTS, plan_cost=0.5).plan(9) == 0
    assert Expected(hazard(0.61), COSTS, plan_cost=0.5, max_tokens=4).plan(9) == 4


def test_expected_stops_where_the_next_token_lowers_tokens_per_cost() -> None:
    policy = Expected(hazard(0.9), COSTS, plan_cost=0.5)
    # after one token of confidence p: (1 + p) / 1.6 so far; the next adds 0.9 * p / 0.6
    # p = 0.9: 1.1875 < 1.35; p = 0.7: 1.0625 > 1.05; p = 0.72: 1.075 < 1.08
    assert policy.go_on([0.9]) and policy.go_on([0.72]) and not policy.go_on([0.7])
    # after two of 0.9: (1 + 0.9 + 0.81) / 2.2 = 1.232 > 0.729 / 0.6 = 1.215
    assert not policy.go_on([0.9, 0.9])
    # a cheaper plan goes on: 2.71 / 1.6 = 1.694 < 0.729 / 0.3 = 2.43
    assert Expected(hazard(0.9), COSTS, plan_cost=0.2).go_on([0.9, 0.9])


def test_expected_uses_the_chance_of_the_next_depth() -> None:
    falling = Hazard((0.0, 1.0), (0.0, 1.0), (0.9, 0.3))
    policy = Expected(falling, COSTS, plan_cost=0.5)
    assert policy.plan(5) == 5 and not policy.go_on([1.0])


def test_guard_limits_what_is_lost() -> None:
    """Drafts that never succeed: a loss of 0.8 each time that it is afforded."""
    guard = Guard(share=0.02, start=2.0)
    tokens = cost = 0.0
    drafts = 0
    for _ in range(1000):
        tokens += 1
        if guard.affords(0.8):
            drafts += 1
            cost += 1.8
            guard.drafted(1, 1.8)
        else:
            cost += 1
            guard.passed(1)
        assert cost <= 1.02 * tokens + 2.0
    assert drafts > 20, "it is tried again now and then"


def test_guard_lets_drafts_go_on_that_gain() -> None:
    guard = Guard(share=0.02, start=2.0)
    for round_ in range(100):
        assert guard.affords(0.8)
        guard.drafted(*((3, 1.8) if round_ % 2 else (1, 1.8)))


def test_guard_keeps_some_of_earlier_gains() -> None:
    guard = Guard(share=0.02, start=2.0, saved=8.0)
    for _ in range(1000):
        guard.drafted(5, 1.8)
    losses = 0
    while guard.affords(0.8):
        guard.drafted(1, 1.8)
        losses += 1
    assert losses == 10, "0.78 each, from 8 units; the last one needs 0.8"


def test_guard_comes_back() -> None:
    guard = Guard(share=0.02, start=2.0)
    while guard.affords(0.8):
        guard.drafted(1, 1.8)
    assert not guard.untouched
    waited = 0
    while not guard.affords(0.8):
        guard.passed(1)
        waited += 1
    assert 0 < waited < 40
    for _ in range(100):
        guard.drafted(4, 1.8)
        assert guard.affords(0.8)
    assert guard.untouched
