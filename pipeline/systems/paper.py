"""The three systems of the WikiGenBench paper (arXiv 2402.18264, section 4), with any language model.

`rr` retrieve-read: one call with the passages found for the title. `prr` plan-retrieve-read: the model plans an outline from
the title alone, then each section is written from passages found for its heading. `rprr` retrieve-plan-retrieve-read: as
`prr`, but the outline is planned from passages found for the title. Deviation: markers that name no passage are dropped (and
reported), because a citation here is a passage, not a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from data.errors import StageError
from data.runs import Stages
from data.settings import ModelSettings, RetrievalSettings, WritingSettings
from data.types import Article, Event, Heading, Outline, Page, Paragraph, Passage, Repair, Section, Sentence
from decoding.api import Encoder, Generator
from pipeline import prompts
from pipeline.assembly import assemble
from pipeline.citing import Cited, resolve
from pipeline.drafting import Draft, Writer
from pipeline.evidence import Evidence
from pipeline.planning import parse_outline
from pipeline.retrieval import PassageIndex
from pipeline.systems.baselines import LEAD_HEADING

_HEADING_LINE = re.compile(r"^\s*(?:={2,4}\s*(.+?)\s*={2,4}|#{1,4}\s+(.+?)\s*#*|\*\*([^*]{2,60})\*\*:?)\s*$")
OUTLINE_TOKENS = 160


class ModelSystem:
    """What all systems with a language model share: settings, a writer, an index for each event."""

    name = "model"
    rules = "1"

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
    def identity(self) -> Mapping[str, str]:
        r, w = self._retrieval, self._writing
        return {
            "rules": f"{self.name}/{self.rules}",
            "prompts": prompts.PROMPT_VERSION,
            "model": self._generator.name,
            "model_fingerprint": self._generator.fingerprint,
            "temperature": str(self._model.temperature),
            "seed": str(self._model.seed),
            "retrieval": f"{r.method} words={r.passage_words} overlap={r.passage_overlap} k={r.top_k} rrf={r.rrf_k}",
            "writing": f"words={w.max_words} sections={w.max_sections} tokens={w.section_max_tokens} unsupported={w.unsupported}",
        }

    def _index(self, evidence: Evidence) -> PassageIndex:
        return PassageIndex(evidence.passages, self._retrieval, self._encoder)

    def _found(self, index: PassageIndex, *queries: str) -> list[Passage]:
        return [hit.passage for hit in index.search(*queries, k=self._retrieval.top_k)]

    def _shown(self, evidence: Evidence, draft: Draft) -> list[Passage]:
        by_id = {p.id: p for p in evidence.passages}
        return [by_id[i] for i in draft.shown]


class RetrieveRead(ModelSystem):
    name = "rr"

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        evidence = Evidence.cut(event, pages, self._retrieval)
        index = self._index(evidence)
        found = self._found(index, event.title)
        draft = stages.once(
            "drafts/article",
            Draft,
            lambda: self._writer.ask("section", found, pages, lambda block: prompts.article(event.title, block)),
        )

        def make() -> Article:
            lead, *rest = split_at_headings(draft.text)
            shown = self._shown(evidence, draft)
            leading = resolve(lead[1], shown, "")
            sections, repairs = [], list(leading.repairs)
            for heading, body in rest[: self._writing.max_sections]:
                cited = resolve(body, shown, heading)
                sections.append(Section(Heading(heading), as_paragraphs(cited)))
                repairs += cited.repairs
            return assemble(evidence, Section(LEAD_HEADING, as_paragraphs(leading)), sections, repairs=repairs)

        return stages.once("article", Article, make)


class PlanRetrieveRead(ModelSystem):
    name = "prr"
    plans_from_evidence = False

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        evidence = Evidence.cut(event, pages, self._retrieval)
        index = self._index(evidence)
        outline = stages.once("outline", Outline, lambda: self._plan(event, evidence, index, stages))
        sections: list[Section] = []
        repairs: list[Repair] = []
        for n, heading in enumerate(outline.headings, 1):
            draft = stages.once(
                f"drafts/{n:02}",
                Draft,
                lambda heading=heading: self._writer.ask(  # type: ignore[misc]
                    "section",
                    self._found(index, f"{event.title} {heading.text}"),
                    pages,
                    lambda block: prompts.section(event.title, outline, heading.text, block),
                ),
            )
            cited = resolve(draft.text, self._shown(evidence, draft), heading.text)
            sections.append(stages.once(f"sections/{n:02}", Section, lambda: Section(heading, as_paragraphs(cited))))  # noqa: B023
            repairs += cited.repairs
        return stages.once("article", Article, lambda: assemble(evidence, Section(LEAD_HEADING, ()), sections, repairs=repairs))

    def _plan(self, event: Event, evidence: Evidence, index: PassageIndex, stages: Stages) -> Outline:
        limit = self._writing.max_sections
        if self.plans_from_evidence:
            found = self._found(index, event.title)
            make = lambda: self._writer.ask(  # noqa: E731
                "outline",
                found,
                evidence.pages,
                lambda block: prompts.outline(event.title, block, limit),
                max_new_tokens=OUTLINE_TOKENS,
            )
        else:
            messages = prompts.outline(event.title, None, limit)
            make = lambda: self._writer.ask_plain("outline", messages, max_new_tokens=OUTLINE_TOKENS)  # noqa: E731
        draft = stages.once("drafts/outline", Draft, make)
        outline = parse_outline(event.title, draft.text, limit)
        if not outline.headings:
            raise StageError("outline", f"{self._generator.name} gave no heading, but: {draft.text[:120]!r}")
        return outline


class RetrievePlanRetrieveRead(PlanRetrieveRead):
    name = "rprr"
    plans_from_evidence = True


def split_at_headings(text: str) -> list[tuple[str, str]]:
    """(heading, body) pairs of a generated article; the first has no heading and may be empty."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines():
        match = _HEADING_LINE.match(line)
        if match:
            parts.append((next(g for g in match.groups() if g).strip(), []))
        else:
            parts[-1][1].append(line)
    return [(heading, "\n".join(body)) for heading, body in parts]


def as_paragraphs(cited: Cited, *, size: int = 6) -> tuple[Paragraph, ...]:
    """Paragraphs of at most `size` sentences, as even as can be."""
    return paragraphs_of(cited.sentences, size=size)


def paragraphs_of(sentences: Sequence[Sentence], *, size: int = 6) -> tuple[Paragraph, ...]:
    if not sentences:
        return ()
    n = -(-len(sentences) // size)
    step = -(-len(sentences) // n)
    return tuple(tuple(sentences[at : at + step]) for at in range(0, len(sentences), step))
