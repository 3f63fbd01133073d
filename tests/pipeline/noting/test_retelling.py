"""The page that retells a story, its passages in a row, and the plot that is told from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from data.settings import RetrievalSettings
from data.types import Event, Heading, Page
from pipeline.article_plan import ArticlePlan, PlannedSection, Statement
from pipeline.evidence import Evidence
from pipeline.notes import AboutPages, PageVerdict, Verdict
from pipeline.noting.retelling import LEAST_SENTENCES, retelling
from pipeline.planning.kinds import load_kinds
from pipeline.planning.story import LEAST_TOLD, TOLD_ELSEWHERE, makers_of, story_told, with_story
from tests.fakes import FixedEncoder

KINDS = {kind.name: kind for kind in load_kinds()}
EVENT = Event("43", "The Brass Heron (episode)")
STORY = [
    "Lena finds the mill shut.", "Lena finds a brass heron in a drawer.", "Marek finds a buyer for the heron in town.",
    "Voss finds the heron first.", "Lena finds the room under the weir.", "Marek finds his boat gone at dawn.",
    "Voss finds no way out of the room.", "Lena finds her uncle alive.", "The uncle finds his voice again.",
    "Osmere finds out about Voss.", "Marek finds work at the mill.", "Lena finds a letter in the heron.",
]  # fmt: skip
PRAISE = ["Critics praised the acting.", "The score was recorded in a week.", "It was watched by a million viewers."]


class Filer:
    """Knows that "finds" belongs under Plot and all else under Reception."""

    name = "filer"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        def row(text: str) -> tuple[float, float]:
            return (1.0, 0.0) if text == "Plot" or " finds " in text else (0.0, 1.0) if text != "Cast" else (0.0, 0.0)

        return np.array([row(text) for text in texts], dtype=np.float32)


def evidence(*texts: str) -> Evidence:
    pages = [Page(f"https://p{n}.example/heron", "The Brass Heron", text, origin="search") for n, text in enumerate(texts)]
    return Evidence.unlapped(EVENT, pages, RetrievalSettings(passage_words=24))


def account(found: Evidence, *verdicts: Verdict, kind: str = "television episode", named: float = 1.0) -> str:
    about = AboutPages(tuple(PageVerdict(n, verdict, 0.8, named) for n, verdict in enumerate(verdicts)))
    return " ".join(passage.text for passage in retelling(found, about, KINDS[kind], Filer()))


def test_the_part_of_the_page_that_tells_the_story() -> None:
    text = "\n".join((*PRAISE, *PRAISE, *STORY, *PRAISE, *PRAISE))
    told = account(evidence(" ".join(PRAISE), text), "subject", "subject")
    assert all(sentence in told for sentence in STORY)
    assert told.count("million viewers") <= 1


def test_of_two_pages_the_one_that_tells_more_of_it() -> None:
    told = account(evidence("\n".join(STORY[: LEAST_SENTENCES - 1] + PRAISE), "\n".join(STORY)), "subject", "subject")
    assert STORY[-1] in told


def test_a_page_on_something_else_retells_nothing() -> None:
    found = evidence("\n".join(STORY))
    assert STORY[0] in account(found, "subject")
    assert STORY[0] in account(found, "mention")  # its title names it
    assert account(found, "other") == account(found, "mention", named=0.5) == ""


def test_a_flood_has_no_story() -> None:
    assert account(evidence("\n".join(STORY)), "subject", kind="storm or flood") == ""


def test_a_few_words_on_a_story_are_no_account_of_it() -> None:
    assert account(evidence("\n".join((*STORY[: LEAST_SENTENCES - 1], *PRAISE))), "subject") == ""


ENCODER = FixedEncoder()
EPISODE = KINDS["television episode"]
EVENTS = tuple(Statement(text, ("0:0-9",)) for text in STORY)
SET = Statement("The Brass Heron is set in Osmere.", ("1:0-9",), question=7)
OTHER = Statement("A girl inherits a talking bird.", ("1:0-9",))
SEEN = Statement("A million viewers watched it.", ("1:0-9",))


def planned(*sections: tuple[str, tuple[Statement, ...]]) -> ArticlePlan:
    told = story_told(EVENTS, ENCODER, 1_500)
    plan = ArticlePlan(EVENT.title, (), tuple(PlannedSection(Heading(name), (some,)) for name, some in sections))
    return with_story(replace(plan, lead=(SEEN, EVENTS[1])), told, EPISODE, ENCODER)


def test_the_plot_is_one_page_s_account_behind_what_it_is_set_in() -> None:
    plan = planned(("Plot", (OTHER, SET)), ("Reception", (SEEN,)))
    plot, reception = plan.sections
    assert [one.text for one in plot.statements][:3] == [SET.text, *STORY[:2]]
    assert len(plot.statements) > LEAST_TOLD and reception.statements == (SEEN,)
    assert [(one.text, one.reason) for one in plan.left_out] == [(text, TOLD_ELSEWHERE) for text in (STORY[1], OTHER.text)]
    assert plan.lead == (SEEN,)


def test_a_plot_comes_first_where_the_plan_had_none() -> None:
    plan = planned(("Reception", (SEEN, EVENTS[3])))
    assert [section.heading.text for section in plan.sections] == ["Plot", "Reception"]
    assert plan.sections[1].statements == (SEEN,)  # what the plot tells is not told again


def test_what_an_article_has_room_for() -> None:
    assert story_told(EVENTS[: LEAST_TOLD - 1], ENCODER, 1_500) == ()
    some = story_told(EVENTS, ENCODER, 200)
    assert [one.text for one in some] == STORY[: len(some)] and LEAST_TOLD <= len(some) < len(STORY)
    assert [one.text for one in story_told((*EVENTS, EVENTS[0]), ENCODER, 1_500)].count(STORY[0]) == 1


def test_how_it_is_told_and_what_its_makers_do_is_no_part_of_a_story() -> None:
    made = Statement("Kari Holm directed The Brass Heron.", ("1:0-9",), question=1)
    makers = makers_of((made, SEEN, Statement("Ida Moen plays the girl.", ("1:0-9",), question=3)), "The Brass Heron (film)")
    assert makers == {"holm"}
    craft = ("Holm shows the heron from below.", "The story is told in low-angle shots.", "Ida Moen’s point of view is kept.")
    some = (*EVENTS, *(Statement(text, ("0:0-9",)) for text in craft))
    assert [one.text for one in story_told(some, ENCODER, 1_500, makers)] == list(STORY)
