"""`closed_book`: the model writes from the title alone. Not a contestant: it says what a model remembers of the human article.

One call without evidence, read as `rr` reads its answer. It cites nothing, so its citation scores are 0 and its coverage is
what is beside that of the same model with evidence.
"""

from __future__ import annotations

from data.stage_types import Stages
from data.types import Article, Event, Page
from pipeline.evidence import Evidence
from pipeline.stages import ARTICLE, ARTICLE_DRAFT
from pipeline.systems.paper import TOKENS_PER_WORD, RetrieveRead
from pipeline.writing import prompts
from pipeline.writing.drafting import Draft


class ClosedBook(RetrieveRead):
    """Pages are not looked at, so an event without a usable one is written as well."""

    name = "closed_book"
    rules = "1"

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        draft = stages.once(ARTICLE_DRAFT, lambda: self._remembered(event.title))
        return stages.once(ARTICLE, lambda: self._read(Evidence(event, pages, ()), draft))

    def _remembered(self, title: str) -> Draft:
        words = self._writing.max_words
        limit = min(round(words * TOKENS_PER_WORD), self._generator.context_tokens // 2)
        return self._writer.ask_plain("section", prompts.from_memory(title, words), max_new_tokens=limit)
