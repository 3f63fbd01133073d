"""Learn which headings encyclopedia articles share, from open articles with `== Heading ==` lines.

    python -m tools.fits.fit_headings --corpus corpus.jsonl.xz

The corpus has one JSON object a line with `source`, `title` and `text`; articles are those whose source names `--source`. A
heading is kept when two articles have it or more, and it is neither a name nor part of an article's frame. Writes
pipeline/planning/heading_bank.json: headings, counts, mean positions and typical words, no sentence of any article.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flows.showing import console

if TYPE_CHECKING:
    from pipeline.planning.headings import BankHeading
    from pipeline.planning.kinds import KindRecogniser

MIN_ARTICLES = 2
MAX_HEADING_WORDS = 4
TYPICAL_WORDS = 10
LEAST_SHARE = 0.15
"""Share of a heading's sections that have a word typical of it."""
MIN_WORD_ARTICLES = 5
"""A word of fewer articles belongs to their subjects, not to a heading."""
SHRINKAGE = 1.0
OPENING_SENTENCES = 4
PARTS = frozenset({"domestic", "elsewhere", "international", "officials", "theatrical"})
"""Headings that mean something below another one only; the corpus does not say levels."""
_HEADING = re.compile(r"=+ *(.*?) *=+")
_INSIDE = re.compile(r"(?<=[a-z,] )[A-Za-z][a-z]+")
"""A word that does not open a sentence: its capital, if it has one, is its own."""


@dataclass(frozen=True, slots=True)
class OpenSection:
    """`position` on its page: 0 the first heading, 1 the last."""

    heading: str
    text: str
    position: float


@dataclass(frozen=True, slots=True)
class OpenArticle:
    title: str
    lead: str
    sections: tuple[OpenSection, ...]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fits.fit_headings", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True, metavar="FILE", help="corpus.jsonl or corpus.jsonl.xz")
    parser.add_argument("--source", default="FreshWiki", metavar="TEXT", help="part of the source's name (default: FreshWiki)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: pipeline/planning/heading_bank.json")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: fit(arguments.corpus, arguments.source, arguments.out))


def fit(corpus: Path, source: str, out: Path | None) -> int:
    from data import codec
    from data.errors import UserError
    from flows.wiring import models
    from pipeline.planning.headings import BANK_FILE, Bank
    from pipeline.planning.kinds import KindRecogniser

    articles = [article for article in read_articles(corpus, source) if article.sections]
    if len(articles) < MIN_ARTICLES:
        raise UserError(
            f"{corpus} holds {len(articles)} articles with headings whose source contains {source!r}; {MIN_ARTICLES} are the "
            "least: name another --source or --corpus"
        )
    recogniser = KindRecogniser(models.build_encoder())
    kinds = [kind_of(article, recogniser) for article in console.tracked("reading", articles, len(articles), lambda a: a.title)]
    bank = Bank(
        fitted_on=f"{len(articles)} articles of {source}",
        kinds=dict(sorted(Counter(kinds).items())),
        headings=tuple(shared_headings(articles, kinds)),
    )
    codec.write_atomic(out or BANK_FILE, codec.to_json(bank, indent=1) + "\n")
    console.result(f"{len(bank.headings)} headings of {bank.fitted_on}, {len(bank.kinds)} kinds")
    return 0


def read_articles(corpus: Path, source: str) -> Iterator[OpenArticle]:
    """Articles of the corpus whose source contains `source`. Raises UserError for a file that is no such corpus."""
    from data.errors import UserError

    opener = lzma.open if corpus.suffix == ".xz" else open
    try:
        with opener(corpus, "rt", encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                if source in document["source"]:
                    yield parse_article(document["title"], document["text"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, lzma.LZMAError) as error:
        raise UserError(
            f"cannot read the corpus {corpus}: {error}; give --corpus a file of JSON lines with source, title and text"
        ) from None


def parse_article(title: str, text: str) -> OpenArticle:
    """Lead and sections; an article's frame (references, see also) is no section."""
    from pipeline.planning.outlines import is_apparatus

    blocks: list[tuple[str, list[str]]] = [("", [])]
    for line in text.split("\n"):
        if match := _HEADING.fullmatch(line.strip()):
            blocks.append((match.group(1), []))
        else:
            blocks[-1][1].append(line)
    named = [(heading, " ".join(lines).strip()) for heading, lines in blocks[1:] if not is_apparatus(heading)]
    last = max(len(named) - 1, 1)
    return OpenArticle(
        title=title,
        lead=" ".join(blocks[0][1]).strip(),
        sections=tuple(OpenSection(heading, body, n / last) for n, (heading, body) in enumerate(named)),
    )


def kind_of(article: OpenArticle, recogniser: KindRecogniser) -> str:
    from data.passages import sentence_spans

    spans = sentence_spans(article.lead, longest=70)[:OPENING_SENTENCES]
    return recogniser.recognise(article.title, [article.lead[s.start : s.end] for s in spans]).name


def shared_headings(articles: Sequence[OpenArticle], kinds: Sequence[str]) -> list[BankHeading]:
    """Headings of several articles, the most usual first; singular and plural are one heading."""
    from pipeline.planning.headings import BankHeading, heading_key
    from pipeline.planning.outlines import same_words

    names = name_words(articles)
    where: dict[str, list[tuple[int, OpenSection]]] = defaultdict(list)
    for n, article in enumerate(articles):
        title = set(same_words(article.title).split())
        for section in article.sections:
            words = same_words(section.heading).split()
            plain = not (set(words) & (names | title)) and not any(c.isdigit() for c in section.heading)
            if plain and section.heading.lower() not in PARTS and 0 < len(words) <= MAX_HEADING_WORDS:
                where[heading_key(section.heading)].append((n, section))
    typical = TypicalWords(articles, names)
    found = []
    for key, sections in where.items():
        holders = sorted({n for n, _ in sections})
        if len(holders) < MIN_ARTICLES:
            continue
        forms = Counter(section.heading for _, section in sections)
        heading = min(forms, key=lambda form: (-forms[form], form))
        about = typical.of([section.text for _, section in sections], besides=set(key.split()))
        position = sum(section.position for _, section in sections) / len(sections)
        counts = Counter(kinds[n] for n in holders)
        found.append(BankHeading(heading, about, round(position, 2), dict(sorted(counts.items()))))
    return sorted(found, key=lambda h: (-sum(h.kinds.values()), h.heading))


def name_words(articles: Sequence[OpenArticle]) -> frozenset[str]:
    """Words that are inside sentences with a capital mostly: a country's heading is of use to one article only."""
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for article in articles:
        for text in (article.lead, *(section.text for section in article.sections)):
            for word in _INSIDE.findall(text):
                (small if word[0].islower() else capital)[word.lower()] += 1
    return frozenset(word for word, n in capital.items() if n >= 3 and n > 4 * small[word])


class TypicalWords:
    """Words that sections of a heading have more often than other sections, by log odds; names and numbers are none."""

    def __init__(self, articles: Sequence[OpenArticle], names: frozenset[str]) -> None:
        self._names = names
        texts = [section.text for article in articles for section in article.sections]
        self._n_sections = len(texts)
        self._sections_with = Counter(word for text in texts for word in self._words(text))
        whole = (" ".join(section.text for section in article.sections) for article in articles)
        self._articles_with = Counter(word for text in whole for word in self._words(text))

    def of(self, texts: Sequence[str], *, besides: set[str]) -> str:
        """At most TYPICAL_WORDS words that several of the texts share, the most typical first."""
        from pipeline.planning.headings import heading_key

        here = Counter(word for text in texts for word in self._words(text))
        elsewhere = max(self._n_sections - len(texts), 1)
        weight = {}
        for word, n in here.items():
            if (
                n < max(2, LEAST_SHARE * len(texts))
                or self._articles_with[word] < MIN_WORD_ARTICLES
                or heading_key(word) in besides
            ):
                continue
            share = n / (len(texts) + SHRINKAGE)
            usual = (self._sections_with[word] - n + SHRINKAGE) / (elsewhere + SHRINKAGE)
            if share > usual:
                weight[word] = share * math.log(share / usual)
        return ", ".join(sorted(weight, key=lambda w: (-weight[w], w))[:TYPICAL_WORDS])

    def _words(self, text: str) -> set[str]:
        from pipeline.retrieval import STOPWORDS

        return {
            word for word in re.findall(r"\b[a-z]{3,}\b", text.lower()) if word not in STOPWORDS and word not in self._names
        }


if __name__ == "__main__":
    sys.exit(main())
