"""Capitals of words that move within a sentence."""

from __future__ import annotations

import pytest

from pipeline.writing.letter_case import small


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("The dam broke.", "the dam broke."),
        ("Turnout rose.", "turnout rose."),
        ("Sales of Vandrell boats fell.", "sales of Vandrell boats fell."),
        ("Ana Ruiz left.", "Ana Ruiz left."),
        ("Here for It All sold well.", "Here for It All sold well."),
        ("Osmere flooded.", "Osmere flooded."),
    ],
)
def test_a_name_keeps_its_capital(text: str, moved: str) -> None:
    assert small(text) == moved
