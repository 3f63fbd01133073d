"""A string of a page's data -> its lines of text. It may be plain, or HTML, whose hidden parts and scripts are no text."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Set
from typing import Any

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from pipeline.reading.page_tables import set_aside

Hidden = Callable[[HtmlElement], Set[Any]]
"""The elements of a tree that a browser does not show."""

MOST_CHARACTERS = 2_000_000
"""Of one string."""
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>")
_ESCAPED_MARKUP = re.compile(r"&lt;/?(?:p|br|div|h\d|li|ul|a|strong|em)\b", re.I)
_BREAKS = frozenset(
    ("address", "article", "aside", "blockquote", "br", "caption", "dd", "div", "dl", "dt", "fieldset", "figure", "footer",
     "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "ol", "p", "pre", "section", "table", "tbody",
     "td", "tfoot", "th", "thead", "tr", "ul")
)  # fmt: skip
_SKIPPED = frozenset(
    ("script", "style", "noscript", "template", "svg", "math", "head", "iframe", "object", "embed", "video", "audio", "canvas",
     "button", "select", "form", "figcaption", "nav")
)  # fmt: skip
_MARK = "uk7w3table"


def lines_of(text: str, hidden: Hidden) -> list[str]:
    """The paragraphs, headings, list items and table rows of a string, each on one line, in order."""
    text = text[:MOST_CHARACTERS]
    if _ESCAPED_MARKUP.search(text) and not _MARKUP.search(text):
        text = html.unescape(text)
    if not _MARKUP.search(text):
        return [line for part in html.unescape(text).split("\n") if (line := " ".join(part.split()))]
    return _of_markup(text, hidden)


def _of_markup(text: str, hidden: Hidden) -> list[str]:
    try:
        tree = document_fromstring(f"<html><body>{text}</body></html>", parser=HTMLParser(encoding=None, remove_comments=True))
    except (etree.ParserError, ValueError):
        return []
    unseen = hidden(tree)
    # the mark is one that the text does not hold
    mark = next(f"{_MARK}{n}" for n in range(len(text)) if f"{_MARK}{n}" not in text)
    tables = set_aside(tree, unseen, mark)
    return [line for line in tables.put_back("\n".join(block_lines(tree, unseen))).split("\n") if line]


def block_lines(tree: HtmlElement, hidden: Set[Any]) -> list[str]:
    """The text of each block of an element on one line; without recursion, for it may be deep."""
    lines: list[str] = []
    held: list[str] = []

    def end() -> None:
        if line := " ".join("".join(held).split()):
            lines.append(line)
        held.clear()

    for event, element in etree.iterwalk(tree, events=("start", "end")):
        breaks = element.tag in _BREAKS
        if event == "start":
            if breaks:
                end()
            if element.text and not _is_skipped(element, tree, hidden):
                held.append(element.text)
        else:
            if breaks:
                end()
            parent = element.getparent()
            if element.tail and element is not tree and parent is not None and not _is_skipped(parent, tree, hidden):
                held.append(element.tail)
    end()
    return lines


def _is_skipped(element: HtmlElement, root: HtmlElement, hidden: Set[Any]) -> bool:
    """By what lies between it and `root`: forums wrap their posts in forms."""
    above = element
    while above is not None:
        if (above.tag in _SKIPPED and above is not root) or above in hidden:
            return True
        above = None if above is root else above.getparent()
    return False
