"""The tables and definition lists of a page, taken out of its tree as rows with their heads and put back into its text.

Extractors drop tables or leave bare cells. So each table that holds data leaves a mark in the tree, and its rows take the
mark's place in the extracted text; where the mark was lost, they stand where the table did. Tables that only lay a page out
become ordinary boxes; menus and calendars are left to the extractor.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from lxml import etree

from pipeline.reading.row_lines import HEAD_ROWS, Grid, heads_of, is_number, said

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MOST_TABLES = 200
MOST_ROWS = 1_000
"""Of a page. Longer tables are cut, and the page is flagged: no article tells 1,000 rows."""
MOST_COLUMNS = 60
MOST_CELL = 2_000
"""Characters of a cell."""
_LONG_CELLS = 25
"""Mean words of a cell from which an unmarked table only lays the page out."""
_LONGEST_CELL = 150
_LINKED = 0.8
_LEAST_LETTERS = 4
"""Of a word of the title by which rows are chosen."""
_TERM_WORDS = 12
_DEFINITION_WORDS = 60

_GRIDS = ("table", "grid", "treegrid")
_ABOVE = 6
_LINES = frozenset(("p", "h1", "h2", "h3", "h4", "li"))
_ROW = "self::tr or @role='row'"
_SKIPPED_TAGS = frozenset(
    ("script", "style", "noscript", "template", "svg", "button", "select", "option", "math", "head", "del", "s", "strike")
)
_BLOCKS = frozenset(("p", "div", "br", "li", "td", "th", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "dd", "dt", "ul", "ol"))
_FOOTNOTE = re.compile(r"\[?(?:\d{1,3}|[a-z]|\*|†|‡|note \d+|citation needed|edit)\]?", re.I)
_FIGURE = re.compile(r"\d")
_LAST_NUMBER = re.compile(r"\d[\d.,]*$")
_SMALL_FIGURES = re.compile(r"[-−]?\d{1,2}(?:,\s?\d{1,2})*")
_DAY = re.compile(r"\A(?=.{4,20}\Z).*\b(?:19|20)\d\d\b")
_ASIDE = frozenset(("nav", "footer", "aside", "header", "form"))


@dataclass(frozen=True, slots=True)
class SetAside:
    """A table's lines, and the mark that stands in its place. `above` are the nearest lines before it, nearest first."""

    mark: str
    lines: tuple[str, ...]
    above: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetAsideTables:
    """`rows_left` counts the rows of data tables that were not read, for there was no room."""

    tables: tuple[SetAside, ...] = ()
    rows_left: int = 0

    def put_back(self, text: str) -> str:
        """The extracted text with the rows of its tables, each table as often as it was on the page: once."""
        lost: list[SetAside] = []
        for table in self.tables:
            rows = "\n".join(table.lines)
            before, found, after = text.partition(table.mark)
            if found:
                text = "\n".join(part for part in (before.rstrip(" |-•"), rows, after.lstrip(" |")) if part.strip())
            else:
                lost.append(table)
        lines = text.split("\n") if text else []
        for table in lost:
            at = next((lines.index(line) + 1 for line in table.above if line in lines), len(lines))
            lines[at:at] = table.lines
        return "\n".join(lines)


def set_aside(tree: HtmlElement, hidden: Set[Any], name: str, subject: str = "") -> SetAsideTables:
    """Replaces the data tables and short definition lists of `tree` by marks, which no page can hold: they begin with `name`,
    a digest of the page. `hidden` are elements that a browser does not show. Of a table that is too long the rows are kept that
    share a word with `subject`, the page's title, and the first ones."""
    room = MOST_ROWS
    left = 0
    wanted = frozenset(word for word in re.findall(r"\w+", subject.casefold()) if len(word) >= _LEAST_LETTERS)
    found: list[SetAside] = []
    above = _places(tree)
    for table in islice(reversed(above), MOST_TABLES):  # inner tables first
        if table.getparent() is None or table in hidden or any(above in hidden for above in table.iterancestors()):
            continue
        elsewhere = _is_elsewhere(table)
        lines, more = (_definitions(table, hidden), 0) if table.tag == "dl" else _rows(table, hidden, room, wanted)
        left += 0 if elsewhere else more
        if not lines or elsewhere:
            continue
        room -= len(lines)
        mark = f"{name}t{len(found)}x"
        found.append(SetAside(mark, tuple(lines), tuple(filter(None, (text_of(one, hidden) for one in above[table])))))
        _replace(table, mark)
    return SetAsideTables(tuple(reversed(found)), left)


def text_of(element: HtmlElement, hidden: Set[Any] = frozenset()) -> str:
    """The text of a cell, on one line, without footnote marks and what is not shown."""
    parts: list[str] = []
    size = 0
    stack: list[Any] = [element]
    while stack and size <= MOST_CELL:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            size += len(item)
            continue
        if item.tail and item is not element:
            stack.append(item.tail)
        skipped = not isinstance(item.tag, str) or item.tag in _SKIPPED_TAGS or item in hidden
        if skipped or (item.tag in ("sup", "a") and item is not element and _is_footnote(item)):
            parts.append(" ")
            continue
        if item.tag in _BLOCKS:
            stack.append(" ")
            parts.append(" ")
        stack.extend(reversed(item))
        if item.text:
            stack.append(_raised(parts, item.text) if item.tag == "sup" and item is not element else item.text)
    return " ".join("".join(parts).split())[:MOST_CELL]


def _raised(before: Sequence[str], text: str) -> str:
    """Small figures behind a figure are the mark of a footnote, behind a ten its power: 11² dead are not 112."""
    number = _LAST_NUMBER.search("".join(before[-3:]))
    if number is None or not _SMALL_FIGURES.fullmatch(text.strip()):
        return text
    return f"^{text.strip()}" if number[0] == "10" else " "


def _is_footnote(element: HtmlElement) -> bool:
    text = str(element.text_content()).strip()
    linked = element.tag == "a" or element.find(".//a") is not None
    marked = str(element.get("href") or "").startswith("#") if element.tag == "a" else linked or text.startswith("[")
    return marked and (not text or _FOOTNOTE.fullmatch(text) is not None) and (element.tag == "sup" or text.startswith("["))


def _is_elsewhere(table: HtmlElement) -> bool:
    """In a menu or a footer of the page; the head and the box of an article are part of it."""
    for above in table.iterancestors():
        if above.tag in ("article", "main") or above.get("role") == "main":
            return False
        if above.tag in _ASIDE:
            return True
    return False


def _places(tree: HtmlElement) -> dict[HtmlElement, tuple[HtmlElement, ...]]:
    """The tables and definition lists in their order, with the nearest lines before each."""
    last: deque[HtmlElement] = deque(maxlen=_ABOVE)
    found: dict[HtmlElement, tuple[HtmlElement, ...]] = {}
    for element in tree.iter(etree.Element):
        if element.tag in ("table", "dl") or element.get("role") in _GRIDS:
            found[element] = tuple(reversed(last))
        elif element.tag in _LINES:
            last.append(element)
    return found


def _replace(table: HtmlElement, mark: str) -> None:
    tail, table.tail = table.tail, None
    del table[:]
    table.attrib.clear()
    table.tag, table.text, table.tail = "p", mark, tail


# --- tables --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Cell:
    element: Any
    text: str
    head: bool
    columns: int
    rows: int
    hidden: bool = False


def _rows(table: HtmlElement, hidden: Set[Any], room: int, wanted: Set[str]) -> tuple[list[str], int]:
    """The lines of a table that holds data, none for another; and how many rows more it has than there is room for."""
    of_table = table.xpath(f".//*[{_ROW}]")
    rows = [row for row in of_table if row not in hidden and _owner(row) is table]
    if table.get("role") in ("presentation", "none") or _lays_out(table, rows):
        _unwrap(table, rows)
        return [], 0
    n_rows = len(rows)
    if n_rows > room + HEAD_ROWS:
        rows = _nearest(table, rows, room, wanted)
    cells = _aligned([_cells(row, hidden) for row in rows])
    caption = next((text_of(c, hidden) for c in table.iterchildren("caption") if c not in hidden), "")
    title = caption or str(table.get("aria-label") or "").strip()
    grid = _grid(cells, rows, title)
    if grid is not None and _is_month(grid):
        _replace(table, "")
    if grid is None or table.tag == "p" or not _is_data(grid, cells):
        return [], 0
    starts = [0, *_new_heads(cells, grid.n_head), len(cells)]
    parts = [grid] if len(starts) == 2 else [_grid(cells[a:b], rows[a:b], "" if a else title) for a, b in pairwise(starts)]
    lines = [line for one in parts if one is not None for line in said(one)]
    room = max(0, room)
    return lines[:room], n_rows - len(rows) + len(lines[room:])


def _nearest(table: HtmlElement, rows: Sequence[HtmlElement], room: int, wanted: Set[str]) -> list[HtmlElement]:
    """As many rows as there is room for, in their order: the first ones, for heads, then those with a word that is wanted.
    Where cells reach over several rows no row can be left out between them."""
    n = max(0, room)
    if not wanted or n <= HEAD_ROWS or table.xpath(".//*[@rowspan]"):
        return list(rows[: n + HEAD_ROWS])
    named = [row for row in rows[HEAD_ROWS:] if not wanted.isdisjoint(re.findall(r"\w+", str(row.text_content()).casefold()))]
    kept = {*rows[:HEAD_ROWS], *named[: n - HEAD_ROWS]}
    for row in rows:
        if len(kept) >= n:
            break
        kept.add(row)
    return [row for row in rows if row in kept]


def _new_heads(rows: Sequence[Sequence[_Cell]], first: int) -> list[int]:
    """Rows of other heads further down, from which cells are counted as something else."""
    if not first:
        return []
    heads = [cell.text for cell in rows[first - 1]]
    return [
        i
        for i, row in enumerate(rows[: len(rows) - 1])
        if i > first
        and len(row) == len(heads) > 1
        and all(cell.head and cell.text and cell.columns == cell.rows == 1 and not _FIGURE.search(cell.text) for cell in row)
        and [cell.text for cell in row] != heads
        and not all(cell.head for cell in rows[i + 1])
    ]


def _owner(row: HtmlElement) -> Any:
    return next((a for a in row.iterancestors() if a.tag == "table" or a.get("role") in _GRIDS), None)


def _lays_out(table: HtmlElement, rows: Sequence[HtmlElement]) -> bool:
    if table.xpath(".//table | .//form | .//iframe | .//article | .//h1") or any(map(_is_a_part, table.iter("h2"))):
        return True
    marked = table.xpath("./caption | ./thead | .//th | .//*[@role='columnheader']")
    texts = table.xpath(".//td | .//*[@role='cell']")
    if marked or not texts:
        return False
    n_words = sum(len(str(cell.text_content()).split()) for cell in texts)
    one_cell = all(len(row) <= 1 for row in rows)
    many_paragraphs = len(table.xpath(".//td//p")) > len(texts) + 2
    return one_cell or many_paragraphs or n_words >= _LONG_CELLS * len(texts)


def _is_a_part(heading: HtmlElement) -> bool:
    """Whether a heading opens a part of the page, and is no name in a cell of its own."""
    cell = next((above for above in heading.iterancestors() if above.tag in ("td", "th")), None)
    return cell is None or len(str(cell.text_content()).split()) > _LONG_CELLS


def _unwrap(table: HtmlElement, rows: Sequence[HtmlElement]) -> None:
    """Boxes in the place of a table's parts: extractors take a column of prose in a cell for data.

    Their classes go: an extractor reads more into the class of a box ("comment") than into that of a cell.
    """
    cells = [cell for row in rows for cell in row if cell.tag in ("td", "th")]
    for part in (table, *table.xpath("./tbody | ./thead | ./tfoot | ./caption"), *rows, *cells):
        part.tag = "div"
        part.attrib.pop("class", None)
        part.attrib.pop("id", None)


def _cells(row: HtmlElement, hidden: Set[Any]) -> list[_Cell]:
    cells = []
    for cell in islice(row, MOST_COLUMNS):
        role = cell.get("role")
        if not (cell.tag in ("td", "th") or role in ("cell", "gridcell", "columnheader", "rowheader")):
            continue
        head = cell.tag == "th" or role in ("columnheader", "rowheader")
        spans = (_span(cell.get("colspan") or cell.get("aria-colspan")), _span(cell.get("rowspan"), to_end=True))
        unseen = cell in hidden
        cells.append(_Cell(cell, "" if unseen else text_of(cell, hidden), head, *spans, hidden=unseen))
    return cells


def _aligned(rows: Sequence[Sequence[_Cell]]) -> list[list[_Cell]]:
    """Hidden cells are gone (`display: none`), or empty places (`visibility: hidden`), whichever makes the rows as wide as each
    other: without its place, the cells below a hidden head would stand under the heads of others."""
    seen = [[cell for cell in row if not cell.hidden] for row in rows]
    if not any(cell.hidden for row in rows for cell in row):
        return seen
    widths, all_widths = ({sum(cell.columns for cell in row) for row in found if row} for found in (seen, rows))
    return [list(row) for row in rows] if len(all_widths) == 1 < len(widths) else seen


def _span(value: Any, *, to_end: bool = False) -> int:
    text = str(value or "1").strip()
    if to_end and text == "0":
        return MOST_ROWS
    return max(1, int(text)) if text.isdecimal() and len(text) < 6 else 1


def _grid(rows: Sequence[Sequence[_Cell]], elements: Sequence[Any], caption: str) -> Grid | None:
    """Merged cells stand in each place that they cover."""
    full: list[list[str]] = []
    heads: list[bool] = []
    labels = 0
    over: dict[int, tuple[str, int]] = {}  # by column: the text of a cell from above, and how many rows it goes on
    merged: set[tuple[int, int]] = set()  # places behind the first of a figure that covers several
    part = None
    for cells, element in zip(rows, elements):
        if element.getparent() is not part:  # no cell reaches out of its `tbody`
            part = element.getparent()
            over.clear()
        line: dict[int, str] = {}
        for column, (text, more) in list(over.items()):
            line[column] = text
            if more > 1:
                over[column] = (text, more - 1)
            else:
                del over[column]
        at = 0
        for cell in cells:
            while at in line:
                at += 1
            if is_number(cell.text):
                merged.update((len(full), column) for column in range(at + 1, min(at + cell.columns, MOST_COLUMNS)))
            for column in range(at, min(at + cell.columns, MOST_COLUMNS)):
                line[column] = cell.text
                if cell.rows > 1:
                    over[column] = (cell.text, cell.rows - 1)
            at += cell.columns
            if at >= MOST_COLUMNS:
                break
        filled = [cell for cell in cells if cell.text]
        in_head = element.getparent() is not None and element.getparent().tag == "thead"
        heads.append(bool(cells) and (in_head or (len(filled) > 1 and all(cell.head for cell in filled))))
        labels += len(cells) > 1 and cells[0].head and not all(cell.head for cell in cells)
        full.append([line.get(column, "") for column in range(max(line, default=-1) + 1)])
    width = max((len(row) for row in full), default=0)
    if not width:
        return None
    padded = tuple((*row, *[""] * (width - len(row))) for row in full)
    n_head = next((i for i, head in enumerate(heads[:HEAD_ROWS]) if not head), min(len(heads), HEAD_ROWS))
    while n_head and n_head == len(padded):
        n_head -= 1
    n_head = n_head or (0 if labels else heads_of(padded))
    # a figure below two heads is one fact: not "310 votes, 310 %"
    told = tuple(
        tuple("" if i >= n_head and (i, column) in merged else cell for column, cell in enumerate(row))
        for i, row in enumerate(padded)
    )
    return Grid(told, n_head, labels=2 * labels > len(full) - n_head, caption=caption)


def _is_data(grid: Grid, cells: Sequence[Sequence[_Cell]]) -> bool:
    body = grid.rows[grid.n_head :]
    filled = [cell for row in body for cell in row if cell]
    if grid.width < 2 or len(filled) < 3 or len(body) < (1 if grid.n_head else 2):
        return False
    figures = sum(is_number(cell) or any(c.isdigit() for c in cell) for cell in filled)
    if max(len(cell.split()) for cell in filled) > _LONGEST_CELL and not grid.n_head:
        return False
    if (
        not any(map(is_number, filled)) and _linked(cells[grid.n_head :]) > _LINKED
    ):  # days beside links are those of other pages
        return False
    return bool(grid.n_head or grid.labels or grid.caption) or 4 * figures >= len(filled) or grid.width == 2


def _is_month(grid: Grid) -> bool:
    """A calendar, which says nothing."""
    filled = [cell for row in grid.rows[grid.n_head :] for cell in row if cell]
    days = [int(cell) for cell in filled if len(cell) <= 2 and cell.isdecimal() and int(cell) <= 31]
    in_order = sum(after - day == 1 for day, after in pairwise(days))
    return grid.width == 7 and 0 < 0.8 * len(filled) <= len(days) and in_order >= 0.8 * (len(days) - 1)


def _linked(rows: Sequence[Sequence[_Cell]]) -> float:
    """Share of the cells' characters that are links: a menu is made of them."""
    told = [cell for row in rows for cell in row if not _DAY.search(cell.text)]
    n_all = sum(len(cell.text) for cell in told)
    n_linked = sum(len(text_of(link)) for cell in told for link in cell.element.iter("a"))
    return n_linked / n_all if n_all else 1.0


# --- definition lists ----------------------------------------------------------------------------------------------------


def _definitions(element: HtmlElement, hidden: Set[Any]) -> list[str]:
    """ "Mayor: Anna Berg" for each term of a list of short definitions; none where they are paragraphs or links."""
    pairs: list[tuple[list[str], list[str]]] = []
    children = (inner for child in element for inner in (child if child.tag == "div" else (child,)))
    for item in islice(children, 2 * MOST_ROWS):
        if item.tag not in ("dt", "dd") or item in hidden:
            continue
        text = text_of(item, hidden)
        if item.tag == "dt":
            if not pairs or pairs[-1][1]:
                pairs.append(([], []))
            pairs[-1][0].append(text)
        elif pairs:
            pairs[-1][1].append(text)
    told = [(" / ".join(filter(None, terms)), [d for d in found if d]) for terms, found in pairs]
    told = [(term, found) for term, found in told if term and found]
    n_long = sum(len(" ".join(found).split()) > _DEFINITION_WORDS or len(term.split()) > _TERM_WORDS for term, found in told)
    if len(told) < 2 or n_long or len(element.xpath(".//dd//a")) > 3 * len(told):
        return []
    return [f"{term.rstrip(': ')}: {_listed(found)}" for term, found in told]


def _listed(found: Sequence[str]) -> str:
    join: Callable[[Sequence[str]], str] = ("; " if any("," in one for one in found) else ", ").join
    return join(found)
