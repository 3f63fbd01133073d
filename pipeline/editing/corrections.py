"""What a person struck or reworded in an article, kept apart from the article.

A correction names a sentence by its words. So it holds for the next run on the same title as well: a sentence that says the
same again, in the same words or nearly, stays struck.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from data.types import Article, Paragraph, Repair, Section, Sentence, Strict

CORRECTIONS = "corrections"
"""Name of the file in an event's folder, without its ending."""
SAME_SHARE = 0.8
"""Of the words of two sentences together: from this share in common on, with the same figures, they say the same."""
MOST_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class Correction(Strict):
    """`text` is the sentence as it was written, `now` what is in its place: "" for a sentence that is struck."""

    text: str
    now: str = ""


@dataclass(frozen=True, slots=True)
class Corrections(Strict):
    made: tuple[Correction, ...] = ()

    def of(self, text: str) -> Correction | None:
        """The one that was made for this very sentence, else for one that says the same."""
        exact = (one for one in self.made if one.text == text)
        return next(exact, next((one for one in self.made if _says_the_same(one.text, text)), None))

    def with_one(self, correction: Correction) -> Corrections:
        """A later correction of a sentence takes the place of the earlier one; its own words again undo it."""
        others = tuple(one for one in self.made if one.text != correction.text)
        return Corrections(others if correction.now == correction.text else (*others, correction))


def corrected(article: Article, corrections: Corrections) -> Article:
    """The article as corrected, each correction listed among its repairs. Sections and sources without a use are left out."""
    if not corrections.made:
        return article
    repairs: list[Repair] = []
    lead = _corrected_section(article.lead, corrections, repairs)
    sections = tuple(_corrected_section(section, corrections, repairs) for section in article.sections)
    kept = tuple(section for section in sections if section.sentences)
    used = {cite for section in (lead, *kept) for sentence in section.sentences for cite in sentence.cites}
    used |= {cite for fact in article.infobox for cite in fact.cites}
    sources = tuple(source for source in article.sources if source.id in used)
    return replace(article, lead=lead, sections=kept, sources=sources, repairs=(*article.repairs, *repairs))


def _corrected_section(section: Section, corrections: Corrections, repairs: list[Repair]) -> Section:
    paragraphs: list[Paragraph] = []
    for paragraph in section.paragraphs:
        sentences: list[Sentence] = []
        for sentence in paragraph:
            found = corrections.of(sentence.text)
            if found is None:
                sentences.append(sentence)
            elif found.now:
                sentences.append(replace(sentence, text=found.now))
                repairs.append(Repair("sentence_replaced", section.heading.text, sentence.text, "reworded by hand"))
            else:
                repairs.append(Repair("sentence_removed", section.heading.text, sentence.text, "struck by hand"))
        if sentences:
            paragraphs.append(tuple(sentences))
    return replace(section, paragraphs=tuple(paragraphs))


def _says_the_same(one: str, other: str) -> bool:
    first, second = _words(one), _words(other)
    if not first or not second or {w for w in first if w[0].isdigit()} != {w for w in second if w[0].isdigit()}:
        return False
    return len(first & second) >= SAME_SHARE * len(first | second)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))


def carried(found: Sequence[Corrections]) -> Corrections:
    """Those of several earlier runs, the latest last, as one."""
    joined = Corrections()
    for corrections in found:
        for one in corrections.made:
            joined = joined.with_one(one)
    return joined
