"""What an article should say: statements that matter, each once, with all pages that say it, and the latest figure of each.

Chosen by facts, not to fill a length: a sentence is worth what it says that is new (names, numbers, dates, outcomes), more when
several publishers say it, less the more it repeats. It ends when nothing is left that is worth as much as `ENOUGH` of the best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeline.article_plan import LeftOut, Statement
from pipeline.choosing import usable, worth
from pipeline.choosing.candidates import Candidate
from pipeline.choosing.gate import Offered
from pipeline.choosing.one_event import OneEvent
from pipeline.choosing.subject import Subject
from pipeline.choosing.tolls import FAR, FAR_MISSING, Told, latest, whole_tolls
from pipeline.choosing.usable import usable_rows
from pipeline.choosing.worth import fact_weights, worth_rows, worths
from pipeline.evidence import Evidence
from pipeline.provenance import publisher_of
from pipeline.retrieval import terms

# Cosines are of MiniLM's sentence vectors. All of these were chosen by reading plans of development topics of Wiki Live
# Challenge and of WikiGenBench's `dev`, never of reported events.
SAME = 0.80
"""Cosine from which two sentences of different pages say the same, if neither has a number that the other lacks."""
REPEATS = 0.84
"""Cosine to a chosen sentence from which one is not chosen any more."""
OVERLAP = 0.7
"""Share of its words in a chosen sentence, likewise, if it has no new name or number."""
AGAIN, AGAIN_OVERLAP, USUAL = 0.64, 0.5, 0.2
"""Cosine, and share of the shorter one's words apart from the title's and from those of more than this share of all sentences,
from which it is the same in other words, again if it has no new name or number. Of 26 such pairs in plans of development
topics 20 said the same again; of those of cosine 0.60 and 0.4 of the words two thirds did."""
NEAREST, NEAR, TOLD = 8, 0.55, 0.6
"""The nearest chosen sentences, the cosine of the first, and the share of a sentence's words, apart from those usual ones,
from which these together have told it already, if they have all its names and numbers. Of 34 such sentences among 1,093 of
plans of development topics 27 had nothing new."""
ENOUGH = 0.05
"""Share of the third best sentence's worth below which nothing is chosen."""
MOST_CITES = 3
MOST_OF_PAGE = 12
"""Statements chosen from one page: an article that retells a page is a copy of it."""
LEAST_USABLE = 0.3
"""Chance that an editor would let a sentence stand, from which it is chosen. Of 3,523 labelled sentences of development
events (held out) 0.53 of those with this chance are good, 0.48 from 0.25 on and 0.33 of all; from 0.35 on 0.57, of a sixth
fewer sentences, from 0.4 on 0.61, of a third fewer."""
SAID_ALREADY, NO_ROOM = "other statements say it", "others tell more in so many words"
PAGE_IS_TOLD = "its page has given as many statements as one may"
"""Why a statement that might have been told was not chosen."""
FEW, LEAST_OF_FEW = 6, 0.2
"""Where fewer sentences than that have this chance, a lower one is enough."""


@dataclass(frozen=True)
class Pool:
    """An event's offered sentences with what choosing needs: unit `vectors` (n, D), `relevance` (n,), about 1 on average, the
    features of `pipeline.choosing.worth` as `rows` (n, 29), all of `pipeline.choosing.usable` as `features`, `trust` (n,),
    below 1 on pages that address a model, and what is known of the event (None: every count is taken for one of it)."""

    title: str
    offered: Sequence[Offered]
    vectors: np.ndarray
    relevance: np.ndarray
    publishers: Sequence[str]
    rows: np.ndarray
    features: np.ndarray
    trust: np.ndarray
    event: OneEvent | None = None

    @classmethod
    def of(
        cls,
        evidence: Evidence,
        offered: Sequence[Offered],
        vectors: np.ndarray,
        title_vector: np.ndarray,
        features: np.ndarray,
        near: np.ndarray,
        trust: np.ndarray,
    ) -> Pool:
        """`features` and `near` as in `worth_rows`; `title_vector`, shape (D,)."""
        read = [evidence.pages[o.candidate.page] for o in offered]
        hosts = [publisher_of(page.url, page.site) for page in read]
        rows = worth_rows(Subject(evidence.event.title, evidence.pages), offered, hosts, vectors, features, near)
        every = usable_rows(evidence, offered, vectors, title_vector, rows)
        event = OneEvent(evidence.event.title, evidence.pages)
        return cls(evidence.event.title, offered, vectors, near * trust, hosts, rows, every, trust, event)

    @cached_property
    def worth(self) -> np.ndarray:
        """The chance that a sentence should be said, shape (n,)."""
        chances: np.ndarray = worths(self.rows, worth.load_model()) * self.trust
        return chances

    @cached_property
    def usable(self) -> np.ndarray:
        """The chance that an editor would let it stand, shape (n,)."""
        return np.asarray(usable.chances(self.features, usable.load_model()) * self.trust)

    @cached_property
    def value(self) -> np.ndarray:
        """What a sentence is worth to an article before anything is chosen, shape (n,). The root: whether a sentence may stand
        says more of it than whether one human article has it."""
        return np.asarray(np.sqrt(self.worth) * self.usable)

    @cached_property
    def unusable(self) -> frozenset[int]:
        """Those that an editor would hardly let stand."""
        least = LEAST_USABLE if (self.usable >= LEAST_USABLE).sum() >= FEW else LEAST_OF_FEW
        return frozenset(np.flatnonzero(self.usable < least).tolist())


def choose(
    pool: Pool,
    max_words: int,
    values: np.ndarray | None = None,
    first_of_all: Set[int] = frozenset(),
    enough: float = ENOUGH,
) -> tuple[list[int], list[LeftOut]]:
    """Indices of the chosen, best first, of at most `max_words` words in all; and those left out that had passed the gate, with
    the reason.

    Args:
        values: what each is worth before anything is chosen, shape (n,), where they are notes; 0 for what must not be chosen. A
            page may then give as many as it has.
        first_of_all: those chosen before others: "Mara Voss won it" is in the words of many longer sentences that say less.
        enough: share of the third best one's worth below which nothing is chosen.

    A note of which most words stand in those chosen before is worth less: on six topics of `dev` plans of 1,386 words told 13.2
    of a hundred facts of the human articles, without this of 1,340 words 11.4.
    """
    old = outdated(pool)
    weights = fact_weights(pool.offered, pool.publishers)
    open_facts = set(weights)
    tolls = latest_tolls(pool) if values is None else set()
    unusable = pool.unusable - tolls if values is None else frozenset(np.flatnonzero(values <= 0.0).tolist())
    worth = pool.value if values is None else values
    blocked = np.array([i in old or i in unusable for i in range(len(pool.offered))])
    chosen: list[int] = []
    words = 0
    nearest = np.zeros(len(pool.offered))
    first: list[float] = []
    of_page: Counter[int] = Counter()

    n_with = Counter(term for one in pool.offered for term in one.candidate.terms)
    usual = {term for term, n in n_with.items() if n > max(USUAL * len(pool.offered), 3)} | set(terms(pool.title))

    rarity = {term: float(np.log((len(pool.offered) + 1) / (n - 0.5))) for term, n in n_with.items()}
    told: set[str] = set()

    def newness(item: Candidate) -> float:
        """Share of its words, rare ones counting more, that nothing chosen has (coverage: Lin & Bilmes, 2011)."""
        whole = sum(rarity[term] for term in item.terms)
        return sum(rarity[term] for term in item.terms if term not in told) / whole if whole else 1.0

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
        return value * newness(item) if values is not None else value

    while True:
        fitting = [
            i for i in range(len(pool.offered)) if not blocked[i] and words + pool.offered[i].candidate.n_words <= max_words
        ]
        if not fitting:
            break
        best = max([i for i in fitting if i in first_of_all] or fitting, key=lambda i: (gain(i), -i))
        if nearest[best] >= NEAR:
            near = sorted(chosen, key=lambda j: -float(pool.vectors[best] @ pool.vectors[j]))[:NEAREST]
            if _is_told(pool.offered[best].candidate, [pool.offered[j].candidate for j in near], usual):
                blocked[best] = True
                continue
        value = gain(best)
        # The third best, for one outstanding sentence would end the choice at once.
        first = sorted([*first, value], reverse=True)[:3]
        if len(chosen) >= 3 and value < enough * first[-1]:
            break
        chosen.append(best)
        item = pool.offered[best].candidate
        words += item.n_words
        open_facts -= item.facts
        told |= item.terms
        blocked[best] = True
        of_page[item.page] += 1
        if of_page[item.page] == MOST_OF_PAGE and values is None:
            blocked |= np.array([o.candidate.page == item.page for o in pool.offered])
        similar = pool.vectors @ pool.vectors[best]
        np.maximum(nearest, similar, out=nearest)
        for j in np.flatnonzero(~blocked).tolist():
            other = pool.offered[j].candidate
            if j in tolls and not _counted(other.text) <= _counted(item.text):
                continue  # "seven were killed" is not said by "70 were killed, a post claimed"
            # Vectors miss a repetition in other word order, shared words one in other words: either is enough.
            shared = len(other.terms & item.terms) / max(len(other.terms), 1)
            if (
                similar[j] > REPEATS
                or (shared > OVERLAP and other.facts <= item.facts)
                or (similar[j] > AGAIN and _says_again(other, item, usual))
            ):
                blocked[j] = True
    rest = [i for i in range(len(pool.offered)) if i not in chosen]
    reasons = {i: SAID_ALREADY if blocked[i] else NO_ROOM for i in rest}
    reasons |= {i: PAGE_IS_TOLD for i in rest if of_page[pool.offered[i].candidate.page] >= MOST_OF_PAGE and values is None}
    reasons |= {**dict.fromkeys(unusable, "no statement that an editor would use"), **dict.fromkeys(old, "an older figure")}
    left_out = [LeftOut(pool.offered[i].text, pool.offered[i].candidate.passage.id, reasons[i]) for i in sorted(reasons)]
    return chosen, left_out


def _counted(text: str) -> set[tuple[str, str]]:
    return {(q.predicate, q.value) for q in whole_tolls(text)}


def _says_again(one: Candidate, chosen: Candidate, usual: Set[str]) -> bool:
    """Whether a sentence that is near a chosen one in meaning has no new name or number and half of its own words."""
    mine, others = one.terms - usual, chosen.terms - usual
    shared = len(mine & others)
    if shared < 2 or shared < AGAIN_OVERLAP * min(len(mine), len(others)):
        return False
    return _has_all(one.facts, [chosen], usual)


def _is_told(one: Candidate, chosen: Sequence[Candidate], usual: Set[str]) -> bool:
    """Whether chosen sentences have told together what a sentence says: most of its own words, all its names and numbers."""
    mine = one.terms - usual
    others = {term for other in chosen for term in other.terms}
    if not _counted(one.text) <= {count for other in chosen for count in _counted(other.text)}:
        return False  # facts know no numbers in words: "seven were killed" is not told by "70 were killed"
    return len(mine & others) >= TOLD * max(len(mine), 1) and _has_all(one.facts, chosen, usual)


def _has_all(facts: Set[str], chosen: Sequence[Candidate], usual: Set[str]) -> bool:
    held = " ".join((*(other.text for other in chosen), *usual)).lower().replace(",", "")
    return all(fact in held for fact in facts)


def outdated(pool: Pool) -> set[int]:
    """Sentences whose only toll is an earlier one: of several numbers of dead, say, the latest page's stays.

    Later means: published later, or said to be the latest ("rose to", "corrected to"), or, where days are unknown, larger, for
    tolls rise. A toll that belongs to something else
    (another name beside it) is left alone.
    """
    old: set[int] = set()
    for tolls in _tolls(pool).values():
        now = latest([told for told, _ in tolls])
        if now is None:
            continue
        number = next(told.quantity.number for told, _ in tolls if told.quantity.value == now)
        far = FAR_MISSING if tolls[0][0].quantity.predicate == "missing" else FAR
        n_dated = sum(bool(told.day) for told, _ in tolls)
        falls = n_dated * 2 > len(tolls) or any(told.quantity.move for told, _ in tolls)
        for told, i in tolls:
            value = told.quantity.number
            # A number further off counts something else (one town, one day).
            if told.quantity.value != now and number / far < value < (number * far if falls else number):
                old |= {i} if told.day or n_dated * 2 <= len(tolls) else set()
    return old


def _tolls(pool: Pool) -> dict[str, list[tuple[Told, int]]]:
    """The event's own counts, by what befell people, each with the row of its sentence."""
    found: dict[str, list[tuple[Told, int]]] = {}
    for i, one in enumerate(pool.offered):
        for q in whole_tolls(one.text):
            # Tolls of another year are history, not earlier counts.
            if q.years <= {one.published[:4]} and _is_own(pool, one):
                found.setdefault(q.predicate, []).append((Told(q, one.published), i))
    return found


def latest_tolls(pool: Pool) -> set[int]:
    """Of each kind of toll of which the pages give several, the sentence that gives the event's latest and is of most use: an
    article may not give up its toll because a sentence is short, or like one on something else."""
    kept: set[int] = set()
    every = {(q.predicate, q.value) for one in pool.offered for q in whole_tolls(one.text)}
    for what, tolls in _tolls(pool).items():
        now = latest([told for told, _ in tolls])
        rows = [i for told, i in tolls if told.quantity.value == now]
        if rows and (sum(one == what for one, _ in every) > 1 or any(told.quantity.move for told, _ in tolls)):
            kept.add(max(rows, key=lambda i: float(pool.usable[i])))
    return kept


def _is_own(pool: Pool, one: Offered) -> bool:
    """Whether a count is of the event: what a page tells of another one makes none of this one's counts outdated."""
    return pool.event is None or pool.event.counted_at(one.text, one.candidate.page, one.candidate.start)


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
