"""Choosing which evidence sentences an extractive article is made of.

A budgeted greedy maximisation: relevance to the subject, plus the weighted names, numbers and words that a sentence adds
to what is already chosen, less what it repeats (a submodular coverage objective after Lin and Bilmes, ACL 2011).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.sentences import Candidate


@dataclass(frozen=True, slots=True)
class SelectionWeights:
    """Chosen on the development split (benchmark.splits), by ROUGE-2 and entity recall together."""

    relevance: float = 1.0
    facts: float = 0.6
    terms: float = 0.25
    redundancy: float = 0.6
    length_power: float = 0.5
    duplicate_cosine: float = 0.92
    duplicate_overlap: float = 0.75
    floor: float = 0.12


@dataclass(frozen=True, slots=True)
class Scored:
    """Everything selection needs about an event's candidates. `vectors` are unit rows, shape (n, D)."""

    candidates: Sequence[Candidate]
    vectors: np.ndarray
    relevance: np.ndarray


def relevance(
    candidates: Sequence[Candidate],
    vectors: np.ndarray,
    title_vector: np.ndarray,
    title_terms: frozenset[str],
    passage_scores: np.ndarray,
) -> np.ndarray:
    """Relevance to the subject in about [0, 1], shape (n,).

    Cosine to the title, cosine to the centroid of the evidence weighted by closeness to the title (an off-topic page pulls
    little), share of title words, and the score of the passage around the sentence.
    """
    to_title = vectors @ title_vector
    pull = np.clip(to_title, 0.05, None) ** 2
    centroid = (vectors * pull[:, None]).sum(axis=0)
    centroid /= max(float(np.linalg.norm(centroid)), 1e-9)
    to_centroid = vectors @ centroid
    overlap = np.array([len(c.terms & title_terms) / max(len(title_terms), 1) for c in candidates])
    return np.asarray(0.35 * to_title + 0.3 * to_centroid + 0.15 * overlap + 0.2 * passage_scores, dtype=np.float64)


def select(scored: Scored, *, max_words: int, weights: SelectionWeights, taken: Sequence[int] = ()) -> list[int]:
    """Indices of chosen candidates, in the order of choice, of at most `max_words` words together with `taken`."""
    items = scored.candidates
    pages_with: Counter[str] = Counter()
    for page_facts in _by_page(items).values():
        pages_with.update(page_facts)
    fact_weight = {fact: math.sqrt(n) for fact, n in pages_with.items()}
    term_counts: Counter[str] = Counter(t for c in items for t in c.terms)
    base = scored.relevance * np.array([c.quality for c in items])
    chosen: list[int] = []
    blocked = np.zeros(len(items), dtype=bool)
    nearest = np.zeros(len(items))
    covered_facts: Counter[str] = Counter()
    covered_terms: Counter[str] = Counter()
    words = 0

    def take(i: int) -> None:
        nonlocal words
        chosen.append(i)
        words += items[i].n_words
        covered_facts.update(items[i].facts)
        covered_terms.update(items[i].terms)
        similar = scored.vectors @ scored.vectors[i]
        np.maximum(nearest, similar, out=nearest)
        blocked[i] = True
        for j in np.flatnonzero(~blocked):
            if similar[j] > weights.duplicate_cosine or _repeats(items[j], items[i], weights.duplicate_overlap):
                blocked[j] = True

    for i in taken:
        take(i)
    while True:
        best, best_gain = -1, 0.0
        quoted = {items[i].index for i in chosen}
        for i in np.flatnonzero(~blocked):
            item = items[i]
            if words + item.n_words > max_words:
                continue
            gain = _gain(
                item, float(base[i]), float(nearest[i]), covered_facts, covered_terms, fact_weight, term_counts, weights
            )
            if item.dangling and item.index - 1 not in quoted:
                gain *= 0.5
            if gain > best_gain:
                best, best_gain = int(i), gain
        if best < 0 or best_gain < weights.floor:
            return chosen
        take(best)


def _gain(
    item: Candidate,
    base: float,
    nearest: float,
    covered_facts: Counter[str],
    covered_terms: Counter[str],
    fact_weight: dict[str, float],
    term_counts: Counter[str],
    weights: SelectionWeights,
) -> float:
    facts = sum(fact_weight[f] for f in item.facts if not covered_facts[f])
    fresh = sum(min(term_counts[t], 5) for t in item.terms if not covered_terms[t])
    value = (
        weights.relevance * base
        + item.quality
        * (weights.facts * facts + weights.terms * fresh / 5)
        / max(item.n_words, 8) ** weights.length_power
        * max(base, 0.1)
        - weights.redundancy * max(nearest - 0.6, 0.0)
    )
    return value


def _repeats(item: Candidate, other: Candidate, overlap: float) -> bool:
    """Whether two sentences say the same words (not the same meaning: a changed figure is no repetition)."""
    if not item.terms:
        return True
    shared = len(item.terms & other.terms)
    return shared > overlap * min(len(item.terms), len(other.terms) + 2) and item.facts <= other.facts


def _by_page(items: Sequence[Candidate]) -> dict[int, set[str]]:
    pages: dict[int, set[str]] = {}
    for item in items:
        pages.setdefault(item.page, set()).update(item.facts)
    return pages
