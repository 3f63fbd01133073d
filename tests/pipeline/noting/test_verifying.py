"""What of a passage a note is held to."""

from __future__ import annotations

from pipeline.noting.verifying import LEAST_SHOWN, NEAREST, Verifier, nearest
from tests.fakes import NotingModel

PROSE = tuple(f"Sentence number {n} tells of the river and of what it did in that year." for n in range(9))
CAST = tuple(f"Role{n} Actor{n}" for n in range(40))


def test_of_prose_a_few_sentences_are_shown_in_their_order() -> None:
    found = nearest("Sentence 7 and sentence 2.", PROSE)
    assert len(found) == NEAREST and found == sorted(found) and {2, 7} <= set(found)


def test_of_a_list_as_many_lines_as_make_a_paragraph() -> None:
    found = nearest(" ".join(f"Actor{n} plays Role{n}." for n in range(5)), CAST)
    assert set(range(5)) <= set(found) and sum(len(CAST[n].split()) for n in found) >= LEAST_SHOWN
    assert len(found) < len(CAST) and nearest("Actor1.", CAST[:2]) == [0, 1]


def test_an_answer_is_asked_of_with_its_question() -> None:
    model = NotingModel(answers=lambda prompt: "Yes" if "Ines Varga" in prompt else "No")
    told = [("Who directed Lux?", "Ines Varga directed Lux."), ("Who directed Lux?", "Lux was directed well.")]
    yes, no = Verifier(model).answers(told)
    assert yes > 0.5 > no and Verifier(model).answers([]) == []
