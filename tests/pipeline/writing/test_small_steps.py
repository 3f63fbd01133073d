"""Forms made by rule: each has the words of its fact, in another order."""

from __future__ import annotations

import pytest

from pipeline.writing.rewording import compare
from pipeline.writing.small_steps import orders


@pytest.mark.parametrize(
    ("fact", "form"),
    [
        ("The dam was opened on 12 March 2031.", "On 12 March 2031, the dam was opened."),
        ("On 12 March 2031, the dam was opened.", "The dam was opened on 12 March 2031."),
        (
            "After the levee broke in the night, water filled the old town.",
            "Water filled the old town after the levee broke in the night.",
        ),
        (
            "Water filled the old town after the levee broke in the night.",
            "After the levee broke in the night, water filled the old town.",
        ),
        (
            "The bridge was closed for two days, the police said.",
            "According to the police, the bridge was closed for two days.",
        ),
        ("Jon Abt, 61, pulled four people out of the river.", "The 61-year-old Jon Abt pulled four people out of the river."),
        (
            "The town council raised the levee by two metres, and the province paid for a pump.",
            "The town council raised the levee by two metres. The province paid for a pump.",
        ),
    ],
)  # fmt: skip
def test_forms(fact: str, form: str) -> None:
    assert form in orders(fact)[1:]


@pytest.mark.parametrize(
    "fact",
    [
        "It happened between 3 May 2031 and in 2032.",
        "“We left on 12 March 2031,” he said.",
        "When the mayor resigned from office, he moved to Osmere.",
        "A name.",
        "",
    ],
)
def test_doubtful_facts_are_not_turned_round(fact: str) -> None:
    assert all(not form.startswith(("In 2032", "On 12", "He moved")) for form in orders(fact)[1:])


def test_forms_say_what_their_fact_says() -> None:
    for fact in (
        "The reservoir was 93 per cent full on the morning of 12 March 2031.",
        "After 11 kilometres of track had been relaid, trains began to run again on 2 June 2031.",
        "At least 23 people died when the levee gave way, the provincial police said.",
    ):
        assert orders(fact)[1:]
        for form in orders(fact)[1:]:
            found = compare(form, [fact], "")
            assert not [f for f in found.faults if "ends" not in f], (form, found.faults)
