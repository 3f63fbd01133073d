"""What the judge of the citation metric says of each claim of an article: the files in results/."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmark.submissions.folder import JudgedCitation, JudgedSentence
from benchmark.submissions.submitted import Submission

if TYPE_CHECKING:
    from data.runs import RunFolder
    from data.types import Article, Sentence
    from eval.judges.judge import Judge
    from eval.metric import Metric


def verdicts(run: RunFolder, made: Submission, metrics: Sequence[Metric]) -> dict[str, tuple[JudgedSentence, ...]]:
    """For each scored article what the judge of the citation metric says of its claims, in reading order."""
    from eval.judges.judge import Unjudged
    from eval.metrics.citations import Citations

    judge = next(metric.judge for metric in metrics if isinstance(metric, Citations))
    found = {}
    for event in made.events:
        article = run.event(event.id).article() if event.article_sha256 else None
        if article is not None:
            try:
                found[event.id] = judged_sentences(article, judge)
            except Unjudged:  # then its citation scores are null as well
                continue
    return found


def judged_sentences(article: Article, judge: Judge) -> tuple[JudgedSentence, ...]:
    """Support and citations of each claim, as `eval.metrics.citations.Citations` counts them: of those that can be judged, by
    their places in the article as it is scored (`data.markup.reread`). Raises Unjudged."""
    from data.gold import GoldArticle
    from data.markup import reread
    from eval.metric import Case
    from eval.metrics.citations import Answers, Premises, check_claims, claims_of, known_claims

    article = reread(article)
    case = Case(article, GoldArticle(article.event_id, article.title, "", "", (), (), ()), ())
    premises, answers = Premises(article.sources), Answers()
    claims = known_claims(claims_of(case), premises.sources)
    found = check_claims(claims.sentences, premises, judge, answers, claims.repeated)
    places = _places(article, [one.claim for one in found])

    def is_needless(text: str, valid: tuple[str, ...], cite: str) -> bool:
        """As in `check_claims`, which has asked all that matters."""
        others = tuple(other for other in valid if other != cite)
        alone, without = answers.get((text, (cite,)), 1.0), answers.get((text, others), 0.0)
        return alone < judge.threshold <= without

    return tuple(
        JudgedSentence(
            *place,
            supported=one.recalled,
            citations=tuple(
                JudgedCitation(
                    cite, right=one.recalled and cite in one.valid and not is_needless(one.claim.text, one.valid, cite)
                )
                for cite in dict.fromkeys(one.claim.cites)
            ),
        )
        for place, one in zip(places, found, strict=True)
    )


def _places(article: Article, claims: Sequence[Sentence]) -> list[tuple[int, int]]:
    """(section, sentence) of each claim; claims are in the article's order, and some of its sentences are none."""
    wanted, found = iter(claims), list[tuple[int, int]]()
    claim = next(wanted, None)
    for n, section in enumerate(article.all_sections):
        for k, sentence in enumerate(section.sentences):
            if sentence == claim:
                found.append((n, k))
                claim = next(wanted, None)
    return found
