"""The cost table: what the fit recovers, what is cleaned up, and that a real backend can be timed at any context."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding.backend import CostTable
from decoding.backends.costs import fit_plan_costs, plans_to_time, rising


def test_the_fit_recovers_exact_costs() -> None:
    plans = plans_to_time(8)
    true = CostTable(1.0, ((1, 1.0),), fixed=0.12, attention=0.07, mlp=0.04, context=1, machine="")
    fixed, attention, mlp = fit_plan_costs(plans, [true.c(plan, 8) for plan in plans], 8)
    assert (fixed, attention, mlp) == pytest.approx((0.12, 0.07, 0.04))


def test_the_fit_is_never_negative() -> None:
    """Noise: skipping the MLPs seems to cost more than running them."""
    plans = plans_to_time(4)
    fixed, attention, mlp = fit_plan_costs(plans, [1.0, 0.4, 1.1, 0.3, 0.7], 4)
    assert min(fixed, attention, mlp) >= 0 and attention > mlp


@given(st.lists(st.floats(0.1, 50), min_size=1, max_size=12))
def test_more_rows_never_cost_less(measured: list[float]) -> None:
    cleaned = rising(measured)
    assert len(cleaned) == len(measured) and cleaned[0] == 1.0 and cleaned == sorted(cleaned)
    once = rising([1.0, *sorted(max(1.0, cost) for cost in measured)])
    assert once == [1.0, *sorted(max(1.0, cost) for cost in measured)]  # what rises already stays
