"""An article as wikitext for MediaWiki: a draft for a person to check, with `{{cite web}}` references."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from data.markup import INVALID, is_invalid
from data.types import Article, Fact, Paragraph, Sentence, Source
from pipeline.formats.subject_name import with_name
from pipeline.planning.kinds import load_kinds
from pipeline.provenance import day_of, file_of, host_of, name_of, notice_of, one_line, web_link

# A box of our own: a notice template may be missing on the wiki this is pasted into, and then nobody is warned.
_NOTICE = (
    '<div class="machine-draft-notice" style="border:1px solid #a2a9b1; border-left:10px solid #f28500; '
    "padding:.5em 1em; margin:.5em 0;\">'''Machine-written draft.''' {words}</div>"
)

_YEAR = re.compile(r"\b(?:1[5-9]|20)\d{2}\b")
_MARK = "\0"
"""Stands for bold until its neighbours are known; `one_line` leaves none in a text."""
_ENTITY = re.compile(r"&(?=#?\w+;)")
_PROTOCOL = re.compile(r":(?=//)|(?<=\bmailto):|(?<=\bnews):|(?<=\btel):|(?<=\burn):|(?<=\bsip):|(?<=\bxmpp):", re.IGNORECASE)
_AS_ENTITIES = re.compile(r"[{}\[\]<>]|''+|~~~+|__+")
_LINE_START = re.compile(r"[=*#:;|!]|----")


def to_wikitext(article: Article, *, accessed: str = "") -> str:
    """Notice, infobox, sections, and one named reference a page, however many of its passages are cited.

    The title is bold where the lead says it first, the short description and the categories (as a comment) follow the kind of
    article that the title names. References hold no quotations: they are long, and of tables they are unreadable.
    `accessed` is the date the pages were read, as `2023-02-11`, for the `access-date` of sources that do not know theirs.
    A capture of a page that is gone is beside its address.
    No text of the article or of its pages can become a link, template, tag or list; only http(s) addresses are linked.
    """
    references = _References(article, accessed)
    subject = subject_of(article.title)
    blocks = [f"{{{{Short description|{as_value(subject.description)}}}}}"] if subject.description else []
    blocks.append(_NOTICE.format(words=as_words(notice_of(article))))
    if article.infobox:
        blocks.append(_infobox(article, references))
    for section in article.all_sections:
        if section is not article.lead:
            fence = "=" * min(max(section.heading.level, 2), 6)
            blocks.append(f"{fence} {as_words(section.heading.text).replace('=', '&#61;')} {fence}")
        blocks += (_paragraph(paragraph, references) for paragraph in section.paragraphs)
    blocks += ["== References ==", "{{reflist}}"]
    if subject.categories:
        shown = " ".join(f"[[:Category:{as_words(name)}]]" for name in subject.categories)
        blocks.append(f"<!-- Categories to consider: {shown} -->")
    return "\n\n".join(blocks) + "\n"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a title alone says: a short description and categories; empty where it names no kind of article."""

    description: str = ""
    categories: tuple[str, ...] = ()


def subject_of(title: str) -> Subject:
    kind = next((kind for kind in load_kinds() if kind.title.search(title)), None)
    year = _YEAR.search(title)
    if kind is None or year is None:
        return Subject()
    name = kind.name[0].upper() + kind.name[1:]
    return Subject(f"{name} of {year[0]}", (f"{year[0]} events",))


class _References:
    """Writes a source in full where it is first cited, and by name after that."""

    def __init__(self, article: Article, accessed: str) -> None:
        self.article = article
        self._accessed = accessed
        self._named: dict[str, tuple[str, Source, int]] = {}
        names: dict[tuple[int, str], str] = {}
        taken: Counter[str] = Counter()
        for k, source in enumerate(article.sources, 1):
            page = (source.passage.page, source.url)
            if page not in names:
                base = re.sub(r"[^a-z0-9]+", "-", host_of(source.url).lower()).strip("-") or "source"
                taken[base] += 1
                names[page] = base if taken[base] == 1 else f"{base}-{taken[base]}"
            self._named.setdefault(source.id, (names[page], source, k))
        self._written: set[str] = set()

    def marks(self, cites: tuple[str, ...]) -> str:
        """One mark a page, for several of its passages have one name."""
        once = {cite if is_invalid(cite) else self._named[cite][0]: cite for cite in reversed(cites)}
        return "".join(self._mark(cite) for cite in dict.fromkeys(cites) if cite in once.values())

    def _mark(self, cite: str) -> str:
        if is_invalid(cite):
            return f"<sup>&#91;no source {as_words(cite.removeprefix(INVALID))}&#93;</sup>"
        name, source, k = self._named[cite]
        if name in self._written:
            return f'<ref name="{name}" />'
        self._written.add(name)
        return f'<ref name="{name}">{_citation(source, k, self._accessed)}</ref>'


def _citation(source: Source, k: int, accessed: str) -> str:
    link, host = web_link(source.url), host_of(source.url)
    title = name_of(source.title, source.url, k)
    if link is None:
        return _unlinked(source, title)
    capture, captured = web_link(source.archive_url), _date(source.archive_date)
    archived = capture is not None and captured  # the template shows an error for one without the other
    values = {
        "url": _address(link),
        "title": as_value(title),
        "author": as_value(source.author),
        "website": as_value(source.site or host),
        "date": _date(source.published),
        "access-date": _date(source.retrieved_at) or accessed,
        "archive-url": _address(capture or "") if archived else "",
        "archive-date": captured if archived else "",
        "url-status": "dead" if archived else "",
    }
    return "{{cite web " + " ".join(f"|{key}={value}" for key, value in values.items() if value) + "}}"


def _unlinked(source: Source, title: str) -> str:
    """Of a file: {{cite web}} shows an error without an address, {{cite news}} none. Its title alone where no more is known."""
    known = {"author": as_value(source.author), "work": as_value(source.site), "date": _date(source.published)}
    if source.title and (file := file_of(source.url)):
        known["id"] = as_value(file)
    if not any(known.values()):
        return as_words(title)
    values = {"title": as_value(title), **known}
    return "{{cite news " + " ".join(f"|{key}={value}" for key, value in values.items() if value) + "}}"


def _address(link: str) -> str:
    return link.replace("~~~", "%7E%7E%7E").replace("__", "%5F%5F")  # a signature, a switch


def _date(written: str | None) -> str:
    """The template shows an error for anything but a whole date."""
    day = day_of(written)
    return day.isoformat() if day else ""


def _infobox(article: Article, references: _References) -> str:
    rows = "\n".join(_fact(i, fact, references) for i, fact in enumerate(article.infobox, 1))
    return f"{{{{Infobox\n| title = {as_value(article.title)}\n{rows}\n}}}}"


def _fact(i: int, fact: Fact, references: _References) -> str:
    return f"| label{i} = {as_value(fact.label)}\n| data{i} = {as_value(fact.value)}{references.marks(fact.cites)}"


def _paragraph(paragraph: Paragraph, references: _References) -> str:
    line = " ".join(_sentence(sentence, references) for sentence in paragraph)
    return _coded(line[0]) + line[1:] if _LINE_START.match(line) else line


def _sentence(sentence: Sentence, references: _References) -> str:
    text = with_name(sentence, references.article, as_words, _MARK)
    # An apostrophe beside the three of bold would make italics of it.
    text = text.replace(f"'{_MARK}", f"&#39;{_MARK}").replace(f"{_MARK}'", f"{_MARK}&#39;").replace(_MARK, "'''")
    return text + references.marks(sentence.cites) + ("{{citation needed}}" if sentence.unsupported else "")


def as_words(text: str) -> str:
    """Text as wikitext that shows exactly its characters, on one line, outside templates."""
    return _plain(text).replace("|", "&#124;")


def as_value(text: str) -> str:
    """The same inside a template, where a bare pipe would begin the next value."""
    if not text:
        return ""
    line = _plain(text).replace("|", "{{!}}")
    return _coded(line[0]) + line[1:] if _LINE_START.match(line) else line


def _plain(text: str) -> str:
    line = _ENTITY.sub("&amp;", one_line(text))
    line = _AS_ENTITIES.sub(lambda match: _coded(match.group()), line)
    return _PROTOCOL.sub("&#58;", line)


def _coded(characters: str) -> str:
    return "".join(f"&#{ord(character)};" for character in characters)
