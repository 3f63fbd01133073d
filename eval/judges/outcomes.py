"""Outcomes that a claim turns round in other words than its evidence's: a suit upheld that was dismissed, a charge admitted
that was denied. `eval.judges.contradictions` knows contraries by their being exchanged in edits; these are of reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.judges.contradictions import related
from eval.judges.edit_words import words_of
from eval.judges.lexemes import NEGATIONS, lexemes, stem_of

_PAIRS = words_of("""
    upheld/dismissed upheld/overturned upheld/rejected upheld/quashed upheld/reversed granted/refused granted/denied
    granted/dismissed granted/rejected admitted/denied admitted/rejected confirmed/denied confirmed/rejected welcomed/criticised
    welcomed/criticized welcomed/condemned praised/condemned acquitted/guilty cleared/convicted cleared/guilty
    survived/killed survived/died unharmed/injured favour/against favor/against backed/opposed accepted/rejected
    accepted/declined accepted/denied refuted/confirmed reinstated/dismissed ratified/rejected adopted/rejected passed/rejected
    defended/condemned resumed/suspended reopened/closed lifted/imposed
""")


def _opposites() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in _PAIRS:
        a, _, b = pair.partition("/")
        for one, other in ((a, b), (b, a)):
            found.setdefault(stem_of(one), set()).add(stem_of(other))
    return {word: frozenset(others) for word, others in found.items()}


_OPPOSITE = _opposites()


def turned_round(claim: str, closest: Sequence[str], everything: Sequence[str]) -> tuple[int, int] | None:
    """Characters of a word that no sentence has, where the closest ones have its contrary and nobody denies."""
    own = lexemes(claim)
    if any(one.key in NEGATIONS for one in own):
        return None
    near = {one.key for text in closest for one in lexemes(text)}
    there = {one.key for text in everything for one in lexemes(text)}
    if near & NEGATIONS:
        return None
    for one in own:
        others = _OPPOSITE.get(one.key)
        if others and others & near and not any(key == one.key or related(one.key, key) for key in there):
            return one.start, one.end
    return None
