"""The subject by a short form."""

from __future__ import annotations

import pytest

from data.types import Heading, Section, Sentence
from pipeline.choosing.subject import Subject
from pipeline.writing.repeated_name import with_short_names
from tests.pipeline.flood import page


def written(title: str, kind: str, *texts: str, heading: str = "History", pages: str = "") -> list[str]:
    subject = Subject(title, [page("a", title, f"{title}. {pages}"), page("b", title, f"{title}. {pages}")])
    section = Section(Heading(heading, 2), (tuple(Sentence(text, ("0:0-9",)) for text in texts),))
    told = frozenset(("Plot",))
    return [s.text for s in with_short_names([section], subject, kind, told)[0].sentences]


def test_a_work_is_it_and_what_its_pages_call_it() -> None:
    texts = ("Lantern was shot on Hest.", "Lantern opened in May.", "Lantern’s music is by Aske.", "Then Lantern was sold.")
    assert written("Lantern (2031 film)", "film", *texts, pages="The film is long. The film ended. The film won.") == [
        "Lantern was shot on Hest.",
        "It opened in May.",
        "The film’s music is by Aske.",
        "Then Lantern was sold.",
    ]
    assert written("Lantern (2031 film)", "film", *texts[:3]) == [*texts[:1], "It opened in May.", texts[2]]


@pytest.mark.parametrize(
    "other",
    [
        "Lantern House is a museum.",
        "Lantern festivals were held.",
        "Lantern are a band.",
        "Lantern was clear that night.",  # "It was clear that"
        "Lantern: The Return opened in May.",
    ],
)
def test_another_name_or_another_it_stays(other: str) -> None:
    assert written("Lantern", "film", "Lantern opened.", other) == ["Lantern opened.", other]


def test_in_a_story_a_person_may_have_the_name() -> None:
    texts = ("Lux is a god of light.", "Lux uses light to illuminate the theatre.")
    assert written("Lux", "television episode", *texts, heading="Plot") == list(texts)


def test_a_person_is_called_as_pages_call_her() -> None:
    pages = "Dobbertin took it. Dobbertin sold it. Walther sat."
    texts = ("Walther Dobbertin was born in 1882.", "In 1903 Walther Dobbertin left.", "Walter Dobbertin’s shop burned down.")
    assert written("Walther Dobbertin", "person", *texts, pages=pages) == [
        "Walther Dobbertin was born in 1882.",
        "In 1903 Dobbertin left.",
        "Dobbertin’s shop burned down.",
    ]
    assert written("Walther Dobbertin", "person", *texts) == list(texts)  # nobody calls him so
    wife = "Clara Dobbertin kept the shop."
    assert written("Walther Dobbertin", "person", *texts, wife, pages=pages) == [*texts, wife]
    family_first = written("Xi Lanying", "person", "Xi Lanying sang.", "Xi Lanying left.", pages="Xi won. Xi lost. Xi left.")
    assert family_first == ["Xi Lanying sang.", "Xi left."]
