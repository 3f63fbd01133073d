"""No article is a copy: of what could only be said in its pages' own words goes what is worth least for the words it copies.

The bounds lie below those of the benchmark (`benchmark.scoring`), which nobody may pass: half of the words in copied runs, a
quarter of the sentences word for word. A short article keeps what it has: three hundred words that a page has, too, serve a
reader more than half of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from data.types import Repair, Sentence
from pipeline.article_plan import ArticlePlan, Statement
from pipeline.evidence import Evidence
from pipeline.retrieval import terms
from pipeline.writing.assembly import WrittenSection
from pipeline.writing.checks.compared_words import bare_words
from pipeline.writing.checks.rewording import copied_runs

MOST_COPIED, MOST_VERBATIM = 0.42, 0.15
"""Share of the words in runs of five or more that a cited passage has, and of the sentences that stand there word for word.
Below the bounds, for another page may have a run, too (with 0.45 an article had 50.8% by the benchmark's count). What goes is
told in parts. Lower bounds (0.40, 0.10) cost no facts, but truth: a quarter of rewordings and parts says something else, and a
page's sentence never (docs/history/2026-11-29.md)."""
HARDLY_OWN = 0.7
"""Share of copied words from which a sentence in the model's words goes like a page's own."""
LEAST_WORDS = 350
"""Words of an article from which none goes."""


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A sentence: in which section, its words, how many of them are copied, whether all are, and how much it is needed; None
    for one in the model's words, which stays, unless they are hardly its own."""

    section: int
    sentence: Sentence
    words: int
    copied: float
    verbatim: bool
    worth: float | None


def too_copied(evidence: Evidence, plan: ArticlePlan, sections: Sequence[WrittenSection]) -> frozenset[tuple[int, str]]:
    """The copied sentences that are one too many: the number of their section, and their text. The first section, the lead,
    keeps all of its sentences."""
    passages = {passage.id: passage.text for passage in evidence.passages}
    planned = [*plan.lead, *(s for section in plan.sections for s in section.statements)]
    kept = [
        _weighed(n, sentence, [passages[cite] for cite in sentence.cites if cite in passages], planned)
        for n, section in enumerate(sections)
        for sentence in section.section.sentences
    ]
    # The least worth for each word that is copied first: short notes leave room for more of them.
    open_ones = sorted(
        (
            (one.worth / one.copied, one)
            for one in kept
            if one.section and one.worth is not None and one.copied > MOST_COPIED * one.words
        ),
        key=lambda pair: pair[0],
    )
    gone: set[tuple[int, str]] = set()
    for _, one in open_ones:
        if sum(other.words for other in kept) <= LEAST_WORDS:
            break
        too_many = sum(other.verbatim for other in kept) > MOST_VERBATIM * len(kept)
        too_much = sum(other.copied for other in kept) > MOST_COPIED * sum(other.words for other in kept)
        if not (too_many or too_much):
            break
        if too_much or one.verbatim:
            kept.remove(one)
            gone.add((one.section, one.sentence.text))
    return frozenset(gone)


def in_own_words(evidence: Evidence, plan: ArticlePlan, sections: Sequence[WrittenSection]) -> list[WrittenSection]:
    """The sections without the copied sentences that are one too many; what went is told in the repairs."""
    gone = too_copied(evidence, plan, sections)
    return [_without(section, frozenset(text for at, text in gone if at == n)) for n, section in enumerate(sections)]


def _weighed(section: int, sentence: Sentence, passages: Sequence[str], planned: Sequence[Statement]) -> _Weighed:
    words = len(sentence.text.split())
    copied, _ = copied_runs(sentence.text, passages)
    worth = {one.text: one.worth for one in planned}.get(sentence.text)
    if worth is None and copied > HARDLY_OWN:
        said = [one for one in planned if set(one.cites) & set(sentence.cites)]
        told = frozenset(terms(sentence.text))
        worth = max(said, key=lambda one: len(told & frozenset(terms(one.text)))).worth if said else None
    own = f" {bare_words(sentence.text)} "
    verbatim = any(own in f" {bare_words(passage)} " for passage in passages)
    return _Weighed(section, sentence, words, copied * words, verbatim, worth)


def _without(section: WrittenSection, gone: frozenset[str]) -> WrittenSection:
    if not gone:
        return section
    heading = section.section.heading.text
    left = tuple(tuple(s for s in paragraph if s.text not in gone) for paragraph in section.section.paragraphs)
    why = "in its page's own words, and more of the article would be copied than may be"
    repairs = tuple(Repair("sentence_removed", heading, text, why) for text in sorted(gone))
    return WrittenSection(replace(section.section, paragraphs=tuple(p for p in left if p)), (*section.repairs, *repairs))
