"""Mode `cite` of `ours`: the model writes whole sections, and what it writes is checked and repaired.

Each section is retrieved for its heading and for the names that nothing written so far mentions. The lead is written last,
from the finished sections. The infobox holds only values found in the passages that they cite. Every sentence is checked
against its citations (`pipeline.writing.citing`); repeats across sections go; everything changed is listed with the article.
The decoder lets a sentence end with numbers of shown passages alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from data.errors import StageError
from data.markup import parse_markers
from data.settings import ModelSettings, RetrievalSettings, WritingSettings
from data.stage_types import Stages
from data.types import Article, Event, Fact, Heading, Outline, Page, Passage, Repair, Section, Sentence
from decoding.api import Encoder, Generator
from pipeline.choosing.candidates import sentence_texts
from pipeline.choosing.facts import figures, names
from pipeline.evidence import Evidence
from pipeline.planning.kinds import KindRecogniser
from pipeline.planning.outlines import merge_outlines
from pipeline.retrieval import PassageIndex
from pipeline.stages import ARTICLE, INFOBOX, INFOBOX_DRAFT, LEAD, OUTLINE, draft_stage, section_stage
from pipeline.systems.paper import ModelSystem, removed_first
from pipeline.writing import prompts
from pipeline.writing.assembly import LEAD_HEADING, WrittenInfobox, WrittenSection, paragraphs_of
from pipeline.writing.citing import drop_repeats, repair, resolve, stands_in, tidy_generated, without_markup
from pipeline.writing.drafting import Quote

MIN_HEADINGS = 3
GAP_NAMES = 6
INFOBOX_TOKENS = 160
LEAD_TOKENS = 240
LEAD_STATEMENTS = 12
MAX_FACTS = 8
MAX_VALUE_WORDS = 15
_ROW = re.compile(r"\W*(?:\d{1,2}[.)]\s+)?([A-Za-z][\w ’'/()-]{1,40}?)\s*[:=|]\s*(\S.*)")
_NO_LABEL = frozenset({"note", "notes", "source", "sources", "reference", "references", "infobox", "title", "name"})


class CitedWriting(ModelSystem):
    def __init__(
        self,
        model: ModelSettings,
        retrieval: RetrievalSettings,
        writing: WritingSettings,
        generator: Generator,
        encoder: Encoder,
    ) -> None:
        super().__init__(model, retrieval, writing, generator, encoder)
        self._kind_encoder = encoder

    @cached_property
    def _recogniser(self) -> KindRecogniser:
        return KindRecogniser(self._kind_encoder)  # encodes the bank of kinds, which most events do not need

    def write_cited(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
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
        lead = stages.once(LEAD, lambda: self._lead(evidence, index, body, stages))
        infobox = stages.once(INFOBOX, lambda: self._infobox(evidence, index, stages))
        repairs += [*lead.repairs, *infobox.repairs]
        repairs += [
            Repair("section_removed", w.section.heading.text, "", "no sentence of it is supported")
            for w in written
            if not w.section.sentences
        ]
        return stages.once(ARTICLE, lambda: self._finished(evidence, lead.section, body, repairs, infobox.facts))

    def _plan(self, evidence: Evidence, index: PassageIndex, stages: Stages) -> tuple[Outline, list[Repair]]:
        """The model's headings; when it gives fewer than three, those usual for this kind of article fill up."""
        draft, planned = self._draft_outline(evidence, index, stages)
        outline = stages.once(OUTLINE, lambda: self._filled(evidence, planned, index))
        own = set(planned.headings)
        n = len(own)
        why = f"the model gave {n or 'no'} usable heading{'' if n == 1 else 's'}: {draft.text[:80]!r}"
        return outline, [Repair("outline_filled", h.text, "", why) for h in outline.headings if h not in own]

    def _filled(self, evidence: Evidence, planned: Outline, index: PassageIndex) -> Outline:
        title, limit = evidence.event.title, self._writing.max_sections
        if len(planned.headings) >= min(MIN_HEADINGS, limit):
            return planned
        opening = [quote.text[:300] for quote in self._found(evidence, index, title)[:2]]
        kind = self._recogniser.recognise(title, opening, pages=evidence.pages)
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
            _, cited = self._draft_section(evidence, index, outline, n, queries, stages, earlier, cite=True)
            checked = repair(cited, index, heading.text, self._writing.unsupported)
            fresh = drop_repeats(checked.sentences, [s.text for s in before], heading.text)
            return WrittenSection(Section(heading, paragraphs_of(fresh.sentences)), (*checked.repairs, *fresh.repairs))

        return stages.once(section_stage(n), make)

    def _lead(self, evidence: Evidence, index: PassageIndex, body: Sequence[Section], stages: Stages) -> WrittenSection:
        """Numbered statements in, a lead out; a marker of a statement becomes the passages that the statement cites."""
        title = evidence.event.title
        statements = [s for i in range(3) for section in body for s in section.sentences[i : i + 1]]
        shown = [Quote(s.cites, "", s.text) for s in statements if s.cites][:LEAD_STATEMENTS]
        draft = stages.once(
            draft_stage(0),
            lambda: self._writer.ask(
                "lead",
                shown,
                lambda block: prompts.lead(title, block),
                max_new_tokens=LEAD_TOKENS,
                cite=True,
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
            INFOBOX_DRAFT,
            lambda: self._writer.ask(
                "other",
                self._found(evidence, index, title),
                lambda block: prompts.infobox(title, block),
                max_new_tokens=INFOBOX_TOKENS,
            ),
        )
        return check_infobox(draft.answer, draft.shown, {p.id: p for p in evidence.passages})


def check_infobox(text: str, shown: Sequence[Sequence[str]], by_id: Mapping[str, Passage]) -> WrittenInfobox:
    """Rows `Label: value [k]` whose value is in a passage that they cite; the others are reported, lines of another form
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
