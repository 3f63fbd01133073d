"""Is what the article says in the evidence at all, whichever passage it cites?"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from data.pages.page_urls import host_of
from data.passages import cut_passages
from data.types import Page, Sentence, is_unknown
from eval.catalogue import directions
from eval.judges.features import Unit, analyse, analyse_claim, analyse_premise, missing_numbers
from eval.judges.judge import Judge, Pair, Unjudged, decided, describe
from eval.metric import Case
from eval.metrics.citations import Premises, Ranking, claims_of, judgeable, unattributed, valid_cites, with_title
from eval.text import plain

TOP_WINDOWS = 5
WINDOW_WORDS = 80


class Faithfulness:
    """grounded        share of claims that the judge finds supported by what they cite of the event's pages, or else by the 5
                    best evidence windows together (BM25)
    grounded_soft   mean judge score in place of the threshold
    number_errors   share of claims with a number, written in digits, that no passage they cite contains; no judge needed
    name_errors     the same for a name, apart from those in the article's title; no judge needed

    All look at the claims of `eval.metrics.citations`; one said again is not grounded. `grounded - cite_recall` is right but
    wrongly cited. A claim with a number (a name) and without a valid citation is an error. The forms of a number that count as
    equal are those of `eval.judges.features.Number`: separators, number words, "1.2 million", the short year of a span. A name
    is a word that is capital inside a sentence; it is looked for as a stem, in any case.
    """

    names = directions("grounded", "grounded_soft", "number_errors", "name_errors")

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    @property
    def signature(self) -> str:
        judge = describe(self.judge)
        return f"faith:window={WINDOW_WORDS}w+1s|top={TOP_WINDOWS},bm25|numbers=v1|names=stem-v1|judge={judge}|v5"

    def score(self, case: Case) -> dict[str, float | None]:
        claims, repeated, _ = claims_of(case)
        if not claims:
            return {"grounded": 0.0, "grounded_soft": 0.0, "number_errors": None, "name_errors": None}
        errors = {"number_errors": number_errors(case), "name_errors": name_errors(case)}
        try:
            held = cited_support(case, self.judge)
            distinct = [claim.text for i, claim in enumerate(claims) if i not in repeated]
            open_ = [text for text in distinct if text not in held]
            scores = [*(held[text] for text in distinct if text in held), *windows_of(case.pages).support(open_, self.judge)]
        except Unjudged:
            return {"grounded": None, "grounded_soft": None, **errors}
        grounded = sum(score >= self.judge.threshold for score in scores)
        return {"grounded": grounded / len(claims), "grounded_soft": math.fsum(scores) / len(claims), **errors}


def cited_support(case: Case, judge: Judge) -> dict[str, float]:
    """Score by claim text of the claims that their citations support, where all that they cite stands in pages of the event.

    What the evidence says there need not be looked for in all of it, which saves two thirds of the reading of a well cited
    article. A source that is in no page under its title is no evidence: its text may be anybody's. Raises Unjudged.
    """
    premises = Premises(case.article.sources)
    pages = _plain_pages(case.evidence)
    there = {
        one.id
        for one in case.article.sources
        if not is_unknown(one) and plain(one.passage.text) in pages.get((one.url, one.title), "")
    }
    cited = {
        claim.text: cites
        for claim in claims_of(case).sentences
        if (cites := valid_cites(claim, premises.sources)) and all(cite in there for cite in cites)
    }
    scores = decided(judge, [premises.pair(cites, text) for text, cites in cited.items()])
    return {text: score for text, score in zip(cited, scores, strict=True) if score >= judge.threshold}


@lru_cache(maxsize=2)
def _plain_pages(pages: tuple[Page, ...]) -> Mapping[tuple[str, str], str]:
    return {(page.url, page.title): plain(page.text) for page in pages}


class EvidenceWindows:
    """All usable pages of an event, cut into windows of whole sentences and indexed once.

    BM25 alone chooses them. Adding MiniLM's cosine (sum with BM25 over its maximum) was measured on 30 development events of
    the extractive system: it moved `grounded` by -0.001 (1 of 1,328 claims), and support of the human articles' sentences by
    -0.001 (9 of 2,192), for 3.4 s of encoding an event, some ten times all other scoring. Cosine alone loses 0.037.
    """

    def __init__(self, pages: Sequence[Page]) -> None:
        passages = cut_passages(pages, words=WINDOW_WORDS, overlap=1)
        self._ranking = Ranking(dict.fromkeys(with_title(pages[p.page].title, p.text) for p in passages))
        self._hosts = frozenset(host_of(page.url) for page in pages)
        self._scores: dict[tuple[str, str], float] = {}

    def best(self, claim: str) -> tuple[str, ...]:
        """The windows that fit the claim best, best first. Empty without evidence, which supports nothing."""
        return tuple(self._ranking.texts[i] for i in self._ranking.top(claim, TOP_WINDOWS))

    def support(self, claims: Sequence[str], judge: Judge) -> list[float]:
        """How far each claim is supported by its best windows together; the same is asked once. Raises Unjudged."""
        judged_by = describe(judge)
        new = [claim for claim in dict.fromkeys(claims) if (judged_by, claim) not in self._scores]
        scores = decided(judge, [Pair(self.best(claim), unattributed(claim, self._hosts)) for claim in new])
        self._scores.update({(judged_by, claim): score for claim, score in zip(new, scores, strict=True)})
        return [self._scores[judged_by, claim] for claim in claims]


@lru_cache(maxsize=2)
def windows_of(pages: tuple[Page, ...]) -> EvidenceWindows:
    """Kept for a moment: several metrics look at the same pages one after the other."""
    return EvidenceWindows(pages)


def number_errors(case: Case) -> float | None:
    """Share of claims with a digit string absent from what they cite (titles included); None without claims."""

    def wrong(claim: Sentence, cited: Sequence[Unit]) -> bool:
        if not re.search(r"\d", claim.text):
            return False
        offered = frozenset[str]().union(*(unit.offered_numbers for unit in cited))
        return bool(missing_numbers(analyse_claim(claim.text), offered))

    return _share_of_claims(case, wrong)


def name_errors(case: Case) -> float | None:
    """Share of claims with a name absent from what they cite (titles included) and from the article's title; None without
    claims."""
    title = analyse(case.article.title).stem_set

    def wrong(claim: Sentence, cited: Sequence[Unit]) -> bool:
        unit = analyse_claim(claim.text)
        offered = title.union(*(other.stem_set for other in cited))
        offered |= {joined for other in cited for joined, _ in other.compounds}
        for joined, parts in unit.compounds:  # bare pages write a hyphenated name as one word
            if joined in offered:
                offered |= parts
        return not unit.names <= offered

    return _share_of_claims(case, wrong)


def _share_of_claims(case: Case, wrong: Callable[[Sentence, Sequence[Unit]], bool]) -> float | None:
    sources = {source.id: source for source in case.article.sources}
    claims = judgeable(claims_of(case).sentences, sources)
    if not claims:
        return None
    n_wrong = 0
    for claim in claims:
        cited = [sources[cite] for cite in valid_cites(claim, sources)]
        n_wrong += wrong(claim, [unit for s in cited for unit in analyse_premise(with_title(s.title, s.passage.text))])
    return n_wrong / len(claims)
