"""What the subject is: which of a model's sentences is taken for it, and what of it no page says."""

from __future__ import annotations

import pytest

from data.types import Page
from pipeline.evidence import Evidence
from pipeline.noting.card import make_card
from pipeline.planning.kinds import Kind, load_kinds
from tests.fakes import FixedEncoder, NotingModel
from tests.pipeline.flood import EVENT, PAGES, RETRIEVAL

TITLE = EVENT.title
FILM = next(kind for kind in load_kinds() if kind.name == "film")
TRUE = f"The {TITLE} was a flood in Vasterlow in March 2031."


def card_of(*answers: str, pages: tuple[Page, ...] = PAGES) -> str:
    told = iter([*answers, *[answers[-1]] * 4])
    model = NotingModel(card=lambda _: next(told))
    return make_card(Evidence.unlapped(EVENT, pages, RETRIEVAL), model, FixedEncoder()).text


@pytest.mark.parametrize(
    "wrong",
    [
        f"The {TITLE} was a flood that James Franco directed.",  # nobody of that name is shown
        "It was a wild ride for everyone",  # says nothing
        f"A flood of entries for the marathon of the {TITLE} was a flood in Vasterlow.",  # of something else
        "",
    ],
)
def test_what_no_page_says_is_no_card(wrong: str) -> None:
    assert card_of(wrong, wrong, TRUE, wrong) in (TRUE, f"The {TITLE} was a flood.")
    assert card_of(wrong) in (TITLE, f"The {TITLE} was a flood.")


def test_a_clause_with_a_figure_that_no_page_has_is_cut() -> None:
    assert (
        card_of(f"The {TITLE} was a flood in Vasterlow, which killed 7,312 people.") == f"The {TITLE} was a flood in Vasterlow."
    )


def test_the_card_that_calls_the_subject_what_it_is() -> None:
    """Three answers speak of the person of the name."""
    person, film = f"The {TITLE} was a mayor of Vasterlow.", f"The {TITLE} was a film on Vasterlow in March 2031."
    told = iter([person, person, film, person])
    made = make_card(Evidence.unlapped(EVENT, PAGES, RETRIEVAL), NotingModel(card=lambda _: next(told)), FixedEncoder(), FILM)
    assert made.text == film and made.usage.n_calls == 4


def test_where_no_card_does_the_model_is_told_the_kind() -> None:
    person, film = f"The {TITLE} was a mayor of Vasterlow.", f"The {TITLE} was a film on Vasterlow in March 2031."
    model = NotingModel(card=lambda prompt: film if ", a film?" in prompt else person)
    made = make_card(Evidence.unlapped(EVENT, PAGES, RETRIEVAL), model, FixedEncoder(), FILM)
    assert made.text == film and made.usage.n_calls == 8
    model = NotingModel(card=lambda _: person)
    assert make_card(Evidence.unlapped(EVENT, PAGES, RETRIEVAL), model, FixedEncoder(), FILM).text == person


def test_the_card_that_others_agree_with_is_taken() -> None:
    other = f"The {TITLE} is a bell, a column and a hill."
    assert card_of(TRUE, other, TRUE, TRUE) == TRUE


def test_pages_for_the_card_are_sought_with_its_kind() -> None:
    def sought(kind: Kind | None) -> str:
        encoder = FixedEncoder()
        make_card(Evidence.unlapped(EVENT, PAGES, RETRIEVAL), NotingModel(card=lambda _: TRUE), encoder, kind)
        return encoder.seen[0]

    assert (sought(FILM), sought(None)) == (f"{TITLE}. {FILM.name}: {FILM.about}", TITLE)
