"""`quality`: the formula, what is not known, and that every factor can only lower it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.metrics.quality import JUDGED_FROM, LONG_FROM, PARTS, quality, support_of

FULL: dict[str, float | None] = {
    "fact_f": 0.6, "organisation": 0.5, "conflict_share": 0.1, "junk_share": 0.2, "cite_f1": 0.9, "judged_share": 1.0,
    "length_ratio": 0.8,
}  # fmt: skip
shares = st.floats(0, 1)


def test_the_formula() -> None:
    assert FULL.keys() == {*PARTS}
    assert quality(FULL) == pytest.approx(0.6 * (1 + 0.5) / 2 * (1 - 0.1) * (1 - 0.2) * 0.9)


def test_length_costs_beyond_one_and_a_half_times_the_human_articles() -> None:
    whole = quality(FULL)
    assert whole is not None
    assert quality(FULL | {"length_ratio": LONG_FROM}) == quality(FULL | {"length_ratio": None}) == whole
    assert quality(FULL | {"length_ratio": 4 * LONG_FROM}) == pytest.approx(whole / 2)


def test_perfect_is_one_and_no_facts_are_nothing() -> None:
    perfect = {"fact_f": 1.0, "organisation": 1.0, "conflict_share": 0.0, "junk_share": 0.0, "cite_f1": 1.0}
    assert quality(perfect) == 1.0 and quality(perfect | {"organisation": 0.0}) == 0.5
    assert quality(FULL | {"fact_f": 0.0}) == quality(FULL | {"cite_f1": 0.0}) == quality(FULL | {"junk_share": 1.0}) == 0.0


@pytest.mark.parametrize("name", ["organisation", "conflict_share", "junk_share", "cite_f1"])
def test_a_factor_that_is_not_known_takes_no_part(name: str) -> None:
    best = 1.0 if name in ("organisation", "cite_f1") else 0.0
    without = {other: value for other, value in FULL.items() if other != name}
    assert quality(FULL | {name: None}) == quality(without) == pytest.approx(quality(FULL | {name: best}))


def test_without_facts_there_is_no_quality() -> None:
    assert quality(FULL | {"fact_f": None}) is None and quality({}) is None


def test_support_counts_where_enough_claims_could_be_judged() -> None:
    assert (
        support_of(FULL) == support_of(FULL | {"judged_share": JUDGED_FROM}) == support_of(FULL | {"judged_share": None}) == 0.9
    )
    few = FULL | {"judged_share": JUDGED_FROM - 0.01, "cite_f1": 0.1}
    assert support_of(few) is None and quality(few) == pytest.approx(quality(FULL | {"cite_f1": None}))
    assert support_of({"judged_share": 1.0}) is None


@pytest.mark.parametrize(
    ("name", "worse"),
    [
        ("fact_f", -0.1),
        ("organisation", -0.1),
        ("conflict_share", 0.1),
        ("junk_share", 0.1),
        ("cite_f1", -0.1),
        ("length_ratio", 1.0),
    ],
)
def test_each_factor_lowers_it(name: str, worse: float) -> None:
    before, after = quality(FULL), quality(FULL | {name: (FULL[name] or 0.0) + worse})
    assert before is not None and after is not None and after < before


@given(st.fixed_dictionaries({name: st.none() | shares for name in PARTS}))
def test_it_never_exceeds_the_facts(values: dict[str, float | None]) -> None:
    found, facts = quality(values), values["fact_f"]
    assert (found is None) is (facts is None)
    assert found is None or facts is None or 0.0 <= found <= facts
