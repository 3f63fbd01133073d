"""Which passages are read, what of an answer is taken for notes, and how a reading goes on after it was killed."""

from __future__ import annotations

import json

import pytest

from data.decoding_counts import Usage
from data.stage_types import Unstored
from data.types import Event, Page
from pipeline.evidence import Evidence
from pipeline.notes import Card, TakenNotes
from pipeline.noting.stated import NoteChecker
from pipeline.noting.taking import parsed, take_notes
from tests.fakes import NotingModel
from tests.pipeline.flood import EVENT, PAGES, RETRIEVAL, page


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ('["The levee broke.", "Fourteen people died."]', ["The levee broke.", "Fourteen people died."]),
        ('Here are the facts:\n```json\n[\n  "The levee broke."\n]\n```\nI hope this helps.', ["The levee broke."]),
        ('[{"fact": "The levee broke.", "when": "2031"}]', ["The levee broke.", "2031"]),
        ('{"facts": ["The levee broke."]}', ["The levee broke."]),
        ('["The levee broke.", "The levee broke.", "The  levee\\nbroke."]', ["The levee broke."]),
        # cut off by the limit
        ('["The levee broke.", "Fourteen people di', ["The levee broke."]),
        ('["The mayor said "we failed" and', []),
        # what is no JSON, and nearly is
        (r'["Holt\'s house stood.", "Fourteen people died."]', ["Holt's house stood.", "Fourteen people died."]),
        ('["He said "we failed" to all.", "Others left."]', ['He said "we failed" to all.', "Others left."]),
        ('["The levee broke.], ["Others left."]', ["The levee broke.", "Others left."]),
        ('[["The levee broke."], ["Others left."]]', ["The levee broke.", "Others left."]),
        ('["The levee broke."\n"Others left."]', ["The levee broke.", "Others left."]),
        (r'["Six\u20137 metres\u0000 high.\ud800"]', ["Six–7 metres high.�"]),
        ("- The levee broke.\n2. Fourteen people died.\n* Others le", ["The levee broke.", "Fourteen people died."]),
        # nothing
        ("[]", []),
        ("", []),
        ("The levee broke and fourteen people died.", []),
        ("I cannot help with that.", []),
        # thoughts are no answer
        ('<think>Is ["The dam held."] right?</think>["The levee broke."]', ["The levee broke."]),
        ('Perhaps ["The dam held."]</think>["The levee broke."]', ["The levee broke."]),
    ],
)
def test_facts_of_an_answer(answer: str, facts: list[str]) -> None:
    assert parsed(answer) == facts


def taken(model: NotingModel, of: Page = PAGES[0]) -> TakenNotes:
    evidence = Evidence.unlapped(Event("1", EVENT.title), (of,), RETRIEVAL)
    (found,) = take_notes(evidence.passages, model, NoteChecker(evidence, Card(EVENT.title, (), "model", Usage())), Unstored())
    return found


def test_what_its_passage_does_not_say_is_dropped_with_the_reason() -> None:
    kept = "Fourteen people died and 212 houses were destroyed."
    wrong = "The levee at Lower Quay broke at 05:55 on 16 March 2031."
    found = taken(NotingModel(notes=lambda _: json.dumps([kept, wrong, "Dead."])))
    assert [note.text for note in found.notes] == [kept]
    assert [one.text for one in found.dropped] == [wrong, "Dead."]
    assert found.dropped[0].reason.startswith("its passage has no") and found.dropped[1].reason == "too short"
    assert found.usage.n_calls == 1


def test_what_only_seems_to_lean_is_kept_where_the_model_finds_it_clear() -> None:
    seeming = "Fourteen people died and 212 houses were destroyed from Thursday to Sunday."
    leaning = ["He said the levee at Lower Quay broke.", "Fourteen people died and 212 houses were destroyed on this Sunday."]
    for answer, kept in (("Yes", [seeming]), ("No", [])):
        model = NotingModel(notes=lambda _: json.dumps([seeming, *leaning]), clear=lambda _, answer=answer: answer)
        found = taken(model, page("a", "Dead", f"The search in Vasterlow went on. {seeming} {PAGES[0].text}"))
        assert len(model.prompts_of("clear")) == 1
        assert [note.text for note in found.notes] == kept
        assert {one.text for one in found.dropped} == {seeming, *leaning} - set(kept)
