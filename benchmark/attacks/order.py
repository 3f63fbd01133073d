"""Attacks on order: what the honest article says, where it does not belong."""

from __future__ import annotations

from dataclasses import replace

from benchmark.attacks.given import Given, each_paragraph, each_section, each_sentence, quotes, refilled, sentences_of, written
from data.types import Article, Paragraph, Section, Sentence

RANDOM_WORDS = 18
FRAGMENT_WORDS = 3


def sentences_shuffled(given: Given) -> Article:
    """All sentences in random order under the same headings.

    Found by shuffling: none of the headline numbers changed.
    """
    sentences = sentences_of(given.article)
    given.rng("sentences_shuffled").shuffle(sentences)
    return refilled(given.article, sentences)


def paragraphs_reversed(given: Given) -> Article:
    """In every section the last sentence first, under the same heading.

    Found by the same measures, which do not see order.
    """

    def turned(section: Section) -> Section:
        return replace(section, paragraphs=tuple(paragraph[::-1] for paragraph in section.paragraphs[::-1]))

    return each_section(given.article, turned)


def sections_reversed(given: Given) -> Article:
    """The sections, each with its heading, from last to first.

    Made with the former: headings fit, and the end of the story comes first.
    """
    return replace(given.article, sections=given.article.sections[::-1])


def headings_exchanged(given: Given) -> Article:
    """Every heading is above the text of the next section.

    Made with the former: the same headings and the same text, and no heading fits.
    """
    headings = [section.heading for section in given.article.sections]
    moved = [*headings[1:], *headings[:1]]
    sections = tuple(replace(s, heading=heading) for s, heading in zip(given.article.sections, moved, strict=True))
    return replace(given.article, sections=sections)


def words_shuffled(given: Given) -> Article:
    """The words of each sentence in random order, with its citations.

    Found by the judge, which accepted 86%: it looked at words only.
    """
    rng = given.rng("words_shuffled")

    def shuffled(sentence: Sentence) -> Sentence:
        words = sentence.text.split()
        rng.shuffle(words)
        return replace(sentence, text=" ".join(words))

    return each_sentence(given.article, shuffled)


def random_words(given: Given) -> Article:
    """For each sentence eighteen random words of a passage, which it cites, under the same headings.

    Found by the judge, likewise.
    """
    rng = given.rng("random_words")
    sources = list({quote.source.id: quote.source for quote in quotes(given.pages)}.values())
    if not sources:
        return given.article

    def drawn(_: Sentence) -> Sentence:
        source = rng.choice(sources)
        words = source.passage.text.split()
        return Sentence(" ".join(rng.sample(words, min(RANDOM_WORDS, len(words)))).rstrip(".") + ".", (source.id,))

    made = each_sentence(given.article, drawn)
    parts = [(section.heading.text, section.paragraphs) for section in made.all_sections]
    return written(given, parts, sources)


def one_giant_sentence(given: Given) -> Article:
    """Every section one sentence: its sentences joined by semicolons, citing all that they cite.

    Made against shares of sentences: one part that holds may carry the others.
    """

    def joined(section: Section) -> Section:
        sentences = list(section.sentences)
        if not sentences:
            return replace(section, paragraphs=())
        cites = tuple(dict.fromkeys(cite for sentence in sentences for cite in sentence.cites))
        text = "; and ".join(sentence.text.rstrip(" .!?") for sentence in sentences)
        return replace(section, paragraphs=((Sentence(f"{text}.", cites),),))

    return each_section(given.article, joined)


def tiny_fragments(given: Given) -> Article:
    """Every sentence cut into pieces of three words, each with its citations.

    Found by sentences of four words and fewer: pieces of a passage are always supported by it.
    """

    def cut(paragraph: Paragraph) -> Paragraph:
        pieces = []
        for sentence in paragraph:
            words = sentence.text.rstrip(" .").split()
            pieces += [
                replace(sentence, text=" ".join(words[at : at + FRAGMENT_WORDS]) + ".")
                for at in range(0, len(words), FRAGMENT_WORDS)
            ]
        return tuple(pieces)

    return each_paragraph(given.article, cut)
