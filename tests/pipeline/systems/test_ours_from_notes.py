"""`ours` in its default mode, whole: card, pages, notes, plan, sentences; what is left out, and what a killed run asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from data.errors import NoEvidence
from data.runs import RunFolder
from data.settings import ModelSettings, WritingSettings
from data.stage_types import Stage, Unstored
from data.types import Article, Event
from pipeline.evidence import Evidence
from pipeline.notes import Card, Notes
from pipeline.noting import about as about_pages
from pipeline.systems import ours
from pipeline.systems.ours import OurSystem
from tests.fakes import FixedEncoder, NotingModel, SilentFiler, told_back
from tests.pipeline.flood import EVENT, PAGES, RETRIEVAL, page

T = TypeVar("T")


def system(model: NotingModel, **writing: object) -> OurSystem:
    settings = WritingSettings(**writing)  # type: ignore[arg-type]
    return OurSystem(ModelSettings(), RETRIEVAL, settings, model, FixedEncoder(), (SilentFiler(), SilentFiler()))


EVENTS = (
    ("Lena Voss", "finds the mill shut"), ("The miller Marek", "hides a brass bird"), ("Harlan Pike", "follows the ferry"),
    ("Ines Varga", "opens the sluice"), ("Tom Aske", "loses the only key"), ("Kari Holm", "reads an old letter"),
    ("Jon Abt", "calls the harbour guard"), ("Ida Fenn", "drives away with gold"), ("Pavel Drost", "wakes the whole street"),
    ("Irena Holt", "jumps off a tower"), ("Tomas Lind", "rows to the island"), ("Ruth Bell", "sees a white light"),
)  # fmt: skip
"""Of a story: who does what."""


class StoryFiler(SilentFiler):
    """Knows that what happens at night belongs under Plot, and all else under Reception."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), 2), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = (1.0, 0.0) if text == "Plot" or " night " in text else (0.0, float(text == "Reception" or " " in text))
        return rows


class Kept(Unstored):
    """Keeps the card and the notes."""

    card: Card
    notes: Notes

    def once(self, stage: Stage[T], make: Callable[[], T]) -> T:
        value = make()
        if isinstance(value, Notes):
            self.notes = value
        if isinstance(value, Card):
            self.card = value
        return value


def sentences(article: Article) -> list[str]:
    return [sentence.text for section in article.all_sections for sentence in section.sentences]


def test_what_its_passage_does_not_say_by_the_models_own_reading_is_left_out() -> None:
    """Asked only of what is not the passage's own wording."""
    own, other = "Mayor Irena Holt said the warning came too late.", "Irena Holt, the mayor, said the warning came too late."

    def notes(prompt: str) -> str:
        return json.dumps([other if one == own else one for one in json.loads(told_back(prompt))])

    assert other in sentences(system(NotingModel(notes=notes)).write(EVENT, PAGES, Unstored()))
    model, folder = NotingModel(notes=notes, states=lambda _: "No"), Kept()
    assert other not in sentences(system(model).write(EVENT, PAGES, folder))
    assert [prompt.rpartition("Note: ")[2].partition("\n")[0] for prompt in model.prompts_of("states")][:1] == [other]
    assert any(one.text == other and one.reason == "its passage hardly says it (0.00)" for one in folder.notes.dropped)


def test_a_person_says_what_it_is() -> None:
    model, folder = NotingModel(), Kept()
    system(model, about="A flood in the province of Vasterlow.").write(EVENT, PAGES, folder)
    assert "card" not in model.asked
    assert folder.card.text == "A flood in the province of Vasterlow." and folder.card.by == "person"


@pytest.mark.parametrize(
    "answer", ["[]", "I cannot help with that.", '["Ein Satz auf Deutsch, der hier nichts zu suchen hat."]']
)
def test_without_a_note_there_is_no_article(answer: str) -> None:
    with pytest.raises(NoEvidence, match="hold no fact that could be noted"):
        system(NotingModel(notes=lambda _: answer)).write(EVENT, PAGES, Unstored())


def test_a_killed_run_asks_nothing_twice(tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def dies(prompt: str) -> str:
        raise Killed

    folder = RunFolder.open(tmp_path / "run", {}).event(EVENT.id)
    with pytest.raises(Killed):
        system(NotingModel(say=dies)).write(EVENT, PAGES, folder)
    model = NotingModel()
    again = system(model).write(EVENT, PAGES, folder)
    assert not {"card", "about", "notes", "kind"} & set(model.asked)
    assert sentences(again) == sentences(system(NotingModel()).write(EVENT, PAGES, Unstored()))


def test_a_title_of_two_subjects_says_so_and_how_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    # By their letters, as the stand-in compares them, all pages are alike.
    monkeypatch.setattr(about_pages, "page_texts", lambda evidence, pages: [f"page {n}" for n in pages])
    monkeypatch.setattr(about_pages, "SURE", 1.1)

    class TwoThings(FixedEncoder):
        """Of what `page_texts` gives, the games are far from the card."""

        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            found = super().encode(texts)
            for row, text in zip(found, texts, strict=True):
                if text in ("page 0", "page 1"):
                    row[:] = found[0]
                elif text.startswith("page "):
                    row[:] = 0.0
            return found

    text = (
        "2031 Tolvane flood is a puzzle game of seven levels in which players move water. It was released in May for consoles."
    )
    games = tuple(
        page(f"game{n}", f"2031 Tolvane flood, the game, part {n}", f"{text} Level {n} has {n + 3} locks and a secret sluice.")
        for n in range(3)
    )
    two = OurSystem(ModelSettings(), RETRIEVAL, WritingSettings(), NotingModel(), TwoThings(), (SilentFiler(), SilentFiler()))
    article = two.write(EVENT, (*PAGES[:2], *games), Unstored())
    assert "3 pages of this name are about something else, such as “2031 Tolvane flood, the game, part 0”" in article.notice
    assert "--about" in article.notice
    assert "--about" not in system(NotingModel()).write(EVENT, PAGES, Unstored()).notice


def test_a_sentence_of_a_page_that_judges_is_left_out_of_the_plan() -> None:
    judging = "Mayor Irena Holt said the warning came too late."
    model, folder = NotingModel(factual=lambda prompt: "No" if judging in prompt else "Yes"), Kept()
    article = system(model).write(EVENT, PAGES, folder)
    assert judging not in sentences(article) and len(sentences(article)) >= 3


def test_of_two_winners_of_one_contest_one_stands_at_most() -> None:
    race = Event("1", "2031 Osmere ferry race")
    told = [
        f"{who} won the 2031 Osmere ferry race in Vasterlow on {n} May 2031."
        for n, who in enumerate(("Jon Abt", "Ida Fenn"), 3)
    ]
    rest = (
        "The 2031 Osmere ferry race was a race of ferries in Vasterlow in May 2031. It drew 400 people to the quay of Osmere."
    )
    pages = [page(f"p{n}", race.title, f"{rest} {text}") for n, text in enumerate(told)]
    plan = system(NotingModel()).plan(Evidence.unlapped(race, tuple(pages), RETRIEVAL))
    said = [one.text for one in (*plan.lead, *(one for section in plan.sections for one in section.statements))]
    assert said and sum(" won " in text for text in said) <= 1
    assert {one.text for one in plan.left_out if one.reason == ours.RIVAL} >= set(told) - set(said)


def test_an_answer_to_what_such_an_article_tells_stands_in_it() -> None:
    answer = "The levee at Lower Quay had broken at 03:40, so Mayor Irena Holt said the warning was late."
    model = NotingModel(answer=lambda _: answer)
    article = system(model).write(EVENT, PAGES, Unstored())
    assert answer in sentences(article) and model.asked.index("answer") < model.asked.index("notes")


def test_of_long_evidence_a_third_of_the_words_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(long: int) -> int:
        monkeypatch.setattr(ours, "LONG", long)
        model = NotingModel()
        system(model, read_words=200).write(EVENT, PAGES, Unstored())
        return sum(len(prompt.split()) for prompt in model.prompts_of("notes"))

    assert 0 < read(0) < read(4)


def test_what_no_page_is_about_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ours.ONLY_MENTIONED not in system(NotingModel()).write(EVENT, PAGES, Unstored()).notice
    monkeypatch.setattr(about_pages, "SURE", 1.1)
    monkeypatch.setattr(about_pages, "LEAST_OF_FEW", 2.0)
    assert system(NotingModel()).write(EVENT, PAGES, Unstored()).notice.startswith(ours.ONLY_MENTIONED)


def test_a_plot_is_told_from_the_page_that_retells_it(tmp_path: Path) -> None:
    told = [f"{who} {what} in Osmere on the night of the {n}th." for n, (who, what) in enumerate(EVENTS, 4)]
    praise = "The Brass Heron is an episode of the series Weir. Critics praised its score in May 2031."
    pages = (
        page("review", "The Brass Heron review", f"{praise} Some two million people watched The Brass Heron in Orvenia."),
        page("recap", "The Brass Heron recap", "\n".join(told)),
    )
    event = Event("44", "The Brass Heron (Weir episode)")
    model = NotingModel()
    folder = RunFolder.open(tmp_path / "run", {"system": "ours"}).event("44")
    written = OurSystem(ModelSettings(), RETRIEVAL, WritingSettings(), model, FixedEncoder(), (StoryFiler(), StoryFiler()))
    article = written.write(event, pages, folder)
    plot = next(section for section in article.sections if section.heading.text == "Plot")
    texts = [sentence.text for sentence in plot.sentences]
    assert len(texts) >= 6 and texts == [text for text in told if text in texts]
    assert model.asked.count("story") == 1 and all(cite.startswith("1:") for s in plot.sentences for cite in s.cites)
    asked = len(model.asked)
    written.write(event, pages, folder)
    assert len(model.asked) == asked, "what a killed run has read of the story is not read again"
