"""`extractive`: an article of the evidence's own sentences, without a language model.

What it says and where is the plan that `ours` writes from (`pipeline.planning.planner`); here every statement is as its
page has it, cited. It is the floor that a language model has to beat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from data.settings import RetrievalSettings, WritingSettings
from data.stage_types import Stages
from data.types import Article, Event, Heading, Outline, Page, Section, Sentence
from decoding.api import Encoder
from pipeline.article_plan import ArticlePlan, Statement
from pipeline.evidence import Evidence
from pipeline.following.settling import in_order_of_use, settled
from pipeline.planning.planner import PlanningBanks, plan_article, planning_digest
from pipeline.stages import ARTICLE, LEAD, OUTLINE, PLAN, section_stage
from pipeline.writing.assembly import LEAD_HEADING, WrittenSection, assemble
from pipeline.writing.infobox import infobox_rows


class ExtractiveSystem:
    name = "extractive"

    def __init__(self, retrieval: RetrievalSettings, writing: WritingSettings, encoder: Encoder, filer: Encoder) -> None:
        """`filer` knows which sentences stand under which heading (`decoding.filing`)."""
        self._retrieval = retrieval
        self._writing = writing
        self._encoder = encoder
        self._filer = filer

    @property
    def identity(self) -> Mapping[str, str]:
        return {
            "rules": "extractive/9",
            "encoder": self._encoder.name,
            "filer": self._filer.name,
            "planning": planning_digest(),
            "max_words": str(self._writing.max_words),
            "max_sections": str(self._writing.max_sections),
            "passage_words": str(self._retrieval.passage_words),
        }

    @cached_property
    def _banks(self) -> PlanningBanks:
        return PlanningBanks.of(self._encoder, self._filer)

    def plan(self, evidence: Evidence) -> ArticlePlan:
        return plan_article(evidence, self._encoder, self._writing, self._banks)

    def say(self, evidence: Evidence, plan: ArticlePlan, stages: Stages) -> list[WrittenSection]:
        quoted = QuotedPlan(plan)
        return [quoted.section(section.heading) for section in plan.sections]

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        evidence = Evidence.unlapped(event, pages, self._retrieval)
        plan = stages.once(PLAN, lambda: self.plan(evidence))
        quoted = QuotedPlan(plan)
        stages.once(OUTLINE, lambda: quoted.outline)
        written = [
            stages.once(section_stage(n), partial(quoted.section, heading))
            for n, heading in enumerate(quoted.outline.headings, 1)
        ]
        opened = stages.once(LEAD, quoted.lead)

        def make() -> Article:
            lead, sections = opened.section, [one.section for one in written]
            cited = sorted({int(c.split(":")[0]) for s in (lead, *sections) for x in s.sentences for c in x.cites})
            opening = " ".join(s.text for s in lead.sentences)
            article = assemble(evidence, lead, sections, infobox=infobox_rows(evidence, cited, opening))
            return in_order_of_use(settled(replace(article, notice=plan.notice), pages))

        return stages.once(ARTICLE, make)


@dataclass(frozen=True)
class QuotedPlan:
    """A plan whose statements are as they are."""

    plan: ArticlePlan

    @property
    def outline(self) -> Outline:
        return Outline(self.plan.title, tuple(section.heading for section in self.plan.sections))

    def lead(self) -> WrittenSection:
        return WrittenSection(Section(LEAD_HEADING, (tuple(map(_quoted, self.plan.lead)),)), ())

    def section(self, heading: Heading) -> WrittenSection:
        """Without sentences for a heading that is not planned."""
        planned = next((one.paragraphs for one in self.plan.sections if one.heading == heading), ())
        return WrittenSection(Section(heading, tuple(tuple(map(_quoted, paragraph)) for paragraph in planned)), ())


def _quoted(statement: Statement) -> Sentence:
    return Sentence(statement.text, statement.cites)
