"""Slips of form and grammar, each found by its own rule; what is already so in the facts is none."""

from __future__ import annotations

import pytest

from pipeline.writing.checks.grammar import form_faults, grammar_faults

KNOWN = "The old bridge over the river was closed by the council on 20 March 2031 after the flood had damaged it."


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("The old bridge over the river, the council on 20 March 2031.", "no verb"),
        ("Took the old bridge after the flood had damaged it.", "no subject"),
        ("The council closed the bridge, the flood had damaged the old bridge.", "two sentences with a comma"),
        ("It was closed by the council after the flood. The flood had damaged it.", ""),
        ("They closed the old bridge on 20 March 2031 after the flood.", "it leans on a sentence before it"),
        ("The old bridge was closed in 20 March 2031.", "broken English: 'in 20 March'"),
        ("The old bridge was closed on March after the flood.", "broken English: 'on March'"),
        ("The old bridge was was closed by the council.", "broken English: 'was was'"),
        ("The old bridge was closed inside.", "broken English: 'inside.'"),
        ("Among old bridges over the river has been closed.", "broken English: 'Among old bridges over the river has been"),
        ("The council had the view that the river it closed: bridges.", "broken English: 'that the river it closed:'"),
        ("The old bridge was closed by an council after the flood.", "broken English: 'an council'"),
        ("The old bridge was clossed by the council after the flood.", "no common word, and in no fact: clossed"),
        ("A new bridge that brought the council over the river.", "no main verb"),
        ("The old bridge was closed, because it closing after the flood.", "broken English: 'because it closing'"),
        ("The council was closed by the council after the flood.", "said more often than its facts do"),
    ],
)
def test_slips_of_grammar(text: str, fault: str) -> None:
    found = "; ".join(grammar_faults(text, KNOWN))
    assert fault in found and bool(fault) == bool(found)


def test_what_the_facts_have_is_no_slip() -> None:
    text = "The old bridge was closed in 20 March 2031."
    assert grammar_faults(text, KNOWN) and not grammar_faults(text, f"{KNOWN} {text}")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("The old bridge over the Osmere /Kettlin river was closed by the council.", "a space is missing beside a slash"),
        ("The council closed the old bridge", "does not end as a sentence does"),
        ("It was closed.", "too short"),
        ("the council closed the old bridge in 2031.", "begins inside of a sentence"),
        ("The council closed “the old bridge in 2031.", "a quotation that is not closed"),
        ("The council closed it in 2031 and opened the old bridge in 2031.", "a name or a number twice"),
        ("The council moved 2–three of the old bridges.", "broken English: '2–three'"),
        ("The council closed the old bridge in 2031.", ""),
    ],
)
def test_faults_of_form(text: str, fault: str) -> None:
    found = "; ".join(form_faults(text, (KNOWN,)))
    assert fault in found and bool(fault) == bool(found)
