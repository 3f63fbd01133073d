"""Writing tasks made from documents without labels: the section that stands in a document is the answer.

A section task scatters sentences of a section over numbered passages, among sentences of other sections and documents, and
asks for them back, in the document's order and each with the right marker. So a model learns to find what belongs under a
heading, to copy it, and to cite. An outline task asks for a document's headings, given sentences from its sections.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from data.errors import UserError
from decoding.embedded import prompt
from decoding.embedded.prompt import CitedPassage
from decoding.training.corpus import LEAD, Document, DocumentSection

MAX_PASSAGES = 8
MAX_NUMBER = 40
MAX_RUN = 7
"""Most sentences of an answer."""
MAX_PIECE = 3
"""Most neighbouring sentences that stay together in a passage."""
MAX_HEADINGS = 8
_TRIES = 10_000
_MEND = "give --corpus documents with lines `== Heading ==` and whole sentences below them"


@dataclass(frozen=True, slots=True)
class Task:
    """`answer` follows `prompt` and ends with the text. `cites` are the numbers of its sentences, in order; `copied` of an
    answer's characters stand in the prompt."""

    prompt: str
    answer: str
    cites: tuple[int, ...] = ()


class TaskMaker:
    """Endless tasks from documents; a task is a function of the random numbers given."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._sections = cache(self._sections_of)

    def section(self, rng: random.Random, max_chars: int, *, n_passages: int | None = None, dense: bool = False) -> Task:
        """At most `max_chars` in all. `dense`: hardly any distractors, so that most of an answer is one copy after another."""
        n = n_passages or rng.randint(1 if dense else 2, MAX_PASSAGES)
        for _ in range(_TRIES):
            document, at = self._some_section(rng)
            run = _run(self._sections(document)[at], rng, max_chars * (0.45 if dense else rng.uniform(0.12, 0.3)))
            if run:
                break
        else:
            raise UserError(f"no section of the corpus begins with sentences that fit {max_chars} characters; {_MEND}")
        left = max_chars - 2 * _size(run)
        passages: list[list[tuple[str, ...]]] = [[] for _ in range(n)]
        where: dict[str, int] = {}
        for piece in _pieces(run, rng):
            number = rng.randrange(n)
            passages[number].append(piece)
            where.update(dict.fromkeys(piece, number))
        left = min(left, rng.randint(0, 400)) if dense else left
        for piece in self._distractors(rng, document, at, left, where):
            passages[rng.randrange(n)].append(piece)
        for pieces in passages:
            rng.shuffle(pieces)
        filled = [number for number, pieces in enumerate(passages) if pieces]
        numbers = dict(zip(filled, _numbers(len(filled), rng), strict=True))
        shown = [CitedPassage(numbers[number], tuple(s for piece in passages[number] for s in piece)) for number in filled]
        cites = tuple(numbers[where[sentence]] for sentence in run)
        heading = self._sections(document)[at].heading or prompt.LEAD_HEADING
        answer = " ".join(prompt.cited(sentence, number) for sentence, number in zip(run, cites, strict=True))
        return Task(prompt.section(document.title, shown, heading), answer, cites)

    def outline(self, rng: random.Random, max_chars: int) -> Task:
        """Headings of a document with two sections at least, with sentences from all over it as evidence."""
        for _ in range(_TRIES):
            document, _ = self._some_section(rng)
            sections = [s for s in self._sections(document) if s.heading != LEAD]
            headings = list(dict.fromkeys(s.heading for s in sections))[:MAX_HEADINGS]
            if len(headings) > 1:
                break
        else:
            raise UserError(f"no document of the corpus has two headings with prose under them; {_MEND}")
        left = max_chars - _size(headings)
        passages: list[tuple[str, ...]] = []
        for section in rng.sample(sections, len(sections)):
            piece = _pieces(section.sentences, rng)[0]
            if _size(piece) <= left:
                passages.append(piece)
                left -= _size(piece)
        passages = passages[: MAX_PASSAGES * 2]
        numbers = _numbers(len(passages), rng)
        shown = [CitedPassage(number, piece) for number, piece in zip(numbers, passages, strict=True)]
        return Task(prompt.outline(document.title, shown), "\n".join(headings))

    def _some_section(self, rng: random.Random) -> tuple[Document, int]:
        for _ in range(_TRIES):
            document = rng.choice(self._documents)
            if sections := self._sections(document):
                return document, rng.randrange(len(sections))
        raise UserError(f"no document of the corpus, or none held out, has two sentences of prose in a section; {_MEND}")

    def _distractors(
        self, rng: random.Random, document: Document, at: int, chars: int, used: dict[str, int]
    ) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []
        seen = set(used)
        same = [s for k, s in enumerate(self._sections(document)) if k != at]
        for _ in range(60):
            if same and rng.random() < 0.5:
                section = rng.choice(same)
            else:
                other, k = self._some_section(rng)
                if other.title == document.title:
                    continue
                section = self._sections(other)[k]
            piece = rng.choice(_pieces(section.sentences, rng))
            if seen.isdisjoint(piece) and _size(piece) <= chars:
                found.append(piece)
                seen.update(piece)
                chars -= _size(piece)
            elif chars < 100:
                break
        return found

    @staticmethod
    def _sections_of(document: Document) -> list[DocumentSection]:
        return document.sections()


def _numbers(n: int, rng: random.Random) -> list[int]:
    """From one on, or some of those that a longer list of sources would have."""
    return list(range(1, n + 1)) if rng.random() < 0.5 else sorted(rng.sample(range(1, MAX_NUMBER + 1), n))


def _run(section: DocumentSection, rng: random.Random, max_chars: float) -> tuple[str, ...]:
    """Neighbouring sentences, often from the section's beginning; without repeats. Empty if not even two fit."""
    sentences = list(dict.fromkeys(section.sentences))
    start = 0 if rng.random() < 0.6 else rng.randrange(len(sentences))
    run: list[str] = []
    for sentence in sentences[start : start + rng.randint(2, MAX_RUN)]:
        if run and _size([*run, sentence]) > max_chars:
            break
        run.append(sentence)
    return tuple(run) if _size(run) <= max(max_chars, 250) else ()


def _pieces(sentences: Sequence[str], rng: random.Random) -> list[tuple[str, ...]]:
    pieces, at = [], 0
    while at < len(sentences):
        size = rng.choice((1, 1, 2, MAX_PIECE))
        pieces.append(tuple(sentences[at : at + size]))
        at += size
    return pieces


def _size(sentences: Sequence[str]) -> int:
    """Characters, with those of a marker for each sentence."""
    return sum(len(sentence) + 5 for sentence in sentences)
