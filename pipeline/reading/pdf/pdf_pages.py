"""A PDF -> its text, page by page. No OCR: a PDF without text has none.

Its lines are as wide as the paper. They become paragraphs again, because a sentence that ends at every line's end is no
sentence, and the headers and footers that its pages share go. Tables become rows with their heads (`pdf_tables`).
"""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from data.pages.cleaning import clean_characters, clean_title
from pipeline.reading.pdf.pdf_hidden import take_out_hidden
from pipeline.reading.pdf.pdf_layers import layers_off
from pipeline.reading.pdf.pdf_tables import PdfTable, continued, may_hold_table, tables_in, with_tables

if TYPE_CHECKING:
    from pypdf import PdfReader

MAX_PDF_BYTES = 20_000_000
MAX_PAGES = 200
MAX_TABLE_PAGES = 40
"""Looked at for tables, which takes as long as reading them does."""


@dataclass(frozen=True, slots=True)
class PdfText:
    """Text of the first `MAX_PAGES` pages.

    `problem` says why there is no text; `n_hidden` counts letters that readers do not see, which are not in it. `n_scans` is
    how many pages are pictures with their text behind, which nobody has compared. `created` is what the file says of itself:
    templates carry their own date along.
    """

    text: str = ""
    title: str = ""
    author: str = ""
    created: str = ""
    modified: str = ""
    n_hidden: int = 0
    n_scans: int = 0
    problem: str = ""


def read_pdf(body: bytes) -> PdfText:
    """The text of a PDF. Raises what pypdf raises for a broken file; that it asks for a password or has no text is a `problem`.

    Many are encrypted with an empty password, only to say that they may not be printed or changed: every reader opens them.
    """
    from pypdf.errors import DependencyError

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it logs every small fault of a file
    try:
        return _read(body)
    except DependencyError as error:
        return PdfText(problem=f"a PDF that cannot be decoded here: {error}")


def _read(body: bytes) -> PdfText:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(body), strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        return PdfText(problem="an encrypted PDF that asks for a password")
    n_pages = len(reader.pages)
    off = layers_off(reader)
    sights, pages = [], []
    for i in range(min(n_pages, MAX_PAGES)):
        page = reader.pages[i]
        sights.append(take_out_hidden(reader, page, off))
        pages.append(_lines(page.extract_text()))
    kept = _without_running_heads(pages)
    tables = _tables(reader, kept)
    texts = ["\n".join(_with_rows(lines, tables.get(i, []))) for i, lines in enumerate(kept)]
    if not any(texts):
        return PdfText(problem=f"a PDF of {n_pages} pages without text")
    text = "\n".join(filter(None, texts))
    n_hidden, n_scans = sum(sight.n_hidden for sight in sights), sum(sight.is_scan for sight in sights)
    return PdfText(text, n_hidden=n_hidden, n_scans=n_scans, **_information(reader))


def _tables(reader: PdfReader, pages: Sequence[list[str]]) -> dict[int, list[PdfTable]]:
    """By page, where there are any; of the first `MAX_TABLE_PAGES` that may have some."""
    found: dict[int, list[PdfTable]] = {}
    last: PdfTable | None = None
    likely = [i for i, lines in enumerate(pages) if may_hold_table(lines)]
    for i in likely[:MAX_TABLE_PAGES]:
        try:
            layout = reader.pages[i].extract_text(extraction_mode="layout")
        except Exception:  # of some fonts pypdf does not know the widths: the page's plain text is there
            continue
        tables = tables_in(_cleaned(layout))
        if tables:
            tables[0] = continued(tables[0], last if i - 1 in found else None)
            last = tables[-1]
            found[i] = tables
    return found


def _cleaned(layout: str) -> str:
    """The characters of the plain text; blanks stay, for they say where words stand."""
    return layout if layout.isascii() else re.sub(r"\S+", lambda word: clean_characters(word.group()), layout)


def _with_rows(lines: Sequence[str], tables: Sequence[PdfTable]) -> list[str]:
    parts = with_tables(lines, tables)
    return [line for is_table, part in parts for line in (part if is_table else paragraphs(part))]


# --- lines -------------------------------------------------------------------------------------------------------------

_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad]$")
_ENDS = re.compile(r"[.!?:;…。！？][\"”’'»)\]]*$")
_ITEM = re.compile(r"(?:[•·▪◦‣*–-]|\(?\d{1,3}[.)]|\([a-z]\))\s")
_NUMBER_ONLY = re.compile(r"\W*(?:page |p\. ?)?\d{1,4}(?: ?(?:of|/) ?\d{1,4})?\W*", re.I)
_HEAD_LINES = 2
_HEAD_PAGES = 3


def _lines(text: str) -> list[str]:
    # a soft hyphen at a line's end is the only sign of a divided word, and cleaning removes it
    return clean_characters(re.sub("\u00ad(?=\\s*$)", "-", text, flags=re.M)).split("\n")


def _without_running_heads(pages: Sequence[list[str]]) -> list[list[str]]:
    """Without page numbers, and without first and last lines that three or more pages share but for their digits."""
    counts = Counter(shape for lines in pages for shape in {_shape(lines[i]) for i in _edge(lines)})
    kept = []
    for lines in pages:
        gone = {i for i in _edge(lines) if counts[_shape(lines[i])] >= _HEAD_PAGES or _NUMBER_ONLY.fullmatch(lines[i])}
        kept.append([line for i, line in enumerate(lines) if i not in gone])
    return kept


def _edge(lines: Sequence[str]) -> set[int]:
    filled = [i for i, line in enumerate(lines) if line]
    return {*filled[:_HEAD_LINES], *filled[-_HEAD_LINES:]}


def _shape(line: str) -> str:
    return re.sub(r"\d+", "0", line.casefold())


def paragraphs(lines: Sequence[str]) -> list[str]:
    """Lines joined as long as one is full and no sentence, item or blank line begins anew; divided words are whole again."""
    lengths = sorted(len(line) for line in lines if line)
    full = 0.8 * lengths[int(0.8 * (len(lengths) - 1))] if lengths else 0
    made: list[str] = []
    last = ""
    for line in lines:
        if line and last and not _ITEM.match(line) and (len(last) >= full or (line[0].islower() and not _ENDS.search(last))):
            divided = _HYPHEN.search(made[-1]) is not None and line[0].islower()
            made[-1] = made[-1][:-1] + line if divided else f"{made[-1]} {line}"
        elif line:
            made.append(line)
        last = line
    return made


# --- what the file says of itself --------------------------------------------------------------------------------------

_NO_TITLE = re.compile(r"^(?:microsoft \w+ - .*|untitled.*|document\d*|.*\.(?:docx?|indd|qxd|pdf|rtf|tex|pptx?))$", re.I)


def _information(reader: PdfReader) -> dict[str, Any]:
    try:
        found = reader.metadata
    except Exception:  # a broken information dictionary: the pages can be read all the same
        return {}
    if found is None:
        return {}
    title = clean_title(str(found.title or ""))
    return {
        "title": "" if _NO_TITLE.match(title) else title,
        "author": clean_title(str(found.author or "")),
        "created": _moment(found, "creation_date"),
        "modified": _moment(found, "modification_date"),
    }


def _moment(information: object, name: str) -> str:
    try:
        moment = getattr(information, name)
    except Exception:  # dates in all kinds of forms
        return ""
    return moment.isoformat() if moment is not None else ""
