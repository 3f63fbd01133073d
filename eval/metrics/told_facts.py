"""Recall and precision of single statements, both by a judge: what of the human article the article says (reference-claim
coverage), and how much of what it says, clause by clause, the evidence holds.

`fact_precision` is the factual precision of FActScore (Min et al. 2023) with clauses cut by rule in place of a model's atomic
facts, and without its length penalty: read it beside `fact_recall` and `length_ratio`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from data.passages import sentence_spans
from data.sentences import SPLITTER, split_sentences
from eval.catalogue import directions
from eval.judges.judge import Judge, Pair, Unjudged, decided, describe
from eval.metric import Case
from eval.metrics.citations import Ranking, claims_of
from eval.metrics.faithfulness import TOP_WINDOWS, WINDOW_WORDS, cited_support, windows_of
from eval.metrics.rouge import harmonic_mean
from eval.text import FINITE, content_words, plain

TOP_SENTENCES = 5
LONGEST_WORDS = 60
MIN_CONTENT_WORDS = 3
"""Of a sentence of the human article that the article should say; lines such as "Yes." or "Final" are no facts."""

_CUT = re.compile(r";\s+|,\s+(?=(?:and|but|while|which|who)\b)")
_CONNECTOR = re.compile(r"(?:and|but|while|which|who)\b\s*")
_NAME = re.compile(r"[A-Z][\w'’.-]*")
_ADVERB = re.compile(r"(?:\w+ly|also|later|then|now|still|not|never)\s+")


class Facts:
    """fact_recall              share of the human article's sentences that the article's 5 best sentences support together
    fact_recall_attainable   the same over those sentences alone that the evidence supports, by the same judge
    fact_f                   harmonic mean of fact_recall and fact_precision_gold: padding and leaving out both cost
    fact_precision           share of the article's clauses that the evidence or the human article supports
    fact_precision_evidence  by the 5 best evidence windows together; a clause of a claim that its citations support is held
    fact_precision_gold      by the 5 best sentences of the human article together
    n_facts_per_claim        how many clauses a claim has

    Sentences of the human article count from 3 content words. A clause said again in the same words is not held. None where
    there is nothing to find: a human article without sentences, evidence that supports none of them, an article without claims.
    """

    names = directions(
        "fact_recall",
        "fact_recall_attainable",
        "fact_f",
        "fact_precision",
        "fact_precision_evidence",
        "fact_precision_gold",
        "n_facts_per_claim",
    )

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    @property
    def signature(self) -> str:
        return (
            f"facts:split={SPLITTER}|clauses=v2|content>={MIN_CONTENT_WORDS}|top={TOP_SENTENCES}s,bm25"
            f"|window={WINDOW_WORDS}w+1s,top={TOP_WINDOWS}|repeats=wrong|cut>{LONGEST_WORDS}w|judge={describe(self.judge)}|v5"
        )

    def score(self, case: Case) -> dict[str, float | None]:
        try:
            return self._score(case)
        except Unjudged:
            return dict.fromkeys(self.names, None)

    def _score(self, case: Case) -> dict[str, float | None]:
        wanted = reference_claims(case.gold.prose)
        said = self.held(wanted, (sentence.text for sentence in case.sentences))
        claims = claims_of(case).sentences
        cited = cited_support(case, self.judge)
        facts = [fact for claim in claims for fact in clauses(claim.text)]
        known = {plain(fact) for claim in claims if claim.text in cited for fact in clauses(claim.text)}
        distinct = list({plain(fact): fact for fact in reversed(facts)}.values())
        windows, threshold = windows_of(case.pages), self.judge.threshold
        attainable = [score >= threshold for score in windows.support(wanted, self.judge)]
        open_ = [fact for fact in distinct if plain(fact) not in known]
        found = dict(zip(open_, windows.support(open_, self.judge), strict=True))
        in_evidence = [fact not in found or found[fact] >= threshold for fact in distinct]
        in_gold = self.held(distinct, split_sentences(case.gold.prose))
        recall, focus = _share(said), _of(len(facts), sum(in_gold)) if case.gold.prose else None
        return {
            "fact_recall": recall,
            "fact_f": None if recall is None else harmonic_mean(recall, focus or 0.0),
            "fact_recall_attainable": _share([s for s, a in zip(said, attainable, strict=True) if a]),
            "fact_precision": _of(len(facts), sum(a or b for a, b in zip(in_evidence, in_gold, strict=True))),
            "fact_precision_evidence": _of(len(facts), sum(in_evidence)),
            "fact_precision_gold": focus,
            "n_facts_per_claim": len(facts) / len(claims) if claims else None,
        }

    def held(self, claims: Sequence[str], said: Iterable[str]) -> list[bool]:
        """Which claims the 5 best of the sentences `said` support together. Long ones are cut: one giant sentence is no premise
        of five."""
        pieces = (text[a:b] for text in said for a, b in sentence_spans(text, longest=LONGEST_WORDS))
        ranking = Ranking(dict.fromkeys(pieces))
        pairs = [Pair(tuple(ranking.texts[i] for i in ranking.top(claim, TOP_SENTENCES)), claim) for claim in claims]
        return [score >= self.judge.threshold for score in decided(self.judge, pairs)]


def _of(n: int, n_held: int) -> float | None:
    return n_held / n if n else None


def _share(verdicts: Sequence[bool]) -> float | None:
    return sum(verdicts) / len(verdicts) if verdicts else None


def reference_claims(prose: str) -> tuple[str, ...]:
    """Sentences (and list lines) of the human article with at least 3 content words, each once."""
    sentences = dict.fromkeys(split_sentences(prose))
    return tuple(sentence for sentence in sentences if len(content_words(sentence)) >= MIN_CONTENT_WORDS)


def clauses(sentence: str) -> tuple[str, ...]:
    """A sentence cut at ";" and before ", and", ", but", ", while", ", which", ", who", where a clause with a verb of its own
    follows; the last item of an enumeration is none. A clause without a subject gets that of the sentence, a relative one the
    name before it if there is one.

    >>> clauses("The ferry sank on Monday, and was raised by the navy in May.")
    ('The ferry sank on Monday', 'The ferry was raised by the navy in May.')
    """
    cuts = [match.span() for match in _CUT.finditer(sentence)]
    pieces = [sentence[a:b] for a, b in zip([0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(sentence)])]
    gaps = [sentence[start:end] for start, end in cuts]
    found = [pieces[0]]
    for gap, piece in zip(gaps, pieces[1:], strict=True):
        if all(FINITE.search(text) and len(content_words(text)) > 1 for text in (found[-1], piece)):
            found.append(piece)
        else:
            found[-1] += gap + piece
    subject = _before_verb(found[0])
    return (found[0], *(_with_subject(piece, subject, before) for before, piece in pairwise(found)))


def _with_subject(piece: str, subject: str, before: str) -> str:
    connector = _CONNECTOR.match(piece)
    rest = piece[connector.end() :] if connector else piece
    if connector and connector.group().strip() in ("which", "who"):
        subject = _last_name(before) or subject
    elif not _begins_with_verb(rest):
        return rest
    return f"{subject.strip()} {rest}".strip()


def _last_name(text: str) -> str:
    """The capitalised words that the text ends with. Word by word: one pattern for all of them would try every way to cut a
    long run of capitals."""
    words = text.split()
    start = len(words)
    while start and _NAME.fullmatch(words[start - 1]):
        start -= 1
    return " ".join(words[start:])


def _begins_with_verb(text: str) -> bool:
    adverb = _ADVERB.match(text)
    return FINITE.match(text, adverb.end() if adverb else 0) is not None


def _before_verb(clause: str) -> str:
    verb = FINITE.search(clause)
    return clause[: verb.start()] if verb else ""
