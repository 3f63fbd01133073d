from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path

import pytest

import pipeline.web.queries as queries
from data.errors import UserError
from data.types import DropReason, Page
from pipeline.planning.kinds import KindRecogniser, load_kinds
from pipeline.web.queries import first_queries, kind_by_title, search_window, second_queries
from tests.fakes import FixedEncoder

TITLE = "2031 Tolvane flood"


def page(host: str, *sentences: str, dropped: DropReason | None = None) -> Page:
    return Page(f"https://{host}/story", "A story", " ".join(sentences), "search", drop_reason=dropped)


PAGES = (
    page("one.example.org", "On Monday the dam near Lake Orran broke.", "Mayor Irena Holt spoke to Reuters in Tolvane."),
    page("two.example.org", "The water of Lake Orran rose again.", "Later Irena Holt left the city with Pavel Brandt."),
    page("two.example.org", "It was Pavel Brandt who saw the Mill Gate fail.", "Nobody in Tolvane blamed Holt for it."),
    page("three.example.org", "Rescuers crossed Lake Orran by boat.", "Yesterday Holt’s office thanked them."),
    page("four.example.org", "We saw Pavel Brandt there, and Dario Venn.", dropped="leak_text"),
    page("five.example.org", "We saw Pavel Brandt there, and Dario Venn.", dropped="duplicate"),
)


def test_the_bank_asks_four_questions_of_every_kind_once() -> None:
    tables = tomllib.loads((Path(queries.__file__).parent / "questions.toml").read_text(encoding="utf-8"))
    listed = [kind for group in tables["group"] for kind in group["kinds"]]
    assert sorted(listed) == sorted(kind.name for kind in load_kinds())
    for group in [tables["other"], *tables["group"]]:
        assert group.keys() - {"kinds"} == {"who", "what", "when", "where"}
        assert all(1 <= len(group[question].split()) <= 6 for question in queries.QUESTIONS)


@pytest.mark.parametrize("title", [TITLE, "x" * 600, "Tolvane " * 80, "浜名湖の洪水", '"Heroes" site:a.example.org'])
def test_every_query_fits(title: str) -> None:
    found = [*first_queries(title), *second_queries(title, PAGES, first_queries(title))]
    assert len(set(found)) == len(found) and all(0 < len(query) <= 380 and len(query.split()) <= 50 for query in found)


@pytest.mark.parametrize("title", ["", "  ", '"()"', "\u202e"])
def test_a_title_without_words(title: str) -> None:
    with pytest.raises(UserError, match="holds no word to search for"):
        first_queries(title)


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("Fire Station Road", "place"),
        ("Station Road fire", "accident"),
        ("The Quay (2031 film)", "film"),
        ("The Flood (2031 film)", "film"),
        ("2031 Tolvane Cup final", "sports match"),
        ("Irena Holt", None),
    ],
)
def test_the_last_noun_says_what_it_is(title: str, kind: str | None) -> None:
    found = kind_by_title(title)
    assert (found.name if found else None) == kind


def test_dropped_pages_are_no_sources() -> None:
    asked = second_queries(TITLE, PAGES, ())
    assert not [query for query in asked if "venn" in query or "brandt" in query]


def test_then_names_and_the_headings_of_its_kind() -> None:
    asked = second_queries(TITLE, PAGES, first_queries(TITLE))
    assert asked == (
        "2031 Tolvane flood lake orran",
        "2031 Tolvane flood irena holt",
        "2031 Tolvane flood Meteorological history",
        "2031 Tolvane flood Preparations",
        "2031 Tolvane flood Impact",
        "2031 Tolvane flood Response",
        "2031 Tolvane flood Aftermath",
    )
    assert second_queries(TITLE, PAGES, [*first_queries(TITLE), *asked]) == ()
    known = [TITLE.upper() + " LAKE ORRAN", "Tolvane impact"]
    assert second_queries(TITLE, PAGES, known)[:3] == (asked[1], asked[2], asked[3])
    assert "2031 Tolvane flood Impact" not in second_queries(TITLE, PAGES, known)


def test_a_kind_that_only_the_pages_tell() -> None:
    recogniser = KindRecogniser(FixedEncoder())
    kind = recogniser.recognise("Vasterlow", [page.text.split(". ")[0] + "." for page in PAGES[:3]])
    without, asked = second_queries("Vasterlow", PAGES, ()), second_queries("Vasterlow", PAGES, (), recogniser=recogniser)
    assert asked[: len(without)] == without and all("orran" in q or "holt" in q or "tolvane" in q for q in without)
    headings = [f"Vasterlow {section.heading}" for section in kind.sections][:5]
    assert list(asked[len(without) :]) == headings


def test_hostile_names_become_words() -> None:
    pages = [page(f"{n}.example.org", "See Site:Evil.Example and Zed <Script>Alert</Script> there today.") for n in "ab"]
    for query in second_queries("Vasterlow", pages, ()):
        assert ":" not in query and "<" not in query and "!" not in query


def test_the_window() -> None:
    assert search_window("") == (None, None)
    assert search_window("2031-05-31") == (None, date(2031, 5, 31))
    with pytest.raises(UserError, match=r"web.as_of = '31.5.2031'"):
        search_window("31.5.2031")
