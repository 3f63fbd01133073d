"""Pages that a reader service returned as Markdown, menus and all -> plain text, one block a line.

Markdown keeps what plain text has lost: which words are links. A block of nothing but links is a menu, whatever its words say
(link density, Kohlschütter et al. 2010, "Boilerplate Detection using Shallow Text Features", section 3). Emphasis, addresses
and images go, for a sentence with "_Lux_ ([link](https://...))" in it is none that anybody can quote or say again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pipeline.reading.row_lines import Grid, said

MENU = 0.6
"""Share of a block's characters in links from which it is a menu. Prose of news and fan pages has up to 0.4."""
PROSE_WORDS = 12
"""A block of so many words that ends as a sentence does is prose, even if all of it is one link."""
HEAD_WORDS, CELL_WORDS = 6, 25
"""Most words of a column's head, and of a cell in the mean: what holds more only lays the page out."""
LEAST_MARKS = 3
"""Headings and bold words that make a text without links Markdown: one line of asterisks does not."""

_LINK = re.compile(r"\]\((?:https?:|/|#|javascript:|mailto:)")
_MARKS = re.compile(r"^#{1,6} \S|^[^\n]+\n={5,}$|\*\*\S[^*\n]*\*\*", re.M)
_TABLE = re.compile(r"^ {0,3}\|(?: ?:?-{3,}:? ?\|){2,} *$", re.M)
_FOOTNOTE = re.compile(r"\[?(?:\d{1,3}|[a-z]|\^|↑|edit|citation needed|note \d+)\]?", re.I)
"""The text of a link that is a footnote's mark."""
_CUT_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\Z")
"""The text was cut in the middle of an address."""
_LEFT = re.compile(r"\*{2,}|_{2,}")
"""Marks that are none to CommonMark, as between two bold words without a space."""
_TAG = re.compile(r"<[^<>]{1,300}>")


def is_markdown(text: str) -> bool:
    return bool(_LINK.search(text) or _TABLE.search(text)) or len(_MARKS.findall(text)) >= LEAST_MARKS


def plain_text(markdown: str) -> str:
    """The page's blocks (headings, paragraphs, list items, table rows), one a line, without menus and marks."""
    return "\n".join(line for line in _blocks(_parser().parse(_CUT_LINK.sub(r"\1", markdown))) if line)


@cache
def _parser() -> MarkdownIt:
    # Four spaces are the inside of a list here, not code.
    return MarkdownIt("commonmark", {"html": True}).enable("table").disable("code")


def _blocks(tokens: Sequence[Token]) -> Iterator[str]:
    row: list[str] | None = None
    rows: list[list[str]] = []
    heading = False
    for token in tokens:
        match token.type:
            case "table_open":
                rows = []
            case "table_close":
                yield from _table(rows)
            case "tr_open":
                row = []
            case "tr_close":
                rows.append(row or [])
                row = None
            case "heading_open" | "heading_close":
                heading = token.nesting == 1
            case "html_block":
                yield " ".join(_TAG.sub(" ", token.content).split())
            case "fence":
                yield from token.content.split("\n")
            case "inline":
                text, linked = _inline(token.children or ())
                if row is not None:
                    row.append(text)  # tables of facts are full of links
                elif heading or linked < MENU * len(text) or _is_prose(text):
                    yield text


def _table(rows: Sequence[list[str]]) -> Iterator[str]:
    """Its rows with their heads, or as they are: Markdown has to give every table a head, and some have none."""
    head, body = rows[0] if rows else [], rows[1:]
    filled = [cell for row in body for cell in row if cell]
    headed = sum(map(bool, head)) >= max(2, len(head) - 1) and len(set(filter(None, head))) > 1
    short = all(len(cell.split()) <= HEAD_WORDS for cell in head)
    if headed and short and body and sum(len(cell.split()) for cell in filled) <= CELL_WORDS * len(filled):
        yield from said(Grid(tuple(map(tuple, rows)), n_head=1))
    else:
        yield from (" | ".join(cell for cell in row if cell) for row in rows)


def _is_prose(text: str) -> bool:
    return len(text.split()) >= PROSE_WORDS and text.rstrip("\"”’')").endswith((".", "!", "?"))


def _inline(children: Sequence[Token]) -> tuple[str, int]:
    """The text of a block, and how many of its characters are in links."""
    parts: list[str] = []
    link: list[str] | None = None
    linked = 0
    for child in children:
        match child.type:
            case "link_open":
                link = []
            case "link_close":
                said = "".join(link or ())
                link = None
                if _FOOTNOTE.fullmatch(said.strip()):
                    continue
                linked += len(said)
                # Links of a menu follow each other without a space; words of a sentence have theirs.
                glued = parts and parts[-1][-1:].isalnum() and said[:1].isalnum()
                parts.append(f" {said}" if glued else said)
            case "softbreak" | "hardbreak":
                (parts if link is None else link).append(" ")
            case "text" | "code_inline" | "text_special":
                said = child.content
                behind = link is None and parts and parts[-1][-1:].isalnum() and said[:1].isalnum()
                (parts if link is None else link).append(f" {said}" if behind and _ended_link(children, child) else said)
    return " ".join(_LEFT.sub("", "".join(parts)).split()), linked


def _ended_link(children: Sequence[Token], child: Token) -> bool:
    at = children.index(child)
    return at > 0 and children[at - 1].type == "link_close"
