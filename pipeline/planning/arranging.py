"""Where chosen sentences go: which may open the article, which lines of a list stay together, which heading each one fits."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from pipeline.choosing.selecting import Scored
from pipeline.evidence import Evidence
from pipeline.planning.kinds import Kind
from pipeline.retrieval import terms

LIST_KINDS = frozenset({"list", "awards", "legislature", "nature", "league season", "team season"})
MIN_LIST_WORDS = 300
LEAD_WORDS = 110
LEAD_SENTENCES = 4
LEAD_LIKENESS = 0.8
"""Cosine from which two sentences of a lead would say the same."""
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


def opening(scored: Scored, scores: Sequence[float], *, max_words: int, most: int) -> list[int]:
    """The best by `scores` that do not say the same, best first, up to the first that does not fit; one at least."""
    picked: list[int] = []
    words = 0
    for i in sorted(range(len(scores)), key=lambda i: (-scores[i], i)):
        c = scored.candidates[i]
        if any(float(scored.vectors[i] @ scored.vectors[j]) > LEAD_LIKENESS for j in picked):
            continue
        if picked and (words + c.n_words > max_words or len(picked) == most):
            break
        picked.append(i)
        words += c.n_words
    return picked


def list_lines(evidence: Evidence, kind: Kind, scored: Scored) -> list[int]:
    """For subjects that are lists (honours, seasons, species): the lines of the best page that is such a list, in order.

    Picking lines of a list here and there would lose what makes it one. The page must be about the title and mostly
    short lines; pages come in the order of search.
    """
    if kind.name not in LIST_KINDS:
        return []
    title = frozenset(terms(evidence.event.title))
    for number, page in enumerate(evidence.pages):
        lines = [line for line in page.text.split("\n") if line.strip()]
        if not page.usable or len(page.text.split()) < MIN_LIST_WORDS or not lines:
            continue
        short = sum(len(line.split()) < 25 for line in lines) / len(lines)
        about = len(frozenset(terms(f"{page.title} {page.text[:300]}")) & title) / max(len(title), 1)
        if short >= 0.6 and about >= 0.5:
            return [i for i, c in enumerate(scored.candidates) if c.page == number]
    return []


def with_list_lines(lines: Sequence[int], scored: Scored, taken: Sequence[int], max_words: int) -> list[int]:
    """`taken` and then as many of the lines, in order, as fit."""
    together = list(taken)
    words = sum(scored.candidates[i].n_words for i in together)
    for i in lines:
        if i in taken:
            continue
        words += scored.candidates[i].n_words
        if words > max_words:
            break
        together.append(i)
    return together


def fits(scored: Scored, targets: np.ndarray) -> np.ndarray:
    """How well each candidate fits each heading, shape (n, k), from unit vectors of what the headings are about (k, D)."""
    return fits_from(scored, scored.vectors @ targets.T)


def fits_from(scored: Scored, cosines: np.ndarray) -> np.ndarray:
    """The same from cosines of candidates and headings, shape (n, k)."""
    fit = _smoothed(scored, cosines)
    fit -= 0.5 * fit.mean(axis=0, keepdims=True)  # a heading that is close to everything says little
    return fit


def assigned(scored: Scored, indices: Sequence[int], fit: np.ndarray, max_sections: int) -> dict[int, list[int]]:
    """Column of `fit` -> candidates in evidence order. Headings that stay too thin give theirs to the next best."""
    open_sections = list(range(fit.shape[1]))
    while True:
        groups: dict[int, list[int]] = {k: [] for k in open_sections}
        for i in indices:
            groups[max(open_sections, key=lambda k: (fit[i, k], -k))].append(i)
        words = {k: sum(scored.candidates[i].n_words for i in g) for k, g in groups.items()}
        thin = [k for k in open_sections if words[k] < MIN_SECTION_WORDS]
        too_many = len(open_sections) > max_sections
        if len(open_sections) == 1 or not (thin or too_many):
            break
        open_sections.remove(min(open_sections, key=lambda k: (words[k], -k)))
    return {k: sorted(groups[k]) for k in open_sections if groups[k]}


def _smoothed(scored: Scored, fit: np.ndarray) -> np.ndarray:
    """A sentence's fit shares in its neighbours' on the same page: topics run over several sentences."""
    smooth = fit.copy()
    items = scored.candidates
    for i in range(len(items)):
        for j in (i - 1, i + 1):
            if 0 <= j < len(items) and items[j].page == items[i].page and abs(items[j].index - items[i].index) == 1:
                smooth[i] += 0.25 * fit[j]
    return smooth
