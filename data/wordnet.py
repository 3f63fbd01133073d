"""Synonyms of common English words, from WordNet 3.0: of each word its most frequent meanings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

SYNONYMS_FILE = Path(__file__).with_name("wordnet_synonyms.txt")
"""Made by `python -m tools.fits.make_wordnet_synonyms`; its licence stands beside it."""


def read_synonyms(file: Path) -> dict[tuple[str, str], frozenset[str]]:
    """(part of speech as n, v, a or r; word) -> the words that may stand for it. Words are base forms."""
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            part, word, *others = line.split()
            found[part, word] = frozenset(others)
    return found


@cache
def wordnet_synonyms() -> Mapping[tuple[str, str], frozenset[str]]:
    return read_synonyms(SYNONYMS_FILE)
