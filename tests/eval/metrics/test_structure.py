import numpy as np
import pytest

from eval.metrics.structure import Headings
from tests.eval.cases import case
from tests.fakes import FixedEncoder


def headed(*headings: str) -> str:
    return "Lead.\n" + "\n".join(f"=={heading}==\nText." for heading in headings)


def scores(written: tuple[str, ...], human: tuple[str, ...]) -> dict[str, float | None]:
    return Headings(FixedEncoder()).score(case(headed(*written), headed(*human)))


GOLD = ("Background", "Eruption", "Aftermath and response")
GENERIC = ("Cast", "Legacy", "Music", "Plot", "Reception", "Release", "Teams", "Venue")


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


def test_the_same_outline_scores_one_and_without_headings_nothing_is_scored() -> None:
    assert all(value == pytest.approx(1.0) for value in scores(GOLD, GOLD).values())
    assert set(scores(GOLD, ()).values()) == {None} and "fixed-256" in Headings(FixedEncoder()).signature
