"""The report of a check as one self-contained page: filtered without a script, with a list to paste into the article."""

from __future__ import annotations

from html import escape
from itertools import groupby

from pipeline.checking.report import LABELS, VERDICTS, Change, CheckReport, CitedPage, Finding
from pipeline.formats.page_frame import document
from pipeline.provenance import host_of, one_line, shortened, web_link

SHOWN = 600
"""Characters of a passage."""


def check_html(report: CheckReport, to_paste: str = "") -> str:
    """Statements in the order of the article, each with its verdict, its pages and the sentence that supports it. `to_paste` is
    the list for the article, in wikitext."""
    seen: dict[str, int] = {}
    numbered = enumerate(report.findings, 1)
    parts = "".join(
        _section(section, list(group), seen) for section, group in groupby(numbered, key=lambda one: one[1].section)
    )
    body = f"""<div class="page run check"><main>
<header class="head"><h1 dir="auto">{escape(report.title or "An article")}: its citations, checked</h1></header>
<p class="notice" role="note">{escape(report.in_words())}. A program judged this, and errs: read the passage beside a statement
before you change anything.</p>
{_changes(report)}{_to_paste(to_paste)}{_filter(report)}
{parts}
</main></div>"""
    return document(f"Check of {report.title or 'an article'}", body, "")


def _filter(report: CheckReport) -> str:
    """Radio buttons that the page's styles read: each shows the statements of one verdict."""
    look = sum(_is_to_look_at(one) for one in report.findings)
    choices = [("all", "All", len(report.findings)), ("look", "To look at", look)]
    choices += [(verdict, LABELS[verdict], report.counts[verdict]) for verdict in VERDICTS if report.counts[verdict]]
    shown = "".join(
        f'<label><input type="radio" name="show" id="show-{key}"{" checked" if key == "all" else ""}> '
        f"{escape(label)} ({n:,})</label>"
        for key, label, n in choices
    )
    return f'<fieldset class="choice"><legend>Which statements to show</legend>{shown}</fieldset>'


def _is_to_look_at(finding: Finding) -> bool:
    return finding.verdict != "supported" or bool(finding.remark)


def _changes(report: CheckReport) -> str:
    if not report.since:
        return ""
    if not report.changes:
        return f'<p class="since">Nothing changed since {escape(report.since)}.</p>'
    rows = "".join(f"<li>{_change(change)}</li>" for change in report.changes)
    return (
        f'<details class="since" open><summary>Changed since {escape(report.since)} ({len(report.changes):,})</summary>'
        f"<ul>{rows}</ul></details>"
    )


def _change(change: Change) -> str:
    before = LABELS[change.before] if change.before else "New statement"
    after = LABELS[change.after] if change.after else "No longer in the article"
    was = f' <span class="meta" dir="auto">It read: {escape(change.was)}</span>' if change.was else ""
    told = f"Reworded; {after} as before" if before == after else f"{before} → {after}"
    return f'<strong>{escape(told)}.</strong> <span dir="auto">{escape(change.text)}</span>{was}'


def _to_paste(text: str) -> str:
    if not text:
        return ""
    rows = min(text.count("\n") + 1, 20)
    about = (
        "The same is in <code>to_look_at.wiki</code> beside this page. Of wikitext, <code>marked.wiki</code> is the article "
        "with each template at its place; <code>report.csv</code> and <code>report.json</code> are for programs."
    )
    area = f'<textarea readonly rows="{rows}" aria-label="A list to paste, in wikitext" spellcheck="false">'
    return (
        '<details class="paste"><summary>A list to paste, in wikitext</summary>'
        f"{area}\n{escape(text)}</textarea><p>{about}</p></details>"
    )


def _section(section: str, findings: list[tuple[int, Finding]], seen: dict[str, int]) -> str:
    told = "".join(_finding(n, finding, seen) for n, finding in findings)
    return f'<div class="part"><h2 dir="auto">{escape(section or "Introduction")}</h2>{told}</div>\n'


def _finding(n: int, finding: Finding, seen: dict[str, int]) -> str:
    pages = "".join(f"<li>{_page(page)}</li>" for page in finding.cited)
    look = " look" if _is_to_look_at(finding) else ""
    return (
        f'<section class="finding {escape(finding.verdict)}{look}" id="statement-{n}">'
        f'<p dir="auto"><strong>{escape(_label(finding))}.</strong> {escape(finding.text)}</p>'
        f"{_remark(finding)}{f'<ul>{pages}</ul>' if pages else ''}{_passage(n, finding, seen)}</section>\n"
    )


def _label(finding: Finding) -> str:
    return f"Not judged: {finding.language}" if finding.verdict == "foreign" and finding.language else LABELS[finding.verdict]


def _passage(n: int, finding: Finding, seen: dict[str, int]) -> str:
    """The sentence that supports it is marked; what stands around it is folded, and said once however often it is cited."""
    if not finding.passage:
        return ""
    before, sentence, after = finding.passage.partition(finding.sentence) if finding.sentence else (finding.passage, "", "")
    first = seen.setdefault(finding.passage, n)
    marked = f'<mark dir="auto">{escape(shortened(sentence, SHOWN))}</mark>' if sentence else ""
    if first != n:
        again = f'<a href="#statement-{first}">The passage is shown with an earlier statement</a>'
        return f'<p class="quote">{marked} {again}</p>'
    if not sentence:
        return _folded("The nearest passage of the page", escape(shortened(finding.passage, SHOWN)))
    if not (before.strip() or after.strip()):
        return f'<p class="quote">{marked}</p>'
    around = f"{escape(_end_of(before))} <mark>{escape(one_line(sentence))}</mark> {escape(shortened(after, SHOWN // 2))}"
    return f'<p class="quote">{marked}</p>{_folded("Around it", around)}'


def _folded(summary: str, text: str) -> str:
    return (
        f'<details class="around"><summary>{summary}</summary><span class="quote" dir="auto">“{text.strip()}”</span></details>'
    )


def _end_of(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= SHOWN // 2 else "…" + line[-SHOWN // 2 :].partition(" ")[2]


def _remark(finding: Finding) -> str:
    told = "; ".join(one for one in (finding.remark, finding.unsettled) if one)
    return f'<p class="warning">To look at: {escape(told)}</p>' if told else ""


def _page(page: CitedPage) -> str:
    link, name = web_link(page.url), escape(page.title or host_of(page.url) or "a source without an address")
    shown = (
        f'<a href="{escape(link)}" rel="nofollow noopener noreferrer" target="_blank"><bdi>{name}</bdi></a>' if link else name
    )
    day = f'<span class="day">{escape(page.published)}</span>' if page.published else ""
    about = ", ".join(part for part in (escape(page.page), escape(host_of(page.url)), day, escape(page.note)) if part)
    return f"{shown}{',' if about else ''} <span class='meta'>{about}</span>"
