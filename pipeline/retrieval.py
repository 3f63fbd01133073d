"""Ranking an event's passages for a query: BM25, TF-IDF, dense, and their reciprocal rank fusion.

An event has tens of passages, so everything is an array in memory. Fusion: Cormack et al., SIGIR 2009.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from data.settings import RetrievalSettings
from data.types import Hit, Passage
from decoding.api import Encoder

_TOKEN = re.compile(r"\w+")
_STOPWORDS = """
a an and are as at be been but by for from had has have he her his i in into is it its of on or our s she t that the their them
they this to was we were which while who will with would you your not no than then there these those also about after
"""
STOPWORDS = frozenset(_STOPWORDS.split())


class Ranker(Protocol):
    def scores(self, query: str) -> np.ndarray:
        """One score for each passage, higher is better, shape (n_passages,)."""
        ...


def terms(text: str) -> list[str]:
    """Stemmed words without stopwords; any script. Letters without their accents, for pages leave them out: "Melendez"."""
    return [_stem(token) for token in _TOKEN.findall(text.lower()) if token not in STOPWORDS]


@lru_cache(maxsize=1)
def _stemmer() -> object:
    from nltk.stem.snowball import EnglishStemmer

    return EnglishStemmer()


@lru_cache(maxsize=32_768)  # words go on from event to event: twice the room finds 0.1% more of them again
def _stem(token: str) -> str:
    if not token.isascii():
        bare = "".join(letter for letter in unicodedata.normalize("NFKD", token) if not unicodedata.combining(letter))
        if not bare.isascii():
            return token
        token = bare
    return str(_stemmer().stem(token))  # type: ignore[attr-defined]


class Bm25Ranker:
    """BM25+ (Lv and Zhai 2011). Plain BM25 gives a word that most passages contain a negative weight, and the words of the
    title are in most passages of their own event."""

    def __init__(self, texts: Sequence[str]) -> None:
        from rank_bm25 import BM25Plus

        self._index = BM25Plus([terms(text) or [""] for text in texts])

    def scores(self, query: str) -> np.ndarray:
        return np.asarray(self._index.get_scores(terms(query)), dtype=np.float64)


class TfidfRanker:
    """Cosine of TF-IDF vectors (scikit-learn), sublinear term frequency."""

    def __init__(self, texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._vectorizer = TfidfVectorizer(analyzer=lambda text: terms(text) or [""], sublinear_tf=True)
        self._matrix = self._vectorizer.fit_transform(texts)  # "" replaces a text without words; it matches no query

    def scores(self, query: str) -> np.ndarray:
        if not terms(query):
            return np.zeros(self._matrix.shape[0])
        return np.asarray((self._matrix @ self._vectorizer.transform([query]).T).toarray()).ravel()


class DenseRanker:
    """Inner product of sentence vectors in an exact faiss index."""

    def __init__(self, texts: Sequence[str], encoder: Encoder) -> None:
        import faiss

        vectors = encoder.encode(list(texts))
        self._encoder = encoder
        self._n = len(texts)
        self._index = faiss.IndexFlatIP(vectors.shape[1])
        self._index.add(vectors)

    def scores(self, query: str) -> np.ndarray:
        found, ids = self._index.search(self._encoder.encode([query]), self._n)
        scores = np.empty(self._n, dtype=np.float64)
        scores[ids[0]] = found[0]
        return scores


class PassageIndex:
    """Searches one event's passages by the method of the settings. Built at the first search: a resumed event may need none."""

    def __init__(self, passages: Sequence[Passage], settings: RetrievalSettings, encoder: Encoder | None) -> None:
        if settings.method in ("dense", "hybrid") and encoder is None:
            raise ValueError(f"retrieval method {settings.method!r} needs an encoder")
        self.passages = tuple(passages)
        self._settings = settings
        self._encoder = encoder

    @cached_property
    def _rankers(self) -> list[Ranker]:
        texts = [passage.text for passage in self.passages]
        rankers: list[Ranker] = []
        if self._settings.method in ("bm25", "hybrid"):
            rankers.append(Bm25Ranker(texts))
        if self._settings.method in ("tfidf", "hybrid"):
            rankers.append(TfidfRanker(texts))
        if self._settings.method in ("dense", "hybrid"):
            assert self._encoder is not None
            rankers.append(DenseRanker(texts, self._encoder))
        return rankers

    def search(self, *queries: str, k: int) -> tuple[Hit, ...]:
        """The best `k` passages for all queries together. With one query and one ranker the score is that ranker's, else
        it is the fused one; ties keep page order, so that a run can be repeated byte for byte."""
        lists = [ranker.scores(query) for ranker in self._rankers for query in queries]
        scores = lists[0] if len(lists) == 1 else fuse(lists, self._settings.rrf_k)
        rounded = [round(float(score), 6) for score in scores]  # coarser than what threads and batches do to the last digits
        order = sorted(range(len(self.passages)), key=lambda i: (-rounded[i], i))[:k]
        return tuple(Hit(self.passages[i], rounded[i], rank) for rank, i in enumerate(order, 1))


def fuse(lists: Sequence[np.ndarray], k: int) -> np.ndarray:
    """Reciprocal rank fusion: sum over lists of 1 / (k + rank); equal scores within a list share the better rank."""
    fused = np.zeros(len(lists[0]), dtype=np.float64)
    for scores in lists:
        rounded = np.round(scores, 6)
        ranks = 1 + (rounded[None, :] > rounded[:, None]).sum(axis=1)
        fused += 1.0 / (k + ranks)
    return fused
