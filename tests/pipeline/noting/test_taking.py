"""Which passages are read, what of an answer is taken for notes, and how a reading goes on after it was killed."""

from __future__ import annotations

import pytest

from pipeline.noting.taking import MOST_TAKEN, parsed


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


def test_an_endless_answer_gives_few_facts() -> None:
    assert parsed('["The levee broke.", ' * 100_000) == ["The levee broke."]
    assert len(parsed("[" + ", ".join(f'"Fact {n}."' for n in range(100_000)))) == MOST_TAKEN
    assert parsed('["' + "\\'" * 200_000) == []
    assert len(parsed('["' + '" a ' * 100_000)) <= 1
