"""Whether a passage says a note, by the model's own reading, with worked examples of what is exchanged and guessed.

The reader network that checks rewordings cannot do this: a note names what its passage calls "it". Of 32 notes that it refused
8 were right, and it gave none of these more than 0.03; the model gave 7 of them 0.6 or more, and 19 of the 24 others less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from data.sentences import split_sentences
from decoding.api import Generator, Message
from pipeline.choosing.facts import with_digits
from pipeline.noting import reading_prompts
from pipeline.retrieval import terms
from pipeline.writing.checks.compared_words import bare_words

STATES = "states"
"""The name of this question, for which a model may have been probed (`decoding.probes`)."""
SAYS = 0.7
"""Least chance, by the model's probe, that a passage says a note. Of 627 labelled notes in other words than their passage's,
64% of them right, it keeps 413: 82% right, 8% partly, 10% wrong (held out; docs/history/2026-11-29.md)."""
FACTUAL = 0.48
"""Least chance, by the model, that a note states a fact. Of 251 notes of two topics, labelled by reading, 28 have less, and 3
of these are of use (LOG.md)."""
ANSWERS = 0.7
"""Least chance, by the model, that an answer tells what its question asks. Of 37 answers on eight topics ten have less;
nine of these answer something else; an exchanged role has just as much (docs/history/2026-11-28.md)."""
NEAREST, LEAST_SHOWN = 4, 30
"""Sentences of the passage that it is shown; and words, where these are the lines of a list."""


class Claimed(NamedTuple):
    """A note, the passage that is to say it, and the title of its page."""

    note: str
    passage: str
    page: str


class Verifier:
    """Asks one model; all notes at once, since the questions share all but their last lines."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    def chances(self, notes: Sequence[Claimed]) -> list[float]:
        """For each note the chance that its passage says it; 1 for a passage's own words, which are not asked of."""
        doubtful = [n for n, one in enumerate(notes) if not _is_own_wording(one.note, one.passage)]
        asked = [asks_whether_stated(notes[n], self._generator.neutralise) for n in doubtful]
        answers = self._generator.choose_many(asked, ("Yes", "No"), STATES) if asked else []
        found = dict(zip(doubtful, (yes for yes, _ in answers), strict=True))
        return [found.get(n, 1.0) for n in range(len(notes))]

    def factual(self, notes: Sequence[str]) -> list[float]:
        """For each note the chance that it states a fact and does not judge."""
        asked = [reading_prompts.factual(note, self._generator.neutralise) for note in notes]
        return [yes for yes, _ in self._generator.choose_many(asked, ("Yes", "No"))] if asked else []

    def answers(self, told: Sequence[tuple[str, str]]) -> list[float]:
        """For each question and answer the chance that the one is what the other asks for."""
        asked = [reading_prompts.answers(question, answer, self._generator.neutralise) for question, answer in told]
        return [yes for yes, _ in self._generator.choose_many(asked, ("Yes", "No"))] if asked else []


def asks_whether_stated(one: Claimed, neutralise: Callable[[str], str]) -> tuple[Message, ...]:
    """What the model is asked of a note, with the sentences of its passage that are nearest to it."""
    return reading_prompts.states(one.page, _near(one.note, one.passage), one.note, neutralise)


def nearest(text: str, sentences: Sequence[str]) -> list[int]:
    """The few of the sentences with most of the text's words, in their order; of a list more."""
    wanted = set(terms(with_digits(text)))
    shared = [len(wanted & set(terms(with_digits(sentence)))) for sentence in sentences]
    best = sorted(range(len(sentences)), key=lambda i: (-shared[i], i))
    words = np.cumsum([len(sentences[i].split()) for i in best])
    few = max(NEAREST, int(np.searchsorted(words, LEAST_SHOWN)) + 1)
    return sorted(best[:few])


def _near(note: str, passage: str) -> str:
    sentences = split_sentences(passage)
    return " ".join(sentences[n] for n in nearest(note, sentences))


def _is_own_wording(note: str, passage: str) -> bool:
    """Whether the passage has the note word for word."""
    return f" {bare_words(note)} " in f" {bare_words(passage)} "
