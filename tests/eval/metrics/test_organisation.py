"""Placement and order on an article of three sections whose sentences share few words."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from eval.metrics.organisation import Organisation, adjusted_rand, kendall_tau, matching_of
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


def value(written: str, name: str) -> float:
    found = scores(written)[name]
    assert found is not None
    return found


def shuffled(seed: int, headings: Sequence[str] = tuple(SECTIONS)) -> str:
    order = SENTENCES.copy()
    random.Random(seed).shuffle(order)
    return text([(heading, order[4 * k : 4 * k + 4]) for k, heading in enumerate(headings)])


def test_the_human_article_scores_one() -> None:
    found = scores(HUMAN)
    assert {name: found[name] for name in ("placement", "togetherness", "heading_fit", "order")} == pytest.approx(
        {"placement": 1.0, "togetherness": 1.0, "heading_fit": 1.0, "order": 1.0}
    )
    assert found["n_placed"] == 12.0
    assert found.keys() == Organisation(FixedEncoder()).names.keys()


def test_sentences_shuffled_among_the_headings_score_near_zero() -> None:
    found = [scores(shuffled(seed)) for seed in range(20)]
    means = {
        name: float(np.mean([one[name] for one in found])) for name in ("placement", "togetherness", "heading_fit", "order")
    }
    assert means["placement"] < 0.1 and means["order"] < 0.2
    assert all(one["n_placed"] == 12.0 for one in found)  # every fact is there


def test_one_section_or_a_section_a_sentence_scores_zero() -> None:
    assert value(text([("Sinking", SENTENCES)]), "placement") == 0.0
    each = text([(heading, [sentence]) for heading, sentences in SECTIONS.items() for sentence in sentences])
    assert (value(each, "heading_fit"), value(each, "placement")) == (pytest.approx(1.0), 0.0)
    assert value("\n".join(SENTENCES), "placement") == 0.0  # no headings at all


def test_sections_under_the_wrong_headings_are_together_and_do_not_fit() -> None:
    turned = text(list(zip(["Sinking", "Inquiry", "Construction"], SECTIONS.values(), strict=True)))
    assert value(turned, "togetherness") == 1.0
    assert value(turned, "placement") == value(turned, "heading_fit") == 0.0


def test_headings_that_fit_in_other_words_keep_placement() -> None:
    named = text(list(zip(["Construction work", "The sinking", "Inquiries"], SECTIONS.values(), strict=True)))
    assert value(named, "placement") == pytest.approx(1.0)


def test_paragraphs_reversed_lose_their_order_and_nothing_else() -> None:
    backwards = text([(heading, some[::-1]) for heading, some in reversed(SECTIONS.items())])
    assert value(backwards, "order") == 0.0
    assert value(backwards, "placement") == pytest.approx(1.0)
    swapped = text([(heading, [some[1], some[0], *some[2:]]) for heading, some in SECTIONS.items()])
    assert value(swapped, "order") == pytest.approx((66 - 2 * 3) / 66)


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


@pytest.mark.parametrize(("human", "written"), [(DAYS[::-1], DAYS), (DAYS[:3], DAYS), (DAYS, DAYS[:3])])
def test_days_are_not_compared_where_either_side_says_nothing(human: list[str], written: list[str]) -> None:
    found = scores(text([*SECTIONS.items(), ("History", written)]), text([*SECTIONS.items(), ("History", human)]))
    assert found["chronology"] is None and found["order"] == found["fact_order"] is not None


def test_facts_in_other_words_are_found() -> None:
    said = [
        "The steel hull was welded in Bergen by workers of a shipyard.",
        "Two diesel engines of a German maker were fitted.",
        "Within eleven minutes the car deck was flooded.",
        "Captain Oduya sent passengers into rubber boats.",
        "The report blamed a faulty lock of the bow door.",
        "A fine of three million kroner was paid.",
    ]
    written = text([("Construction", said[:2]), ("Sinking", said[2:4]), ("Inquiry", said[4:])])
    assert value(written, "n_placed") == 6.0
    assert value(written, "placement") == pytest.approx(1.0) and value(written, "order") == 1.0


def test_an_article_about_something_else_scores_zero() -> None:
    other = text(
        [("Construction", ["Bakers sell bread.", "Cats sleep."]), ("Sinking", ["Trains were late on Monday."])], "A text."
    )
    found = scores(other)
    assert (found["placement"], found["order"], found["n_placed"]) == (0.0, 0.0, 0.0)


def test_a_lead_may_tell_what_sections_tell_but_not_stand_for_them() -> None:
    summed_up = text(list(SECTIONS.items()), lead=f"{LEAD} {SENTENCES[5]} {SENTENCES[10]}")
    assert value(summed_up, "placement") == pytest.approx(1.0)
    all_in_lead = text([("Inquiry", SECTIONS["Inquiry"][:1])], lead=" ".join(SENTENCES))
    assert value(all_in_lead, "placement") < 0.1


def test_too_little_to_compare() -> None:
    few = text([("Construction", SECTIONS["Construction"][:2]), ("Sinking", SECTIONS["Sinking"][:2])])
    assert (value(few, "placement"), value(few, "order"), value(few, "n_placed")) == (0.0, 0.0, 4.0)
    one_section = scores(HUMAN, text([("Construction", SECTIONS["Construction"])]))
    assert one_section["placement"] is None and one_section["order"] is None
    nothing = scores("", HUMAN)
    assert (nothing["placement"], nothing["order"]) == (0.0, 0.0)
    assert scores(HUMAN, "")["placement"] is None


def test_scores_do_not_depend_on_the_cases_before() -> None:
    class Jittery(FixedEncoder):
        """As real encoders: the last bits of a vector depend on the texts beside it."""

        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return super().encode(texts) * np.float32(1 + len(texts) * 1e-6)

    cases = [case(HUMAN, HUMAN), case(shuffled(1), HUMAN), case(shuffled(2), HUMAN)]
    alone = [Organisation(Jittery()).score(one) for one in cases]
    metric = Organisation(Jittery())
    assert [metric.score(one) for one in reversed(cases)][::-1] == alone


def test_a_sentence_without_words_is_like_nothing() -> None:
    similarity = matching_of(case(f"... {SENTENCES[0]}", HUMAN)).similarity
    assert similarity.shape == (2, 13) and not similarity[0].any() and similarity[1].max() == pytest.approx(1.0)


def test_adjusted_rand_by_hand() -> None:
    # pairs together: 2 of 6 in the first, 3 in the second, 1 in both; expected 2 * 3 / 6 = 1, most (2 + 3) / 2
    assert adjusted_rand([(0, 0), (0, 0), (1, 0), (1, 1)]) == pytest.approx((1 - 1) / (2.5 - 1))
    assert adjusted_rand([(0, 0), (0, 0), (1, 1), (1, 1), (2, 1)]) == pytest.approx((2 - 0.8) / (3 - 0.8))
    assert adjusted_rand([]) == adjusted_rand([(0, 0)]) == 0.0


def test_kendalls_tau_by_hand() -> None:
    assert kendall_tau([(0, 0), (1, 1), (2, 2)]) == 1.0 and kendall_tau([(0, 2), (1, 1), (2, 0)]) == -1.0
    assert kendall_tau([(0, 0), (0, 1), (1, 2)]) == pytest.approx(2 / (2 * 3) ** 0.5)  # a tie
    assert kendall_tau([]) == kendall_tau([(1, 5)]) == kendall_tau([(0, 1), (0, 2)]) == 0.0
