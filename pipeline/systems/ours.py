"""`ours`: read, take notes, plan, say, verify, assemble.

`OurSystem.write`: the model says what the subject is, takes notes of the pages that are about it, each
checked against its passage (`pipeline.noting`); the notes are chosen and filed (`pipeline.planning`), and the model says each
in its own words (`pipeline.writing.saying`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from data.decoding_counts import Usage
from data.settings import ModelSettings, RetrievalSettings, WritingSettings
from data.stage_types import Stages, Unstored
from data.types import Article, Event, Fact, Outline, Page, Repair
from decoding.api import Encoder, Generator, SupportReader
from pipeline.article_plan import ArticlePlan, LeftOut, Statement
from pipeline.choosing.one_winner import rivals
from pipeline.choosing.subject import Subject
from pipeline.evidence import Evidence
from pipeline.notes import AboutPages, Card, Notes, SubjectKind
from pipeline.noting import reading_prompts
from pipeline.noting.about import judge_pages, namesakes
from pipeline.noting.card import make_card
from pipeline.noting.clear_sentences import clear_sentences
from pipeline.noting.key_questions import ask_pages, questions, questions_digest
from pipeline.noting.kind_of import kind_of
from pipeline.noting.merged_notes import COPIED, merged
from pipeline.noting.opening import opening_statement
from pipeline.noting.retelling import retelling
from pipeline.noting.stated import NoteChecker
from pipeline.noting.taking import chosen_passages, retell, take_notes
from pipeline.noting.verifying import FACTUAL, Claimed, Verifier
from pipeline.planning.headings import HeadingBank
from pipeline.planning.kinds import KindRecogniser
from pipeline.planning.paragraphs import STORIES
from pipeline.planning.planner import NotedSubject, PlanningBanks, plan_notes, planning_digest
from pipeline.planning.story import makers_of, story_told, with_story
from pipeline.stages import ABOUT, ANSWERS, ARTICLE, CARD, KIND, NOTES, OUTLINE, PLAN, SHORT_FACTS, STORY
from pipeline.systems.paper import ModelSystem
from pipeline.writing.assembly import WrittenSection
from pipeline.writing.full_names import in_full
from pipeline.writing.house_style import in_one_style
from pipeline.writing.infobox import infobox_rows
from pipeline.writing.joined import with_joined_sentences, with_whole_paragraphs, with_whole_sections
from pipeline.writing.makers import with_makers
from pipeline.writing.originality import in_own_words, too_copied
from pipeline.writing.repeated_name import with_short_names
from pipeline.writing.saying import MOST_WORDS, Saying
from pipeline.writing.short_facts import in_short_facts, with_short_facts

LONG, THIRD = 4, 3
"""Times the words that may be read from which the evidence is long; of such a third is read. Its answers and clear sentences
hold more than is read (LOG.md), and of seven pages on one event nothing holds as much as reading all."""
JUDGES = "judges, and states no fact"
ONLY_MENTIONED = "No page is about this subject: what stands here is from pages that mention it."
RIVAL = "another winner is named, by as many pages or more"
PLANNED = 1.3
"""Times the article's words that are planned for a model that says one note a call."""


class OurSystem(ModelSystem):
    name = "ours"
    rules = "72"

    def __init__(
        self,
        model: ModelSettings,
        retrieval: RetrievalSettings,
        writing: WritingSettings,
        generator: Generator,
        encoder: Encoder,
        filers: tuple[Encoder, Encoder],
        reader: SupportReader | None = None,
    ) -> None:
        """`filers` know which sentences stand under which heading (`decoding.filing`): a quick one looks for stories in pages,
        a better one, which may take its time, files what the article says. `reader` checks composed sentences; it must not be
        the benchmark's own."""
        super().__init__(model, retrieval, writing, generator, encoder)
        self._kind_encoder = encoder
        self._together = writing.notes_together or 1
        self._story_filer, self._filer = filers
        self._reader = reader

    @property
    def identity(self) -> Mapping[str, str]:
        return {
            **super().identity,
            "mode": "notes",
            "planning": planning_digest(),
            "filer": f"{self._filer.name} {self._story_filer.name}",
            "reading": reading_prompts.PROMPTS,
            "asking": questions_digest(),
            "read_words": str(self._writing.read_words),
            "about": self._writing.about,
            "notes_together": str(self._together),
            "reader": self._reader.fingerprint if self._reader is not None else "none",
        }

    @cached_property
    def _recogniser(self) -> KindRecogniser:
        return KindRecogniser(self._kind_encoder)  # encodes the bank of kinds

    @cached_property
    def _headings(self) -> HeadingBank:
        return HeadingBank(self._kind_encoder)

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        """A call a step. A stored step is not made again.

        Raises:
            NoEvidence: no page is usable, or none states a fact about the subject.
            StageError: the model failed.
        """
        evidence = Evidence.unlapped(event, pages, self._retrieval)
        plan = self.plan(evidence, stages)
        stages.once(OUTLINE, lambda: Outline(plan.title, tuple(section.heading for section in plan.sections)))
        saying = Saying(evidence, plan, self._writer, self._reader, stages, self._together)
        said = [saying.lead(), *saying.sections()]  # each answer is checked in both directions
        lead, *sections = in_own_words(evidence, plan, self._in_short_facts(evidence, plan, said, saying, stages))
        kind = stages.once(KIND, lambda: self.kind(evidence, stages.once(CARD, lambda: self.card(evidence))))
        return stages.once(ARTICLE, lambda: self.assemble(evidence, plan, kind, lead, sections))

    def _in_short_facts(
        self, evidence: Evidence, plan: ArticlePlan, said: Sequence[WrittenSection], saying: Saying, stages: Stages
    ) -> list[WrittenSection]:
        """The sections, where what could only be copied, and is too much, is told in parts that can be said otherwise."""
        verifier = Verifier(self._generator)

        def holds(pairs: Sequence[tuple[str, str]]) -> list[float]:
            return verifier.chances([Claimed(part, text, plan.title) for text, part in pairs])

        texts = frozenset(text for _, text in too_copied(evidence, plan, said))
        short = stages.once(
            SHORT_FACTS, lambda: in_short_facts(evidence, plan, texts, saying, self._writer, holds, self._reader)
        )
        return with_short_facts(said, short, plan.title)

    def plan(self, evidence: Evidence, stages: Stages | None = None) -> ArticlePlan:
        """Read, take notes, choose and file."""
        stages = stages or Unstored()
        card = stages.once(CARD, lambda: self.card(evidence))
        about = stages.once(ABOUT, lambda: judge_pages(evidence, card, self._kind_encoder))
        kind = stages.once(KIND, lambda: self.kind(evidence, card))
        notes = self.notes(evidence, card, about, kind, stages)
        return stages.once(PLAN, lambda: self._planned(evidence, card, about, kind, notes))

    def card(self, evidence: Evidence) -> Card:
        if self._writing.about:
            return Card(self._writing.about, (), "person", Usage())
        return make_card(
            evidence, self._generator, self._kind_encoder, self._recogniser.clear(evidence.event.title, evidence.pages)
        )

    def kind(self, evidence: Evidence, card: Card) -> SubjectKind:
        return SubjectKind(kind_of(evidence, card, self._recogniser, self._generator).name)

    def notes(self, evidence: Evidence, card: Card, about: AboutPages, kind: SubjectKind, stages: Stages) -> Notes:
        """What the pages state about the subject, each fact once: what they answer, what they tell, and their clear
        sentences."""
        checker = NoteChecker(evidence, card, self._recogniser.named(kind.name).called)
        asked = questions(kind.name, Subject(evidence.event.title, evidence.pages).name)
        answers = stages.once(ANSWERS, lambda: ask_pages(asked, about, self._generator, self._kind_encoder, checker))
        n_words = sum(len(passage.text.split()) for passage in evidence.passages)
        most = self._writing.read_words // (THIRD if n_words > LONG * self._writing.read_words else 1)
        account = retelling(evidence, about, self._recogniser.named(kind.name), self._story_filer)
        read = frozenset(passage.id for passage in account)
        most = max(most - sum(len(passage.text.split()) for passage in account), most // 2)
        passages = [p for p in chosen_passages(evidence, card, about, self._kind_encoder, most) if p.id not in read]
        taken = [answers, *take_notes(passages, self._generator, checker, stages)]
        # A model that notes nothing cannot say anything either: what came of it would be the pages' own sentences.
        if any(one.notes for one in taken):
            taken = [*taken, clear_sentences(evidence, about)]
        story = [stages.once(STORY, lambda: retell(account, self._generator, checker))] if account else []

        def noted() -> Notes:
            every, of_story = (merged(evidence, some, self._kind_encoder) for some in (taken, story))
            return Notes(every.statements, (*every.dropped, *of_story.dropped), of_story.statements)

        return stages.once(NOTES, noted)

    def _planned(self, evidence: Evidence, card: Card, about: AboutPages, kind: SubjectKind, notes: Notes) -> ArticlePlan:
        opening = opening_statement(evidence, card, Verifier(self._generator))
        named = self._recogniser.named(kind.name)
        subject = NotedSubject(card.text, named, opening, namesakes(evidence, about))
        story = story_told(
            notes.story, self._kind_encoder, self._writing.max_words, makers_of(notes.statements, evidence.event.title)
        )
        banks = PlanningBanks(lambda: self._recogniser, lambda: self._headings, self._filer)
        carried = MOST_WORDS if self._together == 1 else 0
        more = PLANNED if carried else 1.0  # what the model cannot say otherwise may go
        room = self._writing.max_words - sum(len(one.text.split()) for one in story)
        most = replace(self._writing, max_words=round(more * room))

        def planned(statements: Sequence[Statement]) -> ArticlePlan:
            return plan_notes(evidence, statements, subject, self._kind_encoder, most, banks, carried)

        other = rivals(notes.statements, Subject(evidence.event.title, evidence.pages))
        other = other if len(other) < len(notes.statements) else frozenset()
        rest = [one for n, one in enumerate(notes.statements) if n not in other]
        gone = [LeftOut(notes.statements[n].text, notes.statements[n].cites[0], RIVAL) for n in sorted(other)]
        # Sentences of pages were not asked of yet whether they state a fact: those that would stand in the article are.
        plan = planned(rest)
        judging = self._judging([one for section in plan.sections for one in section.statements] + list(plan.lead[1:]))
        if judging and len(judging) < len(rest):
            plan = planned([one for one in rest if one.text not in judging])
            gone += [LeftOut(one.text, one.cites[0], JUDGES) for one in rest if one.text in judging]
        plan = with_story(plan, story, named, self._kind_encoder)
        alone = "" if any(one.verdict == "subject" for one in about.pages) else ONLY_MENTIONED
        return replace(plan, notice=" ".join(filter(None, (alone, plan.notice))), left_out=(*plan.left_out, *gone))

    def _judging(self, statements: Sequence[Statement]) -> frozenset[str]:
        """Those sentences of pages that judge and state no fact."""
        asked = [one.text for one in statements if one.copied > COPIED and not one.question]
        chances = Verifier(self._generator).factual(asked)
        return frozenset(text for text, chance in zip(asked, chances, strict=True) if chance < FACTUAL)

    def assemble(
        self,
        evidence: Evidence,
        plan: ArticlePlan,
        kind: SubjectKind,
        lead: WrittenSection,
        sections: Sequence[WrittenSection],
    ) -> Article:
        styled = in_one_style(
            with_whole_paragraphs(with_whole_sections([one.section for one in (lead, *sections)], STORIES)),
            {passage.id: passage.text for passage in evidence.passages},
        )
        subject = Subject(evidence.event.title, evidence.pages)
        lead_in_full, *body = in_full(styled, evidence)
        joined = with_joined_sentences((with_makers(lead_in_full, subject.name), *body))
        opened, *others = with_short_names(joined, subject, kind.name, STORIES)
        article = self._finished(evidence, opened, others, _repairs(lead, sections), _infobox(evidence, lead, sections))
        return replace(article, notice=plan.notice)

    def say(self, evidence: Evidence, plan: ArticlePlan, stages: Stages) -> list[WrittenSection]:
        """The sections of a plan, as an update needs them."""
        return Saying(evidence, plan, self._writer, self._reader, stages, self._together).sections()


def _repairs(lead: WrittenSection, sections: Sequence[WrittenSection]) -> list[Repair]:
    return [repair for one in (lead, *sections) for repair in one.repairs]


def _infobox(evidence: Evidence, lead: WrittenSection, sections: Sequence[WrittenSection]) -> tuple[Fact, ...]:
    """Rows of the pages that the article cites."""
    sentences = [sentence for one in (lead, *sections) for sentence in one.section.sentences]
    cited = sorted({int(cite.split(":")[0]) for sentence in sentences for cite in sentence.cites})
    return infobox_rows(evidence, cited, " ".join(sentence.text for sentence in lead.section.sentences))
