"""Attacks on claims: every sentence that admits an edit is edited, and keeps its citations.

Found by giving such sentences to the judge, which accepted between 15 and 100% of each kind.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from benchmark.attacks.given import Given, each_sentence, refilled, sentences_of
from data.types import Article, Sentence
from eval import edits
from eval.edits import Edit
from eval.stress import change_number, exchange_names

_YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]|20)\d\d(?!\d|[.,]\d)")


def names_exchanged(given: Given) -> Article:
    """Two names of a sentence change places: another one has done it."""
    return _edited(given, "names_exchanged", exchange_names)


def claims_negated(given: Given) -> Article:
    """A "not" stands after the first auxiliary verb."""
    return _edited(given, "claims_negated", edits.negate)


def hedges_dropped(given: Given) -> Article:
    """What is said to be probable, reported or approximate is said flatly."""
    return _edited(given, "hedges_dropped", edits.drop_hedge)


def hedges_added(given: Given) -> Article:
    """What is certain is said to be a rumour."""
    return _edited(given, "hedges_added", edits.add_hedge)


def bounds_reversed(given: Given) -> Article:
    """ "At least" becomes "at most", and the like."""
    return _edited(given, "bounds_reversed", edits.reverse_bound)


def units_changed(given: Given) -> Article:
    """Units and currencies become others, with the same numbers."""
    return _edited(given, "units_changed", edits.change_unit)


def dates_changed(given: Given) -> Article:
    """Months and days of the week become others."""
    return _edited(given, "dates_changed", edits.change_date)


def numbers_changed(given: Given) -> Article:
    """One number of each sentence becomes another of like size."""
    return _edited(given, "numbers_changed", change_number)


def antonyms(given: Given) -> Article:
    """One word of each sentence becomes its opposite."""
    return _edited(given, "antonyms", edits.antonym)


def reports_denied(given: Given) -> Article:
    """Who said something denies it."""
    return _edited(given, "reports_denied", edits.deny_report)


def declared_false(given: Given) -> Article:
    """Each sentence is called false, or ends with a consequence that nobody told of."""
    return _edited(given, "declared_false", edits.declare_false)


def claims_fused(given: Given) -> Article:
    """The first half of each sentence goes on with the second half of the next, citing what both cite."""
    sentences = sentences_of(given.article)
    made = []
    for one, following in zip(sentences, [*sentences[1:], *sentences[:1]], strict=True):
        text = edits.fuse(one.text, following.text) if one != following else None
        cites = tuple(dict.fromkeys((*one.cites, *following.cites)))
        made.append(one if text is None else replace(one, text=text, cites=cites))
    return refilled(given.article, made)


def year_shifted(given: Given) -> Article:
    """The title's year, or else the one that occurs most, is the year before in the whole article.

    Made with the sibling event: a text about the edition before, which nobody wrote.
    """
    text = " ".join(sentence.text for sentence in sentences_of(given.article))
    years = _YEAR.findall(given.article.title) or [year for year, _ in Counter(_YEAR.findall(text)).most_common(1)]
    if not years:
        return given.article
    old, new = years[0], str(int(years[0]) - 1)

    def shifted(sentence: Sentence) -> Sentence:
        return replace(sentence, text=_YEAR.sub(lambda year: new if year.group() == old else year.group(), sentence.text))

    return each_sentence(given.article, shifted)


def _edited(given: Given, name: str, edit: Edit) -> Article:
    rng = given.rng(name)

    def changed(sentence: Sentence) -> Sentence:
        text = edit(sentence.text, rng)
        return sentence if text is None else replace(sentence, text=text)

    return each_sentence(given.article, changed)
