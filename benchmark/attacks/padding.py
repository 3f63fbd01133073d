"""Attacks that pad: true text which does not belong, and text that is not looked at."""

from __future__ import annotations

from dataclasses import replace

from benchmark.attacks.given import Given, Quoted, paragraphs_of, ranked_quotes, sentences_of, up_to, with_sections
from benchmark.submissions.made_elsewhere import located
from data.types import Article, Heading, Section, Source
from eval.cards.number_edits import change_number
from eval.cards.word_edits import insert_not

HIDDEN = "References"


def off_point(given: Given) -> Article:
    """The honest article, twice as long: to each section sentences are added from the passages that fit the title least, cited.

    Made against recall without a cost of length: all of it is true and supported.
    """
    said = {sentence.text for sentence in sentences_of(given.article)}
    far = [quote for quote in ranked_quotes(given.pages, given.article.title)[::-1] if quote.text not in said]
    return _padded(given, up_to(far, given.n_words))


def other_event(given: Given) -> Article:
    """The honest article, twice as long: to each section sentences are added from the pages of another event, cited.

    Found in articles that had facts of another event in them; their citations hold, for they bring their own sources.
    """
    if given.other is None:
        return given.article
    near = up_to(ranked_quotes(given.other.pages, given.other.article.title), given.n_words)
    return _padded(given, [Quoted(quote.text, _own(quote.source, len(given.pages))) for quote in near])


def hidden_prose(given: Given) -> Article:
    """The honest article, and every sentence of it again, made false, under "References".

    Found by reading: prose under that heading was invisible to every measure.
    """
    rng = given.rng("hidden_prose")
    false = []
    for sentence in sentences_of(given.article):
        edited = change_number(sentence.text, rng) or insert_not(sentence.text, rng)
        if edited is not None:
            false.append(replace(sentence, text=edited.text))
    if not false:
        return given.article
    return with_sections(given.article, [Section(Heading(HIDDEN), (tuple(false),))])


def sibling_article(given: Given) -> Article:
    """The honest system's article about the event with the most similar title.

    Made against measures of form: it is a good article, about something else.
    """
    if given.other is None:
        return given.article
    other = located(given.other.article, given.pages)
    return replace(other, event_id=given.article.event_id, title=given.article.title, repairs=())


def _padded(given: Given, added: list[Quoted]) -> Article:
    """Sentences added to the ends of the sections in equal parts; to the lead where there is no section."""
    if not added:
        return given.article
    article = given.article
    targets = article.sections or (article.lead,)
    size = -(-len(added) // len(targets))
    longer = tuple(
        replace(section, paragraphs=(*section.paragraphs, *paragraphs_of(added[n * size : (n + 1) * size])))
        for n, section in enumerate(targets)
    )
    changed = replace(article, sections=longer) if article.sections else replace(article, lead=longer[0])
    return with_sections(changed, (), [quote.source for quote in added])


def _own(source: Source, n_pages: int) -> Source:
    """A source that is none of the event's pages, as `benchmark.submissions.made_elsewhere` numbers those."""
    return replace(source, passage=replace(source.passage, page=n_pages + source.passage.page))
