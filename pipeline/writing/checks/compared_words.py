"""Words as a text and its facts are compared by them: in small letters, without endings, apart from what is quoted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from pipeline.choosing.facts import KEPT_SENTENCES, with_digits
from pipeline.retrieval import STOPWORDS, terms

WORD = re.compile(r"[^\W_]+(?:[.,:’'&/-][^\W_]+)*[%]?")
QUOTED = re.compile(r"“[^“”]*”|«[^«»]*»|(?<!\w)\"[^\"]*\"(?!\w)")
PRONOUNS = (re.compile(r"\b(?:he|him|his|himself)\b", re.I), re.compile(r"\b(?:she|her|hers|herself)\b", re.I))
"""He and she. Only where a fact says it is known which of the two it is."""


@lru_cache(maxsize=1 << 16)  # the same words, over and over
def bare(word: str) -> str:
    """A name's word as it is compared: small letters, no possessive, no plural s, no full stops."""
    word = re.sub(r"['’]s?\Z", "", word.lower()).replace(".", "").replace("’", "'")
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


@lru_cache(maxsize=KEPT_SENTENCES)
def name_words(text: str) -> frozenset[str]:
    """All words of a text, in any case: a common word that opens a sentence is then no new name."""
    found = {bare(word) for word in WORD.findall(text)}
    found |= {part for word in found for part in re.split(r"[-/&']", word) if part}
    return frozenset(found) | {stem_of(word) for word in found}


def stem_of(word: str) -> str:
    """A word's stem; the word itself where it is too common to have one."""
    stems = terms(word)
    return stems[0] if stems else word


def bare_words(text: str) -> str:
    """A text's words in small letters, one space between them."""
    return " ".join(WORD.findall(text.lower().replace("’", "'")))


def runs_of(words: Sequence[str], text: str) -> list[list[str]]:
    """Words that are beside each other in the text, together: one name."""
    groups: list[list[str]] = []
    at = 0
    for word in words:
        start = text.find(word, at)
        if groups and start >= 0 and re.fullmatch(r"[\s.]*(?:(?:of|the|de|la|al|and|for)\s)?", text[at:start]):
            groups[-1].append(word)
        else:
            groups.append([word])
        at = max(start, at) + len(word)
    return groups


def common_runs(words: Sequence[str], source: Sequence[str]) -> list[tuple[int, int]]:
    """(start, length) of the maximal runs of `words` that are in `source`."""
    places: dict[str, list[int]] = {}
    for j, word in enumerate(source):
        places.setdefault(word, []).append(j)
    runs = []
    before: dict[int, int] = {}  # where the source goes on -> how long the run up to there is
    for i, word in enumerate(words):
        before = {j + 1: before.get(j, 0) + 1 for j in places.get(word, ())}
        if before:
            best = max(before.values())
            runs.append((i - best + 1, best))
    return runs


def is_title(quote: str, said: str) -> bool:
    """Whether what stands in quotation marks is a name of the facts: “The Well” for The Well."""
    words = WORD.findall(quote)
    named = bool(words) and words[0][0].isupper() and all(word[0].isupper() or word in STOPWORDS for word in words)
    return named and f" {bare_words(quote)} " in f" {bare_words(said)} "


def content_of(text: str) -> frozenset[str]:
    return frozenset(terms(with_digits(text)))
