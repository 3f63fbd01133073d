"""Which of several answers to one question the others agree with: minimum Bayes risk decoding.

A model that knows says nearly the same each time, and one that guesses says something else. Kumar & Byrne (HLT-NAACL 2004);
Eikema & Aziz (COLING 2020); as self-consistency, Wang et al. (ICLR 2023).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import mean

from pipeline.retrieval import terms


def consensus(texts: Sequence[str]) -> list[float]:
    """Of each text its mean likeness with the others, as F1 of their stems, from 0 to 1; 1 for one that is alone."""
    stems = [Counter(terms(text)) for text in texts]

    def f1(a: Counter[str], b: Counter[str]) -> float:
        return 2 * (a & b).total() / max(a.total() + b.total(), 1)

    return [mean([f1(one, other) for n, other in enumerate(stems) if n != k] or [1.0]) for k, one in enumerate(stems)]
