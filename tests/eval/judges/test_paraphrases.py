"""Contraries in paraphrases: what no sentence says, where the closest one says the opposite or has another value."""

from __future__ import annotations

import pytest

from eval.judges.features import analyse_claim, gather
from eval.judges.lexical_judge import LexicalJudge
from eval.judges.vetoes import Finding, examine

EVIDENCE = (
    "Listeners praised the emotional depth of the album when it was issued by Gamma Records on 26 September 2025 for "
    "$12 million. "
    "For six years the studio in Lower Velm had worked on it, and Mara Oduya sang after her illness. "
    "The council voted on Sunday that the old harbour should stay."
)


def found(claim: str) -> Finding:
    return examine(gather(analyse_claim(claim), (EVIDENCE,), LexicalJudge().weight))


@pytest.mark.parametrize(
    "claim",
    [
        "In September 2025 Gamma Records issued an album whose emotional depth was praised by listeners.",
        "After her illness Mara Oduya sang on an album that took the studio six years.",
        "It was on Sunday that the council decided about the old harbour.",
    ],
)
def test_a_true_paraphrase_has_no_contrary(claim: str) -> None:
    assert found(claim).reason is None


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("In September 2025 Gamma Records issued an album whose emotional depth was criticized by listeners.", "substitution"),
        ("In September 2025 Gamma Records supposedly issued an album whose emotional depth listeners praised.", "hedge"),
        ("In September 2025 Gamma Records failed to issue an album whose emotional depth listeners praised.", "negation"),
        ("Gamma Records had issued an album with depth for $12 thousand when listeners praised it.", "number"),
        ("The studio in Lower Velm spent six hours of work on the album, which listeners praised.", "unit"),
        ("Before an illness Mara Oduya sang on an album that took the studio six years.", "relation"),
        ("After his illness Mara Oduya sang on an album that took the studio six years.", "sex"),
        ("It was on Saturday that the council decided about the old harbour.", "number"),
    ],
)
def test_a_contrary_is_a_reason(claim: str, reason: str) -> None:
    assert found(claim).reason == reason


@pytest.mark.parametrize(
    ("claim", "word", "original"),
    [
        ("The harbour was completely rebuilt by the council in May 1987.", "completely", "entirely"),
        ("Finished in 1987, the harbour has a reputation for calm water.", "Finished", "Completed"),
        ("Soldiers were banned from the harbour during the strike of 1987.", "banned", "prohibited"),
    ],
)
def test_words_that_stand_for_each_other_are_no_alteration(claim: str, word: str, original: str) -> None:
    finding = examine(gather(analyse_claim(claim), (claim.replace(word, original),), LexicalJudge().weight))
    assert finding.reason is None and finding.repeats
