"""False edits of names, places and pronouns."""

from __future__ import annotations

import re
from random import Random

from eval.cards.edit_parts import (
    ALONE,
    CAP,
    NAME,
    NOT_A_NAME,
    OPENERS,
    Context,
    Edited,
    Span,
    names,
    one_of,
    replace_at,
    with_capitals_of,
)
from eval.cards.number_edits import exchange_at
from eval.judges.edit_words import PLACES
from eval.judges.features import STOPWORDS


def name_words(name: str) -> set[str]:
    return {w.lower()[:5] for w in re.findall(r"\w+", name)}


def replace_name(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """A name becomes another of the page or of the other sentences, of like length where there is one."""
    one = one_of(rng, names(text))
    if one is None:
        return None
    known = name_words(text)
    pool = sorted({m.group() for source in (context.page, *context.others) for m in names(source) if len(m.group()) > 3})
    pool = [name for name in pool if not name_words(name) & known]
    n = len(one.group().split())
    alike = [name for name in pool if min(3, len(name.split())) == min(3, n)]
    new = one_of(rng, alike or pool)
    return replace_at(text, one.span(), new, "name replaced") if new else None


_PLACE_AT = re.compile(
    rf"(?<=\b(?:in|at) )({CAP}(?: {CAP})?)(?=[,.;]| (?:and|in|on|at|was|were|is|to|for|by|with|from|where|as|of|"
    rf"during|since)\b|$)"
)


def _places(text: str) -> list[re.Match[str]]:
    return [
        m
        for m in _PLACE_AT.finditer(text)
        if not NOT_A_NAME & set(m.group().split()) and m.group().split()[0].lower() not in STOPWORDS and not m.group().isupper()
    ]


def replace_place(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """Of the names after "in" and "at"; the others come from the same places of the page and from a list."""
    one = one_of(rng, _places(text))
    if one is None:
        return None
    found = {m.group() for source in (context.page, *context.others) for m in _places(source)}
    near = sorted(name for name in found if not name_words(name) & name_words(text))
    pool = near if near and rng.random() < 0.6 else [p for p in PLACES if p not in text]
    new = one_of(rng, pool)
    return replace_at(text, one.span(), new, "place replaced") if new else None


_SAME_THING = re.compile(
    r"\W*(?:is|was|are|were|as|a|an|the|and|or|of|called|named|known|formerly|also|née|nicknamed|alias|son|[\W])*", re.I
)
_MUTUAL = re.compile(r"\b(?:met|married|between|fought|meet|marries|joined|together|friends?|border(?:s|ed)?|equals?|with)\b")


def exchange_names(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """Two names in each other's places; not of one list, nor where the second is another name of the first."""
    found = names(text)
    opening = NAME.match(text)
    if opening and len(opening.group().split()) > 1 and opening.group().split()[0].lower() not in STOPWORDS | OPENERS:
        found = [opening, *found]
    found = [m for m in found if text.count(m.group()) == 1]
    couples = []
    for i, a in enumerate(found):
        for b in found[i + 1 :]:
            between = text[a.end() : b.start()]
            if not name_words(a.group()) & name_words(b.group()) and not _one_list(between) and not _MUTUAL.search(between):
                couples.append((a, b))
    couple = one_of(rng, couples)
    return exchange_at(text, couple[0].span(), couple[1].span(), "two names exchanged") if couple else None


def _one_list(between: str) -> bool:
    """Only names, commas, conjunctions and words for "is" are between the two."""
    without_names = NAME.sub("", between)
    return _SAME_THING.fullmatch(without_names) is not None


_PRONOUN = re.compile(r"\b(?:he|him|his|himself|she|her|hers|herself)\b", re.I)
_HE = frozenset(["he", "him", "his", "himself"])


def change_pronouns(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """All pronouns of one sex become those of the other."""
    found = list(_PRONOUN.finditer(text))
    first = one_of(rng, found)
    if first is None or re.search(r"\b(?:he|his|him) (?:or|and) (?:she|her)|s/he", text, re.I):
        return None
    sex = first.group().lower() in _HE
    pieces: list[str] = []
    spans: list[Span] = []
    end = length = 0
    for m in found:
        low = m.group().lower()
        if (low in _HE) != sex:
            continue
        if low == "her":
            possessive = re.match(
                r" (?!(?:to|in|on|at|for|with|from|and|or|by|as|when|while|the|a|an|that|into|of|after|before|"
                r"because)\b)[\w“\"]",
                text[m.end() :],
            )
            new = "his" if possessive else "him"
        elif low == "his":
            new = "her" if re.match(r" [\w“\"‘]", text[m.end() :]) else "hers"
        else:
            new = {"he": "she", "him": "her", "himself": "herself", "she": "he", "hers": "his", "herself": "himself"}[low]
        new = with_capitals_of(new, m.group())
        pieces += [text[end : m.start()], new]
        length += m.start() - end
        spans.append((length, length + len(new)))
        length += len(new)
        end = m.end()
    return Edited("".join(pieces) + text[end:], "pronoun of the other sex", tuple(spans))
