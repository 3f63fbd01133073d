"""A claim beside the sentences that it nearly repeats: runs of lexemes that both have, in the same order.

Where the evidence says what a lexeme of the claim follows from, in another form, it is renamed to that lexeme first, so that
only what differs in meaning is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from eval.judges.features import Evidence
from eval.judges.lexemes import Lexeme, lexemes
from eval.judges.word_relations import EXCHANGED, related

NEAR = 0.75
"""Share of the claim's lexemes in runs that it has in common with one sentence, above which it nearly repeats that sentence."""
WHOLE = 0.9
"""Share of a sentence's lexemes in such runs, above which the claim contains it, whatever else it says."""
RUN = 2
"""Lexemes. Shorter runs are chance."""
SAME_WORDS = 0.9
"""Share of the claim's lexemes in one sentence, above which numbers in another order have changed places."""
SHORTEST = 6
"""Lexemes of a sentence, below which it says too little to be repeated."""
SENTENCES = 3
_SHORT_NAMES = {"usa": "us", "uk": "uk", "un": "un", "eu": "eu"}


class Aligned(NamedTuple):
    """`sentences`: lexemes of the chosen ones, keys rewritten to those of related words of the claim. `everything`: keys of all
    the evidence. `matched[i]`: is lexeme i of the claim in a common run, `supported[i]`: is it anywhere."""

    sentences: tuple[tuple[Lexeme, ...], ...]
    keys: tuple[tuple[str, ...], ...]
    everything: frozenset[str]
    supported: tuple[bool, ...]
    near: bool
    known: float
    adjacent: float
    bare: bool
    share: float
    swapped: bool


def align(claim: Sequence[Lexeme], evidence: Evidence) -> Aligned:
    chosen = chosen_sentences(evidence)
    sentences = tuple(lexemes(evidence.units[i].text) for i in chosen)
    claim_keys = {c.key for c in claim}
    own = [c.key for c in claim]
    renamed = tuple(_renamed(claim, claim_keys, sentence) for sentence in sentences)
    counts = Counter(own)
    known = adjacent = most = 0.0
    swapped = False
    alike = []
    for keys in renamed:
        common = sum(
            size
            for _, _, size in SequenceMatcher(None, own, keys, autojunk=False).get_matching_blocks()
            if size >= min(RUN, len(own))
        )
        share = common / max(1, len(own))
        alike.append(share >= NEAR or (len(keys) >= SHORTEST and common / len(keys) >= WHOLE))
        most = max(most, share)
        bag = sum((counts & Counter(keys)).values()) / max(1, len(own))
        if bag > known:
            swapped = bag >= SAME_WORDS and _numbers_swapped(claim, sentences[len(alike) - 1])
            pairs = set(pairwise(keys))
            adjacent = sum(pair in pairs for pair in pairwise(own)) / max(1, len(own) - 1)
            known = bag
    everything = frozenset(key for sentence in renamed for key in sentence)
    others = everything
    near = any(alike)
    if near:
        others |= frozenset[str]().union(*(keys_of(unit.text) for unit in evidence.units))
    bare = all(evidence.units[i].bare for i in chosen)
    supported = tuple(
        not near or c.key in everything or (not c.content and c.key in others) or _elsewhere(c, others, evidence) for c in claim
    )
    repeated = [n for n, yes in enumerate(alike) if yes]
    return Aligned(
        tuple(sentences[n] for n in repeated),
        tuple(renamed[n] for n in repeated),
        everything | others,
        supported,
        near,
        known,
        adjacent,
        bare,
        most,
        swapped,
    )


def _numbers_swapped(claim: Sequence[Lexeme], sentence: Sequence[Lexeme]) -> bool:
    """The same numbers in another order, among words in the same order."""
    mine, theirs = ([one.value for one in text if one.kind == "number"] for text in (claim, sentence))
    if len(mine) < 2 or mine == theirs or sorted(mine) != sorted(theirs):
        return False
    words, others = ([one.key for one in text if one.kind != "number"] for text in (claim, sentence))
    return SequenceMatcher(None, words, others, autojunk=False).ratio() >= 0.95


@lru_cache(maxsize=1 << 12)
def keys_of(text: str) -> frozenset[str]:
    return frozenset(one.key for one in lexemes(text))


def chosen_sentences(evidence: Evidence) -> list[int]:
    """The sentence that covers most of the claim, then those that add to it."""
    assert evidence.best is not None
    chosen = [evidence.best]
    covered = evidence.covered[evidence.best]
    while len(chosen) < min(SENTENCES, len(evidence.units)):
        gains = [evidence.weigh(found - covered) for found in evidence.covered]
        at = max(range(len(gains)), key=lambda i: gains[i])
        if gains[at] < 0.1 * evidence.total:
            break
        chosen.append(at)
        covered |= evidence.covered[at]
    return chosen


def _elsewhere(one: Lexeme, others: frozenset[str], evidence: Evidence) -> bool:
    """Somewhere in the evidence, also in a form that only bare text has."""
    if one.key in others:
        return True
    if one.kind == "number":
        return f"{one.value:.12g}" in evidence.numbers  # the second half of 2020-21
    if one.kind == "word":
        if one.capital and one.key[0] in others:
            return True  # an initial
        if all(unit.bare for unit in evidence.units) and len(one.key) > 2 and any(one.key in key for key in others):
            return True  # bare text has lost the spaces at line ends
        return one.key in evidence.stems or _SHORT_NAMES.get(one.key) in others or any(related(one.key, key) for key in others)
    return False


def _renamed(claim: Sequence[Lexeme], claim_keys: set[str], sentence: Sequence[Lexeme]) -> tuple[str, ...]:
    """The keys of a sentence, where what a lexeme of the claim follows from has the key of that lexeme."""
    keys = [one.key for one in sentence]
    present = set(keys)
    for c in claim:
        if c.key in present:
            continue
        for i, one in enumerate(sentence):
            if keys[i] not in claim_keys and follows(c, one, sentence, i):
                keys[i] = c.key
    return tuple(keys)


def follows(c: Lexeme, one: Lexeme, sentence: Sequence[Lexeme], at: int) -> bool:
    if c.kind == one.kind == "number":
        return holds(c, one)
    if c.kind == one.kind == "time":
        return c.value == one.value or ((c.rounded or one.rounded) and c.value % 720 == one.value % 720)
    if c.content and one.content and c.kind == one.kind == "word":
        return related(c.key, one.key) or one.key in EXCHANGED.get(c.key, ())
    if (c.kind == "ordinal" and one.kind in ("number", "day")) or (
        c.kind in ("day", "number") and one.kind in ("ordinal", "day", "number")
    ):
        return c.value == one.value and c.value > 0
    return False


def holds(c: Lexeme, one: Lexeme) -> bool:
    """Does a number of the claim follow from one of the evidence?"""
    v, w = c.value, one.value
    if c.bound == ">":
        return one.bound in ("", ">", "=") and v <= w and (w - v) <= max(0.25 * w, 1)
    if c.bound == "<":
        return one.bound in ("", "<", "=") and v >= w and (v - w) <= max(0.25 * w, 1)
    if c.bound == "~":
        return abs(v - w) <= 0.1 * max(abs(w), 1)
    return v == w
