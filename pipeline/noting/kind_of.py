"""Which kind of article the subject needs: the likeliest by words and vectors, of which the model chooses."""

from __future__ import annotations

from decoding.api import Generator
from pipeline.evidence import Evidence
from pipeline.notes import Card
from pipeline.noting import reading_prompts
from pipeline.planning.kinds import CERTAIN, Kind, KindRecogniser

ASKED = 6
"""Kinds of which the model is asked."""
ANSWERED = 0.3
"""What a Yes adds to a kind's score beside a No: vectors took a strike for an accident, and a model alone says Yes to many."""


def kind_of(evidence: Evidence, card: Card, recogniser: KindRecogniser, generator: Generator) -> Kind:
    """The kind. Where the title leaves no doubt ("(2031 film)") nothing is asked."""
    title = evidence.event.title
    ranked = recogniser.by_card(title, card.text, evidence.pages)
    if ranked[0][0] - ranked[1][0] >= CERTAIN / 2:
        return ranked[0][1]
    best = ranked[:ASKED]
    questions = [reading_prompts.kind(title, card.text, f"{kind.name}: {kind.about}", generator.neutralise) for _, kind in best]
    chances = [yes for yes, _ in generator.choose_many(questions, ("Yes", "No"))]
    return max(zip(best, chances, strict=True), key=lambda one: one[0][0] + ANSWERED * one[1])[0][1]
