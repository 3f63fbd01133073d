"""Attacks on claims: every sentence that admits an edit is edited, and keeps its citations.

The edits are those of `eval.cards.edits`. Found by giving such sentences to the judge, which accepted 15 to 100% of each kind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

from benchmark.attacks.given import Given, each_sentence, refilled, sentences_of
from data.types import Article, Sentence
from eval.cards.edit_parts import Context
from eval.cards.edits import FALSE_EDITS

DOUBTS = ("According to unconfirmed rumours, ", "It is disputed whether ", "Some sources doubt that ")
_YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]|20)\d\d(?!\d|[.,]\d)")


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


def names_exchanged(given: Given) -> Article:
    """Two names of each sentence change places: another one has done it."""
    return _edited(given, "two names exchanged", "subject and object exchanged")


def names_replaced(given: Given) -> Article:
    """One name or place of each sentence becomes another."""
    return _edited(given, "name replaced", "place replaced")


def numbers_changed(given: Given) -> Article:
    """One number of each sentence becomes another, or two change places."""
    return _edited(given, "number changed", "two numbers swapped", "number word changed")


def dates_changed(given: Given) -> Article:
    """A month, day, weekday, year or time of each sentence becomes another."""
    return _edited(given, "month changed", "day changed", "weekday changed", "year changed", "time changed")


def units_changed(given: Given) -> Article:
    """A unit or currency of each sentence becomes another, with the same number."""
    return _edited(given, "unit replaced")


def claims_negated(given: Given) -> Article:
    """Each sentence says the contrary: a "not", "failed to" or "falsely" is put in, or a "not" taken out."""
    return _edited(given, '"not" inserted', '"failed to"', '"falsely"', "negation removed")


def antonyms(given: Given) -> Article:
    """One word of each sentence becomes its opposite."""
    return _edited(given, "antonym")


def pronouns_changed(given: Given) -> Article:
    """Men become women and women men."""
    return _edited(given, "pronoun of the other sex")


def relations_reversed(given: Given) -> Article:
    """ "Before" becomes "after", "with" becomes "without", and the other way round."""
    return _edited(given, "before and after", "with and without")


def verbs_replaced(given: Given) -> Article:
    """Another verb: something else was done."""
    return _edited(given, "verb replaced", "future to past")


def reports_denied(given: Given) -> Article:
    """Who said something denies it."""
    return _edited(given, "said to denied")


def hedges_dropped(given: Given) -> Article:
    """Statements said to be probable, reported or approximate are said flatly."""
    return _edited(given, "hedge dropped", "approximation made exact")


def limits_reversed(given: Given) -> Article:
    """ "At least" becomes "at most", "all" becomes "some", and the like."""
    return _edited(given, "limit changed", "quantifier changed")


def hedges_added(given: Given) -> Article:
    """A certainty is said to be a rumour."""
    return _changed(given, "hedges_added", lambda sentence, rng: rng.choice(DOUBTS) + sentence if sentence else None)


def declared_false(given: Given) -> Article:
    """Each sentence is called false, in front or behind, or has a consequence that nobody reported."""
    return _edited(given, '"It is false that"', "taken back at the end", "invented consequence")


def claims_fused(given: Given) -> Article:
    """The first half of each sentence goes on with the second half of the next, citing what both cite."""
    sentences = sentences_of(given.article)
    made = []
    for one, following in zip(sentences, [*sentences[1:], *sentences[:1]], strict=True):
        a, b = one.text.split(), following.text.split()
        if one == following or min(len(a), len(b)) < 6:
            made.append(one)
            continue
        cites = tuple(dict.fromkeys((*one.cites, *following.cites)))
        made.append(replace(one, text=" ".join([*a[: len(a) // 2], *b[len(b) // 2 :]]), cites=cites))
    return refilled(given.article, made)


def clauses_inserted(given: Given) -> Article:
    """Each sentence has a clause of another sentence of the article in it, or goes on with one, citing what it cited."""
    return _edited(given, "clause of another sentence inserted", "fused claims")


def _edited(given: Given, *kinds: str) -> Article:
    """Of the kinds of edit the first, in random order, that the sentence admits."""
    passages = {source.id: source.passage.text for source in given.article.sources}
    sentences = sentences_of(given.article)

    def make(text: str, rng: Random) -> str | None:
        here = cited[text]
        page = "\n".join(passages[cite] for cite in here if cite in passages)
        others = tuple(s.text for s in sentences if s.text not in page and not set(s.cites) & set(here))
        for kind in rng.sample(kinds, len(kinds)):
            edited = FALSE_EDITS[kind](text, rng, Context(page, others))
            if edited is not None:
                return edited.text
        return None

    cited = {sentence.text: sentence.cites for sentence in sentences}
    return _changed(given, kinds[0], make)


def _changed(given: Given, name: str, make: Callable[[str, Random], str | None]) -> Article:
    rng = given.rng(name)

    def changed(sentence: Sentence) -> Sentence:
        text = make(sentence.text, rng)
        return sentence if text is None else replace(sentence, text=text)

    return each_sentence(given.article, changed)
