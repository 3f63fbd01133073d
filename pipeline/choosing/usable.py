"""Sentence quality: how likely the editor of an encyclopedia would use an evidence sentence as it is offered: complete, clear
alone, a statement and no voice, and about the subject.

The gate (`pipeline.choosing.gate`) knows rules; what no rule catches ("The town was aflame before evening") this model has
learned from some four thousand sentences of development events, each labelled by reading it. It is the mean of a logistic model
over all features and of boosted trees over those that are no sentence vector (made again by `tools.fits.fit_usable`). `worth`
asks whether a human article says the same thing; this one, whether a human would let the sentence stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.types import Strict
from pipeline.choosing import worth
from pipeline.choosing.common_words import is_common
from pipeline.choosing.fitted import fitted_model
from pipeline.choosing.gate import Offered
from pipeline.choosing.subject import subject_terms
from pipeline.evidence import Evidence
from pipeline.retrieval import STOPWORDS, terms

MODEL_FILE = Path(__file__).with_name("usable.json")

_PRONOUN = re.compile(r"\b(?:he|she|his|her|him|they|their|them|its|it)\b", re.I)
_NAME = re.compile(r"(?<!^)\b[A-Z][a-z]+")
_DEFINITE = re.compile(r"\b[Tt]he (?:[a-z]+ )?[a-z]{3,}\b(?! (?:of|in|that|who|which)\b)")
_COUNTED = {
    "pronouns": _PRONOUN,
    "definite": _DEFINITE,  # "the structure": something that was named before
    "past": re.compile(
        r"\b(?:was|were|had|did|\w{3,}ed|became|began|won|made|took|said|went|led|gave|held|left|came|wrote|built)\b"
    ),
    "present": re.compile(r"\b(?:is|are|has|have|does|do|can|will|may|must|should|could|would|might)\b"),
    "modal": re.compile(r"\b(?:can|will|may|must|should|could|would|might|shall)\b"),
    "weighing": re.compile(
        r"\b(?:\w+ful|\w+ous|\w+est|most|more|very|really|just|even|only|truly|best|better|great|good|bad|big|never|ever|always|"
        r"much|well|still|yet|enough|quite|too|so)\b",
        re.I,
    ),
    "adverbs": re.compile(r"\b\w{3,}ly\b"),
    "years": re.compile(r"\b(?:1[89]|20)\d\d\b"),
    "commas": re.compile(","),
    "saying": re.compile(r"\b(?:said|says|told|according|announced|reported)\b"),
    "joining": re.compile(r"\b(?:and|but|while|as|that|which|who)\b"),
    "pointing": re.compile(r"\b(?:this|these|those|that|such|other|another|same)\b", re.I),
}
_HAS = {
    "opens_with_the": re.compile(r"The [a-z]"),
    "opens_with_article": re.compile(r"(?:The|An?)\b"),
    "opens_with_preposition": re.compile(r"(?:In|On|At|After|By|From|For|During)\b"),
    "digits": re.compile(r".*\d", re.S),
    "quotes": re.compile(r".*[\"“]", re.S),
    "colons": re.compile(r".*[:;]", re.S),
    "brackets": re.compile(r".*\(", re.S),
    "dashes": re.compile(r".*(?:–|—| - )", re.S),
    "apostrophes": re.compile(r".*['’]", re.S),
}
SURFACE = (
    *_COUNTED,
    *_HAS,
    "words",
    "names_share",
    "pronoun_first",  # before any name
    "opens_with_name",
    "opens_with_stopword",
    "page_title_share",  # of the subject's words in the page's title
    "subject_share",  # in the sentence
    "page_to_title",  # cosine of the page's mean sentence to the title
    "page_to_sentence",
    "page_spread",  # length of the page's mean vector: 1 where all its sentences are alike
)
"""Features beside those of `pipeline.choosing.worth`."""


@dataclass(frozen=True, slots=True)
class Tree(Strict):
    """Node k: -1 in `feature` for a leaf with `value`; else to `left` where the feature is at most `threshold`, or `right`."""

    feature: tuple[int, ...]
    threshold: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    value: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class UsableModel(Strict):
    """Log odds = `intercept` + (features - means) / scales @ weights, and `start` + the sum of the trees' values; the mean of
    the two. Features: those of worth, SURFACE, then the sentence's vector."""

    names: tuple[str, ...]
    intercept: float
    weights: tuple[float, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    start: float
    trees: tuple[Tree, ...]
    fitted_on: str

    def takes(self, features: Sequence[str]) -> bool:
        return self.names == tuple(features)


def load_model() -> UsableModel:
    return fitted_model(UsableModel, MODEL_FILE, (*worth.FEATURES, *SURFACE), "tools.fits.fit_usable")


def usable_rows(
    evidence: Evidence, offered: Sequence[Offered], vectors: np.ndarray, title_vector: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """All features, shape (n, 29 + len(SURFACE) + D).

    Args:
        vectors: of the sentences, unit length, shape (n, D).
        title_vector: of the title, shape (D,).
        rows: `pipeline.choosing.worth.worth_rows`, shape (n, 29).
    """
    subject = subject_terms(evidence.event.title)
    pages = np.array([o.candidate.page for o in offered])
    centres = {page: vectors[pages == page].mean(axis=0) for page in set(pages.tolist())}
    surface = []
    for one, vector, page in zip(offered, vectors, pages.tolist(), strict=True):
        centre = centres[page]
        length = float(np.linalg.norm(centre)) + 1e-9
        about = frozenset(terms(evidence.pages[page].title))
        surface.append((
            *_of_text(one.text),
            len(subject & about) / max(len(subject), 1),
            len(subject & frozenset(terms(one.text))) / max(len(subject), 1),
            float(centre @ title_vector) / length,
            float(centre @ vector) / length,
            length,
        ))  # fmt: skip
    return np.hstack([rows, np.array(surface, dtype=np.float64).reshape(len(offered), len(SURFACE)), vectors])


def _of_text(text: str) -> tuple[float, ...]:
    words = text.split()
    first = re.sub(r"\W", "", words[0])
    pronoun, name = _PRONOUN.search(text), _NAME.search(text)
    return (
        *(len(pattern.findall(text)) for pattern in _COUNTED.values()),
        *(bool(pattern.match(text)) for pattern in _HAS.values()),
        len(words),
        sum(word[0].isupper() for word in words[1:]) / len(words),
        bool(pronoun and not (name and name.start() < pronoun.start())),
        not is_common(first),
        first.lower() in STOPWORDS,
    )


def chances(features: np.ndarray, model: UsableModel) -> np.ndarray:
    """In (0, 1), shape (n,), from features as `usable_rows` makes them.

    Vectors of an encoder with another dimension than the fitted one's say nothing here: the other features decide alone.
    """
    n = len(model.weights) if features.shape[1] == len(model.weights) else len(model.names)
    means, scales, weights = (np.array(row[:n]) for row in (model.means, model.scales, model.weights))
    linear = model.intercept + ((features[:, :n] - means) / scales) @ weights
    grown = model.start + sum((_leaves(tree, features) for tree in model.trees), np.zeros(len(features)))
    return np.asarray(1 / (1 + np.exp(-(linear + grown) / 2)))


def _leaves(tree: Tree, features: np.ndarray) -> np.ndarray:
    """The value of the leaf that each row falls into, shape (n,)."""
    feature, left, right = np.array(tree.feature), np.array(tree.left), np.array(tree.right)
    threshold, value = np.array(tree.threshold), np.array(tree.value)
    at = np.zeros(len(features), dtype=int)
    while (inner := feature[at] >= 0).any():
        rows = np.flatnonzero(inner)
        node = at[rows]
        lower = features[rows, feature[node]] <= threshold[node]
        at[rows] = np.where(lower, left[node], right[node])
    return np.asarray(value[at])
