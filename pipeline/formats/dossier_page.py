"""The editor's dossier as a page, and as wikitext for a talk page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from pipeline.editing.dossier import POLICY, Dossier, SourceRow
from pipeline.formats.page_frame import document
from pipeline.formats.page_words import RATINGS
from pipeline.formats.wikitext import as_value, as_words
from pipeline.provenance import web_link

NOTHING = "None was found by rule."


def _parts(dossier: Dossier) -> Iterator[tuple[str, str, Sequence[str]]]:
    """(heading, what it says, items)."""
    best = [f"{row.title} ({_about(row)})" for row in dossier.best]
    yield "The best independent sources", "One a publisher; rated, dated and much cited ones first.", best
    yield "What sources disagree on", "", dossier.disagreements
    if dossier.rests_on_one_publisher:
        yield "Said by one publisher only", "All of it: every sentence rests on the same publisher. Look for a second one.", ()
    else:
        yield "Said by one publisher only", "Look for a second source before you rely on these.", dossier.one_publisher
    usual = (
        f"Articles on a subject like this ({dossier.kind}) usually have these, and this one has none." if dossier.kind else ""
    )
    yield "What is missing", usual, dossier.missing
    copied = (
        f"{dossier.copied:.0%} of the words, quotations apart, are in runs of five words or more on a cited page; the "
        f"longest run has {dossier.longest_run} words, names and numbers apart; {_quotations(dossier.n_quotations)}. Close "
        "paraphrase is a matter of copyright, too: reword what stays."
    )
    yield "Copyright", copied, ()
    yield "To look at", "", [f"{remark.text} ({remark.kind})" for remark in dossier.remarks]


def _quotations(n: int) -> str:
    return "1 quotation" if n == 1 else f"{n} quotations"


def _is_whole(heading: str, about: str) -> bool:
    """Whether the part says all with no item."""
    return heading == "Copyright" or about.startswith("All of it")


def _about(row: SourceRow) -> str:
    rating = RATINGS.get(row.rating, "") if row.rating else "not rated"
    return ", ".join(part for part in (row.publisher, row.published or "undated", rating.lower()) if part)


def dossier_html(dossier: Dossier) -> str:
    parts = []
    for heading, about, items in _parts(dossier):
        listed = "".join(f'<li dir="auto">{escape(item)}</li>' for item in items)
        said = f"<p>{escape(about)}</p>" if about else ""
        body = f"<ul>{listed}</ul>" if listed else "" if _is_whole(heading, about) else f"<p>{NOTHING}</p>"
        parts.append(f"<section><h2>{escape(heading)}</h2>{said}{body}</section>")
    rows = "".join(_row(row) for row in dossier.sources)
    head = "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS)
    table = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    body = f"""<div class="page run"><main>
<header class="head"><h1 dir="auto">{escape(dossier.title)}: dossier for editors</h1></header>
<p class="notice" role="note">{escape(POLICY)} {escape(dossier.notice)}</p>
{parts[0]}<section><h2>All sources</h2>{table}</section>{"".join(parts[1:])}
</main></div>"""
    return document(f"{dossier.title}: dossier", body, "")


_IN_ONE_LINE = ' class="day"'
_COLUMNS = ("Page", "Publisher", "Rating", "Published", "Independent", "Supports", "Sentences")


def _cells(row: SourceRow) -> list[str]:
    independent = f"no: {row.same_as}" if row.same_as else "yes, as far as addresses show"
    rating = RATINGS.get(row.rating, "") if row.rating else "not rated"
    return [row.publisher, rating, row.published or "undated", independent, ", ".join(row.sections), str(row.n_cited)]


def _row(row: SourceRow) -> str:
    link = web_link(row.url)
    name = f"<bdi>{escape(row.title)}</bdi>"
    shown = f'<a href="{escape(link)}" rel="nofollow noopener noreferrer" target="_blank">{name}</a>' if link else name
    author = f"<br><span class='meta'>by {escape(row.author)}</span>" if row.author else ""
    cells = "".join(f'<td dir="auto"{_IN_ONE_LINE * (cell == row.published)}>{escape(cell)}</td>' for cell in _cells(row))
    return f'<tr><th scope="row">{shown}{author}</th>{cells}</tr>'


def dossier_wikitext(dossier: Dossier) -> str:
    """No text of the article or of a page can become a link, template or tag."""
    blocks = [f"== {as_words(dossier.title)}: dossier for editors ==", as_words(f"{POLICY} {dossier.notice}".strip())]
    for heading, about, items in _parts(dossier):
        blocks.append(f"=== {heading} ===")
        blocks += [as_words(about)] if about else []
        if items:
            blocks.append("\n".join(f"* {as_words(item)}" for item in items))
        elif not _is_whole(heading, about):
            blocks.append(NOTHING)
    lines = ['{| class="wikitable sortable"', "! " + " !! ".join(_COLUMNS)]
    for row in dossier.sources:
        link = web_link(row.url)
        title = f"[{link.replace('~~~', '%7E%7E%7E')} {as_words(row.title)}]" if link else as_words(row.title)
        lines += ["|-", "| " + " || ".join([title, *(as_value(cell) for cell in _cells(row))])]
    return "\n\n".join([*blocks, "=== All sources ===", "\n".join([*lines, "|}"])]) + "\n"
