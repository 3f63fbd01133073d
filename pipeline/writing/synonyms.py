"""Whether one word may stand for another: they share a meaning in WordNet 3.0, one of their most frequent.

Too loose to put words into a sentence (`wordings` does that), strict enough to let a word pass that a language model has chosen
for this very place: the model knows the sentence, WordNet the word.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache, lru_cache
from pathlib import Path

from lemminflect import getAllLemmas

SYNONYMS_FILE = Path(__file__).with_name("synonyms.txt")
"""Made by `python -m tools.make_synonyms`; its licence stands beside it."""
_PARTS = {"NOUN": "n", "VERB": "v", "ADJ": "a", "ADV": "r"}


def may_stand_for(word: str, other: str) -> bool:
    """Whether `word` may be there in place of `other`, both in any form, as the same part of speech."""
    mine, theirs = _lemmas(word), _lemmas(other)
    return any(mine[part] & _table()[part, lemma] for part in mine.keys() & theirs.keys() for lemma in theirs[part])


@lru_cache(maxsize=20_000)
def _lemmas(word: str) -> dict[str, frozenset[str]]:
    """Part of speech -> the words that it may be a form of."""
    found = getAllLemmas(word)
    return {letter: frozenset(found[name]) for name, letter in _PARTS.items() if name in found}


@cache
def _table() -> defaultdict[tuple[str, str], frozenset[str]]:
    """(part of speech, word) -> the words that may stand for it."""
    found: defaultdict[tuple[str, str], frozenset[str]] = defaultdict(frozenset)
    for line in SYNONYMS_FILE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            part, word, *others = line.split()
            found[part, word] = frozenset(others)
    return found
