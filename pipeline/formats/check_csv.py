"""The report of a check as a table, one statement a row."""

from __future__ import annotations

import csv
import io

from pipeline.checking.report import LABELS, CheckReport

COLUMNS = (
    *("number", "section", "statement", "verdict", "meaning", "score", "sentence of the page", "addresses", "titles"),
    *("published", "notes", "remark", "neighbour's citation"),
)


def check_csv(report: CheckReport) -> str:
    """Several pages of one statement are divided by ` | `. No cell can become a formula of a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for n, one in enumerate(report.findings, 1):
        pages = one.cited
        row = [
            *(n, one.section, one.text, one.verdict, LABELS[one.verdict], "" if one.score is None else one.score, one.sentence),
            " | ".join(page.url for page in pages),
            " | ".join(page.title + (f" ({page.page})" if page.page else "") for page in pages),
            " | ".join(page.published for page in pages),
            " | ".join(page.note for page in pages),
            *(one.remark, "yes" if one.inherits else ""),
        ]
        writer.writerow([_cell(value) for value in row])
    return out.getvalue()


def _cell(value: object) -> object:
    """A text that a spreadsheet would run as a formula begins with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.lstrip()[:1] in ("=", "+", "-", "@") else value
