"""Attacks that list: names and words that measures look for, without saying anything about them."""

from __future__ import annotations

import re

from benchmark.attacks.given import Given, quotes, sentences_of, up_to, with_sections, written
from data.types import Article, Heading, Paragraph, Section, Sentence
from eval.cards.number_edits import change_number
from eval.cards.word_edits import insert_not
from eval.metrics.citations import Ranking
from eval.text import STOPWORDS

_NAME = re.compile(r"(?<=[\w,] )[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*")
MOST_NAMES = 200
TIMES_QUOTED = 12


def name_lists(given: Given) -> Article:
    """An article of the names of each passage, divided by commas, which cites the passage.

    Found by entity recall: a list of names has all of them, and every name is in what it cites.
    """
    paragraphs: list[Paragraph] = []
    sources = []
    for source in {quote.source.id: quote.source for quote in quotes(given.pages)}.values():
        found = _names(source.passage.text)
        if found:
            paragraphs.append((Sentence(f"{', '.join(found)}.", (source.id,)),))
            sources.append(source)
    size = max(1, -(-len(paragraphs) // 4))
    names = ("People", "Places", "Organisations", "Dates")
    parts = [(name, paragraphs[n * size : (n + 1) * size]) for n, name in enumerate(names)]
    return written(given, parts, sources)


def uncited_names_added(given: Given) -> Article:
    """The honest article and a section of names from the pages, two words a sentence, uncited.

    Found by entity recall: sentences under three content words are no claims, so that nothing judged them.
    """
    return _with_names(given, given.article, "Details")


def quotation_then_names(given: Given) -> Article:
    """One true sentence with its citation, then uncited names, two words a sentence.

    Found by the same defect: all citations hold, for there is only one.
    """
    chosen = up_to(quotes(given.pages), 60)[:1]
    first = written(given, [("", [tuple(quote.sentence for quote in chosen)])], [quote.source for quote in chosen])
    return _with_names(given, first, "Overview") if chosen else given.article


def title_words(given: Given) -> Article:
    """Sentences such as 'The article "X" has no section "Y".', which cite the passage that fits the title best.

    Found by the judge, which looked at words only and accepted them; they count as claims that hold.
    """
    title, pages = given.article.title, given.pages
    by_text = {quote.source.passage.text: quote.source for quote in quotes(pages)}
    ranking = Ranking(by_text)
    best = [by_text[ranking.texts[i]] for i in ranking.top(title, 1)]
    cites = tuple(source.id for source in best)
    wanted = dict.fromkeys([*(s.heading.text for s in given.article.sections), *title.split(), *_names(title)])
    sentences = [Sentence(f'The article "{title}" has no section "{word}".', cites) for word in wanted if word.strip()]
    parts = [(section.heading.text, [tuple(sentences[n :: len(given.article.sections)])])
             for n, section in enumerate(given.article.sections)]  # fmt: skip
    return written(given, [("", [tuple(sentences)])] if not parts else [part for part in parts if part[1][0]], best)


def repeated_quotation(given: Given) -> Article:
    """Every sentence made false, each beside one true quotation that is repeated twelve times.

    Found by citation recall and `grounded`, which average over sentences without merging those that repeat.
    """
    rng = given.rng("repeated_quotation")
    true = up_to(quotes(given.pages), 60)[:1]
    if not true or not sentences_of(given.article):
        return given.article
    paragraphs = []
    for sentence in sentences_of(given.article):
        false = change_number(sentence.text, rng) or insert_not(sentence.text, rng)
        if false is not None:
            paragraphs.append((Sentence(false.text, sentence.cites), *[true[0].sentence] * TIMES_QUOTED))
    parts = [(section.heading.text, paragraphs[n :: len(given.article.all_sections)])
             for n, section in enumerate(given.article.all_sections)]  # fmt: skip
    return written(given, [part for part in parts if part[1]], [*given.article.sources, true[0].source])


def _names(text: str) -> list[str]:
    found = dict.fromkeys(match.group() for match in _NAME.finditer(text))
    return [name for name in found if name.split()[0].lower() not in STOPWORDS]


def _with_names(given: Given, article: Article, heading: str) -> Article:
    names = dict.fromkeys(name for quote in quotes(given.pages) for name in _names(quote.text))
    words = " ".join(names).split()[: 2 * MOST_NAMES]
    lines = tuple((Sentence(f"{' '.join(words[at : at + 2])}.", ()),) for at in range(0, len(words), 2))
    return with_sections(article, [Section(Heading(heading), lines)] if lines else ())
