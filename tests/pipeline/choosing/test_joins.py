"""Texts that a page without its markup ran together."""

from __future__ import annotations

import pytest

from pipeline.choosing.joins import mended, run_together, without_heading


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


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("The lat-est survey of the dam was com-pletely free.", "The latest survey of the dam was completely free."),
        ("A non-profit of well-known co-founders re-opened it.", "A non-profit of well-known co-founders re-opened it."),
        ("Th ese two gates, a sci-fi set, were shut.", "These two gates, a sci-fi set, were shut."),
        ("The pilot is played by(Ana Ruiz) in the film(s).", "The pilot is played by (Ana Ruiz) in the film(s)."),
        ("Ants raid nests (Abt, 1990; Lind & Holt 2001a; Pell et al., 2003, 2004).", "Ants raid nests."),
        ("The queen is small (see Fig. 2A) (e.g., Ruiz & al. 1999, De Wit 2005) and old (, –).", "The queen is small and old."),
        ("Ants live on Formica rufa L. (Abt & Lind 1980).", "Ants live on Formica rufa L."),
        ("It was followed by The Tide (Broadway, 1978).", "It was followed by The Tide (Broadway, 1978)."),
        ("It won (May 2031), as Tide (2030) and (1909–1963) did.", "It won (May 2031), as Tide (2030) and (1909–1963) did."),
        ("Osmere, Tolvane—In the old town the dam broke.", "In the old town the dam broke."),
        ("In May, TV-Osmere showed the dam.", "In May, TV-Osmere showed the dam."),
    ],
)
def test_words_are_whole_and_references_gone(text: str, whole: str) -> None:
    assert mended(text) == whole


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
        "The survey of D’Abt and H ÖLLMANN was printed in the year of the flood.",
        "Erosion is Eroded banks are found all over the world.",
        "2016), and on the defences of the town against the river.",
        "The form of protes\"Aster's behaviour was noted by the court.",
        "Twyford Mill today1/7We are closed for the winter.",
        "Civic Centre works 20 November 2031 Roof works are due to start on the top floor.",
        "The borderlands were allotted93seats in the Duma of the empire.",
        "Political parties were first legalised in the course of1905 by the rules.",
        "CONTINUED COVERAGE: The police are looking for the van.",
        "There have been thirteen packages from the Crown to the court, the most recent of which was.",
        "The cruiser in the harbour, 1913 (Turnbull Library, 1/1-0201-G) The cruiser reached Osmere for a tour.",
        "The airport receives twenty arrivals daily, mainly jets, each carrying All pictures were taken in 2031.",
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
