"""Raw page text -> the lines that carry the account: prose, lists of facts, rows of tables.

Raw text has lost the HTML that separates menus from content, and in the median page 45 % of the words sit in lines of fewer
than eight words. Throwing those away loses names, dates and results; keeping them buries the account under menus. So each
line gets a score for what it holds, and a short line is judged together with its neighbours, in the manner of jusText
(Pomikálek 2011, "Removing Boilerplate and Duplicate Content from Web Corpora", section 3), with capitals, digits and
repetition in the place of tags and link density. Cells of tables, which arrive one a line, are joined to rows again.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

CELL_SEPARATOR = " | "


@dataclass(frozen=True, slots=True)
class _Block:
    """One line (or piece of a glued line). A `score` above 0 speaks for keeping it; `hard` lines go whatever is beside them."""

    text: str
    n_words: int
    prose: bool
    hard: bool
    fact: bool  # holds a number that means something: neither a clock time nor a year in a list of years
    cell: bool  # short enough for a cell of a table
    score: float


def _load_phrases() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "phrases.toml").read_text(encoding="utf-8"))


PHRASES = _load_phrases()
"""data/pages/phrases.toml: lists of regular expressions, and texts of words."""


def any_of(name: str, *, start: str = "", end: str = "") -> re.Pattern[str]:
    """One pattern for a list of `PHRASES`, whatever the case; `^` matches at line starts."""
    return re.compile(f"{start}(?:{'|'.join(PHRASES[name])}){end}", re.IGNORECASE | re.MULTILINE)


def keep_content(text: str, title: str) -> str:
    """Raw page text -> its content, one block a line, in order. `title` helps to find where the menus above it end."""
    text = _TAG.sub(" ", text)
    names = _inner_capitals(text)
    lines = [piece for line in text.split("\n") if line for piece in _pieces(line, names)]
    counts = Counter(line.casefold() for line in lines)
    keys = [(line, counts[line.casefold()], _among_years(lines, i)) for i, line in enumerate(lines)]
    scored = {key: _block(*key) for key in set(keys)}  # a third of a page's lines are repeats of others
    blocks = [scored[key] for key in keys]
    if not blocks:
        return ""
    headline = _headline(blocks, title)
    start = headline or next((i for i, block in enumerate(blocks) if block.prose and block.n_words >= 20), 0)
    end = max((i for i, block in enumerate(blocks) if block.prose and block.n_words >= 12), default=len(blocks) - 1)
    tables = _table_lines(blocks)
    teasers = _teasers(blocks)
    kept: list[tuple[int, _Block]] = []
    n_prose = 0
    elsewhere = False  # in a box that points to other pages
    for i, block in enumerate(blocks):
        if block.prose and block.n_words >= 25 and has_sentence(block.text):
            elsewhere = False
        elif n_prose >= 60 and block.n_words <= 6 and _POINTER.match(block.text):
            elsewhere = True
        if block.hard or teasers[i] or elsewhere:
            continue
        context = _context(blocks, i)
        prior = -1.2 if i < start else -0.8 if i > end else 0.3
        if block.prose:
            # a paragraph of ordinary length needs no neighbours; a short sentence among menus is a teaser or a caption
            keep = block.n_words >= 25 or block.score + context + prior >= 1.0
        elif i < headline:
            keep = False
        else:
            keep = tables[i] or block.score + 0.7 * context + prior > 0.35
        if keep:
            kept.append((i, block))
            n_prose += block.n_words if block.prose else 0
    return "\n".join(dict.fromkeys(_rows(kept, tables)))


_EDIT = re.compile(r"\W*edit(?: source)?\W*", re.IGNORECASE)
"""What stands behind a heading of a wiki."""


def keep_extracted(text: str) -> str:
    """Text from an extractor, which has removed the menus: only lines that are boilerplate by their words go."""
    kept = [line for line in text.split("\n") if line and not _boilerplate_line(line) and not _EDIT.fullmatch(line)]
    return "\n".join(dict.fromkeys(kept))


# --- lines -----------------------------------------------------------------------------------------------------------


_JOIN = re.compile(
    r"(?<=[a-zà-öø-ÿ]{2})(?=[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ])"  # "MenuMovies"
    r"|(?<=[a-zà-öø-ÿ]{3}[.!?…])(?=[A-ZÀ-ÖØ-Þ“\"][a-zà-öø-ÿ ])"  # "before.The next"
    r"|(?<=[)\]”’])(?=[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ])"
    r"|(?<=[a-zà-öø-ÿ]{4}[.!?])(?=[A-Z]{2,} )"  # "education.ONZM"
    r"|(?<=\d)(?=[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ]{2}|By [A-Z])"  # "2024Advertisement"
    r"|(?<=[A-Z]{3})(?=[A-Z][a-z]{3}|(?:Mr|Mrs|Ms|Dr|Sir) )"  # "ADVERTISEMENTSir"
)
_CAMEL = re.compile(  # bounded: text without spaces would take quadratic time
    r"(?<![^\W\d_])[^\W\d_]{0,30}?[a-zà-öø-ÿ]{2}[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ][^\W\d_]{0,30}(?![^\W\d_])"
)
_CAMEL_PREFIX = re.compile(r"(?:^|[^A-Za-zÀ-ÿ])(?:Mc|Mac|De|Di|Du|Le|La|Van|Von|Fitz|Al|El|Da)$")
_CAMEL_NAMES = frozenset(PHRASES["camel_names"].split())
_OPENS = re.compile(
    r"(?:The|This|These|In|On|At|It|He|She|They|We|But|And|By|For|After|When|While|As|Read|More|Share|Photo|Image|Video"
    r"|Advertisement)\b"
)
_TAKES_OVER = re.compile(r"(?:Advertisement|Read more|Read More|Share|Credit|Image|Images|Getty|Reuters|Summary)$")


def _inner_capitals(text: str) -> Set[str]:
    """Words with a capital inside that a page uses more than once, or known ones: names, not two words glued together."""
    # each line once: menus come twice, for wide and for narrow screens
    found = Counter(word for line in set(text.split("\n")) for word in set(_CAMEL.findall(line)))
    return _CAMEL_NAMES | {word for word, n in found.items() if n >= 2}


def _pieces(line: str, names: Set[str]) -> list[str]:
    """A line cut where words were glued together ("NewsSportsRadio"), because each piece was a line of its own.

    In a menu every join is cut. In prose a join may be a name, so it is cut only where a sentence or a known word meets
    the next: a paragraph cut in the middle of a sentence is worse than one glued word.
    """
    joins = [match.start() for match in _JOIN.finditer(line)]
    if joins:
        joins = [at for at in joins if not _inside_word(line, at, names)]
    menu = len(joins) >= 3 and len(joins) * 20 > line.count(" ")
    cuts = [at for at in joins if menu or line[at - 1] in ".!?…" or _OPENS.match(line, at) or _TAKES_OVER.search(line, 0, at)]
    pieces = (line[a:b].strip(" |•·–—") for a, b in zip([0, *cuts], [*cuts, len(line)]))
    return [_without_lead_in(piece) for piece in pieces if piece]


def _inside_word(line: str, at: int, names: Set[str]) -> bool:
    """Whether the capital at `at` belongs inside a name (McDonald, YouTube), an address or a handle."""
    if _CAMEL_PREFIX.search(line[max(0, at - 5) : at]):
        return True
    start = at
    while start > max(0, at - 40) and line[start - 1].isalpha():
        start -= 1
    token = _CAMEL.match(line, start)
    if token is not None and token.group() in names:
        return True
    begin = line.rfind(" ", 0, at) + 1
    return line.startswith(("http", "@", "#", "www.", "pic.twitter"), begin)


def _without_lead_in(piece: str) -> str:
    """A long piece that opens with a menu ("Sections Home Subscribe ... The vote was held") -> from its first sentence."""
    words = piece.split(" ")
    if len(words) < 30:
        return piece
    lower = [word[:1].islower() for word in words]
    at = next((i for i in range(len(words) - 10) if sum(lower[i : i + 10]) >= 5), 0)
    if at < 8 or sum(1 for word in words[:at] if word.casefold().strip(",.:") in _MENU_WORDS) < 4:
        return piece
    begin = next((i for i in range(at, len(words) - 1) if words[i][:1].isupper() and lower[i + 1]), 0)
    return " ".join(words[begin:])


BOILERPLATE = any_of("boilerplate", start=r"\b")
_MENU_WORDS = frozenset(PHRASES["menu_words"].split())
_TAG = re.compile(r"</?(?:a|b|blockquote|br|div|em|i|iframe|img|li|p|script|span|strong|td|tr|u|ul)\b[^<>\n]{0,500}>")
_RELATIVE_TIME = re.compile(
    r"^(?:updated |posted |published )?(?:an?|\d+) ?(?:s|sec|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?|months?|years?)"
    r"(?: ago| read)?$",
    re.IGNORECASE,
)
_MONTHS = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*"
_ARCHIVE_MONTH = re.compile(rf"^{_MONTHS} \d{{4}}(?: \(\d+\))?$", re.IGNORECASE)
_CLOCK = re.compile(r"\b\d{1,2}:\d{2}(?::\d{2})?\b")
_YEAR = re.compile(r"^(?:1[89]|20)\d\d$")
_KEY_VALUE = re.compile(r"^[A-Z][\w /&'()-]{1,30}:\s*\S")
_TERMINAL = re.compile(r"[.!?…。！？][\"”’'»)\]]*(?:\[\d+\])*$")
_INNER_STOP = re.compile(r"[a-zà-ÿ0-9)”\"][.!?] +[A-Z“\"]")
_LISTED = re.compile(r"[,;(–]| - ")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_WORD = re.compile(r"\w+")


def has_sentence(line: str) -> bool:
    """Whether a line ends like a sentence or holds the boundary of two."""
    return bool(_TERMINAL.search(line) or _INNER_STOP.search(line))


def is_headline(line: str) -> bool:
    """Whether a line looks like the link to another page: some words, mostly lower-cased, no sentence, list or number."""
    words = line.split()
    if not 5 <= len(words) <= 20 or has_sentence(line) or _LISTED.search(line) or any(c.isdigit() for c in line):
        return False
    return sum(1 for word in words if word[:1].islower()) >= 0.3 * len(words)


def count_unspaced(text: str) -> int:
    """Characters of scripts written without spaces between words (Chinese, Japanese, Thai, Khmer, Burmese, Lao)."""
    return len(_UNSPACED.findall(text))


_ROW_FIGURE = re.compile(r"\d[\d.,]*")
_ROW_PART_WORDS = 12
_FIGURE_WORDS = 4
"""What a reader takes from a figure in a row of a table, in words of prose: "won 18,204 of the votes"."""


def is_row(line: str) -> bool:
    """Whether a line has the shape of a table's row said with its heads: "Civic List: 18,204 votes, 14 seats"."""
    name, colon, rest = line.partition(": ")
    if not colon or not rest or len(name.split()) > _ROW_PART_WORDS or has_sentence(line):
        return False
    return all(len(part.split()) <= _ROW_PART_WORDS for part in re.split(r"[,;] ", rest))


def count_words(text: str) -> int:
    """Words with a letter or digit: cell separators and dashes are none."""
    return sum(any(c.isalnum() for c in word) for word in text.split())


def count_read(text: str) -> int:
    """Words of an extracted text as a reader counts them: a figure in a row of a table says as much as a few words of prose.

    Not for raw text, where lines of this shape are menus with dates as often as tables.
    """
    figures = sum(len(_ROW_FIGURE.findall(line)) for line in text.split("\n") if is_row(line))
    return count_words(text) + _FIGURE_WORDS * figures


def _boilerplate_line(line: str) -> bool:
    n = line.count(" ") + 1
    if n >= 120:
        return False
    if _RELATIVE_TIME.match(line) or not any(c.isalnum() for c in line):
        return True
    if BOILERPLATE.search(line) is None:
        return False
    found = len(BOILERPLATE.findall(line))
    if n >= 40:
        return found >= 3 and found * 15 >= n
    # in a sentence of ordinary length one such phrase may be the subject ("the privacy policy was struck down")
    return n < 8 or not has_sentence(line) or found * 20 >= n


def _block(line: str, count: int, among_years: bool) -> _Block:
    words = line.split()
    n = len(words)
    lower = sum(1 for word in words if word[:1].islower())
    cased = sum(1 for word in words if word[:1].lower() != word[:1].upper())
    sentence = has_sentence(line)
    prose = (
        # titles and menus capitalise most words, sentences few; a cut-off paragraph has no end, but is long
        (n >= 8 and lower >= 0.4 * cased > 0 and (sentence or n >= 20))
        or (n >= 25 and sentence and lower >= 0.25 * cased)  # a long sentence may list names
        or (cased * 2 < n and count_unspaced(line) >= 30)  # scripts without capitals, of which a "word" is a whole clause
    )
    cell = not prose and n <= 6 and len(line) <= 60
    if _boilerplate_line(line):
        return _Block(line, n, prose=False, hard=True, fact=False, cell=cell, score=-2.5 if prose else -2.0)
    if prose:
        return _Block(line, n, prose=True, hard=False, fact=False, cell=False, score=4.0 if n >= 20 else 2.0)
    menu = sum(1 for word in words if word.casefold().strip(",.:;!") in _MENU_WORDS)
    if (
        among_years
        or _ARCHIVE_MONTH.match(line)
        or (n <= 3 and menu * 2 > n)
        or line.startswith(("©", "#", "@", "http://", "https://", "www."))
        or (n > 2 and line.endswith(("...", "…", "»", "›", ">")))  # a teaser, or the link to the next page
    ):
        return _Block(line, n, prose=False, hard=True, fact=False, cell=cell, score=-2.0)
    fact = any(c.isdigit() for c in _CLOCK.sub("", line))
    score = -0.2  # a short line that shows nothing goes, unless its neighbours speak for it
    if fact:
        score += 0.2 if n == 1 else 1.2  # a number alone may count comments as well as people
    elif n == 1:
        score -= 0.5  # a button
    if _KEY_VALUE.match(line):
        score += 1.2  # a row of an infobox
    listed = _LISTED.search(line) is not None
    if n >= 3 and listed:
        score += 0.4
    if n >= 5:
        score += 0.3
    if 2 <= n <= 5 and lower == 0 and not menu:
        score += 0.3  # the shape of a name
    if n >= 5 and not fact and not listed and lower < 0.4 * n and ":" not in line:
        score -= 0.6  # a headline, or menu entries side by side
    if menu:
        score -= 1.0
    if count > 1:
        score -= 0.3 if fact else 1.2  # menus come twice, for wide and for narrow screens
    return _Block(line, n, prose=False, hard=False, fact=fact, cell=cell, score=score)


def _among_years(lines: Sequence[str], at: int) -> bool:
    """A bare year between bare years: an archive menu, not a date."""
    if not _YEAR.match(lines[at]):
        return False
    near = lines[max(0, at - 1) : at + 2]
    return len(near) > 1 and sum(1 for line in near if _YEAR.match(line)) >= min(3, len(near))


# --- neighbours ------------------------------------------------------------------------------------------------------


def _context(blocks: Sequence[_Block], at: int) -> float:
    """Mean score of the three blocks on each side; prose counts at most 2, so that one paragraph does not save a menu."""
    near = [blocks[i].score for i in range(max(0, at - 3), min(len(blocks), at + 4)) if i != at]
    return sum(min(2.0, score) for score in near) / len(near) if near else 0.0


def _headline(blocks: Sequence[_Block], title: str) -> int:
    """Index of the line that repeats the page's title below the menus, 0 if there is none before the first paragraph.

    The first lines do not count: raw text begins with the document's title, and the menus follow it.
    """
    wanted = {word.casefold() for word in _WORD.findall(title) if len(word) > 2}
    if len(wanted) < 3:
        return 0
    for i, block in enumerate(blocks):
        if block.prose and block.n_words >= 40:
            return 0
        if i >= 3 and block.n_words <= 30:
            found = {word.casefold() for word in _WORD.findall(block.text)}
            if len(wanted & found) >= 0.6 * len(wanted):
                return i
    return 0


_POINTER = any_of("pointers", end=r"\b")
_FULL_DATE = re.compile(
    r"^(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?"
    rf"(?:{_MONTHS} \d{{1,2}},? \d{{4}}|\d{{1,2}}\.? {_MONTHS},? \d{{4}}|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|\d{{4}}-\d\d-\d\d)"
    r"(?:,? (?:at )?\d{1,2}[:.]\d\d.*)?$",
    re.IGNORECASE,
)


def _teasers(blocks: Sequence[_Block]) -> list[bool]:
    """Headlines of other pages with their dates: three or more dates beside a line that is neither prose nor a cell."""
    result = [False] * len(blocks)
    pairs: list[tuple[int, int]] = []
    for i, block in enumerate(blocks):
        if block.cell and _FULL_DATE.match(block.text):
            for j in (i - 1, i + 1):
                if 0 <= j < len(blocks) and 5 <= blocks[j].n_words <= 24 and not has_sentence(blocks[j].text):
                    pairs.append((i, j))
    if len({i for i, _ in pairs}) >= 3:
        for i, j in pairs:
            result[i] = result[j] = True
    return result


_TABLE_REACH = 6
_TABLE_SHARE = 0.35


def _table_lines(blocks: Sequence[_Block]) -> list[bool]:
    """Which blocks are cells of a table: short lines where at least a third of those around hold numbers."""
    cells = [0, *accumulate(block.cell for block in blocks)]
    facts = [0, *accumulate(block.cell and block.fact for block in blocks)]
    hard = [0, *accumulate(block.cell and block.hard for block in blocks)]
    result = [False] * len(blocks)
    for i, block in enumerate(blocks):
        if not block.cell or block.hard:
            continue
        low, high = max(0, i - _TABLE_REACH), min(len(blocks), i + _TABLE_REACH + 1)
        n = cells[high] - cells[low]
        enough = n >= _TABLE_REACH + 2 and facts[high] - facts[low] >= _TABLE_SHARE * n
        result[i] = enough and hard[high] - hard[low] <= 0.3 * n
    # the first and last rows have other lines around them, and a few cells hold no number: they belong to the table too
    for order in (range(1, len(blocks)), range(len(blocks) - 2, -1, -1)):
        step = -1 if order.step > 0 else 1
        reach = 0
        for i in order:
            reach = _TABLE_REACH if result[i] else reach - 1
            if reach > 0 and blocks[i].cell and not blocks[i].hard and result[i + step]:
                result[i] = True
    return result


_DATE_CELL = re.compile(
    r"^(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*[,.]? )?"
    rf"(?:{_MONTHS}\.? \d{{1,2}}\b|\d{{1,2}}\.? {_MONTHS}\b|\d{{1,2}}[./]\d{{1,2}}\b|\d{{4}}-\d\d-\d\d)",
    re.IGNORECASE,
)
_ROW_WORDS = 24
_ROW_CELLS = 12


def _rows(kept: Sequence[tuple[int, _Block]], tables: Sequence[bool]) -> list[str]:
    """The kept blocks as lines, the cells of a table joined to rows."""
    lines: list[str] = []
    run: list[str] = []
    last = -2
    for i, block in kept:
        if run and (not tables[i] or i - last > 3):
            lines += _join_cells(run)
            run = []
        if tables[i]:
            run.append(block.text)
        else:
            lines.append(block.text)
        last = i
    return lines + _join_cells(run)


def _join_cells(cells: list[str]) -> list[str]:
    """Rows of a table whose cells came one a line. The row length is the distance at which the shapes of cells repeat."""
    shapes = [_shape(cell) for cell in cells]
    best, period = 0.0, 0
    for distance in range(2, min(_ROW_CELLS, len(cells) // 3) + 1):
        pairs = len(cells) - distance
        agree = sum(a == b for a, b in zip(shapes, shapes[distance:])) / pairs
        if agree > best + 0.02:  # multiples of the true distance agree as well: the shortest wins
            best, period = agree, distance
    if best < 0.75 or len(set(shapes)) < 2:
        return _join_evenly(cells)
    offset = _row_offset(cells, shapes, period)
    head = _join_evenly(cells[:offset])
    return head + [CELL_SEPARATOR.join(cells[i : i + period]) for i in range(offset, len(cells), period)]


def _shape(cell: str) -> str:
    """Kind of a cell: a rank or count, another number, text with a number, or words."""
    if cell.isdigit():
        return "i"
    if not any(c.isdigit() for c in cell):
        return "w"
    return "t" if any(c.isalpha() for c in cell) else "n"


def _row_offset(cells: list[str], shapes: list[str], period: int) -> int:
    """Where the first row begins: at the column that counts up by one, else at dates, else where the repetition begins."""
    for offset in range(period):
        column = [int(cell) for cell in cells[offset::period] if cell.isdigit() and len(cell) <= 4]
        if len(column) >= 3 and sum(b - a == 1 for a, b in pairwise(column)) >= 0.6 * (len(column) - 1):
            return offset
    for offset in range(period):
        column_cells = cells[offset::period]
        if sum(1 for cell in column_cells if _DATE_CELL.match(cell)) >= 0.6 * len(column_cells):
            return offset
    for offset in range(len(cells) - period):
        if shapes[offset : offset + period] == shapes[offset + period : offset + 2 * period]:
            return offset
    return 0


def _join_evenly(cells: list[str]) -> list[str]:
    """Rows of uneven length: a new one at every date, where the cells hold dates, else where a row is full."""
    dated = sum(1 for cell in cells if _DATE_CELL.match(cell)) >= 3
    lines: list[str] = []
    row: list[str] = []
    for cell in cells:
        full = len(row) >= _ROW_CELLS or sum(len(c.split()) for c in row) >= _ROW_WORDS
        if row and (full or _KEY_VALUE.match(cell) or (dated and _DATE_CELL.match(cell))):
            lines.append(CELL_SEPARATOR.join(row))
            row = []
        row.append(cell)
    return [*lines, CELL_SEPARATOR.join(row)] if row else lines
