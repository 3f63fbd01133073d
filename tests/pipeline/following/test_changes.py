"""What differs between last week's pages and today's. Sentences are shaped like those of news pages."""

from __future__ import annotations

import pytest

from data.types import Article, Heading, Page, Passage, Section, Sentence, Source
from pipeline.choosing.quantities import quantities, same_thing
from pipeline.following.changes import Change, Comparison, Revisit, counterpart, grounds, replaced_figures

TITLE = "2026 Lima flood"
CONTEXT = frozenset(TITLE.lower().split())


def page(text: str, day: str | None, host: str = "a.example", **more: object) -> Page:
    return Page(f"https://{host}/x", "A page", text, "url", published=day, retrieved_at="2026-03-04T08:00:00+00:00", **more)  # type: ignore[arg-type]


def article_of(sentence: str, pages: list[Page], at: int = 0) -> Article:
    """One section whose sentence cites all of one page."""
    source = Source(Passage(at, 0, len(pages[at].text), pages[at].text), pages[at].url, "A page", pages[at].published)
    cited = Sentence(sentence, (source.id,))
    return Article("1", TITLE, Section(Heading("", 1), ()), (Section(Heading("Toll"), ((cited,),)),), (), (source,))


def changes_of(article: Article, pages: list[Page], revisits: list[Revisit]) -> tuple[Change, ...]:
    return Comparison(TITLE, pages, revisits).changes(article)


# --- what is counted --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("At least 12 people were killed when the dam burst.", [("At least 12 people", "12", "person", "killed")]),
        (
            "Twelve people died and 30 were injured.",
            [("Twelve people", "12", "person", "killed"), ("30", "30", "person", "injured")],
        ),
        ("The death toll rose to 15, up from 12.", [("15", "15", "person", "killed")]),
        ("The death toll rose from 12 to 15.", [("15", "15", "person", "killed")]),
        ("The flood left 15 people dead.", [("15 people", "15", "person", "killed")]),
        ("Smith won 52.3 percent of the vote.", [("52.3 percent of the vote", "52.3", "% of vote", "won")]),
        ("Turnout was 65 per cent.", [("65 per cent", "65", "%", "turnout")]),
        ("Damage was put at $4.5 million.", []),
        ("The number of injured rose to 19.", [("19", "19", "person", "injured")]),
        (
            "He admitted killing five people and injuring 17 others.",
            [("five people", "5", "person", "killed"), ("17 others", "17", "person", "injured")],
        ),
        ("3 people were seriously injured.", [("3 people", "3", "person", "seriously injured")]),
        ("The storm caused $4.5 million in damage.", [("$4.5 million in damage", "4.5 million", "$ damag", "caus")]),
    ],
)
def test_quantities(sentence: str, expected: list[tuple[str, str, str, str]]) -> None:
    assert [(q.shown, q.value, q.unit, q.predicate) for q in quantities(sentence)] == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "John Smith, 45, of 12 Main Street, was killed.",
        "He died at 45.",
        "A 45-year-old man was killed.",
        "She was sentenced to 12 years in prison.",
        "The home side won 3-1 in 2015.",
        "On 12 March 2026 at 10:30 the Boeing 737 crashed.",
        "Last year 80 people were killed.",
        "Another 3 people were killed.",
        "Two others were injured.",
        "Ana Paz finished with 15 kills.",
        "It was 3 of the dead.",
        "Earlier, officials said 12 people were killed.",
        "Officials had previously said 12 people were killed.",
        "All four were arrested.",
        "At least 12 people were killed in Lima and 15 people were killed in Cusco.",
    ],
)
def test_other_numbers_are_no_quantities(sentence: str) -> None:
    assert quantities(sentence) == ()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("At least 12 people were killed.", "The flood has killed 15 people, officials said.", True),
        ("Twelve people died in Lima.", "15 people were killed in Lima, Mayor Ana Ruiz said.", True),
        ("Smith won 52.3 percent of the vote.", "After the recount, Smith won 51.9 percent of the vote.", False),  # precision
        ("On Friday, Ann Smith won 52.3% of the vote.", "Ann Smith won 51.9% of the vote.", True),
        ("12 people were killed.", "12 people were injured.", False),
        ("12 people were killed in San Juan.", "15 people were killed in Lima.", False),
        ("12 people were killed.", "15 people were killed in San Juan.", False),
        ("12 people were killed.", "In 1934, 15 people were killed.", False),
        ("More than 10 people were killed.", "12 people were killed.", False),
        ("More than 100 people were killed.", "More than 200 people were killed.", True),
        ("Celtics scored 110 points.", "Lakers scored 112 points.", False),
        ("The Boston Celtics scored 110 points.", "The Los Angeles Lakers scored 112 points.", False),
        ("Officials said 12 houses collapsed.", "Officials said 14 bridges collapsed.", False),
    ],
)
def test_same_thing(first: str, second: str, expected: bool) -> None:
    (a,), (b,) = quantities(first), quantities(second)
    assert same_thing(a, b, CONTEXT, ("2026", "2026")) is expected
    assert same_thing(b, a, CONTEXT, ("2026", "2026")) is expected


# --- two forms of a sentence ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("At least 12 people were killed.", "At least 15 people were killed.", [("12 people", "15 people")]),
        ("The vote is scheduled for 5 May 2026.", "The vote was held on 12 May 2026.", [("5 May 2026", "12 May 2026")]),
        ("The vote is scheduled for 5 May 2026.", "The vote was held on 5 May 2026.", []),
        ("The goverment fell in 2015.", "The government fell in 2015.", []),
        ("Smith won 52.3% of the vote.", "Smith won 51.9% of the vote.", [("52.3%", "51.9%")]),
        (
            "Twelve people were killed, 30 were hurt.",
            "Fifteen people were killed, 30 were hurt.",
            [("Twelve people", "Fifteen people")],
        ),
        ("They won 3-1 at home.", "They won 3-2 at home.", [("3-1", "3-2")]),
        ("1,200 people fled.", "1200 people fled.", []),
    ],
)
def test_replaced_figures(old: str, new: str, expected: list[tuple[str, str]]) -> None:
    assert replaced_figures(old, new) == expected


def test_counterpart_takes_only_what_is_new_on_the_page() -> None:
    before = "At least 12 people were killed in Lima. At least 30 people were killed in Cusco."
    edited = "At least 30 people were killed in Cusco. At least 15 people were killed in Lima."
    span = counterpart("At least 12 people were killed in Lima.", edited, before)
    assert span is not None and edited[slice(*span)] == "At least 15 people were killed in Lima."
    assert counterpart("At least 12 people were killed in Lima.", "At least 30 people were killed in Cusco.", before) is None
    before = "At least 12 people were killed. At least 30 people were killed at the mine."
    assert counterpart("At least 12 people were killed.", "At least 30 people were killed at the mine.", before) is None
    unlike = "At least 30 people were injured in Lima."
    assert counterpart("At least 12 people were killed in Lima.", unlike, before) is None, "it counts something else"


# --- cited sentences --------------------------------------------------------------------------------------------------

OLD = "The river rose on Monday. At least 12 people were killed in Lima. Schools were closed."


def test_nothing_changed() -> None:
    pages = [page(OLD, "2026-03-03")]
    comparison = Comparison(TITLE, pages, [Revisit(0, "unchanged", 0)])
    assert comparison.changes(article_of("At least 12 people were killed in Lima.", pages)) == ()
    assert comparison.contradictions() == ()


def test_an_edited_death_toll() -> None:
    edited = OLD.replace("At least 12", "At least 15")
    copy = page("Aid was sent. At least 15 people were killed in Lima.", "2026-03-05", "b.example")
    pages = [page(OLD, "2026-03-03", drop_reason="duplicate", duplicate_of=1), page(edited, "2026-03-03"), copy]
    (change,) = changes_of(article_of("At least 12 people were killed in Lima.", pages), pages, [Revisit(0, "changed", 1)])
    assert (change.kind, change.section, change.heading, change.page) == ("figures", 1, "Toll", 1)
    assert edited[change.start : change.end] == change.new == "At least 15 people were killed in Lima."
    (figure,) = change.figures
    assert (figure.what, figure.old, figure.new) == ("people killed", "At least 12 people", "At least 15 people")
    assert (figure.old_date, figure.new_date) == ("2026-03-03", "2026-03-04"), "edited without a new date: when it was fetched"
    assert (figure.n_sources_old, figure.n_sources_new) == (0, 2)
    assert [quote.url for quote in figure.new_quotes] == ["https://a.example/x", "https://b.example/x"]


def test_lost_and_gone() -> None:
    pages = [page(OLD, "2026-03-03", drop_reason="duplicate", duplicate_of=1), page("The river fell again.", "2026-03-03")]
    article = article_of("At least 12 people were killed in Lima.", pages)
    (lost,) = changes_of(article, pages, [Revisit(0, "changed", 1)])
    (gone,) = changes_of(article, pages, [Revisit(0, "gone", None, "status 404")])
    assert (lost.kind, gone.kind) == ("lost", "gone")
    assert changes_of(article, pages, []) == (), "it was gone before"
    unread = [page(OLD, "2026-03-03")]
    assert changes_of(article, unread, [Revisit(0, "unread", 0, "timeout")]) == ()


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("The flood has killed 15 people.", "2026-03-01"),  # older
        ("The flood has killed 15 people.", None),  # of no known day
        ("The flood of 1934 killed 15 people.", "2026-03-08"),
        ("The flood has killed 15 people in Cusco.", "2026-03-08"),
        ("The flood has injured 15 people.", "2026-03-08"),
        ("Ana Paz, 15, was killed in Lima.", "2026-03-08"),
        ("The flood has killed 15 people. An hour later, officials said 16 people were killed.", "2026-03-08"),
    ],
)
def test_other_figures_of_newer_pages_are_not_taken(text: str, day: str | None) -> None:
    pages = [page(OLD, "2026-03-03"), page(text, day, "b.example")]
    article = article_of("At least 12 people were killed in Lima.", pages)
    assert changes_of(article, pages, [Revisit(0, "unchanged", 0)]) == ()


def test_an_old_page_of_the_run_makes_nothing_outdated_again() -> None:
    pages = [page(OLD, "2026-03-03"), page("The flood has killed 15 people.", "2026-03-08", "b.example")]
    article = article_of("At least 12 people were killed in Lima.", pages)
    assert changes_of(article, pages, [Revisit(0, "unchanged", 0), Revisit(1, "unchanged", 1)]) == ()


# --- contradictions ---------------------------------------------------------------------------------------------------


def test_contradictions_have_dates_and_independent_sources() -> None:
    pages = [
        page("At least 12 people were killed in Lima.", "2026-03-03"),
        page("15 people were killed, officials said. In all, 15 people died.", "2026-03-05", "b.example"),
        page("The death toll rose to 15.", "2026-03-06", "c.example"),
        page("15 people were killed, officials said.", "2026-03-05", "d.example", drop_reason="duplicate", duplicate_of=1),
    ]
    (found,) = Comparison(TITLE, pages, []).contradictions()
    assert found.what == "people killed"
    newest, oldest = found.sides
    assert (newest.value, newest.first, newest.last, newest.n_sources) == ("15 people", "2026-03-05", "2026-03-06", 2)
    assert (oldest.value, oldest.first, oldest.last, oldest.n_sources) == ("At least 12 people", "2026-03-03", "2026-03-03", 1)


def test_no_contradictions() -> None:
    for first, second in (
        ("Celtics scored 110 points.", "Lakers scored 112 points."),
        ("12 people were killed in Lima.", "30 people were injured in Lima."),
        ("12 people were killed in Lima. Officials said 15 people were killed in Lima.", "12 people were killed in Lima."),
        ("12 people were killed in Lima.", "15 people killed in Lima flood"),
        ("Ann Smith won 52.3% of the vote.", "Bob Jones won 47.7% of the vote."),
        ("12 people were killed in Lima.", "Last year, 80 people were killed in Lima."),
    ):
        pages = [page(first, "2026-03-03"), page(second, "2026-03-05", "b.example")]
        assert Comparison(TITLE, pages, []).contradictions() == (), (first, second)


@pytest.mark.parametrize("flag", ["bare", "suspicious"])
def test_pages_that_are_no_witnesses(flag: str) -> None:
    pages = [
        page("12 people were killed in Lima.", "2026-03-03"),
        page("15 people were killed in Lima.", "2026-03-05", "b.example", flags=(flag,)),
    ]
    assert Comparison(TITLE, pages, []).contradictions() == ()


def test_newer_pages_that_disagree_make_nothing_outdated() -> None:
    newer = [page(f"The flood has killed {n} people.", "2026-03-08", f"n{n}.example") for n in (15, 16)]
    pages = [page(OLD, "2026-03-03"), *newer]
    article = article_of("At least 12 people were killed in Lima.", pages)
    comparison = Comparison(TITLE, pages, [Revisit(0, "unchanged", 0)])
    assert comparison.changes(article) == () and len(comparison.contradictions()[0].sides) == 3


def test_a_pronoun_counts_only_what_befalls_people() -> None:
    assert quantities("He scored 24 points.") == ()
    assert [q.value for q in quantities("It killed 24 people.")] == ["24"]


def test_grounds() -> None:
    passage = "The river rose on Monday. At least 12 people were killed in Lima. Schools were closed for a week."
    assert grounds("At least 12 people were killed in Lima.", passage) == ("At least 12 people were killed in Lima.",)
    both = "Schools were closed for a week after at least 12 people were killed in Lima."
    assert grounds(both, passage) == ("At least 12 people were killed in Lima.", "Schools were closed for a week.")
    assert grounds("Something else entirely.", passage) == ()


def test_a_sentence_that_moved_within_its_page_is_no_change() -> None:
    moved = "A new first line with other news. The river rose on Monday.\nAt least 12 people\nwere killed in Lima."
    pages = [page(OLD, "2026-03-03", drop_reason="duplicate", duplicate_of=1), page(moved, "2026-03-03")]
    revisits = [Revisit(0, "changed", 1)]
    assert changes_of(article_of("At least 12 people were killed in Lima.", pages), pages, revisits) == ()


def test_scheduled_then_held_and_corrected_spelling() -> None:
    for old, new in (
        ("The vote is scheduled for 5 May 2026.", "The vote was held on 5 May 2026."),
        ("The goverment of Peru fell.", "The government of Peru fell."),
    ):
        pages = [page(old, None, drop_reason="duplicate", duplicate_of=1), page(new, None)]
        (change,) = changes_of(article_of(old, pages), pages, [Revisit(0, "changed", 1)])
        assert (change.kind, change.old, change.new, change.figures) == ("reworded", old, new, ())


def test_a_newer_page_gives_another_figure() -> None:
    newer = page("The flood has killed 15 people, officials said.", "2026-03-08", "b.example")
    copy = page("The flood has killed 15 people.", "2026-03-08", "c.example", drop_reason="duplicate", duplicate_of=1)
    pages = [page(OLD, "2026-03-03"), newer, copy]
    article = article_of("At least 12 people were killed in Lima.", pages)
    (change,) = changes_of(article, pages, [Revisit(0, "unchanged", 0)])
    (figure,) = change.figures
    assert (change.kind, change.page, change.new) == ("outdated", 1, "The flood has killed 15 people, officials said.")
    assert (figure.old_date, figure.new_date) == ("2026-03-03", "2026-03-08")
    assert (figure.n_sources_old, figure.n_sources_new) == (1, 1), "a copy is no source of its own"
