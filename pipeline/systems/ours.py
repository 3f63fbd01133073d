"""`ours`: read, take notes, plan, say, verify, assemble.

The default is `OurSystem.write_article`: the model says what the subject is, takes notes of the pages that are about it, each
checked against its passage (`pipeline.noting`); the notes are chosen and filed (`pipeline.planning`), and the model says each
in its own words (`pipeline.writing.saying`). `verbatim`: the model chooses and orders whole evidence sentences
(`pipeline.writing.verbatim`). `free` and `cite`: it writes whole sections (`pipeline.systems.free_writing`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

from data import codec
from data.decoding_counts import Usage
from data.errors import UserError
from data.runs import Stages, Unstored
from data.settings import ModelSettings, RetrievalSettings, WritingMode, WritingSettings
from data.types import Article, Event, Fact, Outline, Page, Repair
from decoding.api import Encoder, Generator, SupportReader
from decoding.models.document_prompt import FORM
from pipeline.article_plan import ArticlePlan
from pipeline.choosing.relevance import load_model
from pipeline.choosing.selecting import SelectionWeights
from pipeline.evidence import Evidence
from pipeline.notes import AboutPages, Belonging, Card, Notes
from pipeline.noting import reading_prompts
from pipeline.noting.about import judge_pages, namesakes
from pipeline.noting.belonging import judge_notes
from pipeline.noting.card import make_card
from pipeline.noting.kind_of import kind_of
from pipeline.noting.merged_notes import merged
from pipeline.noting.stated import NoteChecker
from pipeline.noting.taking import chosen_passages, take_notes
from pipeline.planning.filing import NotedSubject, PlanningBanks, plan_notes, planning_digest
from pipeline.planning.headings import BANK_FILE, HeadingBank
from pipeline.planning.kinds import bank_digest
from pipeline.stages import ABOUT, ARTICLE, BELONGING, CARD, NOTES, OUTLINE, PLAN
from pipeline.systems.free_writing import FreeWriting
from pipeline.writing.assembly import WrittenSection
from pipeline.writing.full_names import in_full
from pipeline.writing.house_style import in_one_style
from pipeline.writing.infobox import infobox_rows
from pipeline.writing.saying import Saying
from pipeline.writing.verbatim import Parts, VerbatimWriting


class OurSystem(FreeWriting):
    """Raises UserError when the model cannot write in the mode, or with the contrast, that is asked for."""

    name = "ours"
    rules = "21"

    def __init__(
        self,
        model: ModelSettings,
        retrieval: RetrievalSettings,
        writing: WritingSettings,
        generator: Generator,
        encoder: Encoder,
        filer: Encoder,
        reader: SupportReader | None = None,
    ) -> None:
        """`filer` knows which sentences stand under which heading (`decoding.filing`). `reader` checks composed sentences; it
        must not be the benchmark's own."""
        self._mode = mode_for(writing.mode, generator)
        super().__init__(model, retrieval, writing, generator, encoder, cites=self._mode == "cite")
        self._together = writing.notes_together or 1
        self._filer = filer
        self._reader = reader
        if writing.contrast:
            _check_contrast(writing.contrast, self._mode, generator)
            self._writer = replace(self._writer, contrast=writing.contrast)

    @property
    def identity(self) -> Mapping[str, str]:
        mine = {**super().identity, "mode": self._mode}
        if self._writing.contrast:
            mine["contrast"] = str(self._writing.contrast)
        if self._mode == "notes":
            mine |= {"planning": planning_digest(), "filer": self._filer.name, "reading": reading_prompts.PROMPTS}
            mine |= {"read_words": str(self._writing.read_words), "about": self._writing.about}
            mine["notes_together"] = str(self._together)
            mine["reader"] = self._reader.fingerprint if self._reader is not None else "none"
        if self._mode == "verbatim":
            mine |= {
                "form": FORM if self._generator.prompt_form == "document" else "chat",
                "prior_weight": str(self._writing.prior_weight),
                "relevance": codec.sha256(codec.to_json(load_model()))[:12],
                "kinds": bank_digest(),
                "headings": codec.sha256(BANK_FILE.read_text(encoding="utf-8"))[:12],
            }
        return mine

    @cached_property
    def _headings(self) -> HeadingBank:
        return HeadingBank(self._kind_encoder)

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        by_mode = {"notes": self.write_article, "verbatim": self._quoted, "free": self.write_free, "cite": self.write_free}
        return by_mode[self._mode](event, pages, stages)

    @property
    def plans(self) -> bool:
        """Whether it plans, and puts the plan into its own words."""
        return self._mode == "notes"

    def write_article(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        """A call a step. A stored step is not made again.

        Raises:
            NoEvidence: no page is usable, or none states a fact about the subject.
            StageError: the model failed.
        """
        evidence = Evidence.unlapped(event, pages, self._retrieval)
        plan = self.plan(evidence, stages)
        stages.once(OUTLINE, lambda: Outline(plan.title, tuple(section.heading for section in plan.sections)))
        saying = Saying(evidence, plan, self._writer, self._reader, stages, self._together)
        lead, *sections = saying.lead(), *saying.sections()  # each answer is checked in both directions
        return stages.once(ARTICLE, lambda: self.assemble(evidence, plan, lead, sections))

    def plan(self, evidence: Evidence, stages: Stages | None = None) -> ArticlePlan:
        """Read, take notes, choose and file."""
        stages = stages or Unstored()
        card = stages.once(CARD, lambda: self.card(evidence))
        about = stages.once(ABOUT, lambda: judge_pages(evidence, card, self._generator, self._kind_encoder))
        notes = self.notes(evidence, card, about, stages)
        title = evidence.event.title
        belonging = stages.once(BELONGING, lambda: judge_notes(title, card, notes.statements, self._generator))
        return stages.once(PLAN, lambda: self._planned(evidence, card, about, notes, belonging))

    def card(self, evidence: Evidence) -> Card:
        if self._writing.about:
            return Card(self._writing.about, (), "person", Usage())
        return make_card(evidence, self._generator, self._kind_encoder)

    def notes(self, evidence: Evidence, card: Card, about: AboutPages, stages: Stages) -> Notes:
        """What the pages state about the subject, each fact once."""
        passages = chosen_passages(evidence, card, about, self._kind_encoder, self._writing.read_words)
        taken = take_notes(passages, self._generator, NoteChecker(evidence, card, self._reader), stages)
        return stages.once(NOTES, lambda: merged(evidence, taken, self._kind_encoder))

    def _planned(self, evidence: Evidence, card: Card, about: AboutPages, notes: Notes, belonging: Belonging) -> ArticlePlan:
        kind = kind_of(evidence, card, self._recogniser, self._generator)
        opening = NoteChecker(evidence, card, self._reader).card_statement()
        subject = NotedSubject(card.text, about, kind, opening, belonging.chances, namesakes(evidence, about))
        banks = PlanningBanks(lambda: self._recogniser, lambda: self._headings, self._filer)
        return plan_notes(evidence, notes.statements, subject, self._kind_encoder, self._writing, banks)

    def assemble(
        self, evidence: Evidence, plan: ArticlePlan, lead: WrittenSection, sections: Sequence[WrittenSection]
    ) -> Article:
        styled = in_one_style(
            [one.section for one in (lead, *sections)], {passage.id: passage.text for passage in evidence.passages}
        )
        opened, *others = in_full(styled, evidence)
        article = self._finished(evidence, opened, others, _repairs(lead, sections), _infobox(evidence, lead, sections))
        return replace(article, notice=plan.notice)

    def say(self, evidence: Evidence, plan: ArticlePlan, stages: Stages) -> list[WrittenSection]:
        """The sections of a plan, as an update needs them."""
        return Saying(evidence, plan, self._writer, self._reader, stages, self._together).sections()

    def _quoted(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        evidence = Evidence.unlapped(event, pages, self._retrieval)
        parts = Parts(
            self._writing,
            self._writer,
            self._kind_encoder,
            lambda: self._recogniser,
            lambda: self._headings,
            SelectionWeights(),
        )
        writing = VerbatimWriting(evidence, parts, stages)
        lead, sections = writing.lead(), writing.sections()

        def make() -> Article:
            body, rows = [one.section for one in sections], _infobox(evidence, lead, sections)
            return self._finished(evidence, lead.section, body, _repairs(lead, sections), rows)

        return stages.once(ARTICLE, make)


def _repairs(lead: WrittenSection, sections: Sequence[WrittenSection]) -> list[Repair]:
    return [repair for one in (lead, *sections) for repair in one.repairs]


def _infobox(evidence: Evidence, lead: WrittenSection, sections: Sequence[WrittenSection]) -> tuple[Fact, ...]:
    """Rows of the pages that the article cites."""
    sentences = [sentence for one in (lead, *sections) for sentence in one.section.sentences]
    cited = sorted({int(cite.split(":")[0]) for sentence in sentences for cite in sentence.cites})
    return infobox_rows(evidence, cited, " ".join(sentence.text for sentence in lead.section.sentences))


def mode_for(asked: WritingMode, generator: Generator) -> Literal["notes", "free", "cite", "verbatim"]:
    """The mode itself; for `auto` `notes`, or `verbatim` for a model that follows no instructions. Raises UserError if the
    model cannot write in it."""
    follows, grounds = generator.prompt_form == "chat", generator.grounds
    if asked == "auto":
        return "notes" if follows else "verbatim"
    if asked in ("cite", "verbatim") and not grounds:
        raise UserError(
            f"--mode {asked} restricts what a model may write, token by token, and {generator.name} cannot be restricted: "
            "drop --mode, or use a local model such as --model smollm2 or --model hf:FOLDER_OR_ID"
        )
    if asked != "verbatim" and not follows:
        raise UserError(
            f"--mode {asked} asks a model to write, and {generator.name} follows no instructions: drop --mode, or name a chat "
            "model with --model hf:FOLDER_OR_ID"
        )
    return asked


def _check_contrast(alpha: float, mode: str, generator: Generator) -> None:
    """Raises UserError where there is nothing to contrast."""
    if not generator.grounds:
        raise UserError(
            f"writing.contrast = {alpha} changes a model's logits, and {generator.name} shows none: drop it, or use a local "
            "chat model with --model hf:FOLDER_OR_ID"
        )
    if mode == "verbatim":
        raise UserError(
            f"writing.contrast = {alpha} weighs what a model writes, and in mode verbatim it only chooses: drop it, or use "
            "--mode cite with a chat model, --model hf:FOLDER_OR_ID"
        )
