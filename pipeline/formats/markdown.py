"""An article as Markdown: CommonMark with the tables and footnotes that GitHub, Pandoc and most wikis read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from data.markup import INVALID, is_invalid, number
from data.types import Article, Fact, Paragraph, Sentence, Source
from pipeline.formats.subject_name import with_name
from pipeline.provenance import day_of, file_of, host_of, name_of, notice_of, one_line, shortened, web_link

if TYPE_CHECKING:
    from pipeline.following.disagreements import Disagreement

_INLINE = re.compile(r"[\\`*_\[\]|~$#]")
_AUTOLINK = re.compile(r":(?=//)|(?<=www)\.|@", re.IGNORECASE)  # GitHub links bare addresses
_BLOCK_START = re.compile(r"(?=[-+=:])|(?<=\d)(?=[.)](?:\s|\Z))")
_ENTITY = re.compile(r"&(?=#?\w+;)")


def to_markdown(article: Article, disagreements: Sequence[Disagreement] = ()) -> str:
    """Title, notice, infobox as a table, sections, what sources disagree on, and a footnote a source.

    The words of the article and of its pages are escaped: they hold no link, no HTML and no markup of their own.
    """
    numbers = number(article)
    blocks = [f"# {_words(article.title)}", f"> **Machine-written draft.** {notice_of(article)}"]
    if article.infobox:
        blocks.append("\n".join(["| | |", "| --- | --- |", *(_row(fact, numbers) for fact in article.infobox)]))
    for section in article.all_sections:
        if section is not article.lead:
            blocks.append(f"{'#' * min(max(section.heading.level, 2), 6)} {_words(section.heading.text)}")
        blocks += (_paragraph(paragraph, numbers, article) for paragraph in section.paragraphs)
    if disagreements:
        blocks += ["## Sources disagree", "\n".join(f"- {found.in_words(_words)}" for found in disagreements)]
    blocks += (_footnote(k, source) for k, source in enumerate(article.sources, 1))
    return "\n\n".join(blocks) + "\n"


def _words(text: str) -> str:
    """Text as inline Markdown that shows exactly its characters, on one line."""
    line = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _AUTOLINK.sub(r"\\\g<0>", _INLINE.sub(r"\\\g<0>", line))


def _paragraph(paragraph: Paragraph, numbers: dict[str, int], article: Article) -> str:
    line = " ".join(_sentence(sentence, numbers, article) for sentence in paragraph)
    start = re.match(r"\d{1,9}|", line)
    at = start.end() if start else 0
    return line[:at] + ("\\" if _BLOCK_START.match(line, at) else "") + line[at:]


def _sentence(sentence: Sentence, numbers: dict[str, int], article: Article) -> str:
    doubt = r" *\[no source found\]*" if sentence.unsupported else ""
    return with_name(sentence, article, _words, "**") + _marks(sentence.cites, numbers) + doubt


def _marks(cites: tuple[str, ...], numbers: dict[str, int]) -> str:
    return "".join(rf"\[no source {_words(c.removeprefix(INVALID))}\]" if is_invalid(c) else f"[^{numbers[c]}]" for c in cites)


def _row(fact: Fact, numbers: dict[str, int]) -> str:
    return f"| **{_words(fact.label)}** | {_words(fact.value)}{_marks(fact.cites, numbers)} |"


def _footnote(k: int, source: Source) -> str:
    title, link = _words(name_of(source.title, source.url, k)), web_link(source.url)
    named = _link(title, link) if link else title
    published, retrieved, capture = day_of(source.published), day_of(source.retrieved_at), web_link(source.archive_url)
    parts = [
        _words(host_of(source.url)),
        _words(file_of(source.url)) if source.title else "",
        published.isoformat() if published else "",
        f"retrieved {retrieved.isoformat()}" if retrieved else "",
        _link("archived copy", capture) if capture else "",
    ]
    about = ", ".join(part for part in parts if part)
    return f"[^{k}]: {named}. {about + '. ' if about else ''}“{_words(shortened(source.passage.text))}”"


def _link(words: str, address: str) -> str:
    return f"[{words}](<{_ENTITY.sub('&amp;', address)}>)"
