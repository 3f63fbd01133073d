"""How much a sentence of the evidence reads like a sentence of the article: a linear model over 18 features.

Fitted to the development split only (`python -m tools.fits.fit_relevance`): the target is the share of a sentence's bigrams
that the human article has. The coefficients ship in `relevance.json`; this module knows nothing of human articles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from data.types import Strict
from pipeline.choosing.candidates import Candidate, has_personal_words
from pipeline.choosing.facts import full_dates, numbers
from pipeline.choosing.fitted import fitted_model
from pipeline.evidence import Evidence
from pipeline.retrieval import STOPWORDS, terms

MODEL_FILE = Path(__file__).parent / "relevance.json"
FEATURES = (
    "cos_title",  # to the title
    "cos_centroid",  # to the evidence's centre, itself pulled towards the title
    "title_overlap",  # share of the title's words
    "passage_bm25",  # of the passage around it, best passage = 1
    "page_rank",  # 1 for the first usable page, 1/2 for the second, ...
    "other_page",  # largest cosine to a sentence of another page: is it said twice?
    "log_words",
    "facts_per_word",
    "numbers_per_word",
    "stopwords_per_word",
    "capitals_per_word",
    "has_year",
    "has_date",
    "has_quote",
    "personal",  # first or second person outside quotation marks
    "question",
    "capital_start",
    "position",  # on its page, 0 first to 1 fortieth and later
)


@dataclass(frozen=True, slots=True)
class RelevanceModel(Strict):
    """value = intercept + sum of weight * (feature - mean) / scale; `typical` is the mean target: value / typical is near 1."""

    intercept: float
    typical: float
    weights: dict[str, float]
    means: dict[str, float]
    scales: dict[str, float]
    fitted_on: str

    def takes(self, features: Sequence[str]) -> bool:
        return all(set(table) == set(features) for table in (self.weights, self.means, self.scales))


def load_model() -> RelevanceModel:
    return fitted_model(RelevanceModel, MODEL_FILE, FEATURES, "tools.fits.fit_relevance")


def relevance(features: np.ndarray, model: RelevanceModel) -> np.ndarray:
    """Relative relevance, about 1 on average, between 0.02 and 3; shape (n,) from features of shape (n, 18)."""
    means, scales, weights = (np.array([table[f] for f in FEATURES]) for table in (model.means, model.scales, model.weights))
    value = model.intercept + ((features - means) / scales) @ weights
    return np.asarray(np.clip(value / model.typical, 0.02, 3.0))


@dataclass(frozen=True)
class Found:
    """An event's candidates with measurements made once: unit `vectors` (n, D), the title's `title_vector` (D,), and
    `passage_scores` (n,), BM25 of the passage around each for the title, best passage = 1."""

    candidates: Sequence[Candidate]
    vectors: np.ndarray
    title_vector: np.ndarray
    passage_scores: np.ndarray

    @cached_property
    def pages(self) -> np.ndarray:
        """Page index of each candidate, shape (n,)."""
        return np.array([candidate.page for candidate in self.candidates])

    @cached_property
    def elsewhere(self) -> np.ndarray:
        """Largest cosine to a candidate of another page, shape (n,); 0 when there is no other page."""
        similar = self.vectors @ self.vectors.T
        similar[self.pages[:, None] == self.pages[None, :]] = 0.0
        return np.asarray(similar.max(axis=1))


@dataclass(frozen=True, slots=True)
class Scored:
    """Candidates as headings and filing see them: unit `vectors`, shape (n, D), and `relevance` (n,), about 1 on average."""

    candidates: Sequence[Candidate]
    vectors: np.ndarray
    relevance: np.ndarray

    def central(self, n: int) -> list[str]:
        """The texts of the `n` most relevant, best first."""
        return [self.candidates[i].text for i in np.argsort(-self.relevance, kind="stable")[:n]]


def feature_rows(evidence: Evidence, found: Found) -> np.ndarray:
    """Features of all candidates in the order of FEATURES, shape (n, 18)."""
    items, vectors = found.candidates, found.vectors
    title_terms = frozenset(terms(evidence.event.title))
    to_title = vectors @ found.title_vector
    pull = np.clip(to_title, 0.05, None) ** 2
    centroid = (vectors * pull[:, None]).sum(axis=0)
    to_centroid = vectors @ (centroid / max(float(np.linalg.norm(centroid)), 1e-9))
    rank = {int(page): 1.0 / (1 + n) for n, page in enumerate(sorted(set(found.pages.tolist())))}
    rows = []
    position: dict[int, int] = {}
    for i, c in enumerate(items):
        at = position.get(c.page, 0)
        position[c.page] = at + 1
        words = c.text.split()
        rows.append(
            (
                to_title[i],
                to_centroid[i],
                len(c.terms & title_terms) / max(len(title_terms), 1),
                found.passage_scores[i],
                rank[c.page],
                found.elsewhere[i],
                np.log(c.n_words),
                len(c.facts) / c.n_words,
                len(numbers(c.text)) / c.n_words,
                sum(w.lower() in STOPWORDS for w in words) / c.n_words,
                sum(w[0].isupper() for w in words) / c.n_words,
                bool(re.search(r"\b(?:1[5-9]|20)\d\d\b", c.text)),
                bool(full_dates(c.text)),
                any(q in c.text for q in '"“'),
                has_personal_words(c.text),
                c.text.endswith("?"),
                c.text[0].isupper(),
                min(at, 40) / 40,
            )
        )
    return np.array(rows, dtype=np.float64).reshape(len(items), len(FEATURES))
