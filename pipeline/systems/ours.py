"""`ours`: retrieve-plan-retrieve-read with what is known to be better.

Each section is retrieved for its heading and for the names that nothing written so far mentions; the lead is written last,
from the finished sections; the infobox holds only values found in the passages that they cite; every sentence is checked
against its citations (`pipeline.citing`), repeats across sections go, and everything changed is listed with the article.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from data.errors import StageError
from data.runs import Stages
from data.settings import ModelSettings, RetrievalSettings, WritingSettings
from data.types import Article, Event, Fact, Heading, Outline, Page, Passage, Repair, Section, Sentence, Strict
from decoding.api import Encoder, Generator
from pipeline import prompts
from pipeline.assembly import assemble
from pipeline.citing import drop_repeats, repair, resolve
from pipeline.drafting import Draft
from pipeline.evidence import Evidence
from pipeline.facts import names, numbers
from pipeline.kinds import Kind, KindRecogniser
from pipeline.planning import merge_outlines, parse_outline
from pipeline.retrieval import PassageIndex, terms
from pipeline.systems.baselines import LEAD_HEADING
from pipeline.systems.paper import OUTLINE_TOKENS, ModelSystem, paragraphs_of

MIN_HEADINGS = 3
GAP_NAMES = 6
INFOBOX_TOKENS = 160
LEAD_STATEMENTS = 12
_ROW = re.compile(r"^\W*([A-Za-z][\w ’'-]{1,30}?)\s*:\s*(.+)$")


@dataclass(frozen=True, slots=True)
class WrittenSection(Strict):
    """A checked section with what the checking changed."""

    section: Section
    repairs: tuple[Repair, ...]


@dataclass(frozen=True, slots=True)
class WrittenInfobox(Strict):
    facts: tuple[Fact, ...]
    repairs: tuple[Repair, ...]


class OurSystem(ModelSystem):
    name = "ours"

    def __init__(
        self,
        model: ModelSettings,
        retrieval: RetrievalSettings,
        writing: WritingSettings,
        generator: Generator,
        encoder: Encoder,
    ) -> None:
        super().__init__(model, retrieval, writing, generator, encoder)
        self._recogniser = KindRecogniser(encoder)

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        evidence = Evidence.cut(event, pages, self._retrieval)
        index = self._index(evidence)
        outline = stages.once("outline", Outline, lambda: self._plan(event, evidence, index, stages))
        written: list[WrittenSection] = []
        for n, heading in enumerate(outline.headings, 1):
            before = tuple(written)
            written.append(
                stages.once(
                    f"sections/{n:02}",
                    WrittenSection,
                    lambda n=n, heading=heading, before=before: self._section(  # type: ignore[misc]
                        event, evidence, index, outline, heading, before, stages, n
                    ),
                )
            )
        body = [w.section for w in written if w.section.sentences]
        if not body:
            removed = sum(len(w.repairs) for w in written)
            raise StageError(
                "writing", f"nothing that {self._generator.name} wrote is supported by the evidence ({removed} repairs)"
            )
        lead = stages.once("sections/00", WrittenSection, lambda: self._lead(event, evidence, index, body, stages))
        infobox = stages.once("infobox", WrittenInfobox, lambda: self._infobox(event, evidence, index, stages))
        repairs = [r for w in (*written, lead) for r in w.repairs] + list(infobox.repairs)
        repairs += [
            Repair("section_removed", w.section.heading.text, "", "no sentence of it is supported")
            for w in written
            if not w.section.sentences
        ]
        return stages.once(
            "article", Article, lambda: assemble(evidence, lead.section, body, infobox=infobox.facts, repairs=repairs)
        )

    def _plan(self, event: Event, evidence: Evidence, index: PassageIndex, stages: Stages) -> Outline:
        """The model's headings; when it gives fewer than three, those usual for this kind of article fill up."""
        found = self._found(index, event.title)
        limit = self._writing.max_sections
        draft = stages.once(
            "drafts/outline",
            Draft,
            lambda: self._writer.ask(
                "outline",
                found,
                evidence.pages,
                lambda block: prompts.outline(event.title, block, limit),
                max_new_tokens=OUTLINE_TOKENS,
            ),
        )
        planned = parse_outline(event.title, draft.text, limit)
        if len(planned.headings) >= MIN_HEADINGS:
            return planned
        kind = self._kind(event, found)
        return merge_outlines(event.title, planned.headings, [Heading(s.heading) for s in kind.sections], limit)

    def _kind(self, event: Event, found: Sequence[Passage]) -> Kind:
        return self._recogniser.recognise(event.title, [p.text[:300] for p in found[:2]])

    def _section(
        self,
        event: Event,
        evidence: Evidence,
        index: PassageIndex,
        outline: Outline,
        heading: Heading,
        before: Sequence[WrittenSection],
        stages: Stages,
        n: int,
    ) -> WrittenSection:
        sentences = [s for w in before for s in w.section.sentences]
        queries = [f"{event.title} {heading.text}", heading.text]
        if gap := gap_query(evidence, sentences):
            queries.append(f"{heading.text} {gap}")
        draft = stages.once(
            f"drafts/{n:02}",
            Draft,
            lambda: self._writer.ask(
                "section",
                self._found(index, *queries),
                evidence.pages,
                lambda block: prompts.section(event.title, outline, heading.text, block),
            ),
        )
        cited = resolve(draft.text, self._shown(evidence, draft), heading.text)
        checked = repair(cited, index, heading.text, self._writing.unsupported)
        fresh = drop_repeats(checked.sentences, [frozenset(terms(s.text)) for s in sentences], heading.text)
        section = Section(heading, paragraphs_of(fresh.sentences))
        return WrittenSection(section, (*checked.repairs, *fresh.repairs))

    def _lead(
        self, event: Event, evidence: Evidence, index: PassageIndex, body: Sequence[Section], stages: Stages
    ) -> WrittenSection:
        """Numbered statements in, a lead out; a marker of a statement becomes the passages that the statement cites."""
        statements = [s for i in range(3) for section in body for s in section.sentences[i : i + 1]][:LEAD_STATEMENTS]
        by_id = {p.id: p for p in evidence.passages}
        shown = [replace(by_id[s.cites[0]], text=s.text) for s in statements if s.cites]
        draft = stages.once(
            "drafts/00",
            Draft,
            lambda: self._writer.ask("lead", shown, evidence.pages, lambda block: prompts.lead(event.title, block)),
        )
        cited = resolve(draft.text, [by_id[i] for i in draft.shown], "")
        checked = repair(cited, index, "", self._writing.unsupported)
        if checked.sentences:
            return WrittenSection(Section(LEAD_HEADING, (checked.sentences,)), checked.repairs)
        opening = body[0].sentences[:1]  # an article without a lead would be worse than one that opens with its own words
        note = Repair(
            "section_removed", "", opening[0].text, "no sentence of the lead is supported; opened with the first section's"
        )
        return WrittenSection(Section(LEAD_HEADING, (opening,)), (*checked.repairs, note))

    def _infobox(self, event: Event, evidence: Evidence, index: PassageIndex, stages: Stages) -> WrittenInfobox:
        found = self._found(index, event.title)
        draft = stages.once(
            "drafts/infobox",
            Draft,
            lambda: self._writer.ask(
                "other",
                found,
                evidence.pages,
                lambda block: prompts.infobox(event.title, block),
                max_new_tokens=INFOBOX_TOKENS,
            ),
        )
        return check_infobox(draft.text, self._shown(evidence, draft))


def check_infobox(text: str, shown: Sequence[Passage]) -> WrittenInfobox:
    """Rows whose value stands in the passage that they cite; the others are reported."""
    facts: dict[str, Fact] = {}
    repairs: list[Repair] = []
    for line in text.splitlines():
        match = _ROW.match(line.strip())
        if not match:
            continue
        label = match.group(1).strip()
        cited = resolve(match.group(2), shown, "infobox")
        if len(cited.sentences) != 1:
            continue
        value, cites = cited.sentences[0].text.rstrip("."), cited.sentences[0].cites
        by_id = {p.id: p for p in shown}
        if any(stands_in(value, by_id[c].text) for c in cites):
            facts.setdefault(label.lower(), Fact(label, value, tuple(c for c in cites if stands_in(value, by_id[c].text))))
        else:
            repairs.append(Repair("sentence_removed", "infobox", f"{label}: {value}", "no cited passage holds the value"))
    return WrittenInfobox(tuple(list(facts.values())[:8]), tuple(repairs))


def stands_in(value: str, evidence: str) -> bool:
    """All numbers and at least four fifths of the words of an infobox value."""
    words = set(terms(value))
    return bool(words) and numbers(value) <= numbers(evidence) and len(words & set(terms(evidence))) >= 0.8 * len(words)


def gap_query(evidence: Evidence, sentences: Sequence[Sentence]) -> str:
    """The names on most pages that no sentence mentions yet: what the article still lacks."""
    written = " ".join(s.text for s in sentences).lower()
    pages_with: Counter[str] = Counter()
    for page in {p.page for p in evidence.passages}:
        pages_with.update({name for p in evidence.passages if p.page == page for name in names(p.text)})
    missing = [(n, name) for name, n in pages_with.items() if n > 1 and name not in written]
    return " ".join(name for _, name in sorted(missing, key=lambda x: (-x[0], x[1]))[:GAP_NAMES])
