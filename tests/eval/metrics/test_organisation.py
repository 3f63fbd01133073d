"""Placement and order on an article of three sections whose sentences share few words."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from eval.metrics.organisation import Organisation, adjusted_rand, kendall_tau
from tests.eval.cases import case
from tests.fakes import FixedEncoder

LEAD = "Torvik is a lake ferry that sank and was raised."
SECTIONS = {
    "Construction": [
        "Shipyard workers in Bergen welded the steel hull during the cold winter.",
        "Engineers fitted two diesel engines from a German maker.",
        "Carpenters panelled the saloon with oak and brass lamps.",
        "Painters gave her a green funnel with white letters.",
    ],
    "Sinking": [
        "A sudden storm broke the anchor chain near Malvo island.",
        "Water flooded the car deck within eleven minutes.",
        "Captain Oduya ordered the passengers into rubber boats.",
        "Fishermen pulled seventy survivors from the waves.",
    ],
    "Inquiry": [
        "Judges heard forty witnesses at the county court.",
        "Their report blamed a faulty bow door lock.",
        "The owner paid a fine of three million kroner.",
        "Parliament passed stricter rules for small vessels.",
    ],
}
SENTENCES = [sentence for sentences in SECTIONS.values() for sentence in sentences]


def text(sections: Sequence[tuple[str, Sequence[str]]], lead: str = LEAD) -> str:
    return "\n".join([lead, *(f"=={heading}==\n{' '.join(some)}" for heading, some in sections)])


HUMAN = text(list(SECTIONS.items()))


def scores(written: str, human: str = HUMAN) -> dict[str, float | None]:
    return Organisation(FixedEncoder()).score(case(written, human))


def shuffled(seed: int, headings: Sequence[str] = tuple(SECTIONS)) -> str:
    order = SENTENCES.copy()
    random.Random(seed).shuffle(order)
    return text([(heading, order[4 * k : 4 * k + 4]) for k, heading in enumerate(headings)])


def test_the_human_article_scores_one() -> None:
    found = scores(HUMAN)
    assert [found[name] for name in ("placement", "togetherness", "heading_fit", "order")] == pytest.approx([1.0] * 4)
    assert found["n_placed"] == 12.0
    assert found.keys() == Organisation(FixedEncoder()).names.keys()


def test_sentences_shuffled_among_the_headings_score_near_zero() -> None:
    found = [scores(shuffled(seed)) for seed in range(20)]
    placement, order = (np.mean([one[name] for one in found]) for name in ("placement", "order"))
    assert placement < 0.1 and order < 0.2
    assert all(one["n_placed"] == 12.0 for one in found)  # every fact is there


DAYS = [
    "Work on the hull began on 3 May 2029.",
    "Its engines came in October 2029.",
    "The funnel was painted on January 12, 2030.",
    "She sailed first on 1 April 2030 with 300 guests.",
]


def test_days_told_backwards_cost_though_no_fact_is_shared() -> None:
    human = text([*SECTIONS.items(), ("History", DAYS)])
    told = ["A buyer came in May 1990.", "He sold it on 3 June 1990.", "By 1995 it was lost.", "It rose in 2001."]
    forwards, backwards = (scores(text([*SECTIONS.items(), ("Fate", some)]), human) for some in (told, told[::-1]))
    assert (forwards["chronology"], backwards["chronology"]) == (1.0, 0.0)
    assert forwards["fact_order"] == backwards["fact_order"] == 1.0
    assert (forwards["order"], backwards["order"]) == (1.0, 0.5)


def test_adjusted_rand_and_kendalls_tau_by_hand() -> None:
    # pairs together: 2 of 6 in the first, 3 in the second, 1 in both; expected 2 * 3 / 6 = 1, most (2 + 3) / 2
    assert adjusted_rand([(0, 0), (0, 0), (1, 0), (1, 1)]) == pytest.approx((1 - 1) / (2.5 - 1))
    assert adjusted_rand([(0, 0), (0, 0), (1, 1), (1, 1), (2, 1)]) == pytest.approx((2 - 0.8) / (3 - 0.8))
    assert adjusted_rand([]) == adjusted_rand([(0, 0)]) == 0.0
    assert kendall_tau([(0, 0), (1, 1), (2, 2)]) == 1.0 and kendall_tau([(0, 2), (1, 1), (2, 0)]) == -1.0
    assert kendall_tau([(0, 0), (0, 1), (1, 2)]) == pytest.approx(2 / (2 * 3) ** 0.5)  # a tie
    assert kendall_tau([]) == kendall_tau([(1, 5)]) == kendall_tau([(0, 1), (0, 2)]) == 0.0
