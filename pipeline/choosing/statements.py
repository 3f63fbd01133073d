"""What an article should say: statements that matter, each once, with all pages that say it, and the latest figure of each.

Chosen by facts, not to fill a length: a sentence is worth what it says that is new (names, numbers, dates, outcomes), more when
several publishers say it, less the more it repeats. It ends when nothing is left that is worth as much as `ENOUGH` of the best.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.cleaning import host_of, registrable_domain
from pipeline.article_plan import LeftOut, Statement
from pipeline.choosing.gate import Offered
from pipeline.choosing.quantities import BARE_TOLLS, quantities
from pipeline.evidence import Evidence
from pipeline.retrieval import terms

# Cosines are of MiniLM's sentence vectors. All of these were chosen by reading plans of development topics of Wiki Live
# Challenge and of WikiGenBench's `dev`, never of reported events.
SAME = 0.80
"""Cosine from which two sentences of different pages say the same, if neither has a number that the other lacks."""
ECHO = 0.62
"""Cosine from which one publisher's sentence speaks for what another one says."""
REPEATS = 0.84
"""Cosine to a chosen sentence from which one is not chosen any more."""
OVERLAP = 0.7
"""Share of its words in a chosen sentence, likewise, if it has no new name or number."""
ENOUGH = 0.12
"""Share of the third best sentence's worth below which nothing is chosen."""
MOST_CITES = 3

FAR = 0.22
"""Cosine to the title below which a sentence must name a part of it."""
APART = 0.35
"""The share that remains of the worth of a sentence that does neither."""

_OUTCOME = re.compile(
    r"\b(?:died|dead|killed|deaths?|injured|wounded|won|wins|elected|defeated|ruled|sentenced|convicted|acquitted|charged|arrested|"
    r"resigned|appointed|announced|approved|rejected|signed|passed|destroyed|damaged|collapsed|released|premiered|launched|opened|"
    r"closed|cost|caused|founded|built|completed|declared|received|awarded|nominated|reached|recorded|ended|began|became|directed|"
    r"written|produced|starring|stars|published|born|married|retired|signed|scored|finished|debuted|grossed|sold)\b",
    re.I,
)
_OPINION = re.compile(
    r"\b(?:beautiful|amazing|stunning|incredible|perfect|great|best|worst|wonderful|fascinating|interesting|important|certainly|"
    r"clearly|obviously|really|very|quite|simply|truly|must|should|feel|feels|seems?|love|loved|hope|hopes|think|thinks|thought)\b",
    re.I,
)
_FORTHCOMING = re.compile(r"\b(?:will|would|expected to|set to|scheduled|plans? to|is due|are due|hopes? to|going to)\b")


@dataclass(frozen=True, slots=True)
class Pool:
    """An event's offered sentences with what choosing needs: unit `vectors` (n, D), `relevance` (n,), about 1 on average,
    `tied` (n,) where a sentence names a part of the title or is near it."""

    offered: Sequence[Offered]
    vectors: np.ndarray
    relevance: np.ndarray
    publishers: Sequence[str]
    tied: np.ndarray

    @classmethod
    def of(
        cls, evidence: Evidence, offered: Sequence[Offered], vectors: np.ndarray, relevance: np.ndarray, to_title: np.ndarray
    ) -> Pool:
        wanted = frozenset(terms(evidence.event.title))
        tied = np.array([near >= FAR or bool(wanted & o.candidate.terms) for near, o in zip(to_title, offered, strict=True)])
        hosts = [
            registrable_domain(evidence.pages[o.candidate.page].url) or host_of(evidence.pages[o.candidate.page].url)
            for o in offered
        ]
        return cls(offered, vectors, relevance, hosts, tied)


def choose(pool: Pool, max_words: int) -> tuple[list[int], list[LeftOut]]:
    """Indices of the chosen, best first, of at most `max_words` words in all; and what an older figure cost."""
    old = outdated(pool)
    worth = worths(pool)
    weights = _fact_weights(pool)
    open_facts = set(weights)
    blocked = np.array([i in old for i in range(len(pool.offered))])  # older figures are out from the start
    chosen: list[int] = []
    words = 0
    nearest = np.zeros(len(pool.offered))
    first: list[float] = []

    def gain(i: int) -> float:
        item = pool.offered[i].candidate
        new = sum(weights[f] for f in item.facts if f in open_facts)
        density = new / max(item.n_words, 10) ** 0.5  # facts a word, softened: else fragments would win
        # A neighbour of a chosen sentence keeps its page's order of telling.
        beside = any(abs(item.index - pool.offered[j].candidate.index) == 1 for j in chosen)
        # 0.5: a sentence without a new name or number may still matter. Likeness costs from a cosine of 0.5 on, at most 45%.
        value: float = (
            float(worth[i]) * (0.5 + density) * (1 - 0.9 * max(float(nearest[i]) - 0.5, 0.0)) * (1.15 if beside else 1.0)
        )
        return value

    while True:
        fitting = [
            i for i in range(len(pool.offered)) if not blocked[i] and words + pool.offered[i].candidate.n_words <= max_words
        ]
        if not fitting:
            break
        best = max(fitting, key=lambda i: (gain(i), -i))
        value = gain(best)
        # The third best, for one outstanding sentence would end the choice at once.
        first = sorted([*first, value], reverse=True)[:3]
        if len(chosen) >= 3 and value < ENOUGH * first[-1]:
            break
        chosen.append(best)
        item = pool.offered[best].candidate
        words += item.n_words
        open_facts -= item.facts
        blocked[best] = True
        similar = pool.vectors @ pool.vectors[best]
        np.maximum(nearest, similar, out=nearest)
        for j in np.flatnonzero(~blocked).tolist():
            other = pool.offered[j].candidate
            # Vectors miss a repetition in other word order, shared words one in other words: either is enough.
            shared = len(other.terms & item.terms) / max(len(other.terms), 1)
            if similar[j] > REPEATS or (shared > OVERLAP and other.facts <= item.facts):
                blocked[j] = True
    left_out = [LeftOut(pool.offered[i].text, pool.offered[i].candidate.passage.id, "an older figure") for i in sorted(old)]
    return chosen, left_out


def worths(pool: Pool) -> np.ndarray:
    """How much each sentence matters, before earlier choices count: relevance, publishers that say it, outcomes, tone."""
    similar = pool.vectors @ pool.vectors.T
    value = np.clip(pool.relevance, 0.05, None).copy()
    for i, one in enumerate(pool.offered):
        echoes = {pool.publishers[j] for j in np.flatnonzero(similar[i] > ECHO).tolist()} - {pool.publishers[i]}
        value[i] *= 1.0 if pool.tied[i] else APART
        value[i] *= 1 + 0.25 * np.log1p(len(echoes))  # other publishers: the second one says more than the tenth
        value[i] *= 1 + 0.15 * bool(_OUTCOME.search(one.text)) + 0.1 * bool(one.day)
        value[i] *= 1 - 0.25 * bool(_OPINION.search(one.text)) - 0.25 * bool(_FORTHCOMING.search(one.text))
        # What somebody said is seldom what happened, and cannot be put into other words.
        if "“" in one.text or '"' in one.text:
            value[i] *= 0.7
    return np.asarray(value)


def outdated(pool: Pool) -> set[int]:
    """Sentences whose only toll is an earlier one: of several numbers of dead, say, the latest page's stays.

    Later means: published later, or, where days are unknown, larger, for tolls rise. A toll that belongs to something else
    (another name beside it) is left alone.
    """
    found: dict[str, list[tuple[str, float, int]]] = {}
    for i, one in enumerate(pool.offered):
        for q in quantities(one.text):
            # Tolls of another year are history, not earlier counts.
            if q.is_toll and q.predicate in BARE_TOLLS and q.years <= {one.published[:4]}:
                found.setdefault(q.predicate, []).append((one.published, q.number, i))
    old: set[int] = set()
    for tolls in found.values():
        values = Counter(value for _, value, _ in tolls)
        if len(values) < 2:
            continue
        dated = [t for t in tolls if t[0]]
        if len(dated) > len(tolls) / 2:
            latest = max(dated)[1]
            # Within a factor of five: a number further off counts something else (one town, one day).
            old |= {i for day, value, i in tolls if value != latest and latest / 5 < value < latest * 5 and day}
        else:
            latest = max(values, key=lambda v: (values[v], v))  # that most sentences have; of equals the larger
            old |= {i for _, value, i in tolls if latest / 5 < value < latest}
    return old


def stated(pool: Pool, i: int) -> Statement:
    """A chosen sentence with the other pages that say the same and have all its names and numbers."""
    item = pool.offered[i]
    similar = pool.vectors @ pool.vectors[i]
    cites, also = [item.candidate.passage.id], []
    hosts = {pool.publishers[i]}
    for j in np.argsort(-similar, kind="stable").tolist():
        other = pool.offered[j]
        if j == i or similar[j] < SAME or len(cites) == MOST_CITES:
            continue
        # Another publisher, and nothing missing: a citation must hold the whole statement.
        if pool.publishers[j] in hosts or not item.candidate.facts <= other.candidate.facts:
            continue
        hosts.add(pool.publishers[j])
        cites.append(other.candidate.passage.id)
        # With the same facts both ways its words may serve when the statement is said in other words.
        if other.candidate.facts <= item.candidate.facts:
            also.append(other.text)
    return Statement(item.text, tuple(cites), tuple(also), item.day)


def _fact_weights(pool: Pool) -> dict[str, float]:
    """A name or number counts for more the more publishers have it."""
    by_publisher: dict[str, set[str]] = {}
    for one, host in zip(pool.offered, pool.publishers, strict=True):
        by_publisher.setdefault(host, set()).update(one.candidate.facts)
    counts: Counter[str] = Counter()
    for facts in by_publisher.values():
        counts.update(facts)
    return {fact: float(n) ** 0.5 for fact, n in counts.items()}
