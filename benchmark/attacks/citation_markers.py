"""Attacks on citations: the honest text with other markers."""

from __future__ import annotations

from dataclasses import replace

from benchmark.attacks.given import Given, each_sentence, refilled, sentences_of
from data.types import Article


def everything_cited(given: Given) -> Article:
    """Every sentence cites every source of the article.

    Made against recall: whatever is said, the right passage is among those cited.
    """
    cites = tuple(source.id for source in given.article.sources)
    return each_sentence(given.article, lambda sentence: replace(sentence, cites=cites))


def citations_moved(given: Given) -> Article:
    """Every sentence cites what the sentence five places on cites.

    Made against `grounded`, which looks at all pages: the text stays true, and no reader can check it.
    """
    sentences = sentences_of(given.article)
    moved = [*sentences[5:], *sentences[:5]]
    return refilled(given.article, [replace(s, cites=m.cites) for s, m in zip(sentences, moved, strict=True)])


def citations_dropped(given: Given) -> Article:
    """Only the first sentence of each section keeps its citations.

    Made against precision: no citation can be wrong.
    """
    first = {id(section.sentences[0]) for section in given.article.all_sections if section.sentences}
    return each_sentence(given.article, lambda s: s if id(s) in first else replace(s, cites=()))
