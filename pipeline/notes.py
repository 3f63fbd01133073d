"""What a model wrote down while it read the pages: what the subject is, which pages are about it, and one fact a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from data.decoding_counts import Usage
from data.types import Strict
from pipeline.article_plan import Statement

if TYPE_CHECKING:
    from numpy.typing import NDArray

OF_PAGE = 0.4
"""Part of a text's closeness to the subject that is its page's."""
Verdict = Literal["subject", "mention", "other"]
"""Whether a page is about the subject, only mentions it, or is about something else, perhaps of the same name."""
VERDICTS: dict[Verdict, str] = {
    "subject": "about it",
    "mention": "only mentions it",
    "other": "about something else",
}
"""In words."""


@dataclass(frozen=True, slots=True)
class Card(Strict):
    """What the subject is, in one sentence, from the `passages` that were read for it; `by` says who wrote it: a `model`, or a
    `person`."""

    text: str
    passages: tuple[str, ...]
    by: Literal["model", "person"]
    usage: Usage


@dataclass(frozen=True, slots=True)
class SubjectKind(Strict):
    """The name of a kind of article (`planning/kinds.toml`)."""

    name: str


@dataclass(frozen=True, slots=True)
class PageVerdict(Strict):
    """`likeness` is the cosine of the page's beginning and the card, `named` the share of the title's words that the page's
    title, or its beginning, has."""

    page: int
    verdict: Verdict
    likeness: float
    named: float


@dataclass(frozen=True, slots=True)
class AboutPages(Strict):
    """A verdict for each usable page, in page order."""

    pages: tuple[PageVerdict, ...]

    def closeness(self, pages: Sequence[int], likeness: NDArray[np.float32]) -> NDArray[np.float32]:
        """How near texts are to the subject, shape (n,): their cosine with the card, and that of their page's beginning.

        A page about the subject tells of it in sentences that do not name it. A model that was asked of single notes whether
        they belong in the article could not tell (LOG.md).
        """
        by_page = {one.page: one.likeness for one in self.pages}
        own = np.array([by_page.get(page, 0.0) for page in pages], dtype=np.float32)
        return (1 - OF_PAGE) * likeness + OF_PAGE * own


@dataclass(frozen=True, slots=True)
class Note(Strict):
    """One fact that the passage with this id states, as it can be read alone; `day` is the ISO day, month or year that it
    speaks of, empty where it names none. `question` is the place, from 1, of the question that it answers
    (`noting.key_questions`); 0 where it answers none."""

    text: str
    passage: str
    day: str = ""
    question: int = 0


@dataclass(frozen=True, slots=True)
class DroppedNote(Strict):
    """What a model wrote down and its passage does not say, or no encyclopedia would, and why."""

    text: str
    passage: str
    reason: str


@dataclass(frozen=True, slots=True)
class TakenNotes(Strict):
    """What was noted of some passages (`read`, their ids)."""

    read: tuple[str, ...]
    notes: tuple[Note, ...]
    dropped: tuple[DroppedNote, ...]
    usage: Usage


@dataclass(frozen=True, slots=True)
class Notes(Strict):
    """All notes of an event, each fact once with all passages that state it, in page order; what was dropped; and what happens
    in a `story`, by the page that retells it, in its order."""

    statements: tuple[Statement, ...]
    dropped: tuple[DroppedNote, ...]
    story: tuple[Statement, ...] = ()
