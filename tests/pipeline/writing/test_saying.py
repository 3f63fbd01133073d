"""Each note in the model's own words: which answer is taken, and that a note stands for what cannot be said without a fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from data.stage_types import Unstored
from data.types import Event, Heading
from decoding.api import Completion, Rephrase, Request, SupportReading
from pipeline.article_plan import ArticlePlan, PlannedSection, Statement
from pipeline.evidence import Evidence
from pipeline.writing import saying
from pipeline.writing.assembly import WrittenSection
from pipeline.writing.drafting import Writer
from pipeline.writing.prompts import SAY_EXAMPLES, say
from pipeline.writing.saying import OPENING_PRICE, OPENINGS, SAMPLES, SAY, TUNED, Saying
from tests.fakes import NotingModel
from tests.pipeline.flood import EVENT, LEDGER, PAGES, RETRIEVAL

NOTE = "Fourteen people died and 212 houses were destroyed."
SAID = "In all, 212 houses were destroyed and 14 people lost their lives."


class Reader:
    """Doubts every claim with the word."""

    name = fingerprint = "reader"

    def __init__(self, word: str = "moon") -> None:
        self.word = word

    def read(self, pairs: Sequence[tuple[str, tuple[str, ...]]], *, within: float = 0.0) -> list[SupportReading | None]:
        return [SupportReading(0.01 if self.word in claim else 0.9, ()) for claim, _ in pairs]


def said(
    say: Callable[[str], str], *, same: Callable[[str], str] = lambda _: "Yes", reader: Reader | None = None
) -> WrittenSection:
    evidence = Evidence.unlapped(Event("1", EVENT.title), PAGES, RETRIEVAL)
    plan = ArticlePlan(EVENT.title, (), (PlannedSection(Heading("Toll"), ((Statement(NOTE, (LEDGER,)),),)),))
    model = NotingModel(say=say, same=same)
    (section,) = Saying(evidence, plan, Writer(model, 0.0, 0, 400), reader, Unstored()).sections()
    assert model.asked.count("say") == len(SAMPLES)
    return section


def text_of(section: WrittenSection) -> list[tuple[str, tuple[str, ...]]]:
    return [(sentence.text, sentence.cites) for sentence in section.section.sentences]


def test_what_has_a_fault_is_said_as_its_note_and_the_fault_told() -> None:
    for answer, why in (
        (lambda _: "In all, 312 houses were destroyed and 14 people lost their lives.", "added: 312"),
        (lambda _: "In all, 14 people lost their lives on the moon.", "lost: 212"),
        (lambda _: SAY_EXAMPLES[0][1], "a worked example"),
        (lambda _: "", "no whole sentence"),
    ):
        section = said(answer)
        assert text_of(section) == [(NOTE, (LEDGER,))]
        (repair,) = section.repairs
        assert repair.kind == "sentence_replaced" and "said as its note" in repair.detail, why


def test_the_model_itself_and_the_reader_decide_together(monkeypatch: pytest.MonkeyPatch) -> None:
    assert text_of(said(lambda _: SAID, reader=Reader("lives"))) == [(SAID, (LEDGER,))]
    monkeypatch.setattr(saying, "SAME", 3.0)  # more than the model alone can give
    assert text_of(said(lambda _: SAID, reader=Reader())) == [(SAID, (LEDGER,))]
    section = said(lambda _: SAID, reader=Reader("lives"))
    assert text_of(section) == [(NOTE, (LEDGER,))] and "the model itself doubts" in section.repairs[0].detail


def test_the_model_itself_may_refuse_it() -> None:
    section = said(lambda _: SAID, same=lambda _: "No", reader=Reader())
    assert text_of(section) == [(NOTE, (LEDGER,))] and "the model itself doubts" in section.repairs[0].detail


def test_what_the_reader_has_no_hope_for_is_not_asked_of() -> None:
    asked: list[str] = []

    def same(prompt: str) -> str:
        asked.append(prompt)
        return "Yes"

    section = said(lambda _: SAID, same=same, reader=Reader("people"))  # both ways
    assert text_of(section) == [(NOTE, (LEDGER,))] and "the reader doubts" in section.repairs[0].detail and not asked


def test_a_long_note_is_only_said_lightly_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert text_of(said(lambda _: SAID))[0][0] == SAID
    monkeypatch.setattr(saying, "MOST_WORDS", len(NOTE.split()) - 1)
    section = said(lambda _: SAID)
    assert text_of(section)[0][0] == NOTE and "of a long note" in section.repairs[0].detail
    light = "Fourteen people died, and 212 houses were destroyed in all."
    assert text_of(said(lambda _: light))[0][0] == light


def test_the_model_is_asked_of_one_answer_after_the_other_until_one_is_right() -> None:
    few = [
        SAID,
        "Lives were lost by 14 people, in all, and 212 houses were destroyed.",
        "In all 14 people lost their lives; 212 houses were destroyed.",
    ]
    answers = iter([*few, *[few[0]] * (len(SAMPLES) - len(few))])
    asked: list[str] = []

    def same(prompt: str) -> str:
        asked.append(prompt)
        return "No" if few[0] in prompt else "Yes"

    assert text_of(said(lambda _: next(answers), same=same))[0][0] in few[1:]
    assert 1 < len(asked) <= saying.ASKED


def test_the_only_answer_is_no_agreement() -> None:
    given = iter([SAID, *[""] * (len(SAMPLES) - 1)])
    section = said(lambda _: next(given))
    assert text_of(section) == [(NOTE, (LEDGER,))]
    given = iter([*[SAID] * (len(SAMPLES) - 1), ""])
    assert text_of(said(lambda _: next(given))) == [(SAID, (LEDGER,))]


OTHERS = ("The levee at Lower Quay broke at 03:40 on 16 March 2031.", "Mayor Irena Holt said the warning came too late.")
PARAGRAPH = (
    "At 03:40 on 16 March 2031 the Lower Quay levee gave way. It destroyed 212 houses, and 14 people lost their lives. "
    "The warning had come too late, according to Mayor Irena Holt."
)


def together(model: NotingModel, most: int, reader: Reader | None = None) -> WrittenSection:
    evidence = Evidence.unlapped(Event("1", EVENT.title), PAGES, RETRIEVAL)
    statements = tuple(Statement(text, (f"0:{n}-{n + 1}",)) for n, text in enumerate((OTHERS[0], NOTE, OTHERS[1])))
    plan = ArticlePlan(EVENT.title, (), (PlannedSection(Heading("Toll"), (statements,)),))
    (section,) = Saying(evidence, plan, Writer(model, 0.0, 0, 400), reader, Unstored(), most).sections()
    return section


def test_a_larger_model_says_a_paragraph_whose_sentences_cite_what_they_say() -> None:
    model = NotingModel(together=lambda _: PARAGRAPH)
    section = together(model, 4, Reader())
    assert [cites for _, cites in text_of(section)] == [("0:0-1",), ("0:1-2",), ("0:2-3",)]
    assert " ".join(text for text, _ in text_of(section)) == PARAGRAPH
    assert "say" not in model.asked and not section.repairs


def test_what_it_cannot_say_together_is_said_one_by_one() -> None:
    model = NotingModel(together=lambda _: PARAGRAPH.replace("212", "312"), say=lambda prompt: SAID if NOTE in prompt else "")
    section = together(model, 4)
    assert [text for text, _ in text_of(section)] == [OTHERS[0], SAID, OTHERS[1]]
    assert len(section.repairs) == 2


def test_no_more_than_it_carries() -> None:
    model = NotingModel()
    together(model, 2)
    shown = model.prompts_of("together")
    assert all(NOTE in prompt and OTHERS[1] not in prompt for prompt in shown) and len(shown) == len(SAMPLES)
    assert {prompt for prompt in model.prompts_of("say") if OTHERS[1] in prompt}


def test_a_story_is_told_in_the_present_tense() -> None:
    event, turned, told = (
        "Lena finds the mill shut.",
        "The mill was shut, as Lena found.",
        "The mill Lena finds is shut.",
    )
    for answer, text in ((turned, event), (told, told)):
        model = NotingModel(say=lambda _, answer=answer: answer, same=lambda _: "Yes")
        statement = Statement(event, (LEDGER,), story=True)
        plan = ArticlePlan(EVENT.title, (), (PlannedSection(Heading("Plot"), ((statement,),)),))
        evidence = Evidence.unlapped(Event("1", EVENT.title), (replace(PAGES[0], text=event),), RETRIEVAL)
        (section,) = Saying(evidence, plan, Writer(model, 0.0, 0, 400), None, Unstored()).sections()
        assert [sentence.text for sentence in section.section.sentences] == [text]
    assert "present tense" in say(event, story=True)[0].content and "present tense" not in say(event)[0].content


def test_an_answer_without_a_fault_is_taken_with_the_notes_citations() -> None:
    section = said(lambda _: SAID, reader=Reader())
    assert text_of(section) == [(SAID, (LEDGER,))] and not section.repairs


def test_a_note_in_words_of_its_own_is_not_asked_of() -> None:
    own = "The water cost fourteen lives and took 212 homes."
    evidence = Evidence.unlapped(Event("1", EVENT.title), PAGES, RETRIEVAL)
    plan = ArticlePlan(EVENT.title, (), (PlannedSection(Heading("Toll"), ((Statement(own, (LEDGER,)),),)),))
    model = NotingModel()
    (section,) = Saying(evidence, plan, Writer(model, 0.0, 0, 400), None, Unstored()).sections()
    assert text_of(section) == [(own, (LEDGER,))] and not section.repairs and not model.asked


def test_of_two_answers_that_which_copies_less() -> None:
    answers = iter([NOTE, *[SAID] * (len(SAMPLES) - 1)])
    assert text_of(said(lambda _: next(answers))) == [(SAID, (LEDGER,))]


def test_a_guess_that_the_other_answers_do_not_share_is_none() -> None:
    guess = "14 people died: 212 houses, mostly huts by a lake among pines, were destroyed."
    others = ["14 people lost their lives.", "The flood took houses.", "Fourteen died.", "It was a flood.", "Huts went."]
    assert len(others) == len(SAMPLES) - 1
    answers = iter([*others, guess])
    section = said(lambda _: next(answers))
    assert text_of(section) == [(NOTE, (LEDGER,))] and "its other answers say something else" in section.repairs[0].detail
    assert text_of(said(lambda _: guess))[0][0] == guess  # all say it


class TunedModel(NotingModel):
    """Has a trained beginning for saying, and remembers how warm it was asked, and with which words it might not open."""

    tuned = frozenset((SAY,))
    grounds = True

    def __init__(self, say: Callable[[str], str]) -> None:
        super().__init__(say=say)
        self.ways: list[tuple[float, float]] = []
        self.closed: list[tuple[tuple[str, ...], int]] = []

    def generate_many(self, requests: Sequence[Request], on_done: Any = None) -> list[Completion]:
        assert all(one.tuned == SAY for one in requests)
        for one in requests:
            assert isinstance(one.sampling.grounding, Rephrase)
            self.ways.append((one.sampling.temperature, one.sampling.grounding.copy_penalty))
            self.closed.append((one.sampling.grounding.not_first, one.sampling.grounding.passed))
        return super().generate_many(requests, on_done)


def tuned_saying(model: TunedModel) -> Saying:
    evidence = Evidence.unlapped(Event("1", EVENT.title), PAGES, RETRIEVAL)
    plan = ArticlePlan(EVENT.title, (), (PlannedSection(Heading("Toll"), ((Statement(NOTE, (LEDGER,)),),)),))
    return Saying(evidence, plan, Writer(model, 0.0, 0, 400), None, Unstored())


def test_a_tuned_model_is_asked_coolly_and_for_others_where_none_is_right() -> None:
    model = TunedModel(lambda _: SAID)
    (section,) = tuned_saying(model).sections()
    assert model.ways == [*TUNED] and text_of(section)[0][0] == SAID
    model = TunedModel(lambda _: "312 houses were destroyed.")
    (section,) = tuned_saying(model).sections()
    assert model.ways == [*TUNED, *[(0.0, OPENING_PRICE)] * OPENINGS] and text_of(section) == [(NOTE, (LEDGER,))]


def test_one_voice_at_two_prices_counts_once() -> None:
    guess = "14 people died: 212 houses, mostly huts by a lake among pines, were destroyed."
    others = ["212 houses by a lake fell.", "14 people died among pines."]
    answers = iter([*[guess] * (len(TUNED) - 2), *others, *["None."] * OPENINGS])
    (section,) = tuned_saying(TunedModel(lambda _: next(answers))).sections()
    assert text_of(section) == [(NOTE, (LEDGER,))]


def test_each_further_answer_opens_otherwise_than_the_note_and_those_before() -> None:
    answers = iter(["The first.", *["Alpha is one."] * (len(TUNED) - 1), "Beta is one.", "Gamma is one.", "Delta is one."])
    model = TunedModel(lambda _: next(answers))
    tuned_saying(model).sections()
    opened = NOTE.split()[0]
    assert model.closed[: len(TUNED)] == [((), 0)] * len(TUNED)
    assert model.closed[len(TUNED) :] == [((opened, "The", "Alpha"), n) for n in range(OPENINGS)]
