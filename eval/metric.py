"""The shape of a metric: a case in, named values out, and a signature that says how they were made.

Per-event values first, aggregates second (`eval.aggregate`), after sacrebleu (Post 2018): intervals and paired tests
then come from the same rows. A value in [0, 1], or None for *unscored*. Floats are added by `math.fsum`: `sum` rounds otherwise
from Python 3.12 on, and in another order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol

from data.gold import GoldArticle, is_excluded
from data.types import Article, Page, Paragraph, Section, Sentence
from eval.text import FINITE, dropped_letters

Better = Literal["higher", "lower", "neither"]
"""Which way is good. A failed event scores 0 on `higher` metrics and is unscored on the others."""


@dataclass(frozen=True, slots=True)
class Case:
    """One article to score: its text, the human article, and all pages of the event's track before selection."""

    article: Article
    gold: GoldArticle
    pages: tuple[Page, ...]

    @property
    def sections(self) -> tuple[Section, ...]:
        """Lead and sections that count as prose. Of sections called References, Notes and the like, which the human side does
        not have, the lines that are entries of a list of sources are left out, and the section if nothing else is in it: a
        sentence counts under any heading."""
        return _sections(self.article)

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
        return tuple(section.heading.text for section in self.sections[1:])

    @property
    def evidence(self) -> tuple[Page, ...]:
        """The pages that a writer could use."""
        return tuple(page for page in self.pages if page.usable)


@lru_cache(maxsize=2)
def _sections(article: Article) -> tuple[Section, ...]:
    kept = [article.lead]
    for section in article.sections:
        if is_excluded(section.heading.text):
            lines = tuple(line for line in section.paragraphs if not is_source_entry(line))
            if lines:
                kept.append(Section(section.heading, lines))
        else:
            kept.append(section)
    return tuple(kept)


_SOURCE_MARK = re.compile(
    r"https?://|www\.|\bdoi\b|\b10\.\d{4,}/|\bISBN\b|\bISSN\b|\b(?:retrieved|accessed|archived)\b|\A\s*\^", re.IGNORECASE
)
_AUTHOR = re.compile(r"\A[\W\d_]*[A-Z][\w'’-]+,\s+[A-Z][\w.'’-]*.{0,80}?\b(?:1[5-9]|20)\d\d\b")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»")
_LONGEST_ENTRY = 25
"""Words outside quotation marks in one sentence: more is prose, whatever address it ends with."""
_SHORTEST_PROSE = 4


def is_source_entry(line: Paragraph) -> bool:
    """Whether a line of a reference section names a source and says nothing: none of its sentences has a verb outside quoted
    titles, or those that do come with an address, a day of retrieval, or behind an author and a year."""
    text = " ".join(sentence.text for sentence in line)
    by_author = _AUTHOR.match(text) is not None and len(_QUOTED.sub(" ", text).split()) <= _LONGEST_ENTRY
    return by_author or not any(_is_prose(sentence.text) for sentence in line)


def _is_prose(sentence: str) -> bool:
    bare = _QUOTED.sub(" ", sentence)
    if dropped_letters(bare) > 1 / 2:  # in another script: recognised by its end
        return _SOURCE_MARK.search(sentence) is None and sentence.rstrip()[-1:] in ".!?。！？।؟۔"
    n_words = len(bare.split())
    if FINITE.search(bare) is None or n_words < _SHORTEST_PROSE:
        return False
    return _SOURCE_MARK.search(sentence) is None or n_words > _LONGEST_ENTRY


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
