"""The shape of a metric: a case in, named values out, and a signature that says how they were made.

Per-event values first, aggregates second (`eval.aggregate`), after sacrebleu (Post 2018): intervals and paired tests
then come from the same rows. A value in [0, 1], or None for *unscored*. Floats are added by `math.fsum`: `sum` rounds otherwise
from Python 3.12 on, and in another order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from data.gold import GoldArticle, is_excluded
from data.types import Article, Page, Section, Sentence

Better = Literal["higher", "lower", "neither"]
"""Which way is good. A failed event scores 0 on `higher` metrics and is unscored on the others."""


@dataclass(frozen=True, slots=True)
class Case:
    """One article to score: what was written, the human article, and all pages of the event's track before selection."""

    article: Article
    gold: GoldArticle
    pages: tuple[Page, ...]

    @property
    def sections(self) -> tuple[Section, ...]:
        """Lead and sections that count as prose: reference sections are left out on both sides."""
        return (self.article.lead, *(s for s in self.article.sections if not is_excluded(s.heading.text)))

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        return tuple(sentence for section in self.sections for sentence in section.sentences)

    @property
    def prose(self) -> str:
        """Sentences only: no headings, markers, infobox or reference sections; one paragraph a line."""
        paragraphs = (p for section in self.sections for p in section.paragraphs)
        return "\n".join(" ".join(sentence.text for sentence in paragraph) for paragraph in paragraphs)

    @property
    def headings(self) -> tuple[str, ...]:
        return tuple(s.heading.text for s in self.article.sections if not is_excluded(s.heading.text))

    @property
    def evidence(self) -> tuple[Page, ...]:
        """The pages that a writer could use."""
        return tuple(page for page in self.pages if page.usable)


class Metric(Protocol):
    """One family of values computed together. Implementations are plain classes; no registry."""

    @property
    def names(self) -> Mapping[str, Better]:
        """The values that `score` gives, and which way each is better."""
        ...

    @property
    def signature(self) -> str:
        """Short and stable, e.g. `rouge:tok=a-z0-9|lcs=bit|v1`; part of every submission."""
        ...

    def score(self, case: Case) -> dict[str, float | None]: ...
