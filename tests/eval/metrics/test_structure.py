from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from eval.metrics.structure import Headings
from tests.eval.cases import case
from tests.fakes import FixedEncoder


def headed(*headings: str) -> str:
    return "Lead.\n" + "\n".join(f"=={heading}==\nText." for heading in headings)


def scores(written: tuple[str, ...], human: tuple[str, ...]) -> dict[str, float | None]:
    return Headings(FixedEncoder()).score(case(headed(*written), headed(*human)))


GOLD = ("Background", "Eruption", "Aftermath and response")
GENERIC = ("Cast", "Legacy", "Music", "Plot", "Reception", "Release", "Teams", "Venue")


def test_the_same_outline_scores_one() -> None:
    assert all(value == pytest.approx(1.0) for value in scores(GOLD, GOLD).values())


def test_half_of_the_outline_has_precision_but_not_recall() -> None:
    values = scores(GOLD[:1], GOLD)
    assert values["heading_precision"] == pytest.approx(1.0)
    assert values["heading_exact"] == pytest.approx(1 / 3)
    assert 1 / 3 < values["heading_recall"] < 0.7
    assert values["heading_f"] == pytest.approx(2 * values["heading_recall"] / (1 + values["heading_recall"]), rel=1e-5)


def test_padding_with_generic_headings_costs_precision_which_storm_does_not_see() -> None:
    padded = scores((*GOLD, *GENERIC), GOLD)
    assert padded["heading_recall"] == pytest.approx(1.0)
    assert padded["storm_hsr"] == pytest.approx(1.0)
    assert padded["heading_f"] < 0.8


def test_soft_recall_is_storms_formula_and_is_not_clipped() -> None:
    def card(vectors: np.ndarray) -> float:
        return float((1 / (vectors @ vectors.T).sum(axis=1)).sum())

    human, written = ["History", "Damage"], ["Damage", "Response", "Historic storms"]
    encoder = FixedEncoder()
    g, w, both = (card(encoder.encode(names)) for names in (human, written, [*human, *written[1:]]))
    assert scores(tuple(written), tuple(human))["storm_hsr"] == pytest.approx((g + w - both) / g, rel=1e-5)

    class Opposed:
        """Cosines below 0 make a union smaller than its parts, so soft recall passes 1."""

        name = "opposed"

        def encode(self, texts: list[str]) -> np.ndarray:
            angle = {"A": 0.0, "B": 2.4, "C": 2.6}
            return np.array([[np.cos(angle[t]), np.sin(angle[t])] for t in texts], dtype=np.float32)

    values = Headings(Opposed()).score(case(headed("B", "C"), headed("A")))
    assert values["storm_hsr"] > 1.9
    assert values["heading_recall"] == values["heading_f"] == 0.0


def test_exact_matches_ignore_case_and_repeats_do_not_help() -> None:
    values = scores(("history", "History"), ("History", "Damage"))
    assert values["heading_exact"] == 0.5


@pytest.mark.parametrize("written", ["", "Only a lead.", "Lead.\n==References==\nA list."])
def test_an_article_without_headings_scores_zero(written: str) -> None:
    assert set(Headings(FixedEncoder()).score(case(written, headed(*GOLD))).values()) == {0.0}


def test_a_human_article_without_headings_is_unscored() -> None:
    assert set(scores(GOLD, ()).values()) == {None}


def test_only_headings_is_enough_for_structure() -> None:
    values = Headings(FixedEncoder()).score(case("==Background==\n==Eruption==", headed("Background", "Eruption")))
    assert values["heading_f"] == pytest.approx(1.0)
    assert values["section_balance"] is None


def test_scores_do_not_depend_on_the_cases_before() -> None:
    class Jittery(FixedEncoder):
        """As real encoders: the last bits of a vector depend on the texts beside it."""

        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            moved = np.float32(1 + len(texts) * 1e-6)
            return super().encode(texts) * moved

    cases = [
        case(headed("History", "Damage", "History"), headed("History", "Aftermath")),
        case(headed(*GENERIC), headed(*GOLD)),
    ]
    alone = [Headings(Jittery()).score(one) for one in cases]
    metric = Headings(Jittery())
    assert [metric.score(one) for one in reversed(cases)][::-1] == alone


def test_the_headings_of_a_case_are_encoded_in_one_call_each_once() -> None:
    class Counting(FixedEncoder):
        calls = 0

        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            self.calls += 1
            return super().encode(texts)

    encoder = Counting()
    Headings(encoder).score(case(headed("History", "Damage", "History"), headed("History", "Aftermath")))
    assert sorted(encoder.seen) == ["Aftermath", "Damage", "History"] and encoder.calls == 1


def test_balance_compares_shares_of_words_by_subject() -> None:
    human = "One two.\n==History==\n" + "word " * 8 + "\n==Damage==\nword word"
    same = Headings(FixedEncoder()).score(case(human, human))["section_balance"]
    split_up = human.replace("==Damage==\nword word", "==Damage==\nword\n==Damage==\nword")
    assert same == Headings(FixedEncoder()).score(case(split_up, human))["section_balance"] == pytest.approx(1.0)
    turned = "One two.\n==Damage==\n" + "word " * 8 + "\n==History==\nword word"
    found = Headings(FixedEncoder()).score(case(turned, human))["section_balance"]
    p, q = np.array([2, 8, 2]) / 12, np.array([2, 2, 8]) / 12
    middle = (p + q) / 2
    assert found == pytest.approx(1 - np.sqrt((p * np.log2(p / middle) + q * np.log2(q / middle)).sum() / 2))
    assert Headings(FixedEncoder()).score(case(human, "==History==\n==Damage=="))["section_balance"] is None


def test_signature_names_the_encoder() -> None:
    assert "fixed-256" in Headings(FixedEncoder()).signature
