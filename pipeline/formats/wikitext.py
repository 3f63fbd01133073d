"""An article as wikitext for MediaWiki: a draft for a person to check, with `{{cite web}}` references."""

from __future__ import annotations

import re

from data.markup import INVALID, is_invalid, number
from data.types import Article, Fact, Paragraph, Sentence, Source
from pipeline.formats.provenance import day_of, host_of, notice_of, one_line, shortened, web_link

# A box of our own: a notice template may be missing on the wiki this is pasted into, and then nobody is warned.
_NOTICE = (
    '<div class="machine-draft-notice" style="border:1px solid #a2a9b1; border-left:10px solid #f28500; '
    "padding:.5em 1em; margin:.5em 0;\">'''Machine-written draft.''' {words}</div>"
)

_ENTITY = re.compile(r"&(?=#?\w+;)")
_PROTOCOL = re.compile(r":(?=//)|(?<=\bmailto):|(?<=\bnews):|(?<=\btel):|(?<=\burn):|(?<=\bsip):|(?<=\bxmpp):", re.IGNORECASE)
_AS_ENTITIES = re.compile(r"[{}\[\]<>]|''+|~~~+|__+")
_LINE_START = re.compile(r"[=*#:;|!]|----")


def to_wikitext(article: Article, *, accessed: str = "") -> str:
    """Notice, infobox, sections, and references with a short quotation each; a source used again is a named reference.

    `accessed` is the date the pages were read, as `2023-02-11`, for the `access-date` of sources that do not know theirs.
    A capture of a page that is gone stands beside its address.
    No text of the article or of its pages can become a link, template, tag or list; only http(s) addresses are linked.
    """
    references = _References(article, accessed)
    blocks = [_NOTICE.format(words=_words(notice_of(article)))]
    if article.infobox:
        blocks.append(_infobox(article, references))
    for section in article.all_sections:
        if section is not article.lead:
            fence = "=" * min(max(section.heading.level, 2), 6)
            blocks.append(f"{fence} {_words(section.heading.text).replace('=', '&#61;')} {fence}")
        blocks += (_paragraph(paragraph, references) for paragraph in section.paragraphs)
    return "\n\n".join([*blocks, "== References ==", "{{reflist}}"]) + "\n"


class _References:
    """Writes a source in full where it is first cited, and by name after that."""

    def __init__(self, article: Article, accessed: str) -> None:
        self._sources = {source.id: source for source in reversed(article.sources)}
        self._numbers = number(article)
        self._accessed = accessed
        self._written: set[str] = set()

    def marks(self, cites: tuple[str, ...]) -> str:
        return "".join(self._mark(cite) for cite in cites)

    def _mark(self, cite: str) -> str:
        if is_invalid(cite):
            return f"<sup>&#91;no source {_words(cite.removeprefix(INVALID))}&#93;</sup>"
        name = f"source-{self._numbers[cite]}"
        if cite in self._written:
            return f'<ref name="{name}" />'
        self._written.add(cite)
        return f'<ref name="{name}">{_citation(self._sources[cite], self._numbers[cite], self._accessed)}</ref>'


def _citation(source: Source, k: int, accessed: str) -> str:
    link, host = web_link(source.url), host_of(source.url)
    title, quotation = source.title or host or f"Source {k}", shortened(source.passage.text)
    if link is None:  # {{cite web}} without an address shows an error
        return f"{_words(title)}: “{_words(quotation)}”"
    capture, captured = web_link(source.archive_url), _date(source.archive_date)
    archived = capture is not None and captured  # the template shows an error for one without the other
    values = {
        "url": _address(link),
        "title": _value(title),
        "website": _value(host),
        "date": _date(source.published),
        "access-date": _date(source.retrieved_at) or accessed,
        "archive-url": _address(capture or "") if archived else "",
        "archive-date": captured if archived else "",
        "url-status": "dead" if archived else "",
        "quote": _value(quotation),
    }
    return "{{cite web " + " ".join(f"|{key}={value}" for key, value in values.items() if value) + "}}"


def _address(link: str) -> str:
    return link.replace("~~~", "%7E%7E%7E").replace("__", "%5F%5F")  # a signature, a switch


def _date(written: str | None) -> str:
    """The template shows an error for anything but a whole date."""
    day = day_of(written)
    return day.isoformat() if day else ""


def _infobox(article: Article, references: _References) -> str:
    rows = "\n".join(_fact(i, fact, references) for i, fact in enumerate(article.infobox, 1))
    return f"{{{{Infobox\n| title = {_value(article.title)}\n{rows}\n}}}}"


def _fact(i: int, fact: Fact, references: _References) -> str:
    return f"| label{i} = {_value(fact.label)}\n| data{i} = {_value(fact.value)}{references.marks(fact.cites)}"


def _paragraph(paragraph: Paragraph, references: _References) -> str:
    line = " ".join(_sentence(sentence, references) for sentence in paragraph)
    return _coded(line[0]) + line[1:] if _LINE_START.match(line) else line


def _sentence(sentence: Sentence, references: _References) -> str:
    return _words(sentence.text) + references.marks(sentence.cites) + ("{{citation needed}}" if sentence.unsupported else "")


def _words(text: str) -> str:
    """Text as wikitext that shows exactly its characters, on one line, outside templates."""
    return _plain(text).replace("|", "&#124;")


def _value(text: str) -> str:
    """The same inside a template, where a bare pipe would begin the next value."""
    line = _plain(text).replace("|", "{{!}}")
    return _coded(line[0]) + line[1:] if _LINE_START.match(line) else line


def _plain(text: str) -> str:
    line = _ENTITY.sub("&amp;", one_line(text))
    line = _AS_ENTITIES.sub(lambda match: _coded(match.group()), line)
    return _PROTOCOL.sub("&#58;", line)


def _coded(characters: str) -> str:
    return "".join(f"&#{ord(character)};" for character in characters)
