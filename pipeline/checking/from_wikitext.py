"""Wikitext in all the ways in which Wikipedia cites. Broken markup is text or a broken reference, never an error.

`wikimarkup` finds templates, links and tags, `wikireferences` what they cite; here the article's running text is made, with a
mark at each place where it cites, and cut into statements.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from pipeline.checking import cited_works, wikitables
from pipeline.checking.cited import (
    END,
    FILE_LINK,
    GAP,
    MARK,
    NOTE,
    UNREAD,
    CitedArticle,
    CitedStatement,
    Reference,
    References,
    statements_of,
)
from pipeline.checking.shown import is_shown, shown
from pipeline.checking.wikimarkup import Argument, ExtensionTag, HtmlTag, Link, Node, Part, Template, parse
from pipeline.checking.wikireferences import (
    Works,
    link_text,
    name_of,
    named_uses,
    note_content,
    parts_of,
    plain,
    plain_values,
    reference_of,
    unquoted,
)
from pipeline.checking.wikitemplates import templates

_NOT_TEXT = re.compile(
    r"\s*(?:file|image|category|media|datei|bild|kategorie|fichier|catégorie|archivo|categoría|categoria|immagine|ficheiro|imagem"
    r"|bestand|afbeelding|categorie|plik|grafika|kategoria|fil|kategori|tiedosto|luokka|файл|изображение|категория)\s*:",
    re.IGNORECASE,
)
_LANGUAGE_LINK = re.compile(r"[a-z]{2,3}(?:-[a-z]+)?:", re.IGNORECASE)
_HEADING = re.compile(r"(={1,6})(.+?)\1\s*\Z")
_LIST = re.compile(r"[*#:;]+\s*")
_SWITCH = re.compile(r"__[A-ZÄÖÜ]+(?:_[A-ZÄÖÜ]+)*__")
_LINK = re.compile(
    r"\[((?:https?:)?//[^\s\[\]<>\"\ue000-\ue00f]+)[^\S\n]*([^\[\]\n]*)\]|(?<![\w/])(https?://[^\s|\[\]{}<>\"\ue000-\ue00f]+)"
)
_WIKIS = re.compile(
    r"https?://[\w.-]*\b(?:wikipedia|wikimedia|wiktionary|wikidata|wikisource|wikiquote|toolforge)\.org", re.IGNORECASE
)
_BLOCKS = frozenset(
    (
        "p",
        "div",
        "blockquote",
        "center",
        "table",
        "tr",
        "li",
        "ul",
        "ol",
        "dl",
        "dd",
        "dt",
        "h1",
        "h2",
        "h3",
        "h4",
        "hr",
        "section",
        "gallery",
    )
)
_UNCLOSED = re.compile(r"\{\{([^{}|\n\ue000-\ue00f]{0,60})(?:\|[^.!?{}\ue000-\ue00f]*\Z|\|?)")
"""A template that nothing closes; what follows is its own if no sentence ends in it."""
_LOOSE = re.compile(r"\}\}|\[\[|\]\]")
"""Braces and brackets that nothing closes."""
_AUTHOR_YEAR = re.compile(
    r"\(([A-Z][\w'’-]+(?: (?:and|&) [A-Z][\w'’-]+| et al\.)?,? (?:1[5-9]|20)\d\d[a-z]?(?:, pp?\. ?[\d–-]+)?)\)"
)
_OWN_LINE = re.compile(rf"[{MARK}{NOTE}{GAP}\d{END}\s]*\Z")
_NOTE = re.compile(rf"{NOTE}(\d+){END}")
_NOTE_GROUPS = re.compile(
    r"(?:notes?|nb|n|fn|footnotes?|lower-\w+|upper-\w+|anm\.?|a|α|lower|upper|explanatory|efn|remark|comment)\Z", re.IGNORECASE
)
_MOST_BEFORE = 60
"""Pieces that are looked at to find the beginning of a line."""
_LAST_USE = re.compile(rf"{MARK}\d+{END}\Z")


def read_wikitext(text: str, title: str = "", known: References | None = None) -> CitedArticle:
    nodes = parse(text)
    reading = _Reading(Works(nodes, text), known if known is not None else References())
    statements = tuple(reading.statements(nodes))
    return CitedArticle(title or _title(text), "wikitext", statements, reading.references.found, source=text)


def _title(text: str) -> str:
    """What the text calls its subject: the first bold words, else the title of its infobox."""
    bold = (match[1] for match in re.finditer(r"'''(.+?)'''", text) if not match[1].startswith("Machine-written draft"))
    boxed = re.search(r"^\|\s*(?:title|name)\s*=\s*([^|{}\[\]<>\n]+)$", text, re.MULTILINE)
    found = next(bold, boxed[1].strip() if boxed else "")
    return " ".join(plain(parse(found)).split())[:200]


class _Reading:
    def __init__(self, works: Works, references: References) -> None:
        self.references = references
        self._works = works
        self._notes: list[str] = []
        """Texts of footnotes, with the marks of what they cite."""
        self._note_of: dict[str, int] = {}
        self._told: set[int] = set()
        self._boxed: list[tuple[str, str]] = []
        """Values of infoboxes with the marks of what they cite."""

    # --- statements -------------------------------------------------------------------------------------------------------

    def statements(self, nodes: Sequence[Node]) -> list[CitedStatement]:
        found: list[CitedStatement] = []
        heading, unread = "", 0
        paragraph: list[str] = []
        text = self._linked("".join(self._text(nodes)))
        lines, tables = wikitables.cut_out(text.split("\n"))
        rows: list[CitedStatement] = []
        for line in [*lines, ""]:
            if line.startswith(wikitables.TABLE):
                if not unread and len(rows) < wikitables.MOST_ROWS:
                    rows += self._rows(tables[int(line[1:])], heading)
                continue
            line = _SWITCH.sub("", cited_works.decoded(line)).strip()
            title = _HEADING.match(line)
            is_block = title is not None or not line or line[0] in "*#:;" or line.startswith("----")
            if is_block and paragraph:
                found += self._paragraph(" ".join(paragraph), heading)
                paragraph = []
            if title is not None:
                words = re.sub(rf"'{{2,}}|[{MARK}{NOTE}{GAP}]\d+{END}", "", title[2]).strip()
                level = len(title[1])
                if unread and level > unread:
                    continue
                heading, unread = words, level if UNREAD.fullmatch(words) else 0
            elif line and not unread:
                if is_block:
                    found += self._paragraph(_LIST.sub("", line, count=1).strip("-"), heading)
                else:
                    paragraph.append(line)
        boxes = list(islice(wikitables.box_statements(self._boxed, self.references), wikitables.MOST_ROWS))
        return [*found, *boxes, *rows[: wikitables.MOST_ROWS]]

    def _rows(self, lines: Sequence[str], heading: str) -> list[CitedStatement]:
        cells = wikitables.of_wikitext([cited_works.decoded(line) for line in lines])
        section = f"Table in “{heading}”" if heading else "Table"
        return list(wikitables.row_statements(cells, section, self.references))

    def _by_author(self, match: re.Match[str]) -> str:
        """`(Brand 2024, p. 5)` in the running text, where the article describes that work."""
        works = self._works.short_words(match[1])
        return match[0] + "".join(self._marks(works, -1, -1)) if works else match[0]

    def _paragraph(self, text: str, heading: str) -> list[CitedStatement]:
        text = _AUTHOR_YEAR.sub(self._by_author, text)
        text = _UNCLOSED.sub(lambda match: self.references.gap(match[1].strip() or "{{") + " ", re.sub(r"'{2,}", "", text))
        text = _LOOSE.sub("", text)
        found = statements_of(text, heading, self.references)
        waiting = [int(number) for number in _NOTE.findall(text)]
        while waiting:
            number = waiting.pop(0)
            if number not in self._told:  # a footnote may have footnotes, and be used again
                self._told.add(number)
                found += statements_of(self._notes[number], heading, self.references)
                waiting += [int(inner) for inner in _NOTE.findall(self._notes[number])]
        return found

    def _linked(self, text: str) -> str:
        """External links of the running text, as citations."""

        def link(match: re.Match[str]) -> str:
            address = match[1] or match[3]
            url = cited_works.cleaned(f"https:{address}" if address.startswith("//") else address)
            label = match[2] or ""
            trailing = match[3][len(match[3].rstrip(".,;:!?")) :] if match[3] else ""
            if _WIKIS.match(url):
                return label + trailing
            return label + self.references.mark(cited_works.of_address(url, re.sub(r"'{2,}", "", label))) + trailing

        def file_link(match: re.Match[str]) -> str:
            label = match[2] or ""
            address = self.references.address(match[1])
            return label + self.references.mark(Reference(address, re.sub(r"'{2,}", "", label)[:200])) if address else match[0]

        return FILE_LINK.sub(file_link, _LINK.sub(link, text))

    # --- running text -----------------------------------------------------------------------------------------------------

    def _text(self, nodes: Sequence[Node]) -> list[str]:
        out: list[str] = []
        hidden = ""  # the tag whose text is not the article's
        struck = _struck(nodes)
        for n, node in enumerate(nodes):
            if hidden:
                hidden = "" if isinstance(node, HtmlTag) and node.name == hidden and node.closes else hidden
            elif isinstance(node, HtmlTag) and not node.closes and (node.name == "includeonly" or n in struck):
                hidden = node.name
            elif isinstance(node, str):
                out.append(node)
            elif isinstance(node, HtmlTag):
                out.append("\n\n" if node.name in _BLOCKS else " " if node.name == "br" else "")
            elif isinstance(node, ExtensionTag):
                out += self._tag(node)
            elif isinstance(node, Link):
                out += self._link(node)
            elif isinstance(node, Template):
                out += self._template(node, out, _begins_line(out))
            elif isinstance(node, Argument) and len(node.parts) > 1:
                out += self._text(node.parts[1].nodes)
        return out

    def _link(self, link: Link) -> list[str]:
        target = plain(link.parts[0].nodes)
        if _NOT_TEXT.match(target) or (len(link.parts) == 1 and _LANGUAGE_LINK.match(target)):
            return []
        if len(link.parts) == 1:
            return self._text(link.parts[0].nodes) if not target.startswith(":") else [link_text(link)]
        shown_text = self._text(link.parts[-1].nodes)
        return shown_text if "".join(shown_text).strip() else [link_text(link)]

    def _tag(self, tag: ExtensionTag) -> list[str]:
        if tag.name == "ref":
            return self._ref(tag)
        if tag.name == "poem":
            return ["\n\n", *self._text(tag.nodes), "\n\n"]
        if tag.name == "nowiki":
            return [_hidden_markup(tag.inner or "")]
        if tag.name in ("math", "chem", "ce", "score", "hiero"):
            return [self.references.gap(f"<{tag.name}>")]
        return []

    def _ref(self, tag: ExtensionTag) -> list[str]:
        name, group = tag.attributes.get("name", ""), tag.attributes.get("group", "")
        definition = self._works.named(name, group) if name and not (tag.inner or "").strip() else None
        inside = definition.inside if definition is not None else tag.inner_end if tag.inner and not tag.broken else -1
        nodes = definition.nodes if definition is not None else tuple(tag.nodes)
        if nodes and _NOTE_GROUPS.match(group) and self._works.has_prose(nodes):
            return self._note(f"{group}\0{name or tag.start}", nodes, tag.start, tag.end)
        return self._marks(self._works.of_tag(tag), tag.start, tag.end, inside)

    def _marks(self, works: Sequence[Reference], start: int, end: int, inside: int = -1) -> list[str]:
        return [self.references.mark(work, start, end, inside) for work in works]

    def _note(self, key: str, nodes: Sequence[Node], start: int, end: int) -> list[str]:
        """What a footnote cites belongs to its sentence; what it says is a statement of its own, said once."""
        cited = self._works.cited_in(nodes)
        known = self._note_of.get(key)
        if known is None:
            known = self._note_of[key] = len(self._notes)
            self._notes.append("")  # a note that cites itself is said once
            text = self._linked("".join(self._text(nodes)))
            self._notes[known] = re.sub(r"'{2,}", "", cited_works.decoded(" ".join(text.split())))
        return [*self._marks([one for one in cited if one.kind != "template"], start, end), f"{NOTE}{known}{END}"]

    def _template(self, node: Template, before: list[str], begins_line: bool) -> list[str]:
        known, name = templates(), name_of(node)
        parts = parts_of(node)
        if name == "#tag:ref":
            return self._tagged(node, parts)
        if name in known.notes:
            return self._note_template(name, node, parts)
        if self._works.is_short(name):
            found = self._works.short(name, plain_values(parts))
            told = _told(plain_values(parts)) if name in ("harvtxt", "harvcoltxt") else ""
            return [told, *(self.references.mark(work, node.start, node.end, inside) for work, inside in found)]
        if name in known.named:
            return self._by_names(node, plain_values(parts))
        if name in known.page_mark:
            if before and _LAST_USE.search(before[-1]):
                values = plain_values(parts)
                page = next((values[key] for key in ("1", "p", "page", "pp", "pages", "loc", "at") if key in values), "")
                before[-1] = self.references.on_page(before[-1], page[:60])
            return []
        if name in ("ref", "ref label") and "1" in parts:
            note = self._works.old_note(plain(parts["1"].nodes).strip())
            works = (
                self._works.works_of(parse(note))
                if note
                else [Reference("", plain(parts["1"].nodes).strip(), kind="undefined")]
            )
            return self._marks(works, node.start, node.end)
        if name in known.quoted:
            quoted = parts.get("text") or parts.get("quote") or parts.get("1")
            source = self._inner_references(node, skip=quoted)
            return ["\n\n", *self._text(quoted.nodes if quoted else ()), *source, "\n\n"]
        if known.is_citation(name) and not (name == "citation" and set(parts) <= {"1"}):
            work = reference_of(node)
            return self._marks([work], node.start, node.end, node.end - 2) if work is not None and not begins_line else []
        if name in known.archives or name in known.lists or name in cited_works.IDENTIFIERS:
            return []
        if name == "citation":
            return ["“", *self._text(parts["1"].nodes), "”"] if "1" in parts else []
        return self._shown(name, node, parts, begins_line)

    def _shown(self, name: str, node: Template, parts: dict[str, Part], begins_line: bool) -> list[str]:
        if begins_line and wikitables.is_box(name):
            if len(self._boxed) < wikitables.MOST_ROWS:
                self._boxed += [(key, self._linked("".join(self._text(part.nodes)))) for key, part in parts.items()]
            return []
        if not is_shown(name):  # beginning a line it is a box or a notice, no part of a sentence
            return [] if begins_line else [self.references.gap(name[:80]), *self._inner_references(node)]
        if templates().is_ignored(name):
            return []
        values = {key: "".join(self._text(part.nodes)).strip() for key, part in parts.items() if key.isdigit() or key == "text"}
        others = {key: part for key, part in parts.items() if key not in values}
        return [shown(name, values | plain_values(others)) or ""]

    def _inner_references(self, node: Template, skip: Part | None = None) -> list[str]:
        """The references within a template of which nothing else is read."""
        found: list[str] = []
        for part in node.parts[1:]:
            values = part.nodes[part.split + 1 :] if part.split >= 0 else part.nodes
            if skip is not None and values and skip.nodes and values[0] is skip.nodes[0]:
                continue
            for inner in values:
                if isinstance(inner, ExtensionTag) and inner.name == "ref":
                    found += self._ref(inner)
                elif isinstance(inner, Template):
                    name = name_of(inner)
                    if name in templates().notes or name in templates().named or self._works.is_short(name):
                        found += [one for one in self._template(inner, [], True) if one.startswith((MARK, NOTE))]
                    else:
                        found += self._inner_references(inner)
        return found

    def _tagged(self, node: Template, parts: dict[str, Part]) -> list[str]:
        """`{{#tag:ref|text|name=a|group=note}}`: a reference that may hold others."""
        values = plain_values({key: part for key, part in parts.items() if key in ("name", "group")})
        name, group = unquoted(values.get("name", "")), unquoted(values.get("group", ""))
        content = note_content("#tag:ref", parts)
        definition = self._works.named(name, group) if content is None and name else None
        nodes = tuple(content) if content is not None else definition.nodes if definition is not None else ()
        if not nodes:
            kind = [Reference("", name, kind="undefined") if name else Reference("", "an empty reference", kind="broken")]
            return self._marks(kind, node.start, node.end)
        if self._works.has_prose(nodes) and (group or any(isinstance(one, ExtensionTag) for one in nodes)):
            return self._note(f"{group}\0{name or node.start}", nodes, node.start, node.end)
        return self._marks(self._works.works_of(nodes), node.start, node.end)

    def _note_template(self, name: str, node: Template, parts: dict[str, Part]) -> list[str]:
        content = note_content(name, parts)
        values = plain_values({key: part for key, part in parts.items() if key in ("name", "group", "1")})
        called = values.get("name", "")
        if content is None:
            definition = self._works.named(called, values.get("group", "")) if called else None
            if definition is None:
                return self._marks([Reference("", called or f"{{{{{name}}}}}", kind="undefined" if called else "broken")],
                                   node.start, node.end)  # fmt: skip
            return self._note(f"{values.get('group', '')}\0{called}", definition.nodes, node.start, node.end)
        if not self._works.has_prose(content) and (works := self._works.cited_in(content)):
            return self._marks(works, node.start, node.end)
        return self._note(f"{values.get('group', '')}\0{called or node.start}", content, node.start, node.end)

    def _by_names(self, node: Template, values: dict[str, str]) -> list[str]:
        found: list[str] = []
        for _, name, group, page in named_uses(values):
            tag = ExtensionTag("ref", {"name": name, "group": group, "details": page}, None, [], node.start, node.end, node.end)
            found += self._ref(tag)
        return found


def _told(values: dict[str, str]) -> str:
    """`{{harvtxt|Hale|Voss|1999}}` in running text: Hale and Voss (1999)."""
    words = [values[str(n)] for n in range(1, 6) if str(n) in values]
    return f"{' and '.join(words[:-1])} ({words[-1]})" if len(words) > 1 else "".join(words)


def _begins_line(out: Sequence[str]) -> bool:
    """Whether what follows is the first on its line."""
    for piece in out[: -_MOST_BEFORE - 1 : -1]:
        _, newline, line = piece.rpartition("\n")
        if not _OWN_LINE.match(line):
            return not _LIST.sub("", line).strip()
        if newline:
            return True
    return True


def _struck(nodes: Sequence[Node]) -> set[int]:
    """Places of the tags that strike words out: those that are closed before the paragraph ends."""
    found: set[int] = set()
    opened: dict[str, int] = {}
    for n, node in enumerate(nodes):
        if isinstance(node, str) and "\n\n" in node:
            opened.clear()
        elif isinstance(node, HtmlTag) and node.name in ("s", "del", "strike"):
            if not node.closes:
                opened[node.name] = n
            elif (start := opened.pop(node.name, -1)) >= 0:
                found.add(start)
    return found


def _hidden_markup(text: str) -> str:
    """Words of <nowiki>: what looks like markup in them is none."""
    return re.sub(r"[\[\]{}|='*#:;](?=[\[\]{}|='])", "", text)
