from __future__ import annotations

import pytest

from benchmark.strata import Traits, members, traits_of
from tests.eval.cases import gold

PLAIN = Traits(evidence_words=100, list_like=False, year=None, infobox=False)


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("Founded in 1998, it won in 2021 and 2022.", 2021),
        ("From 2020 to 2023.", 2021.5),
        ("It has 12021 rooms and 999 doors.", None),
        ("Nothing.", None),
    ],
)
def test_the_year_of_a_topic(text: str, year: float | None) -> None:
    assert traits_of(gold(text), ()).year == year


def test_equal_sizes_are_cut_by_id_and_not_by_order() -> None:
    traits = dict.fromkeys("abcdef", PLAIN)
    assert members(traits) == members(dict.fromkeys("fedcba", PLAIN))
    assert members(traits)["evidence: small"] == ("a", "b")
