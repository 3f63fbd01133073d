"""What an attack is made from, and how parts of articles are changed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from data.passages import cut_passages, sentence_spans
from data.types import Article, Heading, Page, Paragraph, Passage, Section, Sentence, Source
from eval.metrics.citations import Ranking

PASSAGE_WORDS = 120
LEAST_WORDS = 5
"""A run of fewer words on a page is no sentence that anybody would copy."""


@dataclass(frozen=True, slots=True)
class Other:
    """Another event of the data: its title, the honest system's article about it, and its pages."""

    article: Article
    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """The honest system's article about an event, the event's pages before selection, and the event that is most like it.

    `other` is None where the data holds no second event.
    """

    article: Article
    pages: tuple[Page, ...]
    other: Other | None = None

    def rng(self, attack: str) -> random.Random:
        """Chance that depends on the attack and the event alone."""
        return random.Random(f"{attack}:{self.article.event_id}")

    @property
    def n_words(self) -> int:
        """Of the honest article's sentences."""
        return sum(len(sentence.text.split()) for section in self.article.all_sections for sentence in section.sentences)


def each_sentence(article: Article, change: Callable[[Sentence], Sentence]) -> Article:
    """The article with every sentence changed, where it is."""
    return each_paragraph(article, lambda paragraph: tuple(change(sentence) for sentence in paragraph))


def each_paragraph(article: Article, change: Callable[[Paragraph], Paragraph]) -> Article:
    """The article with every paragraph changed; one that is left without a sentence is left out."""

    def section(one: Section) -> Section:
        return replace(one, paragraphs=tuple(made for paragraph in one.paragraphs if (made := change(paragraph))))

    return each_section(article, section)


def each_section(article: Article, change: Callable[[Section], Section]) -> Article:
    """The article with its lead and every section changed."""
    return replace(article, lead=change(article.lead), sections=tuple(map(change, article.sections)))


def sentences_of(article: Article) -> list[Sentence]:
    return [sentence for section in article.all_sections for sentence in section.sentences]


def refilled(article: Article, sentences: Iterable[Sentence]) -> Article:
    """The same headings and paragraphs with other sentences, as many, in reading order."""
    left = iter(sentences)
    return each_sentence(article, lambda _: next(left))


def with_sections(article: Article, sections: Iterable[Section], sources: Iterable[Source] = ()) -> Article:
    """The article with more sections at its end, and the sources that they cite."""
    return replace(
        article,
        sections=(*article.sections, *sections),
        sources=tuple({s.id: s for s in (*article.sources, *sources)}.values()),
    )


def written(given: Given, sections: Sequence[tuple[str, Sequence[Paragraph]]], sources: Iterable[Source]) -> Article:
    """Another article about the same event. A first section without a heading is the lead; only cited sources are kept."""
    lead: tuple[Paragraph, ...] = ()
    rest = list(sections)
    if rest and not rest[0][0]:
        lead = tuple(rest.pop(0)[1])
    made = tuple(Section(Heading(name), tuple(paragraphs)) for name, paragraphs in rest if paragraphs)
    article = Article(given.article.event_id, given.article.title, Section(Heading(""), lead), made, (), ())
    cited = {cite for sentence in sentences_of(article) for cite in sentence.cites}
    return replace(article, sources=tuple({s.id: s for s in sources if s.id in cited}.values()))


@dataclass(frozen=True, slots=True)
class Quoted:
    """A sentence of a page and the passage that it is in."""

    text: str
    source: Source

    @property
    def sentence(self) -> Sentence:
        return Sentence(self.text, (self.source.id,))


def source_of(passage: Passage, pages: Sequence[Page]) -> Source:
    page = pages[passage.page]
    return Source(passage, page.url, page.title, page.published)


@lru_cache(maxsize=4)
def quotes(pages: tuple[Page, ...]) -> tuple[Quoted, ...]:
    """Every sentence of the usable pages, in order. Kept for a moment: several attacks look at the same pages."""
    found = []
    for passage in cut_passages(pages, words=PASSAGE_WORDS):
        source = source_of(passage, pages)
        for start, end in sentence_spans(passage.text):
            if len(passage.text[start:end].split()) >= LEAST_WORDS:
                found.append(Quoted(passage.text[start:end], source))
    return tuple(found)


@lru_cache(maxsize=4)
def ranked_quotes(pages: tuple[Page, ...], title: str) -> tuple[Quoted, ...]:
    """The same, those of the passages that fit the title best first (BM25); passages without a word of it come last."""
    by_passage: dict[str, list[Quoted]] = {}
    for quote in quotes(pages):
        by_passage.setdefault(quote.source.passage.text, []).append(quote)
    ranking = Ranking(by_passage)
    order = [ranking.texts[i] for i in ranking.top(title, len(ranking.texts))]
    order += [text for text in by_passage if text not in set(order)]
    return tuple(quote for text in order for quote in by_passage[text])


def up_to(found: Iterable[Quoted], n_words: int) -> list[Quoted]:
    """The first of them, as many as fit into that many words; each text once."""
    chosen: dict[str, Quoted] = {}
    left = n_words
    for quote in found:
        if quote.text in chosen:
            continue
        left -= len(quote.text.split())
        if left < 0:
            break
        chosen[quote.text] = quote
    return list(chosen.values())


def paragraphs_of(found: Sequence[Quoted]) -> list[Paragraph]:
    """Cited sentences in paragraphs of five."""
    return [tuple(quote.sentence for quote in found[at : at + 5]) for at in range(0, len(found), 5)]
