"""Short sentences on one subject."""

from __future__ import annotations

import pytest

from data.types import Heading, Section, Sentence
from pipeline.writing.joined import PARAGRAPH, with_joined_sentences, with_whole_paragraphs, with_whole_sections

BUILT = "The dirigible was built at Morris Park, New York."


def joined(*texts: str, cites: tuple[str, ...] = ("0:0-9",)) -> list[str]:
    section = Section(Heading("History", 2), (tuple(Sentence(text, cites) for text in texts),))
    return [sentence.text for sentence in with_joined_sentences([section])[0].sentences]


def test_two_on_one_subject_are_one_sentence() -> None:
    assert joined(BUILT, "The dirigible cost over $5,000.") == [
        "The dirigible was built at Morris Park, New York, and cost over $5,000."
    ]
    assert joined("Kari Holm led the union.", "Kari Holm called a strike.", "Kari Holm resigned in May.") == [
        "Kari Holm led the union and called a strike.",
        "Kari Holm resigned in May.",
    ]


@pytest.mark.parametrize(
    "other",
    [
        "The airship cost over $5,000.",
        "The dirigible, a wreck by then, cost over $5,000 (in 1908).",
        "The dirigible cost more than “all the rest”.",
        "The dirigible cost a great deal more than anything else which the society had bought, rented, built, or lent.",
        "The dirigible and its shed were sold.",
        "The dirigible was built by members.",  # the same verb again
    ],
)
def test_what_is_said_of_something_else_or_is_long_stands_alone(other: str) -> None:
    assert joined(BUILT, other) == [BUILT, other]


def test_a_participle_behind_a_noun_is_no_verb() -> None:
    homes = ["The total number of homes flooded was 5,230.", "The total number of homes destroyed was 214."]
    assert joined(*homes) == homes


def test_a_sentence_keeps_citations_that_hold_all_of_it() -> None:
    sentences = (Sentence(BUILT, ("0:0-9",)), Sentence("The dirigible cost over $5,000.", ("1:0-9",)))
    section = Section(Heading("History", 2), (sentences,))
    assert with_joined_sentences([section]) == (section,)


@pytest.mark.parametrize(
    ("lengths", "whole"),
    [
        ((1, 3, 1), (5,)),
        ((4, 4), (4, 4)),
        ((1, 1, 2, 1), (2, 3)),
        ((PARAGRAPH, 1, 1), (PARAGRAPH, 2)),
        ((2, 2), (2, 2)),
        ((), ()),
    ],
)
def test_a_paragraph_of_one_sentence_goes_with_its_neighbour(lengths: tuple[int, ...], whole: tuple[int, ...]) -> None:
    paragraphs = tuple(tuple(Sentence(f"Sentence {n} of {k}.", ("0:0-9",)) for n in range(k)) for k in lengths)
    (section,) = with_whole_paragraphs([Section(Heading("Impact", 2), paragraphs)])
    assert tuple(map(len, section.paragraphs)) == whole
    assert [s for p in section.paragraphs for s in p] == [s for p in paragraphs for s in p]


def section(heading: str, *texts: str) -> Section:
    return Section(Heading(heading, 2), (tuple(Sentence(text, ("0:0-9",)) for text in texts),) if texts else ())


def test_a_section_of_one_sentence_goes_with_the_neighbour_that_has_its_words() -> None:
    lead, filming = section("", "It is a film."), section("Filming", "It was shot in Osmere.", "The shoot took a year.")
    thin, sales = (
        section("Development", "Osmere had a film school."),
        section("Sales", "It sold well.", "It earned more abroad."),
    )
    found = with_whole_sections([lead, filming, thin, sales], frozenset())
    assert [one.heading.text for one in found] == ["", "Filming", "Sales"]
    assert [s.text for s in found[1].sentences] == [s.text for one in (filming, thin) for s in one.sentences]
    found = with_whole_sections([lead, thin, filming], frozenset())
    assert [s.text for s in found[1].sentences] == [s.text for one in (thin, filming) for s in one.sentences]


def test_nothing_goes_into_a_story_or_out_of_one() -> None:
    lead, plot, cast = (
        section("", "It is a film."),
        section("Plot", "Mara finds a map."),
        section("Cast", "Kari Holm plays Mara."),
    )
    assert with_whole_sections([lead, plot, cast], frozenset(("Plot",))) == (lead, plot, cast)
    assert with_whole_sections([lead, plot], frozenset()) == (lead, plot)
    assert with_whole_sections([lead], frozenset()) == (lead,)
