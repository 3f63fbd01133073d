"""English words that are no names: which capital letter belongs to the place and which to the word, and which are no words at
all.

The list is made by `tools.fits.fit_words` from open text.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

WORDS_FILE = Path(__file__).with_name("common_words.txt")


@cache
def common_words() -> frozenset[str]:
    """In small letters."""
    return frozenset(WORDS_FILE.read_text(encoding="utf-8").split())


def is_common(word: str) -> bool:
    return word.lower() in common_words()
