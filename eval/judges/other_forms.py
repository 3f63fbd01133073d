"""A claim with its times, dates and numbers written as its evidence writes them: 9:40 pm as 21:40, some 110,000 as 109,204.

The words' judge compares digits and refuses what only looks different. Values follow as `eval.judges.contradictions` has it. A
number that no sentence has may be the sum or difference of two of one sentence; only from a hundred on, since among small
numbers something always adds up, and never between years.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations

from eval.judges.contradictions import follows
from eval.judges.lexemes import Lexeme, lexemes

LEAST_SUM = 100
MOST_NUMBERS = 12
"""Of a sentence, that are added and subtracted: a table proves everything."""

_UNDER = re.compile(r"\b(?:under|below|less|fewer)\b", re.I)
_OVER = re.compile(r"\b(?:over|above|more|exceed\w*|excess)\b", re.I)
_PARTS = (
    (re.compile(r"\b(?:a )?quarter of a million\b", re.I), "250,000"),
    (re.compile(r"\bhalf a million\b", re.I), "500,000"),
    (re.compile(r"\bthree[- ]quarters of a million\b", re.I), "750,000"),
)  # fmt: skip


def as_evidence_has_it(claim: str, sentences: Sequence[str]) -> str:
    """The claim itself where nothing is written otherwise."""
    for pattern, number in _PARTS:
        claim = pattern.sub(number, claim)
    found = [lexemes(text) for text in sentences]
    written = claim
    for start, end in reversed(list(dict.fromkeys((one.start, one.end) for one in lexemes(claim) if _has_value(one)))):
        here = [one for one in lexemes(claim) if (one.start, one.end) == (start, end) and _has_value(one)]
        if (other := _other_form(here, claim[start:end], sentences, found)) is not None:
            written = written[:start] + other + written[end:]
    return written


def _has_value(one: Lexeme) -> bool:
    return one.kind in ("number", "time", "day", "month")


def _other_form(here: Sequence[Lexeme], text: str, sentences: Sequence[str], found: Sequence[Sequence[Lexeme]]) -> str | None:
    """How a sentence writes it; None where one writes it as the claim does, or none has it."""
    if any(text in sentence for sentence in sentences):
        return None
    if len(here) > 1:  # a date
        return next((form for forms in map(_dates, found, sentences) for keys, form in forms if keys == _keys(here)), None)
    one = here[0]
    for sentence, others in zip(sentences, found, strict=True):
        for at, other in enumerate(others):
            form = sentence[other.start : other.end]
            if (
                other.kind == one.kind in ("number", "time")
                and follows(one, other, others, at)
                and _may_stand(one, text, other, form)
            ):
                return form
    if one.kind == "number" and one.value >= LEAST_SUM:
        return next((form for form in map(_added_up, [one] * len(found), found, sentences) if form is not None), None)
    return None


def _may_stand(one: Lexeme, text: str, other: Lexeme, form: str) -> bool:
    """ "About 1855" is not 1890, and "just under" is not "more than"."""
    if one.value != other.value and (_is_year(one, text.split()[-1]) or _is_year(other, form.split()[-1])):
        return False
    return not (_UNDER.search(text) and _OVER.search(form)) and not (_OVER.search(text) and _UNDER.search(form))


def _keys(date: Sequence[Lexeme]) -> frozenset[str]:
    return frozenset(one.key for one in date)


def _dates(sentence: Sequence[Lexeme], text: str) -> Iterator[tuple[frozenset[str], str]]:
    spans = dict.fromkeys((one.start, one.end) for one in sentence if one.kind == "day")
    for start, end in spans:
        yield _keys([one for one in sentence if (one.start, one.end) == (start, end)]), text[start:end]


def _added_up(one: Lexeme, sentence: Sequence[Lexeme], text: str) -> str | None:
    """The first of two numbers whose sum or difference it is."""
    numbers = [
        other
        for other in sentence
        if other.kind == "number" and other.value >= 10 and not _is_year(other, text[other.start : other.end])
    ]
    if len(numbers) > MOST_NUMBERS:
        return None
    near = 0.01 * one.value if one.bound == "~" else 1e-6
    for a, b in permutations(numbers, 2):
        if abs(a.value - b.value - one.value) <= near or abs(a.value + b.value - one.value) <= near:
            return text[a.start : a.end]
    return None


def _is_year(one: Lexeme, written: str) -> bool:
    return one.kind == "number" and 1000 <= one.value < 2200 and written.isdigit()
