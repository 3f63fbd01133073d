"""The tables of a PDF's page, by where its words stand: columns are what white rivers through many lines divide.

pypdf can write a page out with its words at their places. There a table shows whether it has rules or none, and its rows are
said with their heads (`row_lines`). They replace the page's plain lines that hold the same characters; where those are not
found together, the page stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.reading.row_lines import Grid, heads_of, is_number, said

MOST_LINES = 2_000
"""Of one page; longer ones are looked at no further."""
MOST_WIDTH = 400
LEAST_ROWS = 3
_RIVER = 0.85
"""Share of a table's lines that are blank where two columns meet."""
_FIGURES = 0.3
_PROSE = 6
"""Mean words of cells from which columns are columns of a newspaper."""
_COVERED = 0.8
_CELL = re.compile(r"\S+(?: \S+)*")
_LEADER = re.compile(r"(?:\. ){3,}|\.{4,}|(?:… ?){2,}")
_BRACKETED = re.compile(r"\([\d.,]+\)")

Line = tuple[tuple[int, str], ...]
"""The cells of one line, each with its place."""


@dataclass(frozen=True, slots=True)
class PdfTable:
    grid: Grid
    characters: str

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(said(self.grid))


def may_hold_table(lines: Sequence[str]) -> bool:
    """Whether it is worth to look for the places of a page's words: lines that hold figures, or end early."""
    return sum(any(c.isdigit() for c in line) and len(line) < 120 for line in lines) >= LEAST_ROWS


def tables_in(layout: str) -> list[PdfTable]:
    """The tables of a page that was written out with its words at their places."""
    lines = [
        tuple((m.start(), m.group()) for m in _CELL.finditer(line[:MOST_WIDTH])) for line in layout.split("\n")[:MOST_LINES]
    ]
    return [table for block in _blocks(lines) if (table := _table(block)) is not None]


def continued(table: PdfTable, before: PdfTable | None) -> PdfTable:
    """A table at the top of a page without heads has those of the one that the page before ends with."""
    grid = table.grid
    if before is None or grid.n_head or not before.grid.n_head or before.grid.width != grid.width:
        return table
    heads = before.grid.rows[: before.grid.n_head]
    return PdfTable(Grid((*heads, *grid.rows), before.grid.n_head), table.characters)


def with_tables(lines: Sequence[str], tables: Sequence[PdfTable]) -> list[tuple[bool, list[str]]]:
    """The lines of a page in parts, each with whether it is a table's rows."""
    parts: list[tuple[bool, list[str]]] = [(False, list(lines))]
    for table in tables:
        for n, (is_table, part) in enumerate(parts):
            run = None if is_table else _run(part, table.characters)
            if run is not None:
                start, end = run
                parts[n : n + 1] = [(False, part[:start]), (True, list(table.lines)), (False, part[end:])]
                break
    return [part for part in parts if any(part[1])]


def _blocks(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Runs of lines of two and more cells; what stands alone below a column goes on with the cell above."""
    block: list[Line] = []
    blank = 0
    for line in (*lines, (), ()):
        if len(line) > 1 or (line and block and blank == 0 and _goes_on(line, block[-1])):
            block.append(line)
            blank = 0
        elif not line and blank == 0:
            blank = 1
        else:
            if len(block) >= LEAST_ROWS:
                yield block
            block, blank = [], 0


def _goes_on(line: Line, above: Line) -> bool:
    return any(abs(line[0][0] - at) <= 1 for at, _ in above[1:])


def _table(block: Sequence[Line]) -> PdfTable | None:
    starts = _columns(block)
    if len(starts) < 2:
        return None
    rows: list[list[str]] = []
    for line in block:
        row = [""] * len(starts)
        for at, text in line:
            column = max((n for n, start in enumerate(starts) if start <= at + 1), default=0)
            row[column] = f"{row[column]} {text}".strip()
        if (
            rows
            and not row[0]
            and sum(map(bool, row)) < sum(map(bool, rows[-1]))
            and not any(map(is_number, filter(None, row)))
        ):
            rows[-1] = [f"{a} {b}".strip() for a, b in zip(rows[-1], row)]
        else:
            rows.append(row)
    rows = _with_shifted_heads(rows)
    filled = [cell for row in rows for cell in row if cell]
    if len(rows) < LEAST_ROWS or 2 * sum(bool(_LEADER.search(cell)) for cell in filled) >= len(rows):
        return None
    figures = sum(is_number(cell) or _BRACKETED.fullmatch(cell) is not None for cell in filled)
    words = sum(len(cell.split()) for cell in filled) / len(filled)
    named = len(rows[0]) == 2 and all(len(row[0].split()) <= _PROSE for row in rows) and words < _PROSE / 2
    if words > _PROSE or not (figures >= _FIGURES * len(filled) or named):
        return None
    characters = "".join("".join(text.split()) for line in block for _, text in line)
    padded = tuple(map(tuple, rows))
    return PdfTable(Grid(padded, heads_of(padded) or _year_heads(padded)), characters)


def _with_shifted_heads(rows: Sequence[list[str]]) -> list[list[str]]:
    """Figures stand to the right, their heads to the left: what looks like a column of a head alone belongs to the next."""
    kept: list[list[str]] = []
    for column in zip(*rows):
        before = kept[-1] if kept else None
        shifted = before is not None and (
            (before[0] and not any(before[1:]) and not column[0]) or (column[0] and not any(column[1:]) and not before[0])
        )
        if before is not None and shifted and any(before) and any(column):
            kept[-1] = [a or b for a, b in zip(before, column)]
        else:
            kept.append(list(column))
    return [list(row) for row in zip(*kept)]


def _columns(block: Sequence[Line]) -> list[int]:
    """Where the columns begin: behind each place that is blank in most lines."""
    width = max(at + len(text) for line in block for at, text in line)
    used = [0] * (width + 1)
    for line in block:
        for at, text in line:
            for place in range(at, at + len(text)):
                used[place] += 1
    starts, blank = [], 2
    for place, n in enumerate(used[:width]):
        if n <= (1 - _RIVER) * len(block):
            blank += 1
        else:
            if blank >= 2:
                starts.append(place)
            blank = 0
    return starts


def _year_heads(rows: Sequence[tuple[str, ...]]) -> int:
    """Years above columns of figures, and nothing above the names: the head of a statement of accounts."""
    first = rows[0]
    return int(not first[0] and all(re.fullmatch(r"(?:FY ?)?(?:19|20)\d\d", cell) for cell in first[1:]))


def _run(lines: Sequence[str], characters: str) -> tuple[int, int] | None:
    """The run of lines that holds nearly all characters of a table and no others."""
    best: tuple[int, int, int] | None = None
    start, n = 0, 0
    for at, line in enumerate((*lines, "\0")):
        bare = "".join(line.split())
        if bare in characters:
            n += len(bare)
            continue
        if n and (best is None or n > best[0]):
            best = (n, start, at)
        start, n = at + 1, 0
    return best[1:] if best is not None and best[0] >= _COVERED * len(characters) else None
