"""Wikitext with `<ref>` citations, read with mwparserfromhell: broken templates are text, never an error."""

from __future__ import annotations

import re

import mwparserfromhell
from mwparserfromhell.nodes import Heading, Node, Tag, Template, Wikilink
from mwparserfromhell.wikicode import Wikicode

from pipeline.checking.cited import UNREAD, CitedArticle, Reference, References, statements_of

_URL = re.compile(r"https?://[^\s|\]}<>\"]+")
_NOT_TEXT = re.compile(r"\s*(?:file|image|category|media)\s*:", re.IGNORECASE)
_SHOWN = frozenset({"nowrap", "nobr", "lang", "small", "em", "abbr", "tooltip", "ill", "interlanguage link", "as of"})
"""Inline templates that show an argument of theirs."""
_LAST = frozenset({"lang"})
_NAMED = frozenset({"r", "ref name"})


def read_wikitext(text: str, title: str = "") -> CitedArticle:
    code = mwparserfromhell.parse(text, skip_style_tags=False)
    references = References()
    named: dict[str, Reference] = {}
    tags = [tag for tag in code.filter_tags(recursive=True) if str(tag.tag).strip().lower() == "ref"]
    for tag in tags:
        if (name := _name(tag)) and _content(tag):
            named.setdefault(name, _reference(_content(tag)))
    for tag in tags:
        content, name = _content(tag), _name(tag)
        reference = _reference(content) if content else named.get(name, Reference("", title=name))
        _put(code, tag, references.mark(reference))
    for template in code.filter_templates(recursive=True):
        _put(code, template, _shown(template, named, references))
    for link in code.filter_wikilinks(recursive=True):
        if isinstance(link, Wikilink) and _NOT_TEXT.match(str(link.title)):
            _put(code, link, "")
    for table in code.filter_tags(recursive=True, matches=lambda tag: str(tag.tag) in ("table", "gallery", "math")):
        _put(code, table, "")
    statements = []
    for section in code.get_sections(flat=True, include_lead=True):
        headings = section.filter_headings()
        heading = str(headings[0].title.strip_code()).strip() if headings else ""
        if UNREAD.fullmatch(heading):
            continue
        for one in headings:
            if isinstance(one, Heading):
                section.remove(one)
        for paragraph in section.strip_code().split("\n"):
            statements += statements_of(paragraph, heading)
    return CitedArticle(title or _title(text), "wikitext", tuple(statements), tuple(references.found))


def _title(text: str) -> str:
    """What the text calls its subject: the first bold words, else the title of its infobox."""
    bold = (match[1] for match in re.finditer(r"'''(.+?)'''", text) if not match[1].startswith("Machine-written draft"))
    boxed = re.search(r"^\|\s*(?:title|name)\s*=\s*([^|{}\[\]<>\n]+)$", text, re.MULTILINE)
    return next(bold, boxed[1].strip() if boxed else "")


def _put(code: Wikicode, node: Node, text: str) -> None:
    try:
        code.replace(node, text)
    except ValueError:  # it stood in a node that is gone
        return


def _name(tag: Tag) -> str:
    return str(tag.get("name").value).strip(" \"'") if tag.has("name") else ""


def _content(tag: Tag) -> str:
    return "" if tag.self_closing or tag.contents is None else str(tag.contents).strip()


def _reference(content: str) -> Reference:
    for template in mwparserfromhell.parse(content).filter_templates():
        value = {str(one.name).strip().lower(): str(one.value.strip_code()).strip() for one in template.params}
        if url := value.get("url") or value.get("chapter-url") or value.get("article-url"):
            archive = value.get("archive-url") or value.get("archiveurl") or ""
            return Reference(url, value.get("title", ""), archive, value.get("date", ""))
        if value.get("title"):
            return Reference("", value["title"], "", value.get("date") or value.get("year") or "")
    found = _URL.search(content)
    plain = str(mwparserfromhell.parse(content).strip_code()).strip()
    return Reference(found[0] if found else "", plain[:200])


def _shown(template: Template, named: dict[str, Reference], references: References) -> str:
    name = str(template.name).strip().lower()
    values = [str(one.value).strip() for one in template.params if not one.showkey]
    if name in _NAMED:
        return "".join(references.mark(named[value]) for value in values if value in named)
    if name.startswith(("sfn", "harvnb", "efn")):
        return references.mark(Reference("", title=" ".join(values)))
    if name in ("convert", "cvt") and len(values) > 1:
        return " ".join(values[:2])
    if name in _SHOWN and values:
        return values[-1 if name in _LAST else 0]
    return ""
