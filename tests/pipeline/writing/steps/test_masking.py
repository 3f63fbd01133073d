"""Titles, brackets and place names as one word, and back."""

from __future__ import annotations

import pytest

from pipeline.writing.steps.masking import Masked


@pytest.mark.parametrize(
    ("sentence", "plain"),
    [
        ("“Lucky Day,” the fourth episode, is set in Osmere.", "Xqa, the fourth episode, is set in Osmere."),
        ("He read “The Well.”", "He read Xqa."),
        ("A press in Louisville, Kentucky, sold it.", "A press in Xqa, sold it."),
        ("Formica fusca (Linnaeus 1758) is an ant.", "Formica xqa is an ant."),
        ("The film “Dawn” (2019) won.", "The film Xqb won."),
        (
            "“We will not go home until the water has gone,” he said.",
            "“We will not go home until the water has gone,” he said.",
        ),
    ],
)
def test_titles_brackets_and_places_are_one_word(sentence: str, plain: str) -> None:
    masked = Masked.of(sentence)
    assert masked.text == plain and masked.restore(masked.text) == sentence


def test_a_title_that_moves_gives_its_comma_up() -> None:
    masked = Masked.of("“Lucky Day,” the fourth episode, opens in May.")
    assert masked.restore("In May the fourth episode opens: Xqa.") == "In May the fourth episode opens: “Lucky Day.”"
    assert masked.restore("Xqa opens in May.") == "“Lucky Day” opens in May."
