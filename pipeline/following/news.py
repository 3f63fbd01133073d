"""What pages of today say that the article does not: facts that no page said before, for the sections that they belong to.

The evidence of today is planned as a new article would be. Of the plan's statements those are news whose passages all lie on
pages that are new or were edited, that no earlier text has, and that say something beside what the article says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from data.stage_types import Stages
from data.types import Article, Heading, Page, Paragraph, Repair, Section, Source, Strict
from pipeline.article_plan import ArticlePlan, PlannedSection, Statement
from pipeline.choosing.facts import names, numbers, with_digits
from pipeline.choosing.standing_alone import MONTH
from pipeline.evidence import Evidence
from pipeline.planning.outlines import same_words
from pipeline.writing.assembly import WrittenSection
from pipeline.writing.citing import support

SAID = 0.6
"""Share of a statement's words that a sentence of the article, or of an earlier page, has: it is said already."""
_DATE = re.compile(rf"\b\d{{1,2}} (?:{MONTH})\b(?: \d{{4}})?|\b(?:{MONTH}) \d{{1,2}}\b(?:, \d{{4}})?")


@dataclass(frozen=True, slots=True)
class NewsSection(Strict):
    """Statements for one heading of the plan; "" is the lead."""

    heading: str
    statements: tuple[Statement, ...]


Write = Callable[[ArticlePlan], Sequence[WrittenSection]]
"""Puts the statements of a plan into sentences, one section for each planned one."""


class Planner(Protocol):
    """A system that plans before it writes."""

    def plan(self, evidence: Evidence) -> ArticlePlan: ...

    def say(self, evidence: Evidence, plan: ArticlePlan, stages: Stages) -> Sequence[WrittenSection]:
        """The plan's sections, without its lead."""
        ...


def find_news(article: Article, before: Sequence[Page], plan: ArticlePlan) -> tuple[NewsSection, ...]:
    """`before` are the pages that the article was written from: those of the evidence with these indices."""
    said = [s.text for section in article.all_sections for s in section.sentences]
    earlier = [line for page in before for line in page.text.split("\n")]

    def is_news(statement: Statement) -> bool:
        if any(int(cite.partition(":")[0]) < len(before) for cite in statement.cites):
            return False
        if not _facts(statement.text) - frozenset().union(*map(_facts, said)):
            return False  # nothing is named that the article has not
        return not any(support(statement.text, text) >= SAID for text in (*said, *earlier))

    found = []
    for planned in (PlannedSection(Heading("", 1), (plan.lead,)), *plan.sections):
        if statements := tuple(statement for statement in planned.statements if is_news(statement)):
            found.append(NewsSection(planned.heading.text, statements))
    return tuple(found)


def _facts(text: str) -> frozenset[str]:
    """Names, numbers and dates; a date's numbers are none of their own: "4 March" is not "four were killed"."""
    return names(text) | numbers(with_digits(_DATE.sub("", text))) | frozenset(_DATE.findall(text))


def with_news(article: Article, evidence: Evidence, news: Sequence[NewsSection], write: Write) -> Article:
    """The article with the news at the end of the sections that they belong to. What was there keeps its words and numbers; a
    heading that is not there yet comes last. News of the lead go into the section that comes first."""
    home = article.sections[0].heading.text if article.sections else "Recent developments"
    planned = tuple(PlannedSection(Heading(one.heading or home), (one.statements,)) for one in news)
    written = write(ArticlePlan(article.title, (), planned))
    sections = list(article.sections)
    repairs: list[Repair] = []
    said = {same_words(s.text) for section in article.all_sections for s in section.sentences}
    for one in written:
        # What was never in the article cannot be removed from it.
        repairs += [repair for repair in one.repairs if repair.kind != "sentence_removed" or same_words(repair.text) in said]
        one = replace(one, section=_without_said(one.section, said))
        if not one.section.sentences:
            continue
        heading = one.section.heading
        repairs += [Repair("sentence_added", heading.text, s.text, "no page said so before") for s in one.section.sentences]
        at = next((n for n, section in enumerate(sections) if section.heading.text == heading.text), None)
        if at is None:
            sections.append(Section(heading, one.section.paragraphs))
        else:
            sections[at] = replace(sections[at], paragraphs=(*sections[at].paragraphs, *one.section.paragraphs))
    return replace(
        article,
        sections=tuple(sections),
        sources=(*article.sources, *_new_sources(article, sections, evidence)),
        repairs=(*article.repairs, *repairs),
    )


def _without_said(section: Section, said: set[str]) -> Section:
    """The section without sentences that stand in the article already; those that stay are `said` from now on."""
    paragraphs: list[Paragraph] = []
    for paragraph in section.paragraphs:
        kept = []
        for sentence in paragraph:
            if same_words(sentence.text) not in said:
                said.add(same_words(sentence.text))
                kept.append(sentence)
        if kept:
            paragraphs.append(tuple(kept))
    return replace(section, paragraphs=tuple(paragraphs))


def _new_sources(article: Article, sections: Sequence[Section], evidence: Evidence) -> list[Source]:
    known = {source.id for source in article.sources}
    cites = dict.fromkeys(cite for section in sections for sentence in section.sentences for cite in sentence.cites)
    by_id = {passage.id: passage for passage in evidence.passages}
    return [evidence.source(by_id[cite]) for cite in cites if cite not in known and cite in by_id]
