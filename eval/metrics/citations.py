"""Do the cited passages support the sentences that cite them?

`Citations` is profile `clean`: the recall and precision of ALCE (Gao et al. 2023) on whole articles, with invented
citations counted as wrong instead of left out. `WgbCitations` are the formulas of WikiGenBench (arXiv 2402.18264) on the
units of its published script. The two are different measures: their numbers are never compared. ALCE's own counting comes
with the former, as `alce_recall` and `alce_precision`.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from data.pages.page_urls import host_of
from data.types import Sentence, Source, is_unknown
from eval.catalogue import directions
from eval.judges.judge import Judge, Pair, Unjudged, decided, describe
from eval.metric import Case
from eval.text import content_words, plain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)

ALCE_MOST_CITES = 3
"""ALCE's script reads no more citations of a sentence than this."""

WINDOW_WORDS = 200
MAX_WINDOWS = 3
"""A cited text longer than three windows of 200 words is a page, not a passage: the judge then sees the best three."""


class Claims(NamedTuple):
    """The sentences that are scored.

    `repeated` are the places of those that an earlier one says in the same words; they count as unsupported, so that a true
    sentence is credited once however often it is said. `n_skipped` have no letter and no digit.
    """

    sentences: tuple[Sentence, ...]
    repeated: frozenset[int]
    n_skipped: int


def claims_of(case: Case) -> Claims:
    """Every sentence of the prose, whatever its length, script or heading: a fragment needs a source as anything else does."""
    claims = tuple(s for s in case.sentences if any(c.isalnum() for c in s.text))
    seen: set[str] = set()
    repeated: set[int] = set()
    for i, claim in enumerate(claims):
        form = plain(claim.text)
        if form in seen:
            repeated.add(i)
        seen.add(form)
    return Claims(claims, frozenset(repeated), len(case.sentences) - len(claims))


def valid_cites(sentence: Sentence, sources: Mapping[str, Source]) -> tuple[str, ...]:
    """The sentence's citations that name a source of the article, each once, in order."""
    return tuple(cite for cite in dict.fromkeys(sentence.cites) if cite in sources)


def judgeable(sentences: Iterable[Sentence], sources: Mapping[str, Source]) -> tuple[Sentence, ...]:
    """Those whose support can be judged: sentences without a source of unknown text among their citations.

    One unknown text is enough to leave a sentence out, also beside known ones that support it: if such sentences counted when
    they are supported and not otherwise, the share of supported ones would come out too high.
    """
    return tuple(s for s in sentences if not any(is_unknown(sources[cite]) for cite in valid_cites(s, sources)))


def known_claims(claims: Claims, sources: Mapping[str, Source]) -> Claims:
    """The claims that are `judgeable`, and which of them repeat an earlier one."""
    known = frozenset(judgeable(claims.sentences, sources))
    kept = [i for i, claim in enumerate(claims.sentences) if claim in known]
    repeated = frozenset(new for new, old in enumerate(kept) if old in claims.repeated)
    return Claims(tuple(claims.sentences[i] for i in kept), repeated, claims.n_skipped)


class Ranking:
    """Texts ranked by BM25 over content words, indexed once. Texts without a content word are never returned."""

    def __init__(self, texts: Iterable[str]) -> None:
        worded = [(text, tokens) for text in texts if (tokens := content_words(text))]
        self.texts = tuple(text for text, _ in worded)
        self._by_word: dict[str, NDArray[np.float64]] = {}
        self._index = None
        if worded:
            from rank_bm25 import BM25Okapi

            self._index = BM25Okapi([tokens for _, tokens in worded])

    def top(self, query: str, n: int) -> list[int]:
        """Indices into `texts` of the `n` best, best first; ties in the order given."""
        if self._index is None:
            return []
        import numpy as np

        scores = np.zeros(len(self.texts))
        for word in content_words(query):
            if word in self._index.idf:
                scores += self._scores_of(word)
        return [int(i) for i in np.argsort(-scores, kind="stable")[:n]]

    def _scores_of(self, word: str) -> NDArray[np.float64]:
        """What one word of a query adds to each text. Kept: the claims of an article ask for the same words again and again."""
        if word not in self._by_word:
            assert self._index is not None
            self._by_word[word] = self._index.get_scores([word])
        return self._by_word[word]


class Premises:
    """The text that stands for each source before a judge: its title, then the passage the system was shown."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self.sources = {source.id: source for source in sources}
        windows = {cite: _windows(source.passage.text) for cite, source in self.sources.items()}
        self._long = {cite: Ranking(cut) for cite, cut in windows.items() if len(cut) > MAX_WINDOWS}

    def pair(self, cites: Sequence[str], claim: str) -> Pair:
        """The claim and the text that it cites. An attribution to the publisher cited is true by the address alone."""
        return Pair(self.of(cites, claim), unattributed(claim, {host_of(self.sources[cite].url) for cite in cites}))

    def of(self, cites: Sequence[str], claim: str) -> tuple[str, ...]:
        """One premise per citation."""
        return tuple(self._one(cite, claim) for cite in cites)

    def _one(self, cite: str, claim: str) -> str:
        source = self.sources[cite]
        if cite not in self._long:
            return with_title(source.title, source.passage.text)
        windows = self._long[cite]
        best = sorted(windows.top(claim, MAX_WINDOWS))  # in text order
        logger.debug("%s is a page of %d windows, of which %s stand for it: %s", cite, len(windows.texts), best, claim)
        return with_title(source.title, "\n".join(windows.texts[i] for i in best))


_ATTRIBUTED = re.compile(r"According to ([\w-]+(?:\.[\w-]+)+), (?=[“\"])")


def unattributed(claim: str, hosts: Collection[str]) -> str:
    """The quotation alone, where a claim is "According to example.org, “...”" and example.org is among the hosts: no page says
    of itself where it stands, and a judge would refuse the words. An attribution to another host stays, to be judged."""
    match = _ATTRIBUTED.match(claim)
    return claim[match.end() :] if match and match[1].lower() in hosts else claim


def with_title(title: str, text: str) -> str:
    return f"{title}\n{text}" if title else text


def _windows(text: str) -> list[str]:
    words = list(re.finditer(r"\S+", text))
    groups = [words[at : at + WINDOW_WORDS] for at in range(0, len(words), WINDOW_WORDS)]
    return [text[group[0].start() : group[-1].end()] for group in groups]


@dataclass(frozen=True, slots=True)
class ClaimSupport:
    """What the judge found for one claim. `joint` is the score of all valid citations together, 0 without any.

    `n_needless` of the valid citations do not support the claim while the others do without them.
    """

    claim: Sentence
    valid: tuple[str, ...]
    n_cites: int
    joint: float
    recalled: bool
    n_needless: int

    @property
    def n_right(self) -> int:
        return len(self.valid) - self.n_needless if self.recalled else 0


Answers = dict[tuple[str, tuple[str, ...]], float]
"""A judge's scores by (claim, citations)."""


def check_claims(
    claims: Sequence[Sentence],
    premises: Premises,
    judge: Judge,
    answers: Answers | None = None,
    repeated: frozenset[int] = frozenset(),
) -> list[ClaimSupport]:
    """Support of every claim by its own citations, with no more judging than the definitions need.

    A citation of a supported claim is right unless it does not support the claim alone while the others do without it;
    so single and left-out scores are asked for claims with several citations only, and only where they can matter.
    What `answers` holds is not asked again; new answers are added to it. Claims at the places `repeated` are unsupported, and
    nothing is asked of them. Raises Unjudged when a score is missing.
    """
    valid = [valid_cites(claim, premises.sources) for claim in claims]
    known = {} if answers is None else answers

    def ask(wanted: Iterable[tuple[int, tuple[str, ...]]]) -> None:
        keys = dict.fromkeys((claims[i].text, cites) for i, cites in wanted)
        new = [key for key in keys if key not in known]
        pairs = [premises.pair(cites, text) for text, cites in new]
        known.update(zip(new, decided(judge, pairs), strict=True))

    def supports(i: int, cites: tuple[str, ...]) -> bool:
        return known[claims[i].text, cites] >= judge.threshold

    ask((i, cites) for i, cites in enumerate(valid) if cites and i not in repeated)
    recalled = [bool(cites) and i not in repeated and supports(i, cites) for i, cites in enumerate(valid)]
    several = [i for i, cites in enumerate(valid) if recalled[i] and len(cites) > 1]
    ask((i, (cite,)) for i in several for cite in valid[i])
    doubtful = {i: [cite for cite in valid[i] if not supports(i, (cite,))] for i in several}
    ask((i, _without(valid[i], cite)) for i, cites in doubtful.items() for cite in cites)

    found = []
    for i, claim in enumerate(claims):
        needless = sum(supports(i, _without(valid[i], cite)) for cite in doubtful.get(i, ()))
        found.append(
            ClaimSupport(
                claim=claim,
                valid=valid[i],
                n_cites=len(dict.fromkeys(claim.cites)),
                joint=known[claim.text, valid[i]] if valid[i] and i not in repeated else 0.0,
                recalled=recalled[i],
                n_needless=needless,
            )
        )
    return found


def _without(cites: tuple[str, ...], cite: str) -> tuple[str, ...]:
    return tuple(other for other in cites if other != cite)


class Citations:
    """Citation recall and precision of profile `clean`, and what explains them.

    cite_recall           share of claims supported by their valid citations together
    cite_precision        share of citations that are right, pooled over the article; invalid ones are wrong
    cite_f1               harmonic mean of the two, of this article
    cited_share           share of claims with a valid citation
    support_given_cited   share of those that are supported; None when nothing is cited
    cite_words            recall weighted by the words of the claims
    cite_recall_soft      mean judge score in place of the threshold
    cite_precision_soft   mean over citations of their claim's score; 0 for those needless or invalid
    alce_recall, alce_precision   as ALCE counts; see `alce_scores`
    invalid_citation_share, citations_per_claim, n_claims, n_skipped
    judged_share          share of claims whose citations could be judged; None without claims
    Every sentence is a claim, and one said again in the same words is unsupported; see `claims_of`.
    An article without claims, or without citations, scores 0 wherever 0 is worst. One that the judge leaves open is unscored.

    A claim that cites a source of unknown text (`data.types.is_unknown`) cannot be judged: it leaves numerator and denominator
    of whatever asks for support, and where no claim is left those are unscored. A claim without citations is judged, and
    unsupported; so where many texts are unknown `support_given_cited` compares systems more fairly than recall.
    """

    names = directions(
        "cite_recall",
        "cite_precision",
        "cite_f1",
        "cited_share",
        "support_given_cited",
        "cite_words",
        "cite_recall_soft",
        "cite_precision_soft",
        "alce_recall",
        "alce_precision",
        "invalid_citation_share",
        "citations_per_claim",
        "n_claims",
        "n_skipped",
        "judged_share",
    )

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    @property
    def signature(self) -> str:
        judge = describe(self.judge)
        return f"cite:unit=sentence,every,repeats=wrong|premise=title+passage|judge={judge}|unknown=left-out|v5"

    def score(self, case: Case) -> dict[str, float | None]:
        claims = claims_of(case)
        premises, answers = Premises(case.article.sources), Answers()
        judged = known_claims(claims, premises.sources)
        try:
            found = check_claims(judged.sentences, premises, self.judge, answers, judged.repeated)
            alce = alce_scores(judgeable(case.sentences, premises.sources), premises, self.judge, answers)
        except Unjudged:
            return dict.fromkeys(self.names, None)
        scores = _counted(claims, premises.sources, len(judged.sentences))
        if claims.sentences and not judged.sentences:
            return dict.fromkeys(self.names, None) | scores
        n_cites = sum(one.n_cites for one in found)
        n_cited = sum(bool(one.valid) for one in found)
        n_recalled = sum(one.recalled for one in found)
        words = [len(one.claim.text.split()) for one in found]
        recall = _share(n_recalled, len(found))
        precision = _share(sum(one.n_right for one in found), n_cites)
        return {
            "cite_recall": recall,
            "cite_precision": precision,
            "cite_f1": 2 * recall * precision / (recall + precision) if recall + precision else 0.0,
            "support_given_cited": n_recalled / n_cited if n_cited else None,
            "cite_words": _share(sum(n for n, one in zip(words, found, strict=True) if one.recalled), sum(words)),
            "cite_recall_soft": _share(math.fsum(one.joint for one in found), len(found)),
            "cite_precision_soft": _share(math.fsum(one.joint * (len(one.valid) - one.n_needless) for one in found), n_cites),
            "alce_recall": alce.recall,
            "alce_precision": alce.precision,
            **scores,
        }


def _counted(claims: Claims, sources: Mapping[str, Source], n_judged: int) -> dict[str, float | None]:
    """The values of `Citations` that ask no judge; they are of all claims, judged or not."""
    n_claims = len(claims.sentences)
    valid = [len(valid_cites(claim, sources)) for claim in claims.sentences]
    n_cites = sum(len(dict.fromkeys(claim.cites)) for claim in claims.sentences)
    return {
        "cited_share": _share(sum(map(bool, valid)), n_claims),
        "invalid_citation_share": (n_cites - sum(valid)) / n_cites if n_cites else None,
        "citations_per_claim": n_cites / n_claims if n_claims else None,
        "n_claims": float(n_claims),
        "n_skipped": float(claims.n_skipped),
        "judged_share": n_judged / n_claims if n_claims else None,
    }


class AlceScores(NamedTuple):
    """Of one article, in [0, 1]; 0 without sentences, and without citations."""

    recall: float
    precision: float


def alce_scores(sentences: Sequence[Sentence], premises: Premises, judge: Judge, answers: Answers | None = None) -> AlceScores:
    """Citation recall and precision as the script of ALCE (Gao et al. 2023) counts them.

    Every sentence counts, however short, and of its citations the first three. One invalid citation leaves its sentence
    unsupported and takes all citations of that sentence out of precision: inventing some costs less than in `clean`.
    """
    units = [
        replace(s, cites=s.cites[:ALCE_MOST_CITES] if all(cite in premises.sources for cite in s.cites) else ())
        for s in sentences
    ]
    found = check_claims(units, premises, judge, answers)
    return AlceScores(
        recall=_share(sum(one.recalled for one in found), len(found)),
        precision=_share(sum(one.n_right for one in found), sum(len(one.valid) for one in found)),
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


class WgbUnit(NamedTuple):
    """A citation unit of WikiGenBench's script. `places` index the retrieved chunks: `[1]` is 0, and `[0]` is -1."""

    text: str
    places: tuple[int, ...]


_WGB_MARKER = re.compile(r"\[(\d+)\]")


def wgb_units(text: str) -> list[WgbUnit]:
    """The text between runs of `[n]` markers, each with the run that follows it.

    As in their `metrics/nli.py`: a unit holds headings, line breaks and uncited sentences before it; nothing or a lone
    line break between markers keeps a run together, a space or a full stop makes a unit of its own; what follows the last
    marker is a unit without citations; `[1, 2]` is text.
    """
    units: list[WgbUnit] = []
    words, begun, at = "", False, 0
    places: list[int] = []
    for match in (*_WGB_MARKER.finditer(text), None):
        between = text[at : match.start() if match else len(text)]
        if between in ("", "\n"):
            words += between
            begun = begun or bool(between)
        else:
            if begun:
                units.append(WgbUnit(words, tuple(places)))
            words, places, begun = between, [], True
        if match:
            places.append(int(match.group(1)) - 1)
            at, begun = match.end(), True
    if begun:
        units.append(WgbUnit(words, tuple(places)))
    return units


class WgbScores(NamedTuple):
    """Article means in [0, 1]; all 0 when the text has no unit."""

    recall: float
    precision: float
    rate: float


def wgb_citation_scores(text: str, retrieve: Sequence[str], judge: Judge) -> WgbScores:
    """Citation recall, precision and rate of one article, over `text` in their form and its retrieved chunks.

    Recall of a unit: does any one citation support it. Precision: which share of its citations do. Both are 0 for an
    uncited unit, which stays in the denominator, so this precision never exceeds recall. Rate (paper only, no published
    code): recall weighted by words. A marker beyond the chunks has a premise of one space; `[0]` means the last chunk.
    """
    units = wgb_units(text)
    if not units:
        return WgbScores(0.0, 0.0, 0.0)
    pairs = [Pair((_wgb_chunk(retrieve, place),), unit.text) for unit in units for place in unit.places]
    verdicts = iter([score >= judge.threshold for score in decided(judge, pairs)])
    per_unit = [[next(verdicts) for _ in unit.places] for unit in units]
    words = [len(unit.text.split()) for unit in units]
    return WgbScores(
        recall=sum(any(found) for found in per_unit) / len(units),
        precision=math.fsum(sum(found) / len(found) for found in per_unit if found) / len(units),
        rate=_share(sum(n for n, found in zip(words, per_unit, strict=True) if any(found)), sum(words)),
    )


def _wgb_chunk(retrieve: Sequence[str], place: int) -> str:
    return retrieve[place] if -len(retrieve) <= place < len(retrieve) else " "


class WgbCitations:
    """WikiGenBench's three citation scores, with any judge in place of its 11B entailment model."""

    names = directions("wgb_cite_recall", "wgb_cite_precision", "wgb_cite_rate")

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    @property
    def signature(self) -> str:
        return f"wgb_cite:unit=marker-runs|premise=chunk|judge={describe(self.judge)}|v2"

    def score(self, case: Case) -> dict[str, float | None]:
        from data.markup import render_text

        sources = case.article.sources
        if len(judgeable(case.sentences, {source.id: source for source in sources})) < len(case.sentences):
            return dict.fromkeys(self.names, None)  # their formulas know no unknown text, and would count it as wrong
        retrieve = [source.passage.text for source in sources]
        try:
            scores = wgb_citation_scores(render_text(case.article), retrieve, self.judge)
        except Unjudged:
            return dict.fromkeys(self.names, None)
        return {
            "wgb_cite_recall": scores.recall,
            "wgb_cite_precision": scores.precision,
            "wgb_cite_rate": scores.rate,
        }
