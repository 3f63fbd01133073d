"""What `wikigenben update` prints of its report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.following.changes import Change, Figure, Side
    from pipeline.following.updating import UpdateReport


def lines(report: UpdateReport, *, shown: Callable[[str], str]) -> Iterator[str]:
    """The report as Markdown; `shown` makes words of pages harmless in it."""
    yield f"# Changes to “{shown(report.title)}” by {report.day}"
    yield ""
    counts = Counter(page.state for page in report.pages)
    told = ", ".join(f"{counts[state]} {state}" for state in ("unchanged", "changed", "gone", "unread") if counts[state])
    yield f"Pages of {shown(report.of)}: {told or 'none'}; {len(report.new_pages)} new."
    added = sum(repair.kind == "sentence_added" for repair in report.repairs)
    if report.is_empty:
        yield f"Nothing that the article says has changed{'; what is new was added' if added else ''}."
    for page in report.pages:
        if page.state in ("gone", "unread"):
            yield f"- {page.state}: {shown(page.url)} ({shown(page.detail)})"
    if report.changes:
        yield from ("", "## What changed", "")
        for change in report.changes:
            yield from _change_lines(change, shown)
    for name, contradictions in (("Contradictions", report.contradictions), ("Contradictions known before", report.standing)):
        if contradictions:
            yield from ("", f"## {name}", "")
            for found in contradictions:
                yield f"- {shown(found.what)}: " + "; ".join(_side(side, shown) for side in found.sides)
    if report.two_counts:
        yield from (
            "",
            "## The article gives another count, too",
            "",
            "Nothing says which is later: read the pages, and strike one.",
            "",
        )
        yield from (f"- {shown(text)}" for text in report.two_counts)
    if report.repairs:
        yield from ("", "## What was done", "")
        removed = {(repair.section, repair.text) for repair in report.repairs if repair.kind == "sentence_removed"}
        for repair in report.repairs:
            if repair.kind == "marker_dropped" and (repair.section, repair.text) in removed:
                continue  # the report says above that its page is gone
            where = shown(repair.section) or "lead or infobox"
            yield f"- {repair.kind.replace('_', ' ')} ({where}): {shown(repair.text)} — {shown(repair.detail)}"
    yield from ("", "## Sections", "")
    for section in report.sections:
        fate = "byte-identical" if section.identical else "written anew" if section.sha256 else "left out"
        yield f"- {shown(section.heading) or 'lead'}: {fate}"


def _change_lines(change: Change, shown: Callable[[str], str]) -> Iterator[str]:
    where = shown(change.heading) or "lead"
    yield f"- {change.kind} ({where}): {shown(change.sentence)}"
    for figure in change.figures:
        yield f"  - {_figure(figure, shown)}"
    if change.new:
        yield f"  - was: {shown(change.old)}"
        yield f"  - now: {shown(change.new)}"


def _figure(figure: Figure, shown: Callable[[str], str]) -> str:
    from pipeline.following.changes import sources_told

    old = f"{shown(figure.old)} ({figure.old_date or 'undated'}, {sources_told(figure.n_sources_old)} today)"
    new = f"{shown(figure.new)} ({figure.new_date or 'undated'}, {sources_told(figure.n_sources_new)})"
    return f"{old} -> {new}"


def _side(side: Side, shown: Callable[[str], str]) -> str:
    return f"{shown(side.value)} ({side.told})"


def _inline(text: str) -> str:
    """Words of a page as inline Markdown: without markup, links or HTML of their own."""
    return re.sub(r"[\\`*_\[\]<>|~$#&]", r"\\\g<0>", " ".join(text.split()))
