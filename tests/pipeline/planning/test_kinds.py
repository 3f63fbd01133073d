from __future__ import annotations

from collections import Counter

import pytest

from data.types import Page
from pipeline.planning.kinds import KindRecogniser, load_kinds
from tests.fakes import FixedEncoder


def test_the_bank_is_complete() -> None:
    kinds = load_kinds()
    assert len({kind.name for kind in kinds}) == len(kinds) > 10
    for kind in kinds:
        assert kind.about.strip(), kind.name
        headings = [section.heading for section in kind.sections]
        assert len(headings) >= 2, kind.name
        assert Counter(headings).most_common(1)[0][1] == 1, kind.name
        assert all(section.about.strip() and section.heading[0].isupper() for section in kind.sections), kind.name


def test_no_title_pattern_matches_everything() -> None:
    titles = ["", "Tolvane", "Irena Holt", "Vasterlow"]
    assert [(kind.name, title) for kind in load_kinds() for title in titles if kind.title.search(title)] == []


@pytest.mark.parametrize(
    ("title", "kind"),
    [("The Quay (film)", "film"), ("The Quay (2031 film)", "film"), ("The Quay (TV series)", "television series")],
)
def test_titles_that_say_it(title: str, kind: str) -> None:
    assert kind in [k.name for k in load_kinds() if k.title.search(title)]


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("The Quay (2031 Tolvane film)", "film"),
        ("The Quay (Tolvane TV series)", "television series"),
        ("The Quay (board game)", "video game"),
        ("2031 Osmere City season", "team season"),
        ("2031 OSBL season", "league season"),
        ("2031 Tolvane House of Representatives elections in Osmere", "election"),
        ("List of ferries of Osmere", "list"),
        ("The Quay (collection)", "fashion collection"),
    ],
)
def test_titles_that_leave_no_doubt(title: str, kind: str) -> None:
    assert [k.name for k in load_kinds() if k.certain.search(title)] == [kind]
    assert KindRecogniser(FixedEncoder()).recognise(title, []).name == kind


@pytest.mark.parametrize(
    "title",
    [
        "2031 Tolvane hurricane season",
        "2031 Formula One season",
        "2031 Osmere Volleyball Grand Prix",
        "List of elections in Osmere",
        "Interference in the 2031 Tolvane election",
    ],
)
def test_titles_that_leave_a_doubt(title: str) -> None:
    assert not {k.name for k in load_kinds() if k.certain.search(title)} & {"team season", "motor race", "election"}


KINDS = {kind.name: kind for kind in load_kinds()}


@pytest.mark.parametrize(
    ("kind", "may", "may_not"),
    [
        ("book", ("Plot", "Background", "Publication"), ("Attack", "Aftermath", "Career", "History")),
        ("attack", ("Attack", "Aftermath", "History"), ("Plot", "Cast", "Career")),
        ("person", ("Career", "Death", "Works"), ("Plot", "Investigation", "Geography")),
        ("character", ("Appearances", "Reception"), ("Plot", "Death", "Victims")),
    ],
)
def test_headings_that_a_kind_may_have(kind: str, may: tuple[str, ...], may_not: tuple[str, ...]) -> None:
    assert [heading for heading in (*may, *may_not) if KINDS[kind].may_have(heading)] == list(may)


def test_a_kind_has_no_section_that_it_never_has() -> None:
    assert [k.name for k in load_kinds() if k.never & {section.heading for section in k.sections}] == []


def test_what_its_card_calls_a_subject_says_the_kind() -> None:
    recogniser = KindRecogniser(FixedEncoder())
    kinds = [recogniser.by_card("Quay", card, ())[0][1].name for card in ("Quay was a factory in Osmere.", "Quay is a film.")]
    assert kinds == ["company", "film"]


def test_a_kind_of_which_pages_leave_no_doubt() -> None:
    recogniser = KindRecogniser(FixedEncoder())
    episode = Page("https://a.example/quay", "Quay episode recap", "", origin="search")
    found = recogniser.clear("Quay", [episode])
    assert found is not None and found.name == "television episode"
    assert recogniser.clear("Quay", []) is None
