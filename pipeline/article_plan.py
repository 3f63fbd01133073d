"""What an article is to say, before a word of it is written: statements of the evidence, filed under headings, in order."""

from __future__ import annotations

from dataclasses import dataclass

from data.types import Heading, Strict


@dataclass(frozen=True, slots=True)
class Statement(Strict):
    """One thing that the evidence says and the article should say.

    `text` is an evidence sentence that can be read alone: whole, no dateline, what it leans on resolved from its own page.
    `cites` are the passages that hold it, best first; pages that say the same in other words are among them, their wordings
    in `also`. `day` is the ISO day that it reports, empty where it names none. `copied` is the share of its words in runs of
    five or more that a passage has, too; `worth` says how much the article needs it, beside others of its plan. `question` is
    the place, from 1, of the question on such a subject that it answers, 0 for none. `story`: it happens in a story, which is
    told in the present tense.
    """

    text: str
    cites: tuple[str, ...]
    also: tuple[str, ...] = ()
    day: str = ""
    copied: float = 0.0
    worth: float = 0.0
    question: int = 0
    story: bool = False


@dataclass(frozen=True, slots=True)
class PlannedSection(Strict):
    """`paragraphs`: statements that belong together, in reading order."""

    heading: Heading
    paragraphs: tuple[tuple[Statement, ...], ...]

    @property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(s for paragraph in self.paragraphs for s in paragraph)


@dataclass(frozen=True, slots=True)
class LeftOut(Strict):
    """An evidence sentence that was not offered, and why: `caption`, `sibling event`, `leans on another sentence`, ..."""

    text: str
    passage: str
    reason: str


@dataclass(frozen=True, slots=True)
class ArticlePlan(Strict):
    """`notice` says what a reader must know of thin or one-sided evidence ("3 pages, one publisher"); empty if nothing."""

    title: str
    lead: tuple[Statement, ...]
    sections: tuple[PlannedSection, ...]
    notice: str = ""
    left_out: tuple[LeftOut, ...] = ()
