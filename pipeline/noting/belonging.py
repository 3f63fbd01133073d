"""Salience: whether each note belongs in the article, by asking the model of one after the other, with worked examples."""

from __future__ import annotations

from collections.abc import Sequence

from data.decoding_counts import Usage
from decoding.api import Generator
from pipeline.article_plan import Statement
from pipeline.notes import Belonging, Card
from pipeline.noting import reading_prompts


def judge_notes(title: str, card: Card, notes: Sequence[Statement], generator: Generator) -> Belonging:
    """The model's chance of "Yes" for each note, all asked at once: they share all but their last line."""
    questions = [reading_prompts.belongs(title, card.text, note.text, generator.neutralise) for note in notes]
    chances = generator.choose_many(questions, ("Yes", "No")) if questions else []
    # What the questions share is computed once.
    tokens = sum(generator.count_tokens(question[-1].content) for question in questions)
    return Belonging(tuple(round(yes, 3) for yes, _ in chances), Usage(len(questions), tokens, 0))
