"""Words that may stand for each other, by their stems: inflections, listed synonyms, those of WordNet, and words for saying.
Beside them their contraries.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from data.wordnet import wordnet_synonyms
from eval.judges.edit_words import ANTONYMS, SAYING, SYNONYMS
from eval.judges.lexemes import stem_of

SYNONYMS_FILE = Path(__file__).with_name("synonyms.txt")
_SAYING = frozenset(
    stem_of(word) for word in [*SAYING, "according", "told", "added", "noted", "wrote", "explained", "statement"]
)


def _synonyms() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for a, b in SYNONYMS:
        for left, right in ((a, b), (b, a)):
            for word in left.split():
                found.setdefault(stem_of(word), set()).update(stem_of(other) for other in right.split())
    return {word: frozenset(others) for word, others in found.items()}


def _stand_ins() -> Mapping[str, frozenset[str]]:
    """Stem of a claim's word -> stems of the words of its evidence that it may stand for."""
    found: dict[str, set[str]] = {}
    for line in SYNONYMS_FILE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            word, _, others = line.partition(": ")
            found.setdefault(stem_of(word), set()).update(stem_of(other) for other in others.split())
    return {word: frozenset(others) for word, others in found.items()}


def _exchanged() -> Mapping[str, frozenset[str]]:
    """As `_stand_ins`, by WordNet: looser, so only where the other word has gone."""
    found: dict[str, set[str]] = {}
    for (_part, word), others in wordnet_synonyms().items():
        for other in others:
            if stem_of(word) not in OPPOSITE.get(stem_of(other), ()):
                found.setdefault(stem_of(other), set()).add(stem_of(word))
    return {word: frozenset(others) for word, others in found.items()}


def _opposites() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for a, b in ANTONYMS:
        found.setdefault(stem_of(a), set()).add(stem_of(b))
        found.setdefault(stem_of(b), set()).add(stem_of(a))
    return {word: frozenset(others) for word, others in found.items()}


OPPOSITE = _opposites()
"""Stem -> stems of its contraries."""
_SYNONYM = _synonyms()
_STANDS_FOR = _stand_ins()
EXCHANGED = _exchanged()
"""Stem of a claim's word -> stems that may be in its place, where they are in the same place."""


@lru_cache(maxsize=1 << 15)
def related(a: str, b: str) -> bool:
    """Is a stem of the claim the same word as one of the evidence, a synonym, or are both words for saying?"""
    if a == b or b in _SYNONYM.get(a, ()) or b in _STANDS_FOR.get(a, ()) or (a in _SAYING and b in _SAYING):
        return True
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) < 4 or not shorter.isalpha():
        return False
    same = 0
    while same < len(shorter) and a[same] == b[same]:
        same += 1
    return same >= 4 and same >= len(shorter) - 1 and longer[same:] not in ("less", "fewer")
