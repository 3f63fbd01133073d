"""What is told, and above all what is not: a false contradiction costs a reader's trust. Sentences are shaped like news."""

from __future__ import annotations

import pytest

from data import codec
from data.types import Article, Fact, Heading, Page, Passage, Section, Sentence, Source
from pipeline.following.disagreements import Disagreement, Disagreements, disagreements

TITLE = "2026 Lake Orta ferry accident"


def page(text: str, day: str | None = None, host: str = "a", title: str = TITLE, **more: object) -> Page:
    return Page(f"https://{host}.example/x", f"News: {title}", text, "url", published=day, **more)  # type: ignore[arg-type]


def article_of(pages: list[Page], *sentences: str, facts: tuple[tuple[str, str], ...] = (), title: str = TITLE) -> Article:
    """Its sentences cite all of the first page."""
    source = Source(Passage(0, 0, len(pages[0].text), pages[0].text), pages[0].url, "A page", pages[0].published)
    told = tuple(Sentence(sentence, (source.id,)) for sentence in sentences)
    infobox = tuple(Fact(label, value, (source.id,)) for label, value in facts)
    return Article("1", title, Section(Heading("", 1), (told,)), (), infobox, (source,))


def found_in(first: str, *others: str, days: tuple[str | None, ...] = (), title: str = TITLE) -> tuple[Disagreement, ...]:
    """The article says what the first page says; each other is on a page of another site."""
    texts = [first, *others]
    pages = [
        page(text, day, f"n{i}", title) for i, (text, day) in enumerate(zip(texts, days or [None] * len(texts), strict=True))
    ]
    return disagreements(article_of(pages, first, title=title), pages).found


def told(found: Disagreement) -> list[tuple[str, str, int]]:
    return [(side.value, side.first, side.n_sources) for side in found.sides]


LATER = (
    "Fourteen people were injured when a ferry hit a pier at San Giulio on Lake Orta, police said.",
    "The ferry accident at San Giulio has injured 19 people, the prefecture said.",
    "The number of injured in the ferry accident rose to 41 on Saturday, the prefecture said.",
)


def test_later_reports_are_a_sequence() -> None:
    (found,) = found_in(*LATER, LATER[1], days=("2026-11-19", "2026-11-20", "2026-11-21", "2026-11-20"))
    assert (found.what, found.develops, found.stated) == ("people injured", True, ("Fourteen people",))
    assert told(found) == [("Fourteen people", "2026-11-19", 1), ("19 people", "2026-11-20", 2), ("41", "2026-11-21", 1)]
    assert found.in_words() == (
        "people injured: Fourteen people (2026-11-19, 1 independent source) -> 19 people (2026-11-20, 2 independent sources) "
        "-> 41 (2026-11-21, 1 independent source)"
    )


@pytest.mark.parametrize("days", [("2026-11-20", "2026-11-20"), (None, None), ("2026-11-21", "2026-11-20")])
def test_what_no_later_day_explains_is_a_contradiction(days: tuple[str | None, ...]) -> None:
    (found,) = found_in(*LATER[:2], days=days)
    assert not found.develops and {side.value for side in found.sides} == {"Fourteen people", "19 people"}
    assert ", 19 people" in found.in_words() or ", Fourteen people" in found.in_words()


def test_a_lower_bound_that_rises_is_a_sequence() -> None:
    days = ("2026-11-19", "2026-11-20")
    (found,) = found_in("At least 14 people were injured.", "At least 19 people were injured.", days=days)
    assert found.develops
    assert found_in("At least 14 people were injured.", "At least 19 people were injured.") == (), "both may be right"


def test_missing_people_become_fewer() -> None:
    days = ("2026-11-19", "2026-11-20", "2026-11-21")
    (found,) = found_in("9 people were missing.", "6 people were missing.", "Two people were missing.", days=days)
    assert found.develops


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("At least 14 people were injured.", "19 people were injured."),
        ("About 20 people were injured.", "19 people were injured."),
        ("More than 40 people were injured.", "41 people were injured."),
        ("Up to 20 people were injured.", "19 people were injured."),
        ("10,000 people were injured.", "10,240 people were injured."),
        ("Fourteen people were injured.", "14 people were hurt."),
    ],
)
def test_roundings_and_bounds_agree(first: str, second: str) -> None:
    assert found_in(first, second) == ()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("About 20 people were injured.", "41 people were injured."),
        ("At least 19 people were injured.", "The crash killed five people and injured 17 others."),
        ("At least 19 people were also injured.", "The captain admitted killing five people and injuring 17 others."),
        ("Fewer than 10 people were injured.", "14 people were injured."),
        ("14 people were killed on Lake Orta.", "The accident killed 15 people."),
    ],
)
def test_what_cannot_both_be_right(first: str, second: str) -> None:
    (found,) = found_in(first, second)
    assert not found.develops and len(found.sides) == 2


@pytest.mark.parametrize(
    "other",
    [
        "19 people were killed.",  # another thing
        "19 people were seriously injured.",  # parts of it
        "Nineteen people were injured at the scene.",
        "Another 19 people were injured.",
        "Three people were injured overnight.",
        "19 passengers were injured.",
        "19 of the injured were children.",
        "19 people were injured in Omegna.",  # one of several places, perhaps
        "In Omegna, 19 people were injured.",
        "In 2009, 19 people were injured.",  # another event
        "A similar accident injured 19 people.",
        "Last year 19 people were injured.",
        "The Costa Verde disaster injured 19 people.",
        "19 people were injured when a bus left the road near Trento.",
        "19 people could have been injured.",  # none
        "Initially, officials said 19 people were injured.",
        "14 people were injured. In all, 19 people were injured, officials said.",  # which of the two?
        "Ada Sorel, 19, was injured.",
        "She finished with 19 kills.",
        "On Tuesday, 19 people were injured.",
    ],
)
def test_other_figures_are_not_told(other: str) -> None:
    first = "On Thursday, 14 people were injured on Lake Orta."
    assert found_in(first, other) == ()
    assert len(found_in(first, other, "19 people were injured, down from 30.")) == 1, "beside it, what is one is still told"


def test_places_of_one_storm_are_no_contradiction() -> None:
    pages = (
        "The cyclone killed 165 people in Mozambique.",
        "The cyclone killed 500 people in Malawi.",
        "It killed 679 people.",
    )
    assert found_in(*pages, title="Cyclone Frieda") == ()


def test_pages_about_something_else_are_no_witnesses() -> None:
    pages = [page("Fourteen people were injured."), page("19 people were injured.", host="b", title="Bus crash near Trento")]
    assert disagreements(article_of(pages, "Fourteen people were injured."), pages).found == ()


def test_figures_of_another_order_are_of_another_thing() -> None:
    assert found_in("14 people were killed.", "19 people were killed.", "7,700 people were killed.") == ()


def test_names_of_the_event_go_without_saying_when_pages_share_them() -> None:
    first = "Fourteen people were injured when a ferry hit a pier at San Giulio."
    assert found_in(first, "19 people were injured in a collision at Omegna.") == ()
    assert len(found_in(first, "19 people were injured in a collision at San Giulio.")) == 1


def test_only_figures_of_the_article_are_told() -> None:
    pages = [page("Fourteen people were injured."), page("19 people were injured.", host="b")]
    assert disagreements(article_of(pages, "The ferry hit a pier."), pages).found == ()
    assert disagreements(article_of(pages, "30 people were injured."), pages).found == (), "no page says so"
    (found,) = disagreements(article_of(pages, "The ferry hit a pier.", facts=(("Injuries", "19"),)), pages).found
    assert found.stated == ("19 people",)
    pages = [page("Fourteen people were killed."), page("19 people were killed.", host="b")]
    twice = article_of(pages, "Fourteen people were killed.", "19 people were killed.", facts=(("Deaths", "14"),))
    (found,) = disagreements(twice, pages).found
    assert found.stated == ("Fourteen people", "19 people"), "one figure, told once"


@pytest.mark.parametrize("flags", [("bare",), ("suspicious",)])
def test_pages_that_are_no_witnesses(flags: tuple[str, ...]) -> None:
    pages = [page("Fourteen people were injured."), page("19 people were injured.", host="b", flags=flags)]
    assert disagreements(article_of(pages, "Fourteen people were injured."), pages).found == ()


def test_stored_and_read_again() -> None:
    kept = Disagreements(found_in(*LATER, days=("2026-11-19", "2026-11-20", "2026-11-21")))
    assert codec.from_json(Disagreements, codec.to_json(kept), where="here") == kept and kept.found
