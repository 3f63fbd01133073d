"""Persons in full at the first mention. Every name and page is invented."""

from __future__ import annotations

import pytest

from data.settings import RetrievalSettings
from data.types import Event, Heading, Section, Sentence
from pipeline.evidence import Evidence
from pipeline.writing.full_names import in_full
from tests.pipeline.flood import page

FIRST = (
    "Scottie Vandrell, who is 27, won the Osmere Cup. Vandrell said that his boat was the best. Irena Holt of Osmere College "
    "and her brother Tomas Holt came second. Holt was glad."
)
OTHER = "The mayor, Ludmila Abtrek, opened the race, and she fired the gun. In the evening Ludmila Abtrek gave him the cup."


def written(*texts: str, cites: str | None = None) -> list[Sentence]:
    evidence = Evidence.cut(
        Event("1", "2031 Osmere Cup"), [page("p0", "Cup", FIRST), page("p1", "Race", OTHER)], RetrievalSettings()
    )
    passage = cites or evidence.passages[0].id
    section = Section(Heading("", 1), (tuple(Sentence(text, (passage,)) for text in texts),))
    return list(in_full([section], evidence)[0].sentences)


def test_a_surname_alone_gets_its_first_name_once() -> None:
    first, second = written("Vandrell won in the rain.", "The crowd cheered for Vandrell.")
    assert first.text == "Scottie Vandrell won in the rain." and len(first.cites) == 1
    assert second.text == "The crowd cheered for Vandrell."


def test_a_name_from_another_page_is_cited() -> None:
    (sentence,) = written("The gun was fired by Abtrek’s guard.")
    assert sentence.text == "The gun was fired by Ludmila Abtrek’s guard." and len(sentence.cites) == 2


@pytest.mark.parametrize(
    "text",
    [
        "Holt was glad.",  # Irena or Tomas?
        "The Vandrell family was glad.",
        "The Vandrell boat sank.",
        "Osmere was full of people.",
        "The mayor said: “Vandrell won.”",
        "Scottie Vandrell won, and Vandrell was glad.",
    ],
)
def test_what_is_no_first_mention_of_one_person_stays(text: str) -> None:
    assert [sentence.text for sentence in written(text)] == [text]
