"""The cells of a table -> its rows as lines that can be read alone: "Civic List: 18,204 votes, 38.1 %, 14 seats".

A row of bare cells says nothing without its head, and a passage is often cut below it. So each line carries the words of its
column heads. HTML, Markdown and PDF tables are said in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from data.pages.blocks import PHRASES

Cells = Sequence[str]

LONG_CELL = 8
"""Words from which a cell speaks for itself: its column's head ("Event", "Notes") is left away."""
HEAD_ROWS = 4
"""Heads of more rows than these are data."""
_NAME_COLUMNS = 3
_LONG_LABEL = 12

_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"[-+±−–~<>≈]?\s?[$€£¥]?\s?\d[\d.,\u00a0\u202f' ]*(?:\s?(?:%|‰|k|m|bn|million|billion))?", re.I)
_COUNT = re.compile(r"\d{1,3}(?:[,.'\u00a0\u202f ]\d{3})*|\d+")
_YEAR = re.compile(r"(?:1[5-9]|20|21)\d\d")
_NOTHING = re.compile(r"[\s–—\-.…*†‡/\\|_·•]*")
_SHARE = re.compile(r"%|(?:in )?per ?cent|pct\.?|percentages?|(?:vote )?shares?(?: of (?:the )?votes?)?|% share", re.I)
_SHARE_OF = re.compile(r"(?:%|per ?cent(?:age)?) of (.+)", re.I)
_WITH_PERCENT = re.compile(r"(.+?),? ?(?:\(%\)|\(in %\)|%)", re.I)
_OF_TIME = frozenset(("years", "seasons", "days", "months", "terms"))
_COUNTED = frozenset(PHRASES["counted"].split())
"""What tables count: such a head goes behind its figure."""
_COMMON = _COUNTED | frozenset(PHRASES["head_words"].split())
"""Words of heads that begin a line's part in small letters; other heads may be names."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table, every row with as many cells. The first `n_head` rows are heads. `labels` says that the first column names the
    row as a heading does; `caption` is "" where there is none."""

    rows: tuple[tuple[str, ...], ...]
    n_head: int = 0
    labels: bool = False
    caption: str = ""

    @property
    def width(self) -> int:
        return max((len(row) for row in self.rows), default=0)


def said(grid: Grid) -> Iterator[str]:
    """The caption, and each row on a line; empty ones and repeated heads are none."""
    if grid.caption:
        yield grid.caption
    yield from filter(None, lines_of_rows(grid))


def lines_of_rows(grid: Grid) -> Iterator[str]:
    """One for each row below the heads, "" where it says nothing."""
    heads = _heads(grid)
    head_rows = {tuple(row) for row in grid.rows[: grid.n_head]}
    body = grid.rows[grid.n_head :]
    name = 0 if grid.labels else _name_column(body, grid.width)
    for row in body:
        yield "" if tuple(row) in head_rows else _line(row, heads, name)


def heads_of(rows: Sequence[Cells]) -> int:
    """How many first rows (0 or 1) of a table without marked heads are one: words without figures above rows with some."""
    if len(rows) < 3 or len({len(row) for row in rows}) > 1:
        return 0
    first, rest = rows[0], rows[1:]
    filled = [cell for cell in first if cell]
    if len(filled) < max(2, len(first) - 1) or len(set(filled)) < len(filled):
        return 0
    if any(_DIGIT.search(cell) and not _YEAR.fullmatch(cell) for cell in filled) or any(len(c.split()) > 6 for c in filled):
        return 0
    return int(any(2 * sum(_DIGIT.search(row[i]) is not None for row in rest) > len(rest) for i in range(len(first))))


def is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def _heads(grid: Grid) -> list[str]:
    """The heads of each column from top to bottom, each word once: "2024" above "Votes" is "2024 votes"."""
    found = []
    for column in range(grid.width):
        cells = (row[column] if column < len(row) else "" for row in grid.rows[: grid.n_head])
        parts = [cell.rstrip(": ") for cell in dict.fromkeys(cells) if cell and not _NOTHING.fullmatch(cell)]
        parts = ["no." if part == "#" else part for part in parts]
        found.append(" ".join([*parts[:1], *(_small(part) for part in parts[1:])]))
    # one head above all columns is a caption
    return ["" if len(set(found)) == 1 and grid.width > 2 else head for head in found]


def _name_column(rows: Sequence[Cells], width: int) -> int:
    """The first column of words: a rank or a colour may stand before the name."""
    for column in range(min(_NAME_COLUMNS, width)):
        cells = [row[column] for row in rows if column < len(row) and row[column]]
        worded = sum(not is_number(cell) and any(c.isalpha() for c in cell) for cell in cells)
        if 2 * worded > len(cells) > 0 and 2 * len(cells) >= len(rows):
            return column
    return 0


def _line(row: Cells, heads: Sequence[str], name: int) -> str:
    filled = [cell for cell in row if not _NOTHING.fullmatch(cell)]
    if not filled:
        return ""
    if len(set(filled)) == 1:  # a heading inside of the table, or a note below it
        return filled[0]
    label = row[name] if name < len(row) else ""
    cells: list[tuple[str, str]] = []
    for i, cell in enumerate(row):
        if i == name or _NOTHING.fullmatch(cell):
            continue
        if cells and cells[-1][1] == cell and i > 0 and row[i - 1] == cell and len(cell.split()) > 1:
            continue  # one cell across several columns
        cells.append((heads[i] if i < len(heads) else "", cell))
    parts = [_part(head, cell) for head, cell in cells]
    if not label or _NOTHING.fullmatch(label):
        return _joined(parts)
    if len(label.split()) > _LONG_LABEL:
        return _joined([label, *parts])
    return f"{_labelled(label, heads[name] if name < len(heads) else '')}: {_joined(parts)}"


def _labelled(label: str, head: str) -> str:
    """A bare figure names no row without its head: "Year 2031"."""
    label = label.rstrip(": ")
    return f"{head} {label}" if head and is_number(label) and not _YEAR.fullmatch(label) else label


def _joined(parts: Sequence[str]) -> str:
    within = any(re.search(r",\s", part) or len(part.split()) > LONG_CELL for part in parts)
    return ("; " if within else ", ").join(parts)


def _part(head: str, cell: str) -> str:
    if not head or len(cell.split()) >= LONG_CELL or head.casefold() == cell.casefold():
        return cell
    percent = cell.rstrip().endswith("%")
    if _SHARE.fullmatch(head):
        return cell if percent or not is_number(cell) else f"{cell} %"
    if (of := _SHARE_OF.fullmatch(head)) and is_number(cell):
        return f"{cell if percent else f'{cell} %'} of {of[1]}"
    if (share := _WITH_PERCENT.fullmatch(head)) and is_number(cell):
        return f"{_small(share[1])} {cell if percent else f'{cell} %'}"
    if _COUNT.fullmatch(cell) and _counts(head, cell):
        return f"{cell} {_small(head)}"
    return f"{_small(head)} {cell}"


def _counts(head: str, cell: str) -> bool:
    """Whether a head is the name of what is counted: "votes", "seats won", "2024 votes"."""
    words = head.split()
    if len(words) > 3 or any(c.isdigit() or c in "()/%.#&" for c in head):
        return False
    counted = {word.lower() for word in words} & _COUNTED
    return bool(counted) and not (counted <= _OF_TIME and _YEAR.fullmatch(cell))


def _small(head: str) -> str:
    first, _, rest = head.partition(" ")
    return f"{first.lower()} {rest}".rstrip() if first.lower().rstrip(".,:") in _COMMON else head
