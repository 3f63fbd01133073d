"""Short reasons of the stages, as an editor reads them."""

from __future__ import annotations

import re

import pytest

from data.types import Repair
from pipeline.formats.reasons import in_words
from pipeline.writing.checks.rewording import compare


def told(detail: str) -> str:
    return in_words(Repair("sentence_replaced", "Toll", "A sentence.", detail))


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        (
            "said as its note: added: 8",
            "it stands as it was noted from the page, for the new wording gave a figure or date that no source gives: 8",
        ),
        ("said twice: 212", "the new wording says one thing more often than its sources: 212"),
        ('said as its note: "at least" is gone', "it stands as it was noted from the page, for the new wording is surer than "
         "its sources, which say “at least” or the like"),
        ("said as its note", "it stands as it was noted from the page"),
        ("its page says now: Seven died.", "its page says now: Seven died."),
        ("of what it is the largest is gone: in {Osmere}", "the new wording left out of what it is the largest: in {Osmere}"),
        ("", ""),
    ],
)  # fmt: skip
def test_reasons_in_words(detail: str, words: str) -> None:
    assert told(detail) == words


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("The flood killed 18 people in Osmere.", "The flood killed 14 people in Osmere."),
        ("The flood of Lower Quay killed 14 people.", "The flood killed 14 people."),
        ("The mayor resigned.", "The mayor did not resign."),
        ("The mayor did not resign.", "The mayor resigned."),
        ("Police arrested 14 people.", "Police arrested at least 14 people."),
        ("She left the town.", "He left the town."),
        ("The warning came too late.", "The mayor said that the warning came too late."),
        ("The repair cost 12 million euros.", "The repair cost 12 million dollars."),
        ("We left the town after the flood", "They left the town after the flood."),
        ("Here is the rewritten sentence: the mayor left.", "The mayor left the town."),
    ],
)
def test_every_fault_of_a_wording_has_words(text: str, fact: str) -> None:
    faults = compare(text, [fact], "Osmere flood").faults
    assert faults and all(told(fault) != fault for fault in faults), [f for f in faults if told(f) == f]
    assert not any(re.search(r"[{}]", told(fault)) for fault in faults)
