"""Texts that a page without its markup ran together."""

from __future__ import annotations

import pytest

from pipeline.choosing.joins import run_together, without_heading


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("History The gatehouse was built by students in 1121.", "The gatehouse was built by students in 1121."),
        ("DramaA young chef returns to Osmere to run a shop.", "A young chef returns to Osmere to run a shop."),
        ("36 The Kadets swept the final in three games.", "The Kadets swept the final in three games."),
        ("Political outsider After the vote, Mr Aster left the palace.", "After the vote, Mr Aster left the palace."),
        ("Opening day In 2031 the bridge was closed for a week.", "In 2031 the bridge was closed for a week."),
    ],
)  # fmt: skip
def test_a_heading_before_its_sentence_is_cut_off(text: str, kept: str) -> None:
    assert without_heading(text, text) == kept
    assert not run_together(kept, text)


@pytest.mark.parametrize(
    "text",
    [
        "36 people died in the flood at Osmere.",
        "CubeSats had been built by students at four universities.",
        "The mayor of Osmere, after the vote, said that the bridge was closed.",
        "In 2031 the A team of the town won all its games.",
    ],
)
def test_what_is_no_heading_stays(text: str) -> None:
    assert without_heading(text, text) == text


def test_a_name_that_the_page_says_again_is_no_heading() -> None:
    page = "Notes On a bridge was released in 2031 in all towns. Critics liked Notes On a bridge."
    assert without_heading("Notes On a bridge was released in 2031 in all towns.", page).startswith("Notes On a")


@pytest.mark.parametrize(
    "text",
    [
        "The police said they hadseized a cache of guns.",
        "The ruling was widelycriticised by the press.",
        "Nothing was done yetagainst the two companies.",
        "The island lies in the north. ese include two towns.",
        "ÂSunday games may be moved to another day.",
        "ADA BRAND / AP The president of the council was ousted.",
        "The order was made in support of four accused, Const.",
        "Aug 19, 2031 - The launch of the game was late.",
        "The form of protes\"Aster's behaviour was noted by the court.",
        "Twyford Mill today1/7We are closed for the winter.",
        "Civic Centre works 20 November 2031 Roof works are due to start on the top floor.",
        "The borderlands were allotted93seats in the Duma of the empire.",
        "Political parties were first legalised in the course of1905 by the rules.",
        "CONTINUED COVERAGE: The police are looking for the van.",
        "The parasites were seen but of being met with joy they fled.",
    ],
)
def test_what_was_run_together_is_found(text: str) -> None:
    assert run_together(text, text)


@pytest.mark.parametrize(
    "text",
    [
        "The film was livestreamed by McDonald on YouTube and the iPlayer.",
        "The vote was widely criticised, and the council resigned at once.",
        "The U.S. embassy closed on 3 May 2031 at 9 a.m. for a week.",
        "About 7 per cent, or approx. 90 people, were against the plan.",
    ],
)
def test_whole_sentences_pass(text: str) -> None:
    assert not run_together(text, text)


def test_a_word_with_two_capitals_passes_where_the_page_has_it_again() -> None:
    text = "The crew of the StormTracker reached the island."
    assert run_together(text, text)
    assert not run_together(text, f"{text} The StormTracker left again.")
