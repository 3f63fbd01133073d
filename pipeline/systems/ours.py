"""`ours`: gather, plan, write, check; in one of four modes.

`compose` (`pipeline.writing.composing`), the default: statements are chosen and filed by rule, the model puts them into other
words a few at a time, and each answer is compared with its facts. `verbatim` (`pipeline.writing.verbatim`): the model chooses
and orders whole evidence sentences. `free` and `cite`: it writes. Each section is retrieved for its heading and for the names
that nothing written so far mentions; the lead is written last, from the finished sections; the infobox holds only values found
in the passages that they cite; every sentence is checked against its citations (`pipeline.writing.citing`), repeats across
sections go, and everything changed is listed with the article. With `cite` every sentence of a section or lead ends with
numbers of passages that were shown: the decoder lets it end in no other way. With `writing.contrast` all that is written of
shown passages is contrasted with what the model says without them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from data import codec
from data.errors import StageError, UserError
from data.markup import parse_markers
from data.runs import Stages
from data.settings import ModelSettings, RetrievalSettings, WritingMode, WritingSettings
from data.types import Article, Event, Fact, Heading, Outline, Page, Passage, Repair, Section, Sentence, Strict
from decoding.api import Encoder, Generator, SupportReader
from decoding.models.document_prompt import FORM
from pipeline.article_plan import ArticlePlan
from pipeline.choosing.candidates import sentence_texts
from pipeline.choosing.facts import figures, names
from pipeline.choosing.relevance import load_model
from pipeline.choosing.selecting import SelectionWeights
from pipeline.evidence import Evidence
from pipeline.planning.filing import PlanningBanks, plan_article, planning_digest
from pipeline.planning.headings import BANK_FILE, HeadingBank
from pipeline.planning.kinds import KindRecogniser, bank_digest
from pipeline.planning.outlines import merge_outlines
from pipeline.retrieval import PassageIndex
from pipeline.systems.paper import ModelSystem, removed_first
from pipeline.writing import prompts
from pipeline.writing.assembly import LEAD_HEADING, WrittenSection, paragraphs_of
from pipeline.writing.citing import drop_repeats, repair, resolve, stands_in, tidy_generated, without_markup
from pipeline.writing.composing import Composing, written_by_model
from pipeline.writing.date_style import in_one_style
from pipeline.writing.drafting import Draft, Quote
from pipeline.writing.infobox import infobox_rows
from pipeline.writing.verbatim import Parts, VerbatimWriting

MIN_HEADINGS = 3
GAP_NAMES = 6
INFOBOX_TOKENS = 160
LEAD_TOKENS = 240
LEAD_STATEMENTS = 12
MAX_FACTS = 8
MAX_VALUE_WORDS = 15
_ROW = re.compile(r"\W*(?:\d{1,2}[.)]\s+)?([A-Za-z][\w ’'/()-]{1,40}?)\s*[:=|]\s*(\S.*)")
_NO_LABEL = frozenset({"note", "notes", "source", "sources", "reference", "references", "infobox", "title", "name"})


@dataclass(frozen=True, slots=True)
class WrittenInfobox(Strict):
    facts: tuple[Fact, ...]
    repairs: tuple[Repair, ...]


class OurSystem(ModelSystem):
    """Raises UserError when the model cannot write in the mode, or with the contrast, that is asked for."""

    name = "ours"
    rules = "5"

    def __init__(
        self,
        model: ModelSettings,
        retrieval: RetrievalSettings,
        writing: WritingSettings,
        generator: Generator,
        encoder: Encoder,
        reader: SupportReader | None = None,
    ) -> None:
        """`reader` checks what is composed; it must not be the benchmark's own."""
        super().__init__(model, retrieval, writing, generator, encoder)
        self._reader = reader
        self._kind_encoder = encoder
        self._mode = mode_for(writing.mode, generator)
        if writing.contrast:
            _check_contrast(writing.contrast, self._mode, generator)
            self._writer = replace(self._writer, contrast=writing.contrast)

    @property
    def identity(self) -> Mapping[str, str]:
        mine = {**super().identity, "mode": self._mode}
        if self._writing.contrast:
            mine["contrast"] = str(self._writing.contrast)
        if self._mode == "compose":
            mine["planning"] = planning_digest()
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
    def _recogniser(self) -> KindRecogniser:
        return KindRecogniser(self._kind_encoder)  # encodes the bank of kinds, which most events do not need

    @cached_property
    def _headings(self) -> HeadingBank:
        return HeadingBank(self._kind_encoder)

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        if self._mode == "compose":
            return self._composed(event, pages, stages)
        return (self._quoted if self._mode == "verbatim" else self._written)(event, pages, stages)

    @property
    def composes(self) -> bool:
        """Whether it plans, and puts the plan into its own words."""
        return self._mode == "compose"

    def plan(self, evidence: Evidence) -> ArticlePlan:
        banks = PlanningBanks(lambda: self._recogniser, lambda: self._headings)
        return plan_article(evidence, self._kind_encoder, self._writing, banks)

    def say(self, evidence: Evidence, plan: ArticlePlan, stages: Stages) -> list[WrittenSection]:
        return Composing(evidence, plan, self._writer, self._reader, stages).sections()

    def _composed(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        evidence = Evidence.unlapped(event, pages, self._retrieval)
        plan = stages.once("plan", ArticlePlan, lambda: self.plan(evidence))
        stages.once("outline", Outline, lambda: Outline(plan.title, tuple(s.heading for s in plan.sections)))
        composing = Composing(evidence, plan, self._writer, self._reader, stages)
        lead, sections = composing.lead(), composing.sections()
        repairs = [r for written in (lead, *sections) for r in written.repairs]
        if not any(written_by_model(written) for written in (lead, *sections)):
            # Forms made by rule are for the odd fact that a model cannot say; an article of nothing else is not the model's.
            name = self._generator.name
            raise StageError("writing", f"{name} put no fact of the plan into words without a fault{removed_first(repairs)}")

        def make() -> Article:
            body = [w.section for w in sections]
            cited = sorted({int(c.split(":")[0]) for s in (lead.section, *body) for x in s.sentences for c in x.cites})
            opening = " ".join(s.text for s in lead.section.sentences)
            rows = infobox_rows(evidence, cited, opening)
            opened, *others = in_one_style([lead.section, *body], {p.id: p.text for p in evidence.passages})
            return replace(self._finished(evidence, opened, others, repairs, rows), notice=plan.notice)

        return stages.once("article", Article, make)

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
        repairs = [r for written in (lead, *sections) for r in written.repairs]

        def make() -> Article:
            body = [w.section for w in sections]
            cited = sorted({int(c.split(":")[0]) for s in (lead.section, *body) for x in s.sentences for c in x.cites})
            opening = " ".join(s.text for s in lead.section.sentences)
            return self._finished(evidence, lead.section, body, repairs, infobox_rows(evidence, cited, opening))

        return stages.once("article", Article, make)

    def _written(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        evidence = Evidence.cut(event, pages, self._retrieval)
        index = self._index(evidence)
        outline, repairs = self._plan(evidence, index, stages)
        written: list[WrittenSection] = []
        for n in range(1, len(outline.headings) + 1):
            before = [s for w in written for s in w.section.sentences]
            section = self._checked_section(evidence, index, outline, n, before, stages)
            written.append(section)
        body = [w.section for w in written if w.section.sentences]
        repairs += [r for w in written for r in w.repairs]
        if not body:
            wrote = f"no sentence that {self._generator.name} wrote is supported by the evidence"
            raise StageError("writing", wrote + removed_first(repairs))
        lead = stages.once("sections/00", WrittenSection, lambda: self._lead(evidence, index, body, stages))
        infobox = stages.once("infobox", WrittenInfobox, lambda: self._infobox(evidence, index, stages))
        repairs += [*lead.repairs, *infobox.repairs]
        repairs += [
            Repair("section_removed", w.section.heading.text, "", "no sentence of it is supported")
            for w in written
            if not w.section.sentences
        ]
        return stages.once("article", Article, lambda: self._finished(evidence, lead.section, body, repairs, infobox.facts))

    def _plan(self, evidence: Evidence, index: PassageIndex, stages: Stages) -> tuple[Outline, list[Repair]]:
        """The model's headings; when it gives fewer than three, those usual for this kind of article fill up."""
        draft, planned = self._draft_outline(evidence, index, stages)
        outline = stages.once("outline", Outline, lambda: self._filled(evidence, planned, index))
        own = set(planned.headings)
        n = len(own)
        why = f"the model gave {n or 'no'} usable heading{'' if n == 1 else 's'}: {draft.text[:80]!r}"
        return outline, [Repair("outline_filled", h.text, "", why) for h in outline.headings if h not in own]

    def _filled(self, evidence: Evidence, planned: Outline, index: PassageIndex) -> Outline:
        title, limit = evidence.event.title, self._writing.max_sections
        if len(planned.headings) >= min(MIN_HEADINGS, limit):
            return planned
        kind = self._recogniser.recognise(title, [quote.text[:300] for quote in self._found(evidence, index, title)[:2]])
        return merge_outlines(title, planned.headings, [Heading(s.heading) for s in kind.sections], limit)

    def _checked_section(
        self,
        evidence: Evidence,
        index: PassageIndex,
        outline: Outline,
        n: int,
        before: Sequence[Sentence],
        stages: Stages,
    ) -> WrittenSection:
        heading = outline.headings[n - 1]

        def make() -> WrittenSection:
            queries = [f"{evidence.event.title} {heading.text}", heading.text]
            if gap := gap_query(evidence, before):
                queries.append(f"{heading.text} {gap}")
            earlier = [" ".join(s.text for s in before)] if before else []
            _, cited = self._draft_section(evidence, index, outline, n, queries, stages, earlier, cite=self._mode == "cite")
            checked = repair(cited, index, heading.text, self._writing.unsupported)
            fresh = drop_repeats(checked.sentences, [s.text for s in before], heading.text)
            return WrittenSection(Section(heading, paragraphs_of(fresh.sentences)), (*checked.repairs, *fresh.repairs))

        return stages.once(f"sections/{n:02}", WrittenSection, make)

    def _lead(self, evidence: Evidence, index: PassageIndex, body: Sequence[Section], stages: Stages) -> WrittenSection:
        """Numbered statements in, a lead out; a marker of a statement becomes the passages that the statement cites."""
        title = evidence.event.title
        statements = [s for i in range(3) for section in body for s in section.sentences[i : i + 1]]
        shown = [Quote(s.cites, "", s.text) for s in statements if s.cites][:LEAD_STATEMENTS]
        draft = stages.once(
            "drafts/00",
            Draft,
            lambda: self._writer.ask(
                "lead",
                shown,
                lambda block: prompts.lead(title, block),
                max_new_tokens=LEAD_TOKENS,
                cite=self._mode == "cite",
            ),
        )
        cited = resolve(draft.answer, draft.shown, "", headings=[title, "Lead"], cut_off=draft.stop == "length")
        checked = repair(cited, index, "", self._writing.unsupported)
        fresh = drop_repeats(checked.sentences, [], "")
        repairs = (*checked.repairs, *fresh.repairs)
        if fresh.sentences:
            return WrittenSection(Section(LEAD_HEADING, paragraphs_of(fresh.sentences)), repairs)
        opening = body[0].sentences[:1]  # an article without a lead would be worse than one that opens with its own words
        note = Repair(
            "section_removed", "", opening[0].text, "no sentence of the lead is supported; opened with the first section's"
        )
        return WrittenSection(Section(LEAD_HEADING, (opening,)), (*repairs, note))

    def _infobox(self, evidence: Evidence, index: PassageIndex, stages: Stages) -> WrittenInfobox:
        title = evidence.event.title
        draft = stages.once(
            "drafts/infobox",
            Draft,
            lambda: self._writer.ask(
                "other",
                self._found(evidence, index, title),
                lambda block: prompts.infobox(title, block),
                max_new_tokens=INFOBOX_TOKENS,
            ),
        )
        return check_infobox(draft.answer, draft.shown, {p.id: p for p in evidence.passages})


def mode_for(asked: WritingMode, generator: Generator) -> Literal["compose", "free", "cite", "verbatim"]:
    """The mode itself; for `auto` `compose`, or `verbatim` for a model that follows no instructions. Raises UserError if the
    model cannot write in it."""
    follows, grounds = generator.prompt_form == "chat", generator.grounds
    if asked == "auto":
        return "compose" if follows else "verbatim"
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


def check_infobox(text: str, shown: Sequence[Sequence[str]], by_id: Mapping[str, Passage]) -> WrittenInfobox:
    """Rows `Label: value [k]` whose value stands in a passage that they cite; the others are reported, lines of another form
    are not rows. The first row of a label wins."""
    facts: dict[str, Fact] = {}
    repairs: list[Repair] = []
    for line in without_markup(text).splitlines():
        match = _ROW.fullmatch(re.sub(r"\*\*|__|`", "", line).strip().strip("|").strip())
        if not match or match.group(1).strip().lower() in _NO_LABEL:
            continue
        label = match.group(1).strip()
        label = label[0].upper() + label[1:]
        parts = parse_markers(match.group(2))
        value = tidy_value(" ".join(words for words, _ in parts))
        if not value:
            continue
        cites = tuple(dict.fromkeys(c for _, ks in parts for k in ks if 1 <= k <= len(shown) for c in shown[k - 1]))
        held = tuple(c for c in cites if stands_in(value, by_id[c].text))
        why = (
            f"a value of more than {MAX_VALUE_WORDS} words"
            if len(value.split()) > MAX_VALUE_WORDS
            else "no passage that was shown is cited"
            if not cites
            else "no cited passage holds the value"
            if not held
            else ""
        )
        if why:
            repairs.append(Repair("sentence_removed", "infobox", f"{label}: {value}", why))
        else:
            facts.setdefault(label.lower(), Fact(label, value, held))
    return WrittenInfobox(tuple(facts.values())[:MAX_FACTS], tuple(repairs))


def tidy_value(text: str) -> str:
    """A value without emphasis and final full stop; a bare number is a value, though no sentence."""
    text = " ".join((tidy_generated(text) or text).split()).rstrip(" ,;|")
    return text[:-1].rstrip() if text.endswith(".") and not re.search(r"\b[A-Z]\.\Z", text) else text


def gap_query(evidence: Evidence, sentences: Sequence[Sentence]) -> str:
    """The names on most pages that no sentence mentions yet: what the article still lacks."""
    written = re.sub(r"[^\w\s]", "", " ".join(s.text for s in sentences)).lower()  # as `names` spells them
    names_of: dict[int, set[str]] = {}
    for passage in evidence.passages:
        for sentence in sentence_texts(passage):  # one by one: a name may not run on into the next sentence
            names_of.setdefault(passage.page, set()).update(names(sentence))
    pages_with = Counter(name for found in names_of.values() for name in found)
    missing = [
        (-n, name) for name, n in pages_with.items() if n > 1 and name not in written and not figures(name, as_evidence=True)
    ]
    return " ".join(name for _, name in sorted(missing)[:GAP_NAMES])
