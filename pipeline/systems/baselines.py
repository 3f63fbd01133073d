"""The two floors without a plan: the first words found, and the passages that best match the title."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from data.settings import RetrievalSettings, WritingSettings
from data.stage_types import Stages
from data.types import Article, Event, Page, Paragraph, Passage, Section, Sentence
from pipeline.choosing.candidates import sentence_texts
from pipeline.evidence import Evidence
from pipeline.retrieval import PassageIndex
from pipeline.stages import ARTICLE
from pipeline.writing.assembly import LEAD_HEADING, assemble


class LeadSystem:
    """The evidence from its beginning, page after page, until the length budget is used."""

    name = "lead"

    def __init__(self, retrieval: RetrievalSettings, writing: WritingSettings) -> None:
        self._retrieval = RetrievalSettings(passage_words=retrieval.passage_words)  # an overlap would be quoted twice
        self._writing = writing

    @property
    def identity(self) -> Mapping[str, str]:
        return {
            "rules": "lead/1",
            "max_words": str(self._writing.max_words),
            "passage_words": str(self._retrieval.passage_words),
        }

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        evidence = Evidence.cut(event, pages, self._retrieval)
        return stages.once(ARTICLE, lambda: _quote(evidence, evidence.passages, self._writing.max_words))


class Bm25System:
    """The passages that BM25 ranks best for the title, best first, until the length budget is used."""

    name = "bm25"

    def __init__(self, retrieval: RetrievalSettings, writing: WritingSettings) -> None:
        self._retrieval = RetrievalSettings(method="bm25", passage_words=retrieval.passage_words)
        self._writing = writing

    @property
    def identity(self) -> Mapping[str, str]:
        return {
            "rules": "bm25/2",
            "max_words": str(self._writing.max_words),
            "passage_words": str(self._retrieval.passage_words),
        }

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        evidence = Evidence.cut(event, pages, self._retrieval)

        def make() -> Article:
            index = PassageIndex(evidence.passages, self._retrieval, encoder=None)
            hits = index.search(event.title, k=len(evidence.passages))
            return _quote(evidence, [hit.passage for hit in hits], self._writing.max_words)

        return stages.once(ARTICLE, make)


def _quote(evidence: Evidence, passages: Sequence[Passage], max_words: int) -> Article:
    """Whole sentences of the passages in order, one paragraph a passage, each citing its passage."""
    paragraphs: list[Paragraph] = []
    words = 0
    for passage in passages:
        paragraph = []
        for text in sentence_texts(passage):
            n = len(text.split())
            if words and words + n > max_words:
                break
            paragraph.append(Sentence(text=text, cites=(passage.id,)))
            words += n
        if paragraph:
            paragraphs.append(tuple(paragraph))
        if words >= max_words:
            break
    return assemble(evidence, Section(LEAD_HEADING, tuple(paragraphs)), ())
