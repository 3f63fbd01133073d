"""Words as a text and its facts are compared by them: in small letters, without endings, apart from what is quoted."""

from __future__ import annotations

import re
from functools import lru_cache

from pipeline.choosing.facts import KEPT_SENTENCES
from pipeline.retrieval import terms

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
