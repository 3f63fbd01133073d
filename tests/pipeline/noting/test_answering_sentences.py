"""Questions that only a page's own sentence answers."""

from __future__ import annotations

import numpy as np

from data.decoding_counts import Usage
from pipeline.notes import Note, TakenNotes
from pipeline.noting import answering_sentences as module
from pipeline.noting.key_questions import Question

TITLE = "2031 Ostrel Open"
ASKED = [Question("Who won “Ostrel Open”?", "Who won it? won winner"), Question("Where was it held?", "Where was it held?")]
WON = "Mara Voss won the 2031 Ostrel Open with 8-4 against Ines Kolm."
BEFORE = "Jon Pell won the Ostrel Open in 2030."
OTHER = "Ines Kolm won the second event of the tour."
HELD = "The 2031 Ostrel Open was held in Lauren."


class Words:
    """Vectors of the words "won" and "held"."""

    name = "words"

    def encode(self, texts: list[str]) -> np.ndarray:
        found = np.array([[float("won" in text.lower()), float("held" in text.lower()), 0.1] for text in texts])
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def taken(*texts: str, question: int = 0) -> TakenNotes:
    return TakenNotes((), tuple(Note(text, "0:0-9", "", question=question) for text in texts), (), Usage())


def asked_of(
    chances: dict[str, float], answers: TakenNotes, clear: TakenNotes, monkeypatch
) -> tuple[TakenNotes, TakenNotes, list]:  # type: ignore[no-untyped-def]
    seen: list[tuple[str, str]] = []

    class Reading:
        def __init__(self, generator: object) -> None: ...

        def answers(self, pairs: list[tuple[str, str]]) -> list[float]:
            seen.extend(pairs)
            return [chances.get(text, 0.1) for _, text in pairs]

    monkeypatch.setattr(module, "Verifier", Reading)
    found, rest = module.answering_sentences(ASKED, answers, clear, TITLE, object(), Words())  # type: ignore[arg-type]
    return found, rest, seen


def test_a_sentence_that_names_the_subject_answers_what_is_open(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    held = taken(HELD, question=2)
    found, rest, seen = asked_of({WON: 0.9}, held, taken(BEFORE, OTHER, WON), monkeypatch)
    assert [(note.text, note.question) for note in found.notes] == [(WON, 1)]
    assert [note.text for note in rest.notes] == [BEFORE, OTHER]
    assert {text for _, text in seen} == {WON}  # another year's winner and another event's were not even asked of


def test_what_does_not_answer_stays_a_sentence(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    clear = taken(WON, HELD)
    found, rest, _ = asked_of({WON: 0.5, HELD: 0.2}, taken(), clear, monkeypatch)
    assert found.notes == () and rest.notes == clear.notes


def test_a_sentence_answers_one_question(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    both = "Mara Voss won the 2031 Ostrel Open, which was held in Lauren."
    found, _, _ = asked_of({both: 0.9}, taken(), taken(both), monkeypatch)
    assert [note.question for note in found.notes] == [1]
