"""An article as the viewer shows it: numbered marks, each lit by the judge's verdict where there is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from benchmark.submissions.folder import JudgedSentence
from data.markup import INVALID, is_invalid, number
from data.types import Article, Fact, Section, Sentence, Source, is_unknown


@dataclass(frozen=True, slots=True)
class Mark:
    """`state` is "right" or "wrong" by the judge, "invalid" where no source is named, "" where nobody judged."""

    label: str
    source: int | None
    state: str


@dataclass(frozen=True, slots=True)
class ShownSentence:
    """`state` is "supported" or "unsupported" by the judge, or "". `doubted` is the system's own warning."""

    text: str
    state: str
    doubted: bool
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class ShownSection:
    heading: str
    level: int
    paragraphs: tuple[tuple[ShownSentence, ...], ...]


@dataclass(frozen=True, slots=True)
class ShownFact:
    label: str
    value: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class ShownSource:
    """`href` is "" unless the address is an ordinary web address."""

    title: str
    href: str
    host: str
    published: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownArticle:
    title: str
    sections: tuple[ShownSection, ...]
    infobox: tuple[ShownFact, ...]
    sources: tuple[ShownSource, ...]
    judged: bool


def shown(article: Article, judged: Sequence[JudgedSentence]) -> ShownArticle:
    numbers = number(article)
    verdicts = {(verdict.section, verdict.sentence): verdict for verdict in judged}
    return ShownArticle(
        title=article.title,
        sections=tuple(_section(i, section, numbers, verdicts) for i, section in enumerate(article.all_sections)),
        infobox=tuple(_fact(fact, numbers) for fact in article.infobox),
        sources=tuple(_source(source) for source in article.sources),
        judged=bool(verdicts),
    )


def web_address(url: str) -> tuple[str, str]:
    """(address, host) of an http or https address, ("", "") for anything else: `javascript:` never becomes a link."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "", ""
    if parts.scheme not in ("http", "https") or not host or any(ord(c) <= 32 for c in url):
        return "", ""
    return url, host.removeprefix("www.")


def _section(
    i: int, section: Section, numbers: Mapping[str, int], verdicts: Mapping[tuple[int, int], JudgedSentence]
) -> ShownSection:
    paragraphs, at = [], 0
    for paragraph in section.paragraphs:
        paragraphs.append(tuple(_sentence(s, numbers, verdicts.get((i, at + k))) for k, s in enumerate(paragraph)))
        at += len(paragraph)
    return ShownSection(section.heading.text, section.heading.level, tuple(paragraphs))


def _sentence(sentence: Sentence, numbers: Mapping[str, int], verdict: JudgedSentence | None) -> ShownSentence:
    state = "" if verdict is None else "supported" if verdict.supported else "unsupported"
    right = {} if verdict is None else {citation.id: citation.right for citation in verdict.citations}
    marks = tuple(_mark(cite, numbers, right.get(cite)) for cite in sentence.cites)
    return ShownSentence(sentence.text, state, sentence.unsupported, marks)


def _mark(cite: str, numbers: Mapping[str, int], right: bool | None) -> Mark:
    if cite not in numbers:
        return Mark(cite.removeprefix(INVALID) if is_invalid(cite) else "?", None, "invalid")
    return Mark(str(numbers[cite]), numbers[cite], "" if right is None else "right" if right else "wrong")


def _fact(fact: Fact, numbers: Mapping[str, int]) -> ShownFact:
    return ShownFact(fact.label, fact.value, tuple(_mark(cite, numbers, None) for cite in fact.cites))


def _source(source: Source) -> ShownSource:
    href, host = web_address(source.url)
    text = "The text of this source is not known." if is_unknown(source) else source.passage.text
    return ShownSource(source.title or host or source.url, href, host, source.published or "", text)
