"""The page of a run: its events, with a link to each article."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal
from urllib.parse import quote

from pipeline.formats.page_frame import counted, document


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One event of a run. `href` is relative to the index page and "" where there is no page; `reason` says why it failed."""

    event_id: str
    title: str
    status: Literal["ok", "failed"]
    reason: str = ""
    sections: int = 0
    citations: int = 0
    words: int = 0
    href: str = ""


def index_html(
    rows: Sequence[IndexRow],
    *,
    title: str = "Articles",
    scores: Mapping[str, float] | None = None,
    report: str = "",
) -> str:
    """The page of a run: its events in the order given, with a link to each article, its scores (shares), and a link to the
    page `report` that has them all."""
    n_failed = sum(row.status == "failed" for row in rows)
    failed = f", {n_failed} failed" if n_failed else ""
    note = f'<p><a href="{escape(report)}">All scores, times and dropped pages</a></p>' if report else ""
    table = "".join(_index_row(row) for row in rows)
    body = f"""<div class="page run">
<main>
<header class="head"><h1>{escape(title)}</h1><p class="byline">{counted(len(rows) - n_failed, "article")}{failed}</p></header>
<p class="notice" role="note"><strong>Machine-written drafts.</strong> They may be wrong or incomplete: a person must check
every statement against its source before it is used.</p>
<div class="record">{note}{_score_table(scores) if scores else ""}</div>
<table class="events"><thead><tr><th scope="col">Event</th><th scope="col">Status</th><th scope="col" class="n">Sections</th>
<th scope="col" class="n">Citations</th><th scope="col" class="n">Words</th></tr></thead><tbody>
{table}</tbody></table>
</main>
</div>
"""
    return document(title, body, "")


def _score_table(scores: Mapping[str, float]) -> str:
    rows = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{100 * of:.1f} %</td></tr>' for name, of in scores.items())
    return f"<table><tbody>{rows}</tbody></table>"


def _index_row(row: IndexRow) -> str:
    # A quoted relative path holds no colon, so it can have no scheme.
    name = f'<a href="{escape(quote(row.href))}">{escape(row.title)}</a>' if row.href else escape(row.title)
    why = f'<span class="why">{escape(row.reason)}</span>' if row.reason else ""
    counts = ("section", row.sections), ("citation", row.citations), ("word", row.words)
    if row.status == "ok":
        cells = "".join(f'<td class="n" data-unit="{noun if n == 1 else noun + "s"}">{n:,}</td>' for noun, n in counts)
    else:
        cells = '<td class="n"></td>' * len(counts)
    return (
        f'<tr id="event-{escape(row.event_id)}"><th scope="row">{name}{why}</th>'
        f'<td class="{row.status}">{"written" if row.status == "ok" else "failed"}</td>{cells}</tr>\n'
    )
