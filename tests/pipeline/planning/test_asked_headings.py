"""Section assignment by a language model's word: what it is asked, and what its word does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from decoding.api import Message
from pipeline.planning.asked_headings import HEADING, log_chances, under
from tests.fakes import ScriptedGenerator

HEADINGS = ("Background", "Impact", "Aftermath")
SENTENCES = ("The dam was built in 1931.", "About 300 homes were flooded.")


class Asked(ScriptedGenerator):
    def choose_many(
        self, asked: Sequence[Sequence[Message]], options: Sequence[str], question: str = ""
    ) -> list[tuple[float, ...]]:
        assert tuple(options) == ("A", "B", "C") and question == HEADING
        return [(0.0, 1.0, 0.0) if "flooded" in messages[-1].content else (0.7, 0.1, 0.2) for messages in asked]


def test_each_sentence_is_asked_of_behind_what_all_share() -> None:
    prompts = [under("River flood", HEADINGS, sentence, str)[-1].content for sentence in SENTENCES]
    shared = "Article: River flood\nA. Background\nB. Impact\nC. Aftermath\nSentence: "
    assert prompts == [shared + sentence for sentence in SENTENCES]
    found = log_chances("River flood", HEADINGS, SENTENCES, Asked())
    assert found.shape == (2, 3) and np.isfinite(found).all()
    assert found.argmax(axis=1).tolist() == [0, 1] and found[0] == pytest.approx(np.log([0.7, 0.1, 0.2]))


def test_nothing_is_asked_where_there_is_no_choice() -> None:
    assert log_chances("River flood", HEADINGS[:1], SENTENCES, ScriptedGenerator()).tolist() == [[0.0], [0.0]]
    assert log_chances("River flood", HEADINGS, (), ScriptedGenerator()).shape == (0, 3)
