"""Salience and support by the model's own reading: whether each note belongs in the article, and whether its passage says it.

Both are asked with worked examples, of one note after the other, at once: the questions share all but their last lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from data.decoding_counts import Usage
from data.sentences import split_sentences
from decoding.api import Generator, Message
from pipeline.article_plan import Statement
from pipeline.evidence import Evidence
from pipeline.notes import LEAST_BELONGS, Belonging, Card
from pipeline.noting import reading_prompts
from pipeline.noting.stated import nearest
from pipeline.writing.checks.compared_words import bare_words

LEAST_SAID = 0.6
"""Least chance that a passage says its note. What rules and the reader network let pass and is wrong has less (LOG.md)."""


def judge_notes(evidence: Evidence, card: Card, notes: Sequence[Statement], generator: Generator) -> Belonging:
    title = evidence.event.title
    passages = {passage.id: passage.text for passage in evidence.passages}
    asked = [reading_prompts.belongs(title, card.text, note.text, generator.neutralise) for note in notes]
    chances = [yes for yes, _ in generator.choose_many(asked, ("Yes", "No"))] if asked else []
    own = [_is_own_wording(note.text, passages[note.cites[0]]) for note in notes]
    doubtful = [n for n, chance in enumerate(chances) if chance >= LEAST_BELONGS and not own[n]]
    checks = [
        reading_prompts.states(_near(notes[n].text, passages[notes[n].cites[0]]), notes[n].text, generator.neutralise)
        for n in doubtful
    ]
    found = dict(zip(doubtful, (yes for yes, _ in generator.choose_many(checks, ("Yes", "No"))), strict=True)) if checks else {}
    return Belonging(
        tuple(round(chance, 3) for chance in chances),
        tuple(round(found.get(n, 1.0), 3) for n in range(len(notes))),
        Usage(len(asked) + len(checks), sum(_own_tokens(question, generator) for question in (*asked, *checks)), 0),
    )


def _is_own_wording(note: str, passage: str) -> bool:
    """Whether the passage has the note word for word."""
    return f" {bare_words(note)} " in f" {bare_words(passage)} "


def _near(note: str, passage: str) -> str:
    sentences = split_sentences(passage)
    return " ".join(sentences[n] for n in nearest(note, sentences))


def _own_tokens(question: Sequence[Message], generator: Generator) -> int:
    """Tokens of what a question has for itself; what all share is computed once."""
    return generator.count_tokens(question[-1].content)
