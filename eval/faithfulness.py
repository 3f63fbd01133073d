"""Is what the article says in the evidence at all, whichever passage it cites?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from data.passages import cut_passages
from data.types import Page
from eval.citations import Ranking, claims_of, valid_cites, with_title
from eval.judge import Judge, Pair, describe
from eval.judge_features import analyse_claim, analyse_premise, missing_numbers
from eval.metric import Better, Case

TOP_WINDOWS = 5
WINDOW_WORDS = 80


class Faithfulness:
    """grounded        share of claims that the judge finds supported by the 5 best evidence windows together (BM25)
    number_errors   share of claims with a number, written in digits, that no passage they cite contains; no judge needed

    Both look at the claims of `eval.citations`. `grounded - cite_recall` is what was right but wrongly cited. A claim with
    a number and without a valid citation is a number error. The forms of a number that count as equal are those of
    `eval.judge_features.Number`: separators, number words, "1.2 million", the short year of a span.
    """

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    @property
    def names(self) -> Mapping[str, Better]:
        return {"grounded": "higher", "number_errors": "lower"}

    @property
    def signature(self) -> str:
        return f"faith:window={WINDOW_WORDS}w+1s|top={TOP_WINDOWS},bm25|numbers=v1|judge={describe(self.judge)}|v1"

    def score(self, case: Case) -> dict[str, float | None]:
        claims = claims_of(case).sentences
        if not claims:
            return {"grounded": 0.0, "number_errors": None}
        windows = EvidenceWindows(case.evidence)
        scores = self.judge.score([Pair(windows.best(claim.text), claim.text) for claim in claims])
        grounded = sum(score >= self.judge.threshold for score in scores)
        return {"grounded": grounded / len(claims), "number_errors": number_errors(case)}


class EvidenceWindows:
    """All usable pages of an event, cut into windows of whole sentences and indexed once."""

    def __init__(self, pages: Sequence[Page]) -> None:
        passages = cut_passages(pages, words=WINDOW_WORDS, overlap=1)
        self._ranking = Ranking(dict.fromkeys(with_title(pages[p.page].title, p.text) for p in passages))

    def best(self, claim: str) -> tuple[str, ...]:
        """The windows that fit the claim best, best first. Empty without evidence, which supports nothing."""
        return tuple(self._ranking.texts[i] for i in self._ranking.top(claim, TOP_WINDOWS))


def number_errors(case: Case) -> float | None:
    """Share of claims with a digit string absent from what they cite (titles included); None without claims."""
    claims = claims_of(case).sentences
    if not claims:
        return None
    sources = {source.id: source for source in case.article.sources}
    wrong = 0
    for claim in claims:
        if not re.search(r"\d", claim.text):
            continue
        cited = [sources[cite] for cite in valid_cites(claim, sources)]
        units = (unit for s in cited for unit in analyse_premise(with_title(s.title, s.passage.text)))
        offered = frozenset[str]().union(*(unit.offered_numbers for unit in units))
        wrong += bool(missing_numbers(analyse_claim(claim.text), offered))
    return wrong / len(claims)
