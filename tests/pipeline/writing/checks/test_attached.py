"""What a phrase belongs to, in a fact and in a text. Every fact and text is invented."""

from __future__ import annotations

import pytest

from pipeline.writing.checks.attached import attached_elsewhere, moved_phrases


@pytest.mark.parametrize(
    ("fact", "text", "fault"),
    [
        (
            "The court issued a writ against Abt over a spoilt pageant in August 2018.",
            "In August 2018, the court issued a writ against Abt over a spoilt pageant.",
            "belongs to a noun: In August 2018",
        ),
        (
            "The last time they met was on March 12, 2021 against Osmere.",
            "On March 12, 2021, the last time they met was against Osmere.",
            "belongs to a noun: On March 12",
        ),
        (
            "Abt is chairman of the river board in Osmere.",
            "In Osmere, Abt is chairman of the river board.",
            "belongs to a noun: In Osmere",
        ),
        (
            "Oldvik has no majority on the council, which was elected on 16 May.",
            "On 16 May, Oldvik has no majority on the council. The council was elected.",
            "belongs to a noun: On 16 May",
        ),
        (
            "Sales were published which show that the song rose to 2.8m after a week.",
            "After a week, sales were published which show that the song rose to 2.8m.",
            "belongs to a noun: After a week",
        ),
        (
            "In July 1908, the society leased the field and used it to hold a meeting.",
            "The society leased the field and used it to hold a meeting in July 1908.",
            "the date is of something else: in July 1908",
        ),
        (
            "Abt had met the mayor, and was marked as prey by the eel.",
            "Abt had met the mayor, and was marked as prey by the mayor.",
            "joined to something else: prey by the mayor",
        ),
    ],
)
def test_what_belongs_to_something_else_is_found(fact: str, text: str, fault: str) -> None:
    assert fault in "; ".join(attached_elsewhere(text, [fact]))


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("The council approved the plan on 12 March 2031.", "On 12 March 2031, the council approved the plan."),
        ("The bridge was opened by Ana Ruiz on 3 May 2032.", "On 3 May 2032, the bridge was opened by Ana Ruiz."),
        ("The crew of the ferry died in Osmere.", "In Osmere, the crew of the ferry died."),
        (
            "Water filled the town in the night after the levee broke.",
            "After the levee broke, water filled the town in the night.",
        ),
        ("On 3 May 2032, the ferry sank.", "The ferry sank on 3 May 2032."),
        ("It begins on Monday, 18 May, with a run of more than 9 miles.", "With a run of over 9 miles it begins on 18 May."),
    ],
)
def test_what_belongs_to_the_same_has_no_fault(fact: str, text: str) -> None:
    assert attached_elsewhere(text, [fact]) == []


def test_a_phrase_that_moved_to_another_word_is_found() -> None:
    fact = "Sales were published which show a rise after a week."
    assert moved_phrases("Sales were published after a week which show a rise.", [fact]) == ("published after a week which",)
    # What opens the fact may go anywhere, and a year beside another phrase.
    assert not moved_phrases("Sales were published after a week.", ["After a week, sales were published."])
    assert not moved_phrases("His work ended with the war in 1914.", ["His work ended in 1914 with the war."])
