"""Section assignment, sentence by sentence: how well each would open the article, and which heading it fits."""

from __future__ import annotations

import re

import numpy as np

from pipeline.choosing.relevance import Scored
from pipeline.retrieval import terms

MIN_SECTION_WORDS = 45
_PROVISIONAL = re.compile(
    r"\b(?:will|at least|so far|expected to|hopes? to|tomorrow|tonight|projections?|provisional|preliminary|first reports)\b"
)
"""Marks of a report from before or during the event; a lead reports it from afterwards."""


def opening_scores(scored: Scored, title: str) -> list[float]:
    """How well each candidate would open the article: central, saying what the subject is, readable alone."""
    wanted = frozenset(terms(title))
    first_of_page: set[int] = set()
    seen: set[int] = set()
    for c in scored.candidates:
        if c.page not in seen:
            seen.add(c.page)
            first_of_page.add(c.index)
    score = []
    for i, c in enumerate(scored.candidates):
        value = 0.4 * float(scored.relevance[i]) * c.quality
        value += 0.15 * len(c.terms & wanted) / max(len(wanted), 1)
        value += 0.05 * bool(c.facts) + 0.05 * (c.index in first_of_page)
        if c.dangling or not 8 <= c.n_words <= 45:
            value *= 0.5
        if _PROVISIONAL.search(c.text):
            value *= 0.6
        score.append(value)
    return score


def fits(scored: Scored, targets: np.ndarray) -> np.ndarray:
    """How well each candidate fits each heading, shape (n, k), from unit vectors of what the headings are about (k, D)."""
    return fits_from(scored, scored.vectors @ targets.T)


def fits_from(scored: Scored, cosines: np.ndarray) -> np.ndarray:
    """The same from cosines of candidates and headings, shape (n, k)."""
    fit = _smoothed(scored, cosines)
    fit -= 0.5 * fit.mean(axis=0, keepdims=True)  # a heading that is close to everything says little
    return fit


def _smoothed(scored: Scored, fit: np.ndarray) -> np.ndarray:
    """A sentence's fit shares in its neighbours' on the same page: topics run over several sentences."""
    smooth = fit.copy()
    items = scored.candidates
    for i in range(len(items)):
        for j in (i - 1, i + 1):
            if 0 <= j < len(items) and items[j].page == items[i].page and abs(items[j].index - items[i].index) == 1:
                smooth[i] += 0.25 * fit[j]
    return smooth
