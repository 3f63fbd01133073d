"""Attacks that copy: the pages write the article, under headings that fit any article."""

from __future__ import annotations

import re
from collections.abc import Callable

from benchmark.attacks.given import Given, Quoted, paragraphs_of, quotes, ranked_quotes, up_to, written
from data.types import Article

HEADINGS = ("Background", "Event", "Impact", "Response", "Aftermath")
"""The same for every event: about as near to human headings as those of systems that choose them."""
SYNONYMS = {
    "said": "stated", "people": "persons", "killed": "slain", "began": "started", "large": "big", "many": "numerous",
    "after": "following", "before": "prior to", "show": "display", "showed": "displayed", "near": "close to", "also": "too",
    "several": "various", "about": "roughly", "because": "since", "however": "but", "help": "assist", "helped": "assisted",
    "town": "municipality", "children": "kids", "police": "officers", "government": "authorities", "made": "created",
    "found": "discovered", "took": "grabbed", "gave": "handed", "told": "informed", "asked": "inquired", "important": "key",
    "first": "initial", "while": "as", "will": "shall", "including": "such as", "between": "amid", "during": "amid",
    "against": "versus", "over": "above", "million": "mn", "and": "plus", "but": "yet", "with": "alongside", "by": "via",
}  # fmt: skip
_WORD = re.compile(r"\w+")


def all_passages(given: Given) -> Article:
    """Every sentence of every usable page, in page order, spread over five headings that are the same for all events.

    Found by copying: with citations that hold and all names of the pages it ranked first of all systems.
    """
    return _under_headings(given, list(quotes(given.pages)))


def best_passages(given: Given) -> Article:
    """The passages that fit the title best, copied word for word up to the honest article's length, without headings.

    Found as the floor `bm25_title`: on real topics it scored as high on attainable entities as commercial agents.
    """
    chosen = up_to(ranked_quotes(given.pages, given.article.title), given.n_words)
    return written(given, [("", paragraphs_of(chosen))], [quote.source for quote in chosen])


def best_passages_headed(given: Given) -> Article:
    """The same passages under five headings that are the same for all events.

    Found by heading scores: five constant headings scored 44.0 where a system that plans them had 42.5.
    """
    return _under_headings(given, up_to(ranked_quotes(given.pages, given.article.title), given.n_words))


def seventh_word_dropped(given: Given) -> Article:
    """The best passages under constant headings, every seventh word of a sentence left out.

    Made against measures of copying that look for whole sentences or long runs.
    """

    def without(text: str) -> str:
        kept = [word for n, word in enumerate(text.split(), 1) if n % 7]
        return " ".join(kept) or text

    return _rewritten(given, without)


def synonyms_swapped(given: Given) -> Article:
    """The best passages under constant headings, common words replaced from a list of forty.

    Made against the same measures; some replacements make poor English, as such tools do.
    """

    def swapped(text: str) -> str:
        return _WORD.sub(lambda word: SYNONYMS.get(word.group(), word.group()), text)

    return _rewritten(given, swapped)


def _rewritten(given: Given, change: Callable[[str], str]) -> Article:
    chosen = up_to(ranked_quotes(given.pages, given.article.title), given.n_words)
    return _under_headings(given, [Quoted(change(quote.text), quote.source) for quote in chosen])


def _under_headings(given: Given, chosen: list[Quoted]) -> Article:
    """The first sentences as the lead, the rest in equal parts."""
    lead, rest = chosen[:3], chosen[3:]
    size = max(1, -(-len(rest) // len(HEADINGS)))
    parts = [(name, paragraphs_of(rest[n * size : (n + 1) * size])) for n, name in enumerate(HEADINGS)]
    return written(given, [("", paragraphs_of(lead)), *parts], [quote.source for quote in chosen])
