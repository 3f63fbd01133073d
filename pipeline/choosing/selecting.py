"""Choosing which evidence sentences an extractive article is made of.

A budgeted greedy maximisation: relevance to the subject, plus the weighted names, numbers and words that a sentence adds
to the sentences already chosen, less repetition (a submodular coverage objective after Lin and Bilmes, ACL 2011).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.choosing.candidates import Candidate


@dataclass(frozen=True, slots=True)
class SelectionWeights:
    """Chosen on the development split (benchmark.splits), by ROUGE-2 and entity recall together; trials are in LOG.md.

    `facts`: worth of new names and numbers, divided by words to the power `length_power`. `redundancy`: cost of likeness to a
    chosen sentence of another page, cosine above 0.6. `adjacency`: bonus next to a chosen sentence. From `duplicate_cosine`,
    or with this share of shared words (`duplicate_overlap`), a sentence is a duplicate and never chosen.
    """

    facts: float = 3.0
    redundancy: float = 0.6
    length_power: float = 0.5
    adjacency: float = 0.2
    duplicate_cosine: float = 0.92
    duplicate_overlap: float = 0.75


@dataclass(frozen=True, slots=True)
class Scored:
    """Everything selection needs about an event's candidates. `vectors` are unit rows, shape (n, D); `relevance` (n,) is
    about 1 on average (`pipeline.choosing.relevance`)."""

    candidates: Sequence[Candidate]
    vectors: np.ndarray
    relevance: np.ndarray

    def only(self, keep: np.ndarray) -> Scored:
        """Those where `keep` (bool, shape (n,)) is true."""
        kept = [candidate for candidate, kept in zip(self.candidates, keep, strict=True) if kept]
        return Scored(kept, self.vectors[keep], self.relevance[keep])

    def likeness(self, i: int) -> np.ndarray:
        """Cosine of each candidate to candidate `i`, shape (n,); 0 on its own page, where the lines of a list look alike: a
        page seldom says the same thing twice."""
        similar = self.vectors @ self.vectors[i]
        similar[[c.page == self.candidates[i].page for c in self.candidates]] = 0.0
        return np.asarray(similar)

    def central(self, n: int) -> list[str]:
        """The texts of the `n` most relevant, best first."""
        return [self.candidates[i].text for i in np.argsort(-self.relevance, kind="stable")[:n]]


def select(scored: Scored, *, max_words: int, weights: SelectionWeights, taken: Sequence[int] = ()) -> list[int]:
    """Indices of chosen candidates, in the order of choice, of at most `max_words` words together with `taken`."""
    items = scored.candidates
    weight_of = _fact_weights(items)
    open_facts = set(weight_of)
    chosen: list[int] = []
    blocked = np.zeros(len(items), dtype=bool)
    nearest = np.zeros(len(items))
    words = 0

    def take(i: int) -> None:
        nonlocal words
        chosen.append(i)
        words += items[i].n_words
        open_facts.difference_update(items[i].facts)  # a name or number is worth something once
        similar = scored.likeness(i)
        # To the nearest chosen one, not to their mean: saying one thing twice is bad however much else was said.
        np.maximum(nearest, similar, out=nearest)
        blocked[i] = True
        for j in np.flatnonzero(~blocked).tolist():
            if similar[j] > weights.duplicate_cosine or _repeats(items[j], items[i], weights.duplicate_overlap):
                blocked[j] = True

    def gain(i: int, quoted: set[int]) -> float:
        item, relevant = items[i], float(scored.relevance[i])
        new = sum(weight_of[f] for f in item.facts if f in open_facts)
        # Per word, but to a power below 1, so that short sentences do not always win; 8 words are the least for the same
        # reason.
        density = item.quality * weights.facts * new / max(item.n_words, 8) ** weights.length_power
        value: float = relevant + density * max(relevant, 0.1) - weights.redundancy * max(float(nearest[i]) - 0.6, 0.0)
        # Neighbours of a page read well together. A sentence that leans on one before it ("He said") does only beside that.
        if item.index - 1 in quoted or item.index + 1 in quoted:
            return value * (1 + weights.adjacency)
        return value * 0.5 if item.dangling else value

    for i in taken:
        take(i)
    while True:
        quoted = {items[i].index for i in chosen}
        fitting = [int(i) for i in np.flatnonzero(~blocked) if words + items[int(i)].n_words <= max_words]
        if not fitting:
            return chosen
        # Greedy: for a submodular objective within 1 - 1/e of the best choice. Ties go to the earlier sentence.
        take(max(fitting, key=lambda i: (gain(i, quoted), -i)))


def duplicate_groups(scored: Scored, indices: Sequence[int], weights: SelectionWeights) -> list[int]:
    """A number for each of `indices`, shared by those that say the same: the position of the first of them."""
    items = scored.candidates
    group = list(range(len(indices)))
    for a, i in enumerate(indices):
        similar = scored.likeness(i)
        for b in range(a + 1, len(indices)):
            j = indices[b]
            if group[b] == b and (
                similar[j] > weights.duplicate_cosine or _repeats(items[j], items[i], weights.duplicate_overlap)
            ):
                group[b] = group[a]
    return group


def _fact_weights(items: Sequence[Candidate]) -> dict[str, float]:
    """A name or number counts for more the more pages have it."""
    pages_with: Counter[str] = Counter()
    for facts in _facts_by_page(items).values():
        pages_with.update(facts)
    return {fact: math.sqrt(n) for fact, n in pages_with.items()}


def _repeats(item: Candidate, other: Candidate, overlap: float) -> bool:
    """Whether two sentences say the same words (not the same meaning: a changed figure is no repetition)."""
    if not item.terms:
        return True
    shared = len(item.terms & other.terms)
    # + 2: a sentence with two words more than a chosen one, and no new fact, is the same sentence.
    return shared > overlap * min(len(item.terms), len(other.terms) + 2) and item.facts <= other.facts


def _facts_by_page(items: Sequence[Candidate]) -> dict[int, set[str]]:
    pages: dict[int, set[str]] = {}
    for item in items:
        pages.setdefault(item.page, set()).update(item.facts)
    return pages
