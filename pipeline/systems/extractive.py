"""`extractive`: an article from the evidence's own sentences, without a language model.

The kind of article is recognised and gives the possible headings; sentences are chosen for relevance and for the names,
dates and numbers they add; each goes under the heading it fits; every sentence is quoted and cited. It is the floor that
a language model has to beat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from data import codec
from data.runs import Stages
from data.settings import RetrievalSettings, WritingSettings
from data.types import Article, Event, Heading, Outline, Page, Paragraph, Section, Sentence
from decoding.api import Encoder
from pipeline.arranging import LEAD_SENTENCES, LEAD_WORDS, assigned, fits, list_lines, opening, opening_scores, with_list_lines
from pipeline.assembly import LEAD_HEADING, assemble
from pipeline.evidence import Evidence
from pipeline.finding import scored_candidates
from pipeline.infobox import infobox_rows
from pipeline.kinds import Kind, KindRecogniser, bank_digest
from pipeline.relevance import load_model
from pipeline.selecting import Scored, SelectionWeights, select
from pipeline.sentences import Candidate, is_fragment

MAX_JOINED_WORDS = 40
"""Of list lines that are joined to one sentence."""
MAX_PARAGRAPH_SENTENCES = 6


class ExtractiveSystem:
    name = "extractive"

    def __init__(
        self, retrieval: RetrievalSettings, writing: WritingSettings, encoder: Encoder, weights: SelectionWeights | None = None
    ) -> None:
        self._retrieval = replace(retrieval, passage_overlap=0)  # a sentence in two passages would be quoted twice
        self._writing = writing
        self._encoder = encoder
        self._weights = weights or SelectionWeights()
        self._recogniser = KindRecogniser(encoder)

    @property
    def identity(self) -> Mapping[str, str]:
        return {
            "rules": "extractive/2",
            "encoder": self._encoder.name,
            "relevance": codec.sha256(codec.to_json(load_model()))[:12],
            "kinds": bank_digest(),
            "max_words": str(self._writing.max_words),
            "max_sections": str(self._writing.max_sections),
            "passage_words": str(self._retrieval.passage_words),
        }

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        evidence = Evidence.cut(event, pages, self._retrieval)
        plan = ExtractivePlan(evidence, self._writing, self._encoder, self._recogniser, self._weights)
        outline = stages.once("outline", Outline, lambda: plan.outline)
        sections = [
            stages.once(f"sections/{n:02}", Section, lambda heading=heading: plan.section(heading))  # type: ignore[misc]
            for n, heading in enumerate(outline.headings, 1)
        ]
        lead = stages.once("sections/00", Section, lambda: plan.lead)

        def make() -> Article:
            cited = sorted({int(c.split(":")[0]) for s in (lead, *sections) for x in s.sentences for c in x.cites})
            opening = " ".join(s.text for s in lead.sentences)
            return assemble(evidence, lead, sections, infobox=infobox_rows(evidence, cited, opening))

        return stages.once("article", Article, make)


@dataclass(frozen=True)
class ExtractivePlan:
    """The choices for one event, computed on first use: a resumed run computes only what it still needs."""

    evidence: Evidence
    writing: WritingSettings
    encoder: Encoder
    recogniser: KindRecogniser
    weights: SelectionWeights

    @cached_property
    def scored(self) -> Scored:
        return scored_candidates(self.evidence, self.encoder)

    @cached_property
    def kind(self) -> Kind:
        return self.recogniser.recognise(self.evidence.event.title, self.scored.central(4))

    @cached_property
    def chosen(self) -> list[int]:
        lines = list_lines(self.evidence, self.kind, self.scored)
        taken = with_list_lines(lines, self.scored, self.opening, self.writing.max_words)
        return select(self.scored, max_words=self.writing.max_words, weights=self.weights, taken=taken)

    @cached_property
    def assignment(self) -> dict[str, list[int]]:
        """Heading -> chosen candidates in evidence order."""
        rest = [i for i in self.chosen if i not in set(self.opening)]
        fit = fits(self.scored, self.recogniser.section_vectors(self.kind))
        groups = assigned(self.scored, rest, fit, self.writing.max_sections)
        return {self.kind.sections[k].heading: group for k, group in groups.items()}

    @property
    def outline(self) -> Outline:
        return Outline(self.evidence.event.title, tuple(Heading(h) for h in self.assignment))

    @property
    def lead(self) -> Section:
        return Section(LEAD_HEADING, (tuple(self._quote(i) for i in self.opening),))

    def section(self, heading: Heading) -> Section:
        return Section(heading, tuple(self._paragraphs(self.assignment.get(heading.text, []))))

    @cached_property
    def opening(self) -> list[int]:
        """The sentence that says what the subject is, then the most central ones that stand on their own."""
        scores = opening_scores(self.scored, self.evidence.event.title)
        picked = opening(self.scored, scores, max_words=LEAD_WORDS, most=LEAD_SENTENCES)
        return [picked[0], *sorted(picked[1:])]

    def _paragraphs(self, indices: list[int]) -> list[Paragraph]:
        """Runs of one page stay together; pages come in the order of their best sentence's relevance."""
        items = self.scored.candidates
        by_page: dict[int, list[int]] = {}
        for i in indices:
            by_page.setdefault(items[i].page, []).append(i)
        pages = sorted(by_page, key=lambda p: (-max(float(self.scored.relevance[i]) for i in by_page[p]), p))
        paragraphs: list[Paragraph] = []
        for page in pages:
            run = by_page[page]
            n = -(-len(run) // MAX_PARAGRAPH_SENTENCES)
            size = -(-len(run) // n)
            paragraphs += [self._quotes(run[at : at + size]) for at in range(0, len(run), size)]
        return paragraphs

    def _quotes(self, run: list[int]) -> Paragraph:
        """One sentence each; list lines that follow each other become one sentence, divided by semicolons."""
        items = self.scored.candidates
        groups: list[list[int]] = []
        for i in run:
            last = groups[-1] if groups else []
            joins = last and is_fragment(items[i].text) and is_fragment(items[last[-1]].text)
            if joins and sum(items[j].n_words for j in last) + items[i].n_words <= MAX_JOINED_WORDS:
                last.append(i)
            else:
                groups.append([i])
        return tuple(self._quote(group[0]) if len(group) == 1 else self._joined(group) for group in groups)

    def _joined(self, group: list[int]) -> Sentence:
        items = self.scored.candidates
        text = "; ".join(items[i].text.rstrip(" ,;:") for i in group)
        return Sentence(text=f"{text}.", cites=tuple(dict.fromkeys(items[i].passage.id for i in group)))

    def _quote(self, i: int) -> Sentence:
        item = self.scored.candidates[i]
        text = f"{item.text.rstrip(' ,;:')}." if is_fragment(item.text) else item.text
        return Sentence(text=text, cites=(item.passage.id, *self._also(i, item)))

    def _also(self, i: int, item: Candidate) -> tuple[str, ...]:
        """At most one more source: a page that says the same sentence with the same names and numbers."""
        for j in np.argsort(-(self.scored.vectors @ self.scored.vectors[i]), kind="stable")[1:4]:
            other = self.scored.candidates[int(j)]
            if other.page != item.page and item.facts <= other.facts and len(item.terms & other.terms) >= 0.9 * len(item.terms):
                return (other.passage.id,)
        return ()
