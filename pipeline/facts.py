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
_COMMON_OPENERS = frozenset(
    [
        "The",
        "A",
        "An",
        "In",
        "On",
        "At",
        "It",
        "He",
        "She",
        "They",
        "We",
        "I",
        "This",
        "That",
        "These",
        "Those",
        "But",
        "And",
        "However",
        "Although",
        "While",
        "When",
        "After",
        "Before",
        "As",
        "For",
        "There",
        "Here",
        "If",
        "Some",
        "Many",
        "Most",
        "Its",
        "His",
        "Her",
        "Their",
        "Our",
        "Your",
        "By",
        "From",
        "With",
        "To",
        "According",
        "Also",
        "Both",
        "During",
        "Since",
        "Then",
        "What",
    ]
)

KEPT_SENTENCES = 4_096
"""Sentences of which caches keep what was found in them: three times those of the benchmark's largest event. Hardly a
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


def full_dates(text: str) -> list[str]:
    return [match.group() for match in _FULL_DATE.finditer(text)]
