"""What an article is about, read off its pages. All of them are invented."""

from __future__ import annotations

from dataclasses import replace

import pytest

from data.types import Page
from pipeline.choosing.standing_alone import standing_alone
from pipeline.choosing.subject import Subject, sibling_page, sibling_sentence


def page(host: str, title: str, text: str) -> Page:
    return Page(url=f"https://{host}.example/a", title=title, text=text, origin="search")


FILM = "Lantern is a film by Ana Ruiz. The film was shot in Osmere. The film opened in May 2031. The film won a prize."
BOTH = (
    page("courier", "Lantern: a review", FILM),
    page("ledger", "Ana Ruiz directs Lantern", FILM),
    page("fans", "Marta Lantern", "Marta Lantern is a pilot. The film of Marta Lantern opened in 2029. Mrs Lantern left."),
    page("town", "Roads of Osmere", "The bridge was closed for a week. " * 9),
)


def test_pages_about_something_else() -> None:
    subject = Subject("Lantern (film)", BOTH)
    assert subject.elsewhere == {2, 3}, "a longer name, and no name"
    assert subject.called == {"film"}
    assert subject.is_named_in("The prize went to Lantern in May.")
    assert not subject.is_named_in("The prize went to Marta Lantern in May.")


def test_names_of_several_words_are_never_parts_of_longer_ones() -> None:
    pages = (page("a", "Old Osmere Bridge", "The Old Osmere Bridge was closed. Old Osmere Bridge Museum opened. " * 3),)
    assert Subject("Osmere Bridge", pages).elsewhere == frozenset()


@pytest.mark.parametrize(
    ("text", "before", "alone"),
    [
        ("The film was shown in June 2031 in two towns.", "", "The film was shown in June 2031 in two towns."),
        (
            "It was shot in Osmere by three cameras.",
            "Lantern is a film by Ana Ruiz.",
            "Lantern was shot in Osmere by three cameras.",
        ),
        ("Its score was written by Jonas Pell.", "The film was shot in Osmere.", "The film’s score was written by Jonas Pell."),
        ("It was announced that the bridge would close.", "The film was shot in Osmere.", ""),
        ("It turns out that the bridge of Osmere is closed.", "The film was shot in Osmere.", ""),
        ("It was closed for three days.", "The bridge was damaged.", ""),
        ("The book was printed in Osmere in 2031.", "", ""),
    ],
)
def test_the_subject_may_be_called_by_its_kind(text: str, before: str, alone: str) -> None:
    assert standing_alone(text, before, None, Subject("Lantern (film)", BOTH)) == alone


def test_sibling_events() -> None:
    title = "2031 Osmere Marathon"
    other = page("a", "Osmere Marathon 2029: results", "In 2029 Ana Ruiz won. " * 9)
    assert sibling_page(title, other) == "sibling event"
    assert sibling_page(title, replace(other, title="Osmere Marathon 2031: results")) == ""
    assert sibling_page("Osmere Marathon", other) == ""
    assert sibling_sentence(title, "Ana Ruiz, who won the 2029 Osmere Marathon, came second.") == "sibling event"
    assert sibling_sentence(title, "Ana Ruiz won the 2031 Osmere Marathon after the 2029 one.") == ""
    assert sibling_sentence(title, "The bridge was built in 1904 by the province.") == ""


@pytest.mark.parametrize(
    ("title", "other", "text", "is_other"),
    [
        ("Lantern (film)", "Inside Lantern Foundation", "Lantern Foundation helps painters. ", True),
        ("Lantern (board game)", "Lantern: The Duel", "Lantern: The Duel is for two. ", True),
        ("Lantern (board game)", "Lantern: The Board Game", "Lantern: The Board Game is for two. ", False),
        ("Lantern (film)", "Lantern Trailer", "The Lantern Trailer is short. ", False),
        ("Lantern (Pilot Ana)", "Lantern Imperator", "Lantern Imperator meets Pilot Ana. ", False),
        ("Lantern", "Lantern: Lights of Osmere", "Lantern: Lights of Osmere is a film. ", False),
    ],
)
def test_pages_on_another_thing_of_the_name(title: str, other: str, text: str, is_other: bool) -> None:
    pages = [*(page(f"h{n}", "Lantern", "Lantern opened in Osmere. " * 5) for n in range(4)), page("x", other, text * 3)]
    subject = Subject(title, pages)
    assert subject.namesakes == ({4} if is_other else set())
    assert bool(subject.is_on_another_work(text.strip())) == is_other
    assert not subject.is_on_another_work("Lantern opened in Osmere.")


def test_what_most_pages_say_is_the_subject() -> None:
    pages = [page(f"h{n}", "Lantern: Lights of Osmere", "Lantern: Lights of Osmere opened. " * 5) for n in range(4)]
    assert Subject("Lantern (film)", pages).namesakes == frozenset()


def test_other_works_of_the_kind_and_rankings() -> None:
    ranking = page("fans", "Every Ana Ruiz Film, Ranked", FILM)
    subject = Subject("Lantern (film)", (*BOTH, ranking))
    assert 4 in subject.elsewhere
    assert subject.is_on_another_work("“Harbour” is a 2008 film with a ferry.")
    assert not subject.is_on_another_work("“Lantern” is a 2031 film with a ferry.")
    assert not subject.is_on_another_work("“Harbour” is a 2008 novel with a ferry.")


@pytest.mark.parametrize(
    ("title", "text", "other"),
    [
        ("Vault 13", "Vault 101 was built under Osmere in 2031.", True),
        ("Vault 13", "Vault 101 and Vault 13 were built under Osmere.", False),
        ("Vault 13", "The vault was built in March 2031.", False),
        ("Psalm 67", "Psalm 68 praises the river.", True),
        ("Battle of Osmere", "Vault 101 was built there.", False),
        ("72nd Osmere Council", "The 71st Osmere Council passed the law.", True),
        ("72nd Osmere Council", "The 72nd Osmere Council met in the 20th century hall.", False),
        ("Ferry IV", "Ferry III was released in 2031.", True),
        ("Ferry IV", "Ferry 4 was released in 2031.", False),
        ("OFC 300", "OFC 299 was held in Osmere.", True),
        ("The 39 Steps", "The 12 scenes were shot in Osmere.", False),
        ("72nd Osmere States Council", "The 46th Osmere States President left.", False),
        ("Osmere on March 13", "On March 14 the levee broke.", False),
    ],
)
def test_others_of_a_numbered_series(title: str, text: str, other: bool) -> None:
    assert bool(sibling_sentence(title, text)) is other
    assert bool(sibling_page(title, page("a", text.rstrip("."), "..."))) is other
