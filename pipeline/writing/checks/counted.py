"""What the numbers of a text count, by the words beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.choosing.facts import with_digits
from pipeline.choosing.standing_alone import MONTH as MONTHS
from pipeline.retrieval import terms

MONTH = f"(?:{MONTHS})"

_NUMBER = re.compile(r"(?<![\w.,])(?<![A-Za-z]-)[$€£¥]?\d[\d,]*(?:\.\d+)?%?(?![\w])")
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? {MONTH}(?:,? \d{{4}})?\b|\b{MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b|"
    r"\b(?:1[5-9]|20|21)\d{2}\b|\b\d{1,2}[:.]\d{2}(?= ?[ap]\.?m|\b(?! ?(?:per|%|m|k)))"
)
_ALIKE = dict.fromkeys(("dead", "death", "kill", "live", "fatal", "victim", "casualti", "lost"), "die")
_ALIKE |= dict.fromkeys(("peopl", "individu"), "person")
_PERSONS = frozenset(("resid", "men", "women", "passeng"))  # they may be called people, and people not them
_ALIKE |= dict.fromkeys(("hurt", "wound", "injuri"), "injur") | {"%": "cent", "percent": "cent"}
"""Stems that count the same."""


def counted(text: str, *, wide: bool) -> dict[str, frozenset[str]]:
    """Number -> stems of what it may count: the words right behind it, or, where none are, those before.

    `wide` takes the words on both sides, as evidence is to be read: more generously than the text checked against it. A number
    said more than once has the words of all places. Dates and times of day count nothing.
    """
    text = with_digits(_DATE.sub(" ", text))
    found: dict[str, frozenset[str]] = {}
    for match in _NUMBER.finditer(text):
        before = _stems(re.split(r"[.;:]\s", text[: match.start()])[-1].split()[-6:], wide=wide)
        behind = _stems(re.split(r"[.;:,]\s|[.;:,]\Z", text[match.end() :])[0].split()[: 8 if wide else 4], wide=wide)
        number = re.sub(r"[^\d.]", "", match.group()).rstrip(".")
        found[number] = found.get(number, frozenset()) | (before | behind if wide else behind or before)
    return found


def _stems(words: Sequence[str], *, wide: bool) -> frozenset[str]:
    found = {_ALIKE.get(stem, stem) for stem in terms(" ".join(words).replace("%", " cent "))}
    return frozenset(found | {"person"} if wide and found & _PERSONS else found)
