"""Names, numbers and dates in a sentence: what an encyclopedic sentence is judged by, in selection and in checking."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = r"(?:(?:[A-Z]\.)+|(?:St|Mt|Ft|Dr|Mr|Mrs|Ms)\.|[A-ZÀ-ÖØ-Þ][\w’'&-]*)"  # other words end before a full stop
_NAME = re.compile(rf"{_WORD}(?:\s+(?:(?:of|the|de|la|le|du|da|del|van|von|al|bin|y|e|&)\s+){{0,2}}{_WORD})*")
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_FULL_DATE = re.compile(
    r"\b(?:\d{1,2}\s+(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"|(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+\d{1,2}),?\s+\d{4}\b"
)
_COMMON_OPENERS = frozenset((
    "The", "A", "An", "In", "On", "At", "It", "He", "She", "They", "We", "I", "This", "That", "These", "Those", "But",
    "And", "However", "Although", "While", "When", "After", "Before", "As", "For", "There", "Here", "If", "Some", "Many",
    "Most", "Its", "His", "Her", "Their", "Our", "Your", "By", "From", "With", "To", "According", "Also", "Both", "During",
    "Since", "Then", "What",
))  # fmt: skip

KEPT_SENTENCES = 4_096
"""Sentences of which caches keep their facts: three times those of the benchmark's largest event. Hardly a
sentence of one event is asked for in another, so more room holds memory for nothing: 1 to 4 KiB a sentence."""


@lru_cache(maxsize=KEPT_SENTENCES)
def names(text: str) -> frozenset[str]:
    """Lower-cased names: runs of capitalised words, joined by small words, without sentence-opening function words."""
    found = set()
    for match in _NAME.finditer(text):
        words = match.group().split()
        while words and words[0] in _COMMON_OPENERS:
            words = words[1:]
        if words and not (len(words) == 1 and (len(words[0]) < 3 or match.start() == 0)):
            found.add(re.sub(r"[^\w\s]", "", " ".join(words)).lower().strip())
    return frozenset(name for name in found if name)


@lru_cache(maxsize=KEPT_SENTENCES)
def numbers(text: str) -> frozenset[str]:
    """Digit strings without separators: "1,200" and "1200" are the same number, "3.5" keeps its point."""
    return frozenset(re.sub(r",(?=\d{3}\b)", "", m.group()).rstrip(".,") for m in _NUMBER.finditer(text))


YEAR = re.compile(r"\b(?:1[5-9]|20)\d{2}\b")


def years(text: str) -> frozenset[str]:
    """Years of the last five centuries that a text names."""
    return frozenset(YEAR.findall(text))


def full_dates(text: str) -> list[str]:
    return [match.group() for match in _FULL_DATE.finditer(text)]


# --- what a sentence must not get wrong ------------------------------------------------------------------------------

KEPT_TEXTS = 2_048
"""Passages, sentences and names of which caches keep the words and figures. A benchmark event has up to 204 passages, none of
them asked for in another event, and all that is kept of a passage takes some 40 KiB."""

_ONES = "two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_TENS_VALUES = {word: 10 * n for n, word in enumerate(_TENS.split(), 2)}
_VALUES = {"one": 1} | {word: n for n, word in enumerate(f"{_ONES} {_TEENS}".split(), 2)} | _TENS_VALUES
_ALONE = "|".join(word for word in _VALUES if word != "one")  # which is seldom a number
_NUMBER_WORDS = re.compile(rf"\b(?:({_TENS.replace(' ', '|')})[- ](one|{_ONES.replace(' ', '|')})|({_ALONE}))\b")
_SCALES = {"thousand": "", "million": "m|mn|mln|mio", "billion": "bn|b", "trillion": "tn|trn"}
_MONTH_NAMES = _MONTHS.split()
CALENDAR = {name.lower(): name for name in (*_MONTH_NAMES, *_DAYS.split())} | {m[:3].lower(): m for m in _MONTH_NAMES}
CALENDAR |= {"sept": "September"}
_NAME_OFCALENDAR = re.compile(rf"\b(?:{'|'.join(map(str.capitalize, CALENDAR))})\b")
_ANY_CASE = re.compile(_NAME_OFCALENDAR.pattern, re.I)
_ISO_MONTH = re.compile(r"\b\d{4}-(0[1-9]|1[0-2])-\d{2}\b")


@lru_cache(maxsize=KEPT_TEXTS)
def with_digits(text: str) -> str:
    """Small letters, and number words up to ninety-nine as digits."""

    def value(match: re.Match[str]) -> str:
        tens, unit, single = match.groups()
        return str(_VALUES[single] if single else _VALUES[tens] + _VALUES[unit])

    return _NUMBER_WORDS.sub(value, text.lower())


@lru_cache(maxsize=KEPT_TEXTS)
def figures(text: str, *, as_evidence: bool = False) -> frozenset[str]:
    """What a sentence must not get wrong: numbers (also as words), scales, months, days of the week.

    Evidence is read more generously: months in small letters count, for some pages are lower-cased throughout, "5m" is a
    million, and 2031-03-06 has March and 6.
    """
    words = with_digits(text)
    found = set(numbers(words))
    found |= {CALENDAR[name.lower()] for name in (_ANY_CASE if as_evidence else _NAME_OFCALENDAR).findall(text)}
    for scale, short in _SCALES.items():
        if re.search(rf"\b{scale}s?\b", words) or (as_evidence and short and re.search(rf"\d\s?(?:{short})\b", words)):
            found.add(scale)
    if as_evidence:
        found |= {_MONTH_NAMES[int(month) - 1] for month in _ISO_MONTH.findall(text)}
        found |= {number.lstrip("0") for number in found if number.startswith("0")} - {""}
    return frozenset(found)
