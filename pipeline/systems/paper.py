"""The three systems of the WikiGenBench paper (arXiv 2402.18264, section 4), with any language model.

`rr` retrieve-read: one call with the passages found for the title. `prr` plan-retrieve-read: the model plans an outline from
the title alone, then each section is written from passages found for its heading. `rprr` retrieve-plan-retrieve-read: as
`prr`, but the outline is planned from passages found for the title.

Deviations, all reported with the article: markers that name no passage are dropped, because a citation here is a passage,
not a number; lines that are no sentences are left out; the article is cut to `writing.max_words`. Nothing is judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from data.errors import StageError
from data.settings import ModelSettings, RetrievalSettings, WritingSettings
from data.stage_types import Stages
from data.types import Article, Event, Fact, Heading, Outline, Page, Repair, Section
from decoding.api import Encoder, Generator
from pipeline.evidence import Evidence
from pipeline.planning.outlines import heading_line, is_apparatus, parse_outline, same_words
from pipeline.retrieval import PassageIndex
from pipeline.stages import ARTICLE, ARTICLE_DRAFT, OUTLINE, OUTLINE_DRAFT, draft_stage, section_stage
from pipeline.writing import prompts
from pipeline.writing.assembly import LEAD_HEADING, WrittenSection, assemble, paragraphs_of, within_words
from pipeline.writing.citing import Cited, resolve
from pipeline.writing.drafting import Draft, Quote, Writer, quotes

OUTLINE_TOKENS = 160
TOKENS_PER_WORD = 1.5
"""Of English text with its markers; how much an answer of so many words may take."""
_LEAD_NAMES = ("lead", "lead paragraph", "lead section", "introduction", "article", "summary")


class ModelSystem:
    """What all systems with a language model share: settings, a writer, an index for each event."""

    name = "model"
    rules = "3"

    def __init__(
        self,
        model: ModelSettings,
        retrieval: RetrievalSettings,
        writing: WritingSettings,
        generator: Generator,
        encoder: Encoder | None,
    ) -> None:
        self._model = model
        self._retrieval = retrieval
        self._writing = writing
        self._generator = generator
        self._encoder = encoder
        self._writer = Writer(generator, model.temperature, model.seed, writing.section_max_tokens)

    @property
    def generator(self) -> Generator:
        return self._generator

    @property
    def identity(self) -> Mapping[str, str]:
        r, w = self._retrieval, self._writing
        return {
            "rules": f"{self.name}/{self.rules}",
            "prompts": prompts.PROMPT_VERSION,
            "model": self._generator.name,
            "model_fingerprint": self._generator.fingerprint,
            "encoder": self._encoder.name if self._encoder is not None else "none",
            "temperature": str(self._model.temperature),
            "seed": str(self._model.seed),
            "retrieval": f"{r.method} words={r.passage_words} overlap={r.passage_overlap} k={r.top_k} rrf={r.rrf_k}",
            "writing": f"words={w.max_words} sections={w.max_sections} tokens={w.section_max_tokens}",
            "unsupported": w.unsupported,
        }

    def _index(self, evidence: Evidence) -> PassageIndex:
        return PassageIndex(evidence.passages, self._retrieval, self._encoder)

    def _found(self, evidence: Evidence, index: PassageIndex, *queries: str) -> list[Quote]:
        """The passages to show, best first; those of pages that address a model come after all others."""
        hits = index.search(*queries, k=len(evidence.passages))
        ranked = sorted(hits, key=lambda hit: "suspicious" in evidence.pages[hit.passage.page].flags)
        return quotes([hit.passage for hit in ranked[: self._retrieval.top_k]], evidence.pages)

    def _draft_outline(self, evidence: Evidence, index: PassageIndex | None, stages: Stages) -> tuple[Draft, Outline]:
        """Planned from what the index finds for the title, or from the title alone; the outline may be empty."""
        title, limit = evidence.event.title, self._writing.max_sections

        def make() -> Draft:
            if index is None:
                return self._writer.ask_plain("outline", prompts.outline(title, None, limit), max_new_tokens=OUTLINE_TOKENS)
            found = self._found(evidence, index, title)
            return self._writer.ask(
                "outline", found, lambda block: prompts.outline(title, block, limit), max_new_tokens=OUTLINE_TOKENS
            )

        draft = stages.once(OUTLINE_DRAFT, make)
        return draft, parse_outline(title, draft.answer, limit)

    def _draft_section(
        self,
        evidence: Evidence,
        index: PassageIndex,
        outline: Outline,
        n: int,
        queries: Sequence[str],
        stages: Stages,
        written: Sequence[str] = (),
    ) -> tuple[Draft, Cited]:
        """Section `n`, from 1: what the model wrote, and its sentences. `written` are the sections before it."""
        title, heading = evidence.event.title, outline.headings[n - 1].text
        words = max(self._writing.max_words // (len(outline.headings) + 1), 30)  # the lead is one part more

        def make() -> Draft:
            found = self._found(evidence, index, *queries)
            return self._writer.ask(
                "section",
                found,
                lambda block: prompts.section(title, outline, heading, block, words),
                sources=written,
            )

        draft = stages.once(draft_stage(n), make)
        return draft, resolve(draft.answer, draft.shown, heading, headings=[title], cut_off=draft.stop == "length")

    def _finished(
        self,
        evidence: Evidence,
        lead: Section,
        sections: Sequence[Section],
        repairs: Sequence[Repair],
        infobox: Sequence[Fact] = (),
    ) -> Article:
        """Raises StageError when nothing is left of what the model wrote."""
        if not lead.sentences and not any(s.sentences for s in sections):
            wrote = f"{self._generator.name} wrote no sentence about {evidence.event.title!r}"
            raise StageError("writing", wrote + removed_first(repairs))
        lead, sections, cut = within_words(lead, sections, self._writing.max_words)
        return assemble(evidence, lead, sections, infobox=infobox, repairs=[*repairs, *cut])


class RetrieveRead(ModelSystem):
    name = "rr"

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        evidence = Evidence.cut(event, pages, self._retrieval)
        draft = stages.once(ARTICLE_DRAFT, lambda: self._draft_article(evidence))
        return stages.once(ARTICLE, lambda: self._read(evidence, draft))

    def _draft_article(self, evidence: Evidence) -> Draft:
        title, words = evidence.event.title, self._writing.max_words
        return self._writer.ask(
            "section",
            self._found(evidence, self._index(evidence), title),
            lambda block: prompts.article(title, block, words),
            max_new_tokens=min(round(words * TOKENS_PER_WORD), self._generator.context_tokens // 2),
        )

    def _read(self, evidence: Evidence, draft: Draft) -> Article:
        title = evidence.event.title
        sections: list[Section] = []
        repairs: list[Repair] = []
        parts = split_at_headings(title, draft.answer)
        for n, (heading, body) in enumerate(parts):
            is_frame = n > 0 and is_apparatus(heading.text)
            if is_frame or n > self._writing.max_sections:
                why = "no part of the text" if is_frame else f"more than {self._writing.max_sections} sections"
                repairs.append(Repair("section_removed", heading.text, " ".join(body.split()), why))
                continue
            cut_off = draft.stop == "length" and n == len(parts) - 1
            cited = resolve(body, draft.shown, heading.text, headings=[title], cut_off=cut_off)
            sections.append(Section(heading, paragraphs_of(cited.sentences)))
            repairs += cited.repairs
        return self._finished(evidence, sections[0], sections[1:], repairs)


class PlanRetrieveRead(ModelSystem):
    name = "prr"
    plans_from_evidence = False

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        evidence = Evidence.cut(event, pages, self._retrieval)
        index = self._index(evidence)
        outline = stages.once(OUTLINE, lambda: self._plan(evidence, index, stages))
        sections: list[Section] = []
        repairs: list[Repair] = []
        answers: list[str] = []
        for n, heading in enumerate(outline.headings, 1):
            draft, cited = self._draft_section(
                evidence, index, outline, n, [f"{event.title} {heading.text}"], stages, answers.copy()
            )
            answers.append(draft.answer)
            section = Section(heading, paragraphs_of(cited.sentences))
            written = stages.once(section_stage(n), partial(WrittenSection, section, cited.repairs))
            sections.append(written.section)
            repairs += cited.repairs
        return stages.once(ARTICLE, lambda: self._finished(evidence, Section(LEAD_HEADING, ()), sections, repairs))

    def _plan(self, evidence: Evidence, index: PassageIndex, stages: Stages) -> Outline:
        draft, outline = self._draft_outline(evidence, index if self.plans_from_evidence else None, stages)
        if not outline.headings:
            raise StageError("outline", f"{self._generator.name} gave no heading, but: {draft.text[:120]!r}")
        return outline


class RetrievePlanRetrieveRead(PlanRetrieveRead):
    name = "rprr"
    plans_from_evidence = True


def split_at_headings(title: str, text: str) -> list[tuple[Heading, str]]:
    """(heading, body) pairs of a generated article. The first is the lead and may be empty: it has no heading of its own, or
    the article's title, or one that says what it is ("Introduction")."""
    parts: list[tuple[Heading, list[str]]] = [(LEAD_HEADING, [])]
    for line in text.splitlines():
        heading = heading_line(line)
        if heading is None:
            parts[-1][1].append(line)
        elif len(parts) == 1 and same_words(heading.text) in (*_LEAD_NAMES, same_words(title)):
            continue
        elif heading.text:
            parts.append((heading, []))
    return [(heading, "\n".join(body)) for heading, body in parts]


def removed_first(repairs: Sequence[Repair]) -> str:
    """For an error message: how much was removed, and the first of it."""
    removed = [r for r in repairs if r.kind in ("sentence_removed", "section_removed")]
    return f"; {len(removed)} texts were removed, the first: {removed[0].text[:80]!r} ({removed[0].detail})" if removed else ""
