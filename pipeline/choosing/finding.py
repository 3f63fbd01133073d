"""From evidence to candidates with vectors: which of its sentences an article may be made of, and which pages are on topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from data.errors import NoEvidence
from decoding.api import Encoder
from pipeline.choosing.candidates import Candidate, candidates
from pipeline.choosing.relevance import Found
from pipeline.evidence import Evidence
from pipeline.retrieval import Bm25Ranker

MAX_CANDIDATE_WORDS = 3_000
"""Words of evidence sentences that are encoded for one event, best passages first: bounds time where evidence abounds."""
MAX_OFFERED_WORDS = 8_000
"""The same of sentences that have passed the gate, which are few and good."""

OFF_TOPIC = 0.82
"""A page is off topic below this share of the usual likeness between pages (chosen on the sample and on split dev)."""
MIN_PAGES_TO_JUDGE = 4


def find_candidates(evidence: Evidence, encoder: Encoder, among: Sequence[Candidate] | None = None) -> Found:
    """The sentences that an event's article may be made of, with their vectors. Raises NoEvidence when there is none.

    Args:
        among: the candidates to take, in page order; all of the evidence without it.
    """
    title = evidence.event.title
    found = list(among) if among is not None else candidates(evidence.passages, evidence.pages)
    if not found:
        raise NoEvidence(f"the usable pages of {title!r} hold no sentence that could be quoted")
    bm25 = Bm25Ranker([p.text for p in evidence.passages]).scores(title)
    best = max(float(bm25.max()), 1e-9)
    score_of = {p.id: float(s) / best for p, s in zip(evidence.passages, bm25, strict=True)}
    most = MAX_CANDIDATE_WORDS if among is None else MAX_OFFERED_WORDS
    if sum(c.n_words for c in found) > most:
        found = _best_candidates(found, score_of, most)
    vectors = encoder.encode([title, *(c.text for c in found)])
    return Found(
        candidates=found,
        vectors=vectors[1:],
        title_vector=vectors[0],
        passage_scores=np.array([score_of[c.passage.id] for c in found]),
    )


def _best_candidates(found: list[Candidate], score_of: Mapping[str, float], most: int) -> list[Candidate]:
    """As many as fit into `most` words: trusted ones first, by quality and their passage's score; in page order."""
    kept, words = [], 0
    for candidate in sorted(found, key=lambda c: (not c.trusted, -c.quality * (0.2 + score_of[c.passage.id]), c.index)):
        words += candidate.n_words
        if words > most:
            break
        kept.append(candidate)
    return sorted(kept, key=lambda c: c.index)


def off_topic(found: Found) -> np.ndarray:
    """Which candidates are on a page that is about something else: bool, shape (n,).

    Pages on one event say similar things: a page whose sentences are on average much less like those of the other pages
    than is usual among them only shares words with the title. Judged from four pages on; with fewer there is no usual.
    """
    pages = found.pages
    distinct = sorted(set(pages.tolist()))
    if len(distinct) < MIN_PAGES_TO_JUDGE:
        return np.zeros(len(pages), dtype=bool)
    closeness = {page: float(found.elsewhere[pages == page].mean()) for page in distinct}
    usual = float(np.median(list(closeness.values())))
    return np.array([closeness[int(page)] < OFF_TOPIC * usual for page in pages])
