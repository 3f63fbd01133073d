"""`quality`: the formula, what is not known, and that every factor can only lower it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.metrics.quality import LONG_FROM, PARTS, quality

FULL: dict[str, float | None] = {
    "fact_f": 0.6, "organisation": 0.5, "conflict_share": 0.1, "junk_share": 0.2, "cite_f1": 0.9, "judged_share": 1.0,
    "length_ratio": 0.8,
}  # fmt: skip
shares = st.floats(0, 1)


def test_the_formula_and_length_beyond_one_and_a_half_times_the_human_articles() -> None:
    assert FULL.keys() == {*PARTS}
    whole = 0.6 * (1 + 0.5) / 2 * (1 - 0.1) * (1 - 0.2) * 0.9
    for length, expected in ((0.8, whole), (LONG_FROM, whole), (None, whole), (4 * LONG_FROM, whole / 2)):
        assert quality(FULL | {"length_ratio": length}) == pytest.approx(expected)
    assert quality(FULL | {"fact_f": None}) is None and quality({}) is None


WORSE = {"fact_f": -0.1, "organisation": -0.1, "conflict_share": 0.1, "junk_share": 0.1, "cite_f1": -0.1, "length_ratio": 1.0}


@pytest.mark.parametrize(("name", "worse"), WORSE.items())
def test_each_factor_lowers_it(name: str, worse: float) -> None:
    before, after = quality(FULL), quality(FULL | {name: (FULL[name] or 0.0) + worse})
    assert before is not None and after is not None and after < before


@given(st.fixed_dictionaries({name: st.none() | shares for name in PARTS}))
def test_it_never_exceeds_the_facts(values: dict[str, float | None]) -> None:
    found, facts = quality(values), values["fact_f"]
    assert (found is None) is (facts is None)
    assert found is None or facts is None or 0.0 <= found <= facts
