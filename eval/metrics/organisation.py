"""Are the facts of one human section together here, under a heading that fits, and in the human order?

Sentences of the article are matched to sentences of the human one by their content words, rare ones counting more (cosine of
idf weights; words are the stems of `eval.judges.features`, so numbers and dates match in their forms). A matching by sentence
vectors was compared on development topics: it finds more paraphrases, but takes seconds an article where this takes a
hundredth, and both put nine in ten of the clear matches into the same section.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from data.gold import GoldArticle
from data.sentences import SPLITTER, split_sentences
from data.types import Section
from eval.catalogue import directions
from eval.judges.features import VERSION, analyse_claim
from eval.metric import Case
from eval.metrics.chronology import DayOrder, order_of_days
from eval.metrics.rouge import harmonic_mean
from eval.metrics.structure import heading_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from decoding.api import Encoder

LEAST_SIMILAR = 0.25
"""Cosine from which two sentences are taken to say the same."""
CLEARER = 1.5
"""How many times more alike the best section is than the second best."""
LEAST_SHARED = 2
"""Content stems that two matched sentences share: one name is no fact."""
LEAST_CHRONOLOGICAL = 0.25
"""Tau of the days of a human article from which it tells them in order at all."""
LEAST_FACTS = 5
"""Matched facts below which neither order nor placement differs from chance: the article then scores 0."""


class Told(NamedTuple):
    """A sentence, and its section: 0 is the lead, then as the article counts them."""

    text: str
    section: int


class Placed(NamedTuple):
    """A sentence of the article (index `written`) that says what sentence `gold` of the human article says."""

    written: int
    gold: int
    similarity: float


@dataclass(frozen=True, eq=False)
class Matching:
    """All sentences of both articles, in order, and how alike they are: shape (written, gold), in [0, 1]."""

    written: tuple[Told, ...]
    gold: tuple[Told, ...]
    similarity: NDArray[np.float64]

    def placed(self) -> list[Placed]:
        """The sentences that clearly belong to one human section.

        A lead repeats what sections say. So a sentence whose best match is in the human lead goes to the section that is about
        as like (`CLEARER`), else it has no place; and a fact of the article's lead that its sections say again counts there.
        """
        found: list[Placed] = []
        sections = [one.section for one in self.gold]
        for i, row in enumerate(self.similarity.tolist()):
            best: dict[int, int] = {}  # section -> its best sentence
            for j, section in enumerate(sections):
                if row[j] >= LEAST_SIMILAR / CLEARER and (section not in best or row[j] > row[best[section]]):
                    best[section] = j
            lead = row[best.pop(0)] if 0 in best else 0.0
            ranked = sorted(best.values(), key=lambda j: -row[j])
            if not ranked or row[ranked[0]] < max(LEAST_SIMILAR, lead / CLEARER):
                continue
            if len(ranked) == 1 or row[ranked[0]] >= CLEARER * row[ranked[1]]:
                found.append(Placed(i, ranked[0], row[ranked[0]]))
        again = {one.gold for one in found if self.written[one.written].section}
        return [one for one in found if self.written[one.written].section or one.gold not in again]


def matching_of(case: Case) -> Matching:
    """Of the article's sentences with the human ones; kept for a moment, for the metrics that share it."""
    return _matching(case.sections, case.gold)


@lru_cache(maxsize=2)
def _matching(sections: tuple[Section, ...], human: GoldArticle) -> Matching:
    import numpy as np

    written = tuple(Told(s.text, n) for n, section in enumerate(sections) for s in section.sentences)
    parts = (human.lead, *(section.prose for section in human.sections))
    gold = tuple(Told(text, n) for n, prose in enumerate(parts) for text in split_sentences(prose))
    weights = _weights(one.text for one in gold)
    unknown = math.log(len(gold) + 1) + math.log(2)
    places: dict[str, int] = {}

    def rows(told: Sequence[Told]) -> list[list[tuple[int, float]]]:
        stems = [sorted(analyse_claim(one.text).stem_set) for one in told]
        return [[(places.setdefault(s, len(places)), weights.get(s, unknown)) for s in some] for some in stems]

    sides = [rows(gold), rows(written)]
    matrices = []
    for side in sides:
        matrix = np.zeros((len(side), len(places)))
        for n, row in enumerate(side):
            for place, weight in row:
                matrix[n, place] = weight
        matrices.append(matrix)
    human_rows, own_rows = matrices
    shared = (own_rows > 0).astype(float) @ (human_rows > 0).astype(float).T
    norms = np.sqrt(np.outer((own_rows**2).sum(axis=1), (human_rows**2).sum(axis=1)))
    cosines = np.divide(own_rows @ human_rows.T, norms, out=np.zeros_like(norms), where=norms > 0)
    # a sentence that has only one content word is as like as can be when that is shared
    enough = np.minimum(LEAST_SHARED, np.minimum.outer((own_rows > 0).sum(axis=1), (human_rows > 0).sum(axis=1)))
    return Matching(written, gold, np.where(shared >= enough, cosines, 0.0))


def _weights(texts: Iterable[str]) -> Mapping[str, float]:
    """Stem -> idf over the human sentences alone, so that nothing depends on how a system cuts its own."""
    found = [analyse_claim(text).stem_set for text in texts]
    counts = Counter(stem for stems in found for stem in stems)
    return {stem: math.log((len(found) + 1) / (n - 0.5)) for stem, n in counts.items()}


class Organisation:
    """organisation  harmonic mean of `placement` and `order`: neither one giant section nor good headings alone reach it
    placement     harmonic mean of `togetherness` and `heading_fit`
    togetherness  do matched sentences share a section here where they share one in the human article (adjusted Rand index)
    heading_fit   is a sentence's heading closer to the heading of its human section than to the other human headings, as far
                  from chance (any sentence under any heading of the article) to always
    order         mean of `fact_order` and, where it is known, `chronology`
    fact_order    Kendall's tau-b of the matched facts' places in both articles; unrelated and reversed is 0
    chronology    tau of the days told, as a share of the human article's: mean of that within sections and that between them;
                  each is left out with fewer than 5 pairs of days on either side, or where the human one has no such order.
                  An article that shares few facts with the human one has no order of facts to lose, and still a story to
                  tell backwards
    n_placed      matched sentences that were compared

    All are corrected for chance and cut off at 0, so that neither the number of sections nor common headings gain anything: one
    section for all, a section a sentence, or sentences shuffled among headings score near 0, the human article 1. An article
    with fewer than 5 matched facts scores 0. None where the human article has no two sections with text (placement), or fewer
    than 5 sentences below the lead.
    """

    names = directions(
        "organisation", "placement", "togetherness", "heading_fit", "order", "fact_order", "chronology", "n_placed"
    )

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    @property
    def signature(self) -> str:
        return (
            f"organisation:split={SPLITTER}|match=idf-cosine>={LEAST_SIMILAR:g},x{CLEARER:g},{VERSION}|n>={LEAST_FACTS}"
            f"|together=ari|fit=auc,encoder={self._encoder.name}|order=tau-b+days>={LEAST_CHRONOLOGICAL:g}|v3"
        )

    def score(self, case: Case) -> dict[str, float | None]:
        matching = matching_of(case)
        placed = matching.placed()
        sections = {one.section for one in matching.gold if one.section}
        together: float | None = None
        fit: float | None = None
        if len(sections) > 1:
            enough = len(placed) >= LEAST_FACTS
            labels = [(matching.written[one.written].section, matching.gold[one.gold].section) for one in placed]
            together = max(0.0, adjusted_rand(labels)) if enough else 0.0
            fit = max(0.0, self._fit(case, labels, sorted(sections))) if enough else 0.0
        placement = None if together is None or fit is None else harmonic_mean(together, fit)
        fact_order, days = _fact_order(matching, placed), _chronology(matching)
        order = fact_order if fact_order is None or days is None else (fact_order + days) / 2
        return {
            "organisation": placement if order is None or placement is None else harmonic_mean(placement, order),
            "placement": placement,
            "togetherness": together,
            "heading_fit": fit,
            "order": order,
            "fact_order": fact_order,
            "chronology": days,
            "n_placed": float(len(placed)),
        }

    def _fit(self, case: Case, labels: Sequence[tuple[int, int]], sections: Sequence[int]) -> float:
        """0 is chance: the headings of the article's matched sentences, dealt out at random. 1: always the closest of all."""
        import numpy as np

        headings = {k: case.gold.sections[k - 1].heading for k in sections}
        own = {k: case.sections[k].heading.text for k, _ in labels if k}
        vectors = heading_vectors(self._encoder, case.gold.headings, case.headings)
        closer: dict[tuple[int, int], float] = {}
        for k in {k for k, _ in labels}:
            # rounded: what differs by a batch's rounding alone is a tie
            cosines = {name: round(float(vectors[own[k]] @ vectors[name]), 5) for name in set(headings.values())} if k else {}
            for g in sections:
                rivals = [cosines.get(headings[o], 0.0) for o in sections if headings[o] != headings[g]]
                mine = cosines.get(headings[g], 0.0)
                share = sum((mine > other) + (mine == other) / 2 for other in rivals) / len(rivals) if rivals else 0.5
                closer[k, g] = share if k else 0.0
        found = math.fsum(closer[pair] for pair in labels) / len(labels)
        chance = float(np.mean([closer[k, g] for k, _ in labels for _, g in labels]))
        return (found - chance) / (1 - chance) if chance < 1 else 0.0


def adjusted_rand(labels: Sequence[tuple[int, int]]) -> float:
    """How far two ways to sort the same things into groups agree on pairs (Hubert and Arabie 1985): 1 the same, 0 chance. Also
    0 where one says nothing: one group for all, or one for each.

    >>> adjusted_rand([(0, 5), (0, 5), (1, 6), (1, 6)])
    1.0
    """

    def pairs(counts: Iterable[int]) -> int:
        return sum(math.comb(n, 2) for n in counts)

    first, second = pairs(Counter(a for a, _ in labels).values()), pairs(Counter(b for _, b in labels).values())
    both, every = pairs(Counter(labels).values()), math.comb(len(labels), 2)
    if not 0 < first < every or not 0 < second < every:
        return 0.0
    expected = first * second / every
    return (both - expected) / ((first + second) / 2 - expected)


def _fact_order(matching: Matching, placed: Sequence[Placed]) -> float | None:
    if sum(one.section > 0 for one in matching.gold) < LEAST_FACTS:
        return None
    best: dict[int, Placed] = {}  # a fact said twice is placed where the wording is closest
    for one in placed:
        if one.gold not in best or one.similarity > best[one.gold].similarity:
            best[one.gold] = one
    places = [(one.written, one.gold) for one in best.values()]
    return max(0.0, kendall_tau(places)) if len(places) >= LEAST_FACTS else 0.0


def _chronology(matching: Matching) -> float | None:
    shares = [
        min(1.0, max(0.0, own / human))
        for human, own in zip(_days(matching.gold), _days(matching.written), strict=True)
        if human is not None and own is not None and human >= LEAST_CHRONOLOGICAL
    ]
    return sum(shares) / len(shares) if shares else None


def _days(told: Sequence[Told]) -> DayOrder:
    sections: dict[int, list[str]] = {0: []}
    for one in told:
        sections.setdefault(one.section, []).append(one.text)
    lead, *others = sections.values()
    return order_of_days(lead, others)


def kendall_tau(places: Sequence[tuple[int, int]]) -> float:
    """Tau-b (Kendall 1945) of two orders: 1 the same, -1 reversed; 0 where one side is all ties.

    >>> kendall_tau([(0, 0), (1, 2), (2, 1)])
    0.3333333333333333
    """
    concordant = first = second = 0
    for i, (a, b) in enumerate(places):
        for c, d in places[:i]:
            x, y = (a > c) - (a < c), (b > d) - (b < d)
            concordant += x * y
            first += x != 0
            second += y != 0
    return concordant / math.sqrt(first * second) if first and second else 0.0
