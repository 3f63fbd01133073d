"""Salience by the model's own reading: whether each note belongs in the article.

Asked with worked examples, of one note after the other, at once: the questions share all but their last lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from data.decoding_counts import Usage
from decoding.api import Generator
from pipeline.article_plan import Statement
from pipeline.notes import Belonging, Card
from pipeline.noting import reading_prompts


def judge_notes(title: str, card: Card, notes: Sequence[Statement], generator: Generator) -> Belonging:
    asked = [reading_prompts.belongs(title, card.text, note.text, generator.neutralise) for note in notes]
    chances = [yes for yes, _ in generator.choose_many(asked, ("Yes", "No"))] if asked else []
    # What all questions share is computed once.
    tokens = sum(generator.count_tokens(question[-1].content) for question in asked)
    return Belonging(tuple(round(chance, 3) for chance in chances), Usage(len(asked), tokens, 0))
