"""Words that a text leaves out. Every fact and text is invented."""

from __future__ import annotations

import pytest

from pipeline.writing.checks.lost_words import lost_words


@pytest.mark.parametrize(
    ("fact", "text", "lost"),
    [
        ("The crew landed 500 years in the future.", "The crew landed 500 years.", ("future",)),
        ("Lena Abt is the host of the town's titular podcast.", "Lena Abt is the host of the town's podcast.", ("titular",)),
        (
            "The clip shows her riding to the mill on bikes and carriages.",
            "The clip shows her riding to the mill.",
            ("bikes", "carriages"),
        ),
        ("Host workers care for the brood.", "Hosts care for the brood.", ("workers",)),
        ("The ferry sank, and divers searched the harbour.", "The ferry sank.", ("divers", "searched", "harbour")),
        ("In “The Mill,” the horror is in the mind.", "The horror is in the mind.", ("Mill",)),
        ("Osmere’s police and army were there.", "The police and the army were there.", ("Osmere",)),
        ("Abt leased it from the City of Osmere.", "Abt leased it from Osmere.", ("City",)),
        ("Points are added for the longest river and track.", "Points are added for the longest track.", ("river",)),
    ],
)
def test_a_word_that_is_gone_is_found(fact: str, text: str, lost: tuple[str, ...]) -> None:
    assert lost_words(text, [fact]) == lost


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        # Beside a date.
        ("The dam broke on Monday, 3 May.", "On 3 May the dam broke."),
        # Another word for it: WordNet's, an editor's, a wording's.
        ("The fire damaged forty houses in Osmere.", "Forty houses in Osmere were damaged by the blaze."),
        ("He was a member of the council.", "He belonged to the council."),
        # Words that say nothing of their own, and quotations.
        ("The town is actually very proud of its bridge.", "The town is proud of its bridge."),
        ("The pilot serves as mayor in order to help.", "The pilot is mayor to help."),
        ("She called it “a disaster waiting to happen” in May.", "In May she called it “a disaster”."),
    ],
)
def test_what_may_go_is_no_fault(fact: str, text: str) -> None:
    assert lost_words(text, [fact]) == ()


def test_a_word_of_either_fact_is_missed() -> None:
    facts = ["The mill burned in May.", "Two young pilots died."]
    assert lost_words("In May the mill burned. Two pilots died.", facts) == ("young",)
    assert lost_words("In May the mill burned. Two young pilots died.", facts) == ()
