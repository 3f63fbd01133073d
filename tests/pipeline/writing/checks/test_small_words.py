"""Small words that changed between words that stayed. Every fact and text is invented."""

from __future__ import annotations

import pytest

from pipeline.writing.checks.small_words import small_words


@pytest.mark.parametrize(
    ("fact", "text", "change"),
    [
        ("The next game in the Osmere series came out.", "The next game in Osmere series came out.", "the -> nothing"),
        ("Many ask which film may win the prize.", "Many ask which film will win the prize.", "may -> will"),
        ("The two were on equal footing in Osmere.", "The two were in equal footing in Osmere.", "on -> in"),
        ("Each of the three mills is set in Osmere.", "Each of the three mills set in Osmere.", "is -> nothing"),
        ("The song came out on 3 May in Osmere.", "The song came out from 3 May in Osmere.", "on -> from"),
        ("He was known for a dam, which he called fine.", "He was known for a dam. He called fine.", "which -> ."),
        (
            "The army holds Osmere responsible for it.",
            "The army holds Osmere that it is responsible for it.",
            "nothing -> that it is",
        ),
        ("It is no fault of hers, but of the pilot.", "It is no fault of hers, of the pilot.", "but -> nothing"),
    ],
)
def test_a_small_word_that_changed_is_found(fact: str, text: str, change: str) -> None:
    assert change in small_words(text, fact)


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("The town raised the dam, and the province paid for it.", "The town raised the dam. The province paid for it."),
        ("The dam, which was built in 1821, broke in May.", "The dam, built in 1821, broke in May."),
        ("On 3 May 2031, the ferry sank near Osmere.", "The ferry sank near Osmere on 3 May 2031."),
        ("The police closed the bridge at noon.", "The bridge was closed by the police at noon."),
        ("He called it “a day in the sun” in May.", "He called it “a day in sun” in May."),
    ],
)
def test_a_sentence_that_was_divided_or_built_anew_has_none(fact: str, text: str) -> None:
    assert small_words(text, fact) == ()
