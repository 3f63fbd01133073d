"""The run as people read it: each article as HTML, Markdown and wikitext, and an index page that leads to them."""

from __future__ import annotations

from pathlib import Path

from data import codec
from data.runs import EventFolder, RunFolder
from data.scores import SystemScores
from data.stage_types import ARTICLE
from eval.catalogue import BESIDE, HEADLINE, is_share, less_is_better
from flows.showing.report.page import REPORT
from pipeline.editing.corrections import CORRECTIONS, Corrections, corrected
from pipeline.editing.dossier import dossier_of
from pipeline.following.disagreements import Disagreements
from pipeline.formats.dossier_page import dossier_html, dossier_wikitext
from pipeline.formats.html import to_html
from pipeline.formats.index_page import IndexRow, index_html
from pipeline.formats.markdown import to_markdown
from pipeline.formats.wikitext import to_wikitext
from pipeline.stages import DISAGREEMENTS

INDEX = "index.html"
SHOWN = tuple(name for name in (*HEADLINE, *BESIDE) if is_share(name))
"""Shares, as the index page prints them."""


def index_path(run: Path) -> Path:
    return run / INDEX


def write_previews(run: RunFolder, system: str) -> None:
    """Files of articles that changed; an article's formats are remade when the stored article is newer."""
    for folder in run.event_folders():
        article_path = folder.file(ARTICLE)
        if not article_path.exists():
            continue
        html_path = run.path / "articles" / f"{folder.event_id}.html"
        told_path = folder.file(DISAGREEMENTS)
        corrections_path = folder.path / f"{CORRECTIONS}.json"
        changed = max(path.stat().st_mtime_ns for path in (article_path, told_path, corrections_path) if path.exists())
        if html_path.exists() and html_path.stat().st_mtime_ns >= changed:
            continue
        article = folder.article()
        assert article is not None
        if corrections_path.exists():
            article = corrected(article, codec.read(Corrections, corrections_path))
        told = codec.read(Disagreements, told_path).found if told_path.exists() else ()
        codec.write_atomic(html_path.with_suffix(".md"), to_markdown(article, told))
        codec.write_atomic(html_path.with_suffix(".wiki"), to_wikitext(article))
        note = f"Written by the system “{system}”."
        pages = folder.stored_pages() or ()
        dossier = dossier_of(article, pages, told)
        codec.write_atomic(html_path.with_suffix(".dossier.html"), dossier_html(dossier))
        codec.write_atomic(html_path.with_suffix(".dossier.wiki"), dossier_wikitext(dossier))
        codec.write_atomic(html_path, to_html(article, pages, disagreements=told, run_note=note))
    write_index(run, system, None)


def write_index(run: RunFolder, system: str, scores: SystemScores | None) -> None:
    rows = [row for folder in run.event_folders() if (row := _row(folder)) is not None]
    found = scores.estimates if scores else {}
    means = {f"{name} (lower is better)" if less_is_better(name) else name: found[name].mean for name in SHOWN if name in found}
    report = REPORT if scores is not None or (run.path / REPORT).exists() else ""
    codec.write_atomic(
        index_path(run.path), index_html(rows, title=f"Articles by {system}", scores=means or None, report=report)
    )


def _row(folder: EventFolder) -> IndexRow | None:
    article, failure = folder.article(), folder.failure()
    if article is not None:
        sentences = [s for section in article.all_sections for s in section.sentences]
        return IndexRow(
            event_id=folder.event_id,
            title=article.title,
            status="ok",
            reason="",
            sections=len(article.sections),
            citations=sum(len(s.cites) for s in sentences),
            words=sum(len(s.text.split()) for s in sentences),
            href=f"articles/{folder.event_id}.html",
        )
    if failure is not None:
        return IndexRow(
            event_id=folder.event_id,
            title=folder.event_id,
            status="failed",
            reason=f"{failure.stage}: {failure.message}",
            sections=0,
            citations=0,
            words=0,
            href="",
        )
    return None
