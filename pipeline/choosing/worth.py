"""Salience: how likely an evidence sentence says what a human article says, too: a logistic model over 29 features.

Fitted on development parts only (`tools.fits.fit_worth`). The label is whether the human article supports the sentence, by
the judge `lexical`. `relevance` asks how much a sentence reads like the article; this one whether it states a fact of it. Short
sentences, said by several publishers and near what all pages are about, do so most often. The coefficients ship in
`worth.json`; this module knows nothing of human articles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pipeline.choosing import relevance
from pipeline.choosing.fitted import fitted_model
from pipeline.choosing.gate import Offered
from pipeline.choosing.relevance import RelevanceModel
from pipeline.choosing.subject import Subject
from pipeline.choosing.word_lists import either

MODEL_FILE = Path(__file__).parent / "worth.json"
FEATURES = (
    *relevance.FEATURES,
    "page_relevance",  # mean over the sentences of its page
    "page_centroid",  # mean of their cosines to the evidence's centre
    "echoes",  # log of publishers with a sentence that is alike
    "close_echoes",
    "density",  # names and numbers by how many publishers have them, a word
    "outcome",
    "opinion",
    "forthcoming",
    "day",
    "opens_with_subject",
    "names_subject",
)
ALIKE, CLOSE = 0.62, 0.75
"""Cosines of MiniLM's vectors from which a sentence speaks for another, and from which it nearly says the same."""

_OUTCOME = re.compile(rf"\b{either('outcomes')}\b", re.I)
_OPINION = re.compile(rf"\b{either('opinions')}\b", re.I)
_FORTHCOMING = re.compile(r"\b(?:will|would|expected to|set to|scheduled|plans? to|is due|are due|hopes? to|going to)\b")


def tells_outcome(text: str) -> bool:
    """Whether it tells how something ended ("won", "died"), and not how it may end."""
    return bool(_OUTCOME.search(text)) and not _FORTHCOMING.search(text)


def load_model() -> RelevanceModel:
    return fitted_model(RelevanceModel, MODEL_FILE, FEATURES, "tools.fits.fit_worth")


def worths(rows: np.ndarray, model: RelevanceModel) -> np.ndarray:
    """Chances in (0, 1), shape (n,), from features of shape (n, 29)."""
    means, scales, weights = (np.array([table[f] for f in FEATURES]) for table in (model.means, model.scales, model.weights))
    return np.asarray(1 / (1 + np.exp(-(model.intercept + ((rows - means) / scales) @ weights))))


def worth_rows(
    subject: Subject,
    offered: Sequence[Offered],
    publishers: Sequence[str],
    vectors: np.ndarray,
    features: np.ndarray,
    near: np.ndarray,
) -> np.ndarray:
    """Features in the order of FEATURES, shape (n, 29).

    Args:
        vectors: of the sentences, unit length, shape (n, D).
        features: those of `relevance.feature_rows`, shape (n, 18).
        near: the relevance made of them, shape (n,).
    """
    similar = vectors @ vectors.T
    pages = np.array([o.candidate.page for o in offered])
    centroid = relevance.FEATURES.index("cos_centroid")
    weights = fact_weights(offered, publishers)
    rows = []
    for i, one in enumerate(offered):
        mine = pages == pages[i]
        echoes, close = (
            len({publishers[j] for j in np.flatnonzero(similar[i] > least).tolist()} - {publishers[i]})
            for least in (ALIKE, CLOSE)
        )
        rows.append(
            (
                *features[i],
                near[mine].mean(),
                features[mine, centroid].mean(),
                np.log1p(echoes),
                np.log1p(close),
                sum(weights[fact] for fact in one.candidate.facts) / max(one.candidate.n_words, 10) ** 0.5,
                bool(_OUTCOME.search(one.text)),
                bool(_OPINION.search(one.text)),
                bool(_FORTHCOMING.search(one.text)),
                bool(one.day),
                bool(subject.opens(one.text)),
                subject.is_named_in(one.text),
            )
        )
    return np.array(rows, dtype=np.float64).reshape(len(offered), len(FEATURES))


def fact_weights(offered: Sequence[Offered], publishers: Sequence[str]) -> dict[str, float]:
    """A name or number counts for more the more publishers have it."""
    by_publisher: dict[str, set[str]] = {}
    for one, host in zip(offered, publishers, strict=True):
        by_publisher.setdefault(host, set()).update(one.candidate.facts)
    counts: Counter[str] = Counter()
    for facts in by_publisher.values():
        counts.update(facts)
    return {fact: float(n) ** 0.5 for fact, n in counts.items()}
