"""HTML articles: Wikipedia's pages (as readers get them, and Parsoid's), this package's own, and others that cite by links or
footnotes; Markdown, too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from urllib.parse import unquote, urldefrag

from lxml import etree
from lxml import html as lxml_html

from data.errors import UserError
from pipeline.checking import cited_works, wikitables
from pipeline.checking.cited import END, FILE, NOTE, UNREAD, CitedArticle, CitedStatement, Reference, References, statements_of

_BLOCKS = ("p", "li", "dd", "blockquote")
_TAGS = ("header", "script", "style", "noscript", "nav", "footer", "aside", "form", "figure", "template")
_CLASSES = (
    "mw-editsection",
    "ambox",
    "mbox",
    "sidebar",
    "navbox",
    "hatnote",
    "Inline-Template",
    "mw-cite-backlink",
    "Z3988",
    "shortdescription",
    "cs1-maint",
)
_DROPPED = "|".join(
    [*(f"//{tag}" for tag in _TAGS), "//*[@hidden]", "//*[@role='note']", *(f"//*[contains(@class,'{c}')]" for c in _CLASSES)]
)
_NOTE_MARK = re.compile(r"\[?\s*(?:[\w-]{1,14}[\s\xa0]+)?[\w†*‡]{1,4}\s*\]?")
_NOTED = re.compile(rf"{NOTE}(\d+){END}")
_PAGE = re.compile(r"\b(?:pp?|S|ch|chap)\.[\s\xa0]?(\d[\d–—, -]*\d|\d)")
_UNDEFINED = re.compile(
    r"[\"“„«]?([\w :.-]{1,80})[\"”“»]? (?:was invoked but never defined|wurde nicht gefunden)", re.IGNORECASE
)
_DEEPEST = 5
"""References within references."""


def read_html(text: str, form: str = "HTML", known: References | None = None) -> CitedArticle:
    """`known` are references whose marks are in the text already. Raises UserError for a file without readable text."""
    try:
        root = lxml_html.document_fromstring(text)
    except (etree.ParserError, ValueError) as error:
        raise UserError(f"the article cannot be read as HTML ({error}); give its wikitext or Markdown") from None
    reading = _Reading(root, known if known is not None else References())
    title = _title(root)
    reading.mark()
    statements = tuple(reading.statements())
    return CitedArticle(title, form, statements, reading.references.found)


def _title(root: lxml_html.HtmlElement) -> str:
    for path in ("//h1", "//title"):
        for found in root.xpath(path):
            if words := " ".join(found.text_content().split()):
                return words
    return ""


def _content(root: lxml_html.HtmlElement) -> lxml_html.HtmlElement:
    for path in ("//*[@id='mw-content-text']", "//article", "//main", "//body"):
        for found in root.xpath(path):
            return found
    return root


class _Reading:
    def __init__(self, root: lxml_html.HtmlElement, references: References) -> None:
        self.references = references
        self._root = root
        self._by_id = {element.get("id"): element for element in root.xpath("//*[@id]")}
        asked = {_fragment(a) for a in root.xpath("//a[contains(@href,'#')]") if _is_note_mark(a)}
        self._cited = {name: self._by_id[name] for name in asked if name in self._by_id}
        for element in root.xpath(_DROPPED):
            if isinstance(element, lxml_html.HtmlElement) and element.getparent() is not None:
                element.drop_tree()
        self._notes = {id(target) for target in self._cited.values()}
        self._works: dict[str, list[Reference]] = {}
        self._said: dict[str, int] = {}
        self._texts: list[str] = []
        """Footnotes with words of their own, with the marks of what they cite."""

    # --- what a note cites ------------------------------------------------------------------------------------------------

    def _works_of(self, name: str, depth: int = 0) -> list[Reference]:
        """The works of a note by its id, found once."""
        if name not in self._works:
            self._works[name] = []
            self._works[name] = self._of_note(self._cited[name], depth)
        return self._works[name]

    def _of_note(self, note: lxml_html.HtmlElement, depth: int) -> list[Reference]:
        found: list[Reference] = []
        short: list[Reference] = []
        for a in note.iter("a"):
            fragment = _fragment(a)
            if fragment.startswith("CITEREF"):
                short.append(self._short(a, fragment))
            elif fragment in self._cited and _is_note_mark(a) and depth < _DEEPEST and self._cited[fragment] is not note:
                short += self._works_of(fragment, depth + 1)
        cites = [one for one in note.iter() if isinstance(one.tag, str) and _is_citation(one)]
        for cite in cites:
            found += [of_element(cite)]
        found = [*short, *found] if short or found else [_of_links(note)]
        if len(found) == 1 and not found[0].url and not found[0].kind and not short:
            found = [self._without_address(note, found[0])]
        return list(dict.fromkeys(found))

    def _short(self, a: lxml_html.HtmlElement, fragment: str) -> Reference:
        words = " ".join(a.text_content().split())
        page = _PAGE.search((a.tail or "")[:60]) or _PAGE.search(words)
        target = self._by_id.get(fragment)
        if target is None:
            return Reference("", words, kind="undefined", page=page[1] if page else "")
        work = of_element(target)
        return replace(work, page=page[1] if page else "")

    def _without_address(self, note: lxml_html.HtmlElement, reference: Reference) -> Reference:
        words = " ".join(note.text_content().split()).strip("^ ↑")
        if undefined := _UNDEFINED.search(words):
            return Reference("", undefined[1].strip(), kind="undefined")
        if not words or note.xpath(".//*[contains(@class,'mw-ext-cite-error') or contains(@typeof,'mw:Error')]"):
            name = re.sub(r"\Acite_note-|-\d+\Z", "", note.get("id") or "")
            return Reference("", name.replace("_", " "), kind="undefined")
        return cited_works.of_words(words)

    # --- marks ------------------------------------------------------------------------------------------------------------

    def mark(self) -> None:
        """Put a mark in place of each link that cites."""
        for a in list(self._root.iter("a")):
            if any(id(one) in self._notes for one in a.iterancestors()):
                continue
            self._mark_one(a)
        for name in list(self._said):
            note = self._cited[name]
            for a in list(note.iter("a")):
                self._mark_one(a, name)
            self._texts[self._said[name]] = note.text_content()

    def _mark_one(self, a: lxml_html.HtmlElement, within: str = "") -> None:
        fragment = _fragment(a)
        if fragment in self._cited and _is_note_mark(a):
            mark = "".join(self.references.mark(work) for work in self._works_of(fragment)) if fragment != within else ""
            if not within and self._is_said(fragment):
                if fragment not in self._said:
                    self._said[fragment] = len(self._texts)
                    self._texts.append("")
                mark += f"{NOTE}{self._said[fragment]}{END}"
            _replace(a, mark)
        elif (page := self.references.address(a.get("href", ""))) and _leaves(a):
            words = a.text_content()
            bare = words.strip().startswith(("http", "www.", "[")) or bool(_NOTE_MARK.fullmatch(words.strip()))
            title = "" if bare else " ".join(words.split())
            mark = self.references.mark(
                Reference(page, title) if page.startswith(FILE) else cited_works.of_address(page, title)
            )
            if bare:
                _replace(a, mark)
            else:
                a.tail = mark + (a.tail or "")

    def _is_said(self, name: str) -> bool:
        """Whether a note has words of its own: one that cites others, or one of prose without a work."""
        note = self._cited[name]
        inner = [a for a in note.iter("a") if _is_note_mark(a) and _fragment(a) in self._cited]
        works = self._works_of(name)
        is_work = any(work.url or work.kind in ("book", "article", "undefined") for work in works)
        words = re.findall(r"[^\W\d_]{2,}", note.text_content())
        is_note = bool(inner) or re.match(r"cite_note-(?:note|nb|efn|fn|n|lower|upper)\b", name, re.IGNORECASE) is not None
        return is_note and len(words) >= 5 and (bool(inner) or not is_work)

    # --- statements -------------------------------------------------------------------------------------------------------

    def statements(self) -> Iterator[CitedStatement]:
        heading, unread = "", 0
        tables: list[tuple[str, lxml_html.HtmlElement]] = []
        for element in _content(self._root).iter():
            if element.tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
                level = int(element.tag[1])
                if unread and level > unread:
                    continue
                words = " ".join(element.text_content().split())
                heading = "" if level == 1 else words
                unread = level if UNREAD.fullmatch(heading) else 0
            elif element.tag == "table":
                if not unread and element.getparent() is not None and next(element.iterancestors("table"), None) is None:
                    tables.append((heading, element))
            elif element.tag in _BLOCKS and not unread and next(element.iterancestors("table"), None) is None:
                inner = [one for one in element.iterdescendants() if one.tag in _BLOCKS]
                if (
                    not inner
                    and id(element) not in self._notes
                    and not any(id(one) in self._notes for one in element.iterancestors())
                ):
                    text = element.text_content()
                    yield from statements_of(text, heading, self.references)
                    for number in dict.fromkeys(_NOTED.findall(text)):
                        yield from statements_of(self._texts[int(number)], heading, self.references)
        rows = (row for above, table in tables for row in self._rows(table, above))
        yield from sorted(islice(rows, wikitables.MOST_ROWS), key=lambda row: row.section != wikitables.INFOBOX)

    def _rows(self, table: lxml_html.HtmlElement, heading: str) -> Iterator[CitedStatement]:
        """Rows that cite, of a table that holds data."""
        if next(table.iterdescendants("table"), None) is not None or any(id(one) in self._notes for one in table.iter()):
            return
        cells = [
            [_cell(cell) for cell in row if cell.tag in ("td", "th")]
            for row in islice(table.iter("tr"), 20 * wikitables.MOST_ROWS)
        ]
        if "infobox" in (table.get("class") or ""):
            pairs = ((row[0].text, row[1].text) for row in cells if len(row) == 2 and row[0].head)
            yield from wikitables.box_statements(pairs, self.references)
        else:
            section = f"Table in “{heading}”" if heading else "Table"
            yield from wikitables.row_statements([row for row in cells if row], section, self.references)


def _cell(cell: lxml_html.HtmlElement) -> wikitables.Cell:
    words = " ".join(cell.text_content().split())
    return wikitables.Cell(words, cell.tag == "th", _span(cell, "colspan"), _span(cell, "rowspan"))


def _span(cell: lxml_html.HtmlElement, name: str) -> int:
    written = str(cell.get(name) or "1").strip()
    return max(1, int(written)) if written.isdecimal() and len(written) < 4 else 1


def _replace(a: lxml_html.HtmlElement, text: str) -> None:
    for child in list(a):
        a.remove(child)
    a.text = text


def _fragment(a: lxml_html.HtmlElement) -> str:
    return unquote(urldefrag(a.get("href", ""))[1])


def _is_note_mark(a: lxml_html.HtmlElement) -> bool:
    address, fragment = urldefrag(a.get("href", ""))
    inside = not address.startswith(("http://", "https://")) or "cite_note" in fragment
    return bool(fragment) and inside and bool(_NOTE_MARK.fullmatch(a.text_content().strip()))


def _leaves(a: lxml_html.HtmlElement) -> bool:
    return not re.search(r"//[\w.-]*(?:wikipedia|wikimedia|wiktionary|wikidata)\.org", a.get("href", ""))


def _is_citation(element: lxml_html.HtmlElement) -> bool:
    return (element.tag == "cite" and "citation" in (element.get("class") or "").split()) or bool(_template(element))


def _template(element: lxml_html.HtmlElement) -> dict[str, object]:
    """The citation template that Parsoid says an element was made by; empty for none."""
    written = element.get("data-mw") or ""
    if '"template"' not in written or len(written) > 50_000:
        return {}
    try:
        parts = json.loads(written)["parts"]
        found = next(part["template"] for part in parts if isinstance(part, dict) and "template" in part)
        name = str(found["target"]["wt"])
        values = {str(key): str(value["wt"]) for key, value in found["params"].items()}
    except (ValueError, KeyError, TypeError, StopIteration, AttributeError, RecursionError):
        return {}
    from pipeline.checking.wikitemplates import normal, templates

    return {"name": normal(name), "values": values} if templates().is_citation(normal(name)) else {}


def of_element(element: lxml_html.HtmlElement) -> Reference:
    """The work that a citation's element describes, by its template where Parsoid names it, else by its links."""
    found = _template(element)
    if found and isinstance(found["values"], dict):
        from pipeline.checking.wikimarkup import parse
        from pipeline.checking.wikireferences import plain

        values = {key: plain(parse(value)) for key, value in found["values"].items()}
        if (reference := cited_works.reference_of(str(found["name"]), values)) is not None:
            return reference
    linked = _of_links(element)
    kind = "book" if "book" in (element.get("class") or "") else linked.kind
    return replace(linked, kind=kind) if kind == "book" else linked


def _of_links(note: lxml_html.HtmlElement) -> Reference:
    links = [a.get("href") for a in note.iter("a") if a.get("href", "").startswith(("http://", "https://")) and _leaves(a)]
    pages = [link for link in links if not cited_works.ARCHIVES.match(link)]
    archives = [link for link in links if cited_works.ARCHIVES.match(link)]
    words = " ".join(note.text_content().split())
    if not pages and archives:
        return cited_works.of_address(archives[0], words)
    of_words = cited_works.of_words(words)
    return replace(of_words, url=pages[0] if pages else of_words.url, archive_url=archives[0] if archives else "")
