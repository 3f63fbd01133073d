"""Questions that the model answered in no way that its passage says are answered by a page's own sentence, where one names the
subject in full and the model finds the answer in it.

Of a tournament twenty pages told who won, and the one answer to "Who won it?" was "General Alfie Burden", which went.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from data.decoding_counts import Usage
from decoding.api import Encoder, Generator
from pipeline.choosing.facts import years
from pipeline.choosing.subject import subject_terms
from pipeline.notes import Note, TakenNotes
from pipeline.noting.key_questions import RRF, Question
from pipeline.noting.verifying import ANSWERS, Verifier
from pipeline.retrieval import Bm25Ranker, fuse, terms

TRIED = 2
"""Sentences that are asked of for each question, nearest first."""


def answering_sentences(
    asked: Sequence[Question],
    answers: TakenNotes,
    clear: TakenNotes,
    title: str,
    generator: Generator,
    encoder: Encoder,
) -> tuple[TakenNotes, TakenNotes]:
    """The clear sentences that answer what `answers` left open, each one question; and the clear sentences without them."""
    told = {note.question for note in answers.notes}
    still_open = [n for n in range(1, len(asked) + 1) if n not in told]
    named = [note for note in clear.notes if _names_in_full(note.text, title)]
    if not still_open or not named:
        return TakenNotes((), (), (), Usage()), clear
    tried = {n: [named[i] for i in few] for n, few in zip(still_open, _nearest(asked, still_open, named, encoder), strict=True)}
    pairs = list(dict.fromkeys((asked[n - 1].ask, note.text) for n, few in tried.items() for note in few))
    chances = dict(zip(pairs, Verifier(generator).answers(pairs), strict=True))
    found: dict[str, Note] = {}
    for n, few in tried.items():
        likely = [(chances[asked[n - 1].ask, note.text], note) for note in few if note.text not in found]
        chance, note = max(likely, key=lambda pair: pair[0], default=(0.0, None))
        if note is not None and chance >= ANSWERS:
            found[note.text] = replace(note, question=n)
    rest = tuple(note for note in clear.notes if note.text not in found)
    return TakenNotes((), tuple(found.values()), (), Usage()), replace(clear, notes=rest)


def _names_in_full(text: str, title: str) -> bool:
    """Whether a sentence has all words of the subject's name, and its year: other years had other winners."""
    return subject_terms(title) <= frozenset(terms(text)) and years(title) <= years(text)


def _nearest(asked: Sequence[Question], wanted: Sequence[int], notes: Sequence[Note], encoder: Encoder) -> list[list[int]]:
    """For each of the wanted questions places of notes, as `key_questions` ranks its windows."""
    texts, some = [note.text for note in notes], [asked[n - 1] for n in wanted]
    vectors = encoder.encode([*texts, *(one.cues for one in some), *(one.ask for one in some)])
    of_texts, of_cues, of_asked = np.split(vectors, [len(texts), len(texts) + len(some)])
    by_words = Bm25Ranker(texts)
    found = []
    for one, bare, whole in zip(some, of_cues, of_asked, strict=True):
        scores = fuse([of_texts @ bare, by_words.scores(one.cues), of_texts @ whole], RRF)
        found.append(np.argsort(-scores, kind="stable")[:TRIED].tolist())
    return found
