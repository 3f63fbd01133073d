"""Sentences that lean on something missing: on a name, a day or a picture that the page had and the article does not.

They come from sentences taken out of their place: "He said on Monday that the 30-year-old ..." is cited without a fault and
says nothing. By rule, for English; quotations are left out. A doubtful sentence passes: which name a pronoun means is not
asked, only whether the sentence before it in the same section offers one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from eval.catalogue import directions
from eval.metric import Case
from eval.text import unquoted

LeaningKind = Literal["pronoun", "description", "relative_time", "deixis"]


_PERSON = re.compile(r"(?:He|She|His|Her|Him)(?:['’]\w+)?\b(?! [A-Z])")
_THING = re.compile(
    r"(?:They|Their|Them|Its|These|Those|This)\b(?! [A-Z])"
    r"|It(?:['’]\w+)?\b(?! [A-Z])(?! (?:is|was|has been|had been|may be|seems|appears|remains|took|would be|became)"
    r" (?:\w+ ){1,3}?(?:that|to|whether|if|how|why|when)\b)"
)
_NAME = re.compile(r"(?<=[\w,;:)’'”\"-] )[“\"'(*_]?[A-Z][\w’'-]+")
_FIRST_NAME = re.compile(
    r"^[“\"'(*_]?(?!(?:The|An?|In|On|At|By|For|From|As|With|After|Before|This|These|Those|There|When)\b)[A-Z]\w+"
)
_PEOPLE = re.compile(
    r"\b(?:he|she|his|her|him|who|man|woman|boy|girl|father|mother|son|daughter|brother|sister|wife|husband|king|queen|president"
    r"|minister|captain|victim|suspect|child|person|player|friend|\w{3,}(?:er|or|ist|ian|ant|man|woman))\b",
    re.IGNORECASE,
)
_AGED = re.compile(r"^The (?:then )?(?:\d{1,3}|[a-z]{3,}(?:-[a-z]+)?)-year-old\b(?! [A-Z])(?! \w+ (?:[A-Z]|of|that|which))")
_OF_TWO = re.compile(
    r"^The (?:latter|(?:former|duo|pair|trio|couple)(?= (?:is|was|are|were|has|have|had|would|will|also|then|did|\w+ed)\b))"
)

_DATE = re.compile(
    r"\b(?:(?:1\d|20)\d\d|January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Aug|Sept?|Oct|Nov|Dec)\b"
)
_NO_OWNER = r"(?<!the )(?<!\w['’]s )(?<!its )(?<!their )(?<!his )(?<!her )"  # "the next year" counts from the sentence before
_RELATIVE = re.compile(
    r"\b(?:yesterday|tomorrow|(?:earlier|later) today|today['’]s\b(?= (?:announcement|ruling|decision|match|game|vote|news))"
    r"|tonight|last night|this (?:morning|afternoon|evening|week|weekend|month|year)"
    rf"|{_NO_OWNER}(?:last|next) (?:week|month|weekend|year))\b(?! (?:of|in which|when)\b)"
)
_WEEKDAY = re.compile(
    r"\b(?:on|since|until|late|early) (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b(?! [A-Z])(?! (?:of|after|before|night)\b)"
)
_DEIXIS = re.compile(
    r"\b(?:as|was|were|been|is|are|already) (?:mentioned|noted|described|discussed|stated|shown|seen|listed|explained|said)"
    r" (?:above|below|earlier|previously|before)\b|\b(?:see|shown|listed|mentioned|described|pictured|seen) (?:above|below)\b"
    r"|\bas (?:above|below)\b|\b(?:above|below|afore)-?mentioned\b"
    r"|\b[Tt]he (?:above|following) (?:image|photo|map|table|picture|video|list)\b"
    r"|\b(?:pictured|see (?:also|photo|image|map|table|figure))\b(?! (?:on|in|with|as|at))"
    r"|\b(?:click|right|over|up|down|out|back|around) here\b"
    r"|^Here(?:['’]s|,| is| are)\b|\bhere['’]s\b|\bhere (?:is|are|at|in)\b"
)


class Leaning:
    """leaning_share   share of the article's sentences that have a `leaning_kind`; None for an article without sentences."""

    names = directions("leaning_share")
    signature = "leaning:rules=v1|before=1s|dates=section|language=en"

    def score(self, case: Case) -> dict[str, float | None]:
        found = Counter(kind is not None for _, kind in leaning_sentences(case))
        return {"leaning_share": found[True] / found.total() if found else None}


def leaning_sentences(case: Case) -> Iterator[tuple[str, LeaningKind | None]]:
    """Each sentence of the article with the kind of what it leans on, in order."""
    for section in case.sections:
        dated = False
        texts = (sentence.text for sentence in section.sentences)
        for before, sentence in pairwise(("", *texts)):
            dated = dated or _DATE.search(before) is not None
            yield sentence, leaning_kind(sentence, before, dated=dated)


def leaning_kind(sentence: str, before: str, *, dated: bool) -> LeaningKind | None:
    """What the sentence leans on and neither it nor the one `before` gives; `before` is empty at the start of a section.

    `dated`: whether an earlier sentence of the section has a year or a month. Days of the week then belong to it.
    """
    text = unquoted(sentence).strip()
    if _leans_by_pronoun(text, before):
        return "pronoun"
    if _leans_by_description(text, before):
        return "description"
    if _leans_in_time(text, dated):
        return "relative_time"
    return "deixis" if _DEIXIS.search(text) else None


def _leans_by_pronoun(text: str, before: str) -> bool:
    """A pronoun at its head; a person needs a name, another pronoun or a word for a person before it, a thing any sentence.

    "It was clear that ..." leans on nothing.
    """
    if _PERSON.match(text):
        return not _has_person(before)
    return _THING.match(text) is not None and not before


def _leans_by_description(text: str, before: str) -> bool:
    """ "The 30-year-old" without a name before it, "the latter" without a sentence before it."""
    if _AGED.match(text):
        return not _has_person(before)
    return _OF_TWO.match(text) is not None and not before


def _leans_in_time(text: str, dated: bool) -> bool:
    """A time as seen from the day of writing. A year or month beside it makes it a date."""
    if _DATE.search(text):
        return False
    return _RELATIVE.search(text) is not None or (not dated and _WEEKDAY.search(text) is not None)


def _has_person(before: str) -> bool:
    return any(pattern.search(before) for pattern in (_FIRST_NAME, _NAME, _PEOPLE))
