"""Which pages are about the subject."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from data.decoding_counts import Usage
from pipeline.evidence import Evidence
from pipeline.notes import Card
from pipeline.noting.about import judge_pages
from tests.fakes import FixedEncoder
from tests.pipeline.flood import EVENT, RETRIEVAL, page

STORY = "Water rose over the low streets in the night, and people were brought to the school on the hill. " * 5


class Alike(FixedEncoder):
    """Every text has this cosine with the first."""

    def __init__(self, cosine: float) -> None:
        super().__init__()
        self.cosine = cosine

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = np.zeros((len(texts), 2), dtype=np.float32)
        found[:] = (self.cosine, (1 - self.cosine**2) ** 0.5)
        found[0] = (1.0, 0.0)
        return found


@pytest.mark.parametrize(
    ("title", "cosine", "verdict"),
    [
        (EVENT.title, 0.5, "subject"),  # it names the subject
        (EVENT.title, 0.3, "mention"),  # but is far from it
        ("The night of the water", 0.75, "subject"),  # very near, by whatever name
        ("The night of the water", 0.6, "other"),
    ],
)
def test_by_the_card_and_the_title(title: str, cosine: float, verdict: str) -> None:
    evidence = Evidence.unlapped(EVENT, (page("one", title, STORY),), RETRIEVAL)
    (judged,) = judge_pages(evidence, Card("A flood.", (), "model", Usage()), Alike(cosine)).pages
    assert judged.verdict == verdict
    assert judged.likeness == pytest.approx(cosine, abs=0.001) and judged.named == float(title == EVENT.title)


FLOODS = [f"The river Tolvane rose over the levee of Vasterlow on night {n}, and houses stood in water. " * 6 for n in range(4)]
RUNNERS = "Runners signed up for kilometres of asphalt with bibs, medals, pacers, shoes and a pasta party at the start. " * 6


class OfSubject(FixedEncoder):
    """Beginnings and cards are as near to each other as pages of one name are; of passages the words tell."""

    def __init__(self, cosine: float = 0.6) -> None:
        super().__init__()
        self.cosine = cosine

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if EVENT.title not in texts[0]:
            return super().encode(texts)
        return Alike(self.cosine).encode(texts)


def verdicts(*texts: str) -> list[str]:
    pages = [page(f"p{n}", EVENT.title, text) for n, text in enumerate(texts)]
    evidence = Evidence.unlapped(EVENT, pages, RETRIEVAL)
    card = Card("A flood.", (), "model", Usage())
    return [one.verdict for one in judge_pages(evidence, card, OfSubject()).pages]


def test_a_page_of_the_name_that_tells_of_nothing_that_the_others_tell_is_not_about_the_subject() -> None:
    assert verdicts(*FLOODS, RUNNERS) == ["subject"] * 4 + ["mention"]
    assert verdicts(*FLOODS[:3], RUNNERS) == ["subject"] * 4  # three others are too few to tell
    assert verdicts(*FLOODS, FLOODS[0].replace("night 0", "night 7")) == ["subject"] * 5


@pytest.mark.parametrize(
    ("title", "verdict"),
    [
        ("A flood of entries for the 2031 Tolvane Valley Marathon", "other"),
        ("Runners remember the flood on the Tolvane", "mention"),
    ],
)
def test_the_words_of_a_name_without_the_name_are_another_name(title: str, verdict: str) -> None:
    pages = [page(f"p{n}", EVENT.title, text) for n, text in enumerate(FLOODS)]
    evidence = Evidence.unlapped(EVENT, (*pages, page("race", title, RUNNERS)), RETRIEVAL)
    judged = judge_pages(evidence, Card("A flood.", (), "model", Usage()), OfSubject()).pages
    assert [one.verdict for one in judged] == ["subject"] * 4 + [verdict]
