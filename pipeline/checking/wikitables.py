"""Tables and boxes of a checked article as statements: a row that cites something says "2 February: opponent Lystad, result
88–91", a line of an infobox "deaths: 14".

Rows that cite nothing are none: a table of results is no list of missing citations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pipeline.checking.cited import OWN_MARKS, CitedStatement, References, row_statement, without_marks
from pipeline.reading.row_lines import HEAD_ROWS, Grid, heads_of, lines_of_rows

TABLE = "\ue004"
"""Before the number of a table, in the place of its lines."""
MOST_ROWS = 1_000
"""Rows of all tables of an article that are judged."""
MOST_COLUMNS = 40
_LONGEST = 60
"""Words of a cell from which a table only lays its text out."""
_ATTRIBUTES = re.compile(r"""\A\s*+(?:[\w-]++\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'|]++)\s*+)++\Z""")
_SPAN = re.compile(r"""\b(col|row)span\s*+=\s*+["']?+\s*+(\d{1,3})""", re.IGNORECASE)
_CELLS = re.compile(r"\|\||(?<=.)!!")


@dataclass(frozen=True, slots=True)
class Cell:
    """`text` has the marks of what it cites."""

    text: str
    head: bool = False
    columns: int = 1
    rows: int = 1


def cut_out(lines: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The lines outside of tables, with the number of each outer table in its place, and the lines of these. A table that
    nothing ends loses its own rows, not what stands after it."""
    opened: list[int] = []
    ends: dict[int, int] = {}
    for n, line in enumerate(lines):
        start = line.lstrip(" :*#")
        if start.startswith("{|"):
            opened.append(n)
        elif start.startswith("|}") and opened:
            ends[opened.pop()] = n
    unclosed = set(opened)
    kept: list[str] = []
    tables: list[list[str]] = []
    n = 0
    while n < len(lines):
        if n in ends:
            kept += ["", f"{TABLE}{len(tables)}", ""]
            tables.append(list(lines[n : ends[n] + 1]))
            n = ends[n] + 1
            continue
        start = lines[n].lstrip()
        is_row = n in unclosed or start.startswith(("|}", "|-")) or (unclosed and start.startswith(("|", "!")))
        kept.append("" if is_row else lines[n])
        n += 1
    return kept, tables


def of_wikitext(lines: Sequence[str]) -> list[list[Cell]]:
    """The cells of a table's rows; what stands in a table inside of it is left away."""
    rows: list[list[Cell]] = [[]]
    depth = 0
    for line in lines[1:]:
        start = line.strip()
        if start.lstrip(":*#").startswith("{|"):
            depth += 1
        elif start.startswith("|}"):
            depth -= 1
        elif depth > 0 or start.startswith("|+"):
            continue
        elif start.startswith("|-"):
            rows.append([])
        elif start.startswith(("|", "!")):
            rows[-1] += _cells_of(start)
        elif start and rows[-1]:
            last = rows[-1][-1]
            rows[-1][-1] = replace(last, text=f"{last.text} {start.lstrip('*#:; ')}".strip())
    return [row for row in rows if row]


def _cells_of(line: str) -> Iterator[Cell]:
    head = line.startswith("!")
    parts = _CELLS.split(line[1:]) if head else line[1:].split("||")
    for part in parts[:MOST_COLUMNS]:
        before, pipe, text = part.partition("|")
        attributes = before if pipe and _ATTRIBUTES.match(before) else ""
        spans = {name.lower(): max(1, int(n)) for name, n in _SPAN.findall(attributes)}
        told = (text if attributes else part).strip().lstrip("*#:; ")
        yield Cell(told, head, spans.get("col", 1), spans.get("row", 1))


def row_statements(rows: Sequence[Sequence[Cell]], section: str, references: References) -> Iterator[CitedStatement]:
    """Those of rows that cite, each with what its cells cite, merged ones with it in each of their rows."""
    full, heads = _spread(rows[: 20 * MOST_ROWS])
    texts = [tuple(without_marks(cell) for cell in row) for row in full]
    if len(texts) < 2 or any(len(cell.split()) > _LONGEST for row in texts[:MOST_ROWS] for cell in row):
        return
    n_head = next((i for i, head in enumerate(heads[:HEAD_ROWS]) if not head), min(len(heads), HEAD_ROWS))
    n_head = n_head if n_head < len(texts) else 0
    labels = 2 * sum(row[0].head for row in rows[n_head:] if len(row) > 1) > len(texts) - n_head
    grid = Grid(tuple(texts), n_head or heads_of(texts), labels=labels)
    for line, cells in zip(lines_of_rows(grid), full[grid.n_head :]):
        uses = references.uses_in(" ".join(cells))
        if uses and line:
            yield row_statement(line, section, uses, references.gaps_in(" ".join(cells)))


def _spread(rows: Sequence[Sequence[Cell]]) -> tuple[list[list[str]], list[bool]]:
    """Each row with as many cells, merged ones in all of their places; and which rows are heads."""
    full: list[list[str]] = []
    heads: list[bool] = []
    over: dict[int, tuple[str, int]] = {}
    for cells in rows:
        line: dict[int, str] = {}
        for column, (text, more) in list(over.items()):
            line[column] = text
            over[column] = (text, more - 1)
            if more <= 1:
                del over[column]
        at = 0
        for cell in cells:
            while at in line:
                at += 1
            for column in range(at, min(at + cell.columns, MOST_COLUMNS)):
                line[column] = cell.text
                if cell.rows > 1:
                    over[column] = (cell.text, cell.rows - 1)
            at += cell.columns
            if at >= MOST_COLUMNS:
                break
        full.append([line.get(column, "") for column in range(max(line, default=-1) + 1)])
        heads.append(all(cell.head for cell in cells))
    width = max((len(row) for row in full), default=0)
    return [[*row, *[""] * (width - len(row))] for row in full], heads


# --- infoboxes -----------------------------------------------------------------------------------------------------------

INFOBOX = "Infobox"
_IS_BOX = re.compile(r"(?:infobox|taxobox|automatic taxobox|speciesbox|geobox|chembox|drugbox|starbox)\b|.*\binfobox\b")
_FOOTNOTES = re.compile(r"[_ ]?(?:footnotes?|refs?|references?|cite|citation|source|note)\Z")
_NOT_SAID = re.compile(
    r"(?:.*[_ ])?(?:image|img|photo|logo|flag|map|caption|alt|coordinates|coord|website|url|homepage|module|embed"
    r"|signature|audio)"
    r"(?:[_ ]?(?:\d+|size|width|alt|caption|map|type|x|y))?\Z"
)


_NUMBERED = re.compile(r"(?<!km)(?<!mi)(?<!ft)(?<![^a-z]m)\d+\Z")
"""`leader1`, but not `area_km2`."""
_LONGEST_NAME = 100


def is_box(name: str) -> bool:
    """Whether a template of that name (as `normal` gives it) is an infobox."""
    return _IS_BOX.match(name) is not None


def box_statements(values: Iterable[tuple[str, str]], references: References) -> Iterator[CitedStatement]:
    """Of an infobox's values with their marks, in their order. Where a value has its references in another one
    (`population_footnotes`), they belong to the first that it can be meant for (`population_total`)."""
    told = [(key.strip().lower(), " ".join(value.split())) for key, value in values]
    said = [(key, without_marks(value), value) for key, value in told]
    notes = _notes_by_value(said)
    for key, words, value in said:
        if not words or _NOT_SAID.fullmatch(key) or _FOOTNOTES.search(key):
            continue
        if uses := references.uses_in(" ".join((value, *notes.get(key, ())))):
            label = re.sub(r"[_\s]+", " ", _NUMBERED.sub("", key)).strip()
            yield row_statement(f"{label}: {words.lstrip('*;: ')}", INFOBOX, uses, references.gaps_in(value))


def _notes_by_value(said: Sequence[tuple[str, str, str]]) -> dict[str, list[str]]:
    """By the name of a value, the references that stand in another one: by `population_footnotes` the first of `population`,
    `population_total` and so on that has a figure is meant, else the first."""
    meant: dict[str, str] = {}
    for with_figure in (True, False):
        for key, words, _ in said:
            if (
                words
                and bool(re.search(r"\d", words)) >= with_figure
                and not (_FOOTNOTES.search(key) or _NOT_SAID.fullmatch(key))
            ):
                for stem in _stems(key):
                    meant.setdefault(stem, key)
    notes: dict[str, list[str]] = {}
    for key, _, value in said:
        stem = _FOOTNOTES.sub("", key)
        if stem != key and stem in meant and OWN_MARKS.search(value):
            notes.setdefault(meant[stem], []).append(value)
    return notes


def _stems(key: str) -> Iterator[str]:
    """What a name may be meant by: itself, and its beginnings. Longer ones are no names."""
    yield key
    if len(key) <= _LONGEST_NAME:
        yield from (key[: at.start()] for at in re.finditer(r"[_ ]", key))
