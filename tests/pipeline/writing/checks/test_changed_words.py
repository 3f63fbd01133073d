"""Words of a fact in another form. Every fact and text is invented."""

from __future__ import annotations

import pytest

from pipeline.writing.checks.changed_words import changed_words, other_tenses


@pytest.mark.parametrize(
    ("fact", "text", "fault"),
    [
        ("She studied the social insects of Osmere.", "She studied the socially insects of Osmere.", "socially for social"),
        ("The half-brother of the mayor drowned.", "The brother of the mayor drowned.", "half-brother"),
        ("They won the Osmere Cup in May.", "They won the Osmere cup in May.", "without its capital: Cup"),
        ("Only he seems to see the dam.", "Only he only seems to see the dam.", '"only" came'),
        ("The mayor met her after her speech.", "The mayor met her after his speech.", "he and she exchanged"),
        ("He denied them the proof of their suspicions.", "He denied them the proof of his suspicions.", "they became one"),
        ("A gauge has been installed at the dam.", "A gauge is being installed at the dam.", '"is being"'),
        ("The track, which hosted the Osmere Stakes, closed.", "The track, which was the Osmere Stakes, closed.", "what it is"),
        ("Many boats sank.", "Most boats sank.", '"most" came'),
    ],
)
def test_a_word_that_came_out_otherwise_is_found(fact: str, text: str, fault: str) -> None:
    assert fault in "; ".join(changed_words(text, [fact]))


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("The dam was constantly watched.", "The dam was watched constantly."),
        ("The water rose and flooded the hall.", "The rising water flooded the hall."),
        ("They organise a fair in the Town Hall.", "A fair is organized in the town hall and the Town Hall."),
        ("The park features a mill.", "The park has a mill."),
    ],
)
def test_inflections_and_spellings_are_no_fault(fact: str, text: str) -> None:
    assert changed_words(text, [fact]) == []


def test_a_verb_in_another_tense_is_found() -> None:
    fact = "Abt decides to leave, but Ruiz warns him that it follows him."
    assert other_tenses("Abt decides to leave, but Ruiz warned him that it follows him.", [fact]) == ("warns -> warned",)
    assert other_tenses("Ruiz warns Abt, who decides to leave, that it follows him.", [fact]) == ()
    assert other_tenses("The dam has given way.", ["The dam gave way."]) == ()
    twice = "Abt came wearing a vest and {} a gun, and carried out the plan."
    assert other_tenses(twice.format("carried"), [twice.format("carrying")]) == ("carrying -> carried",)
