"""The report of a check as one self-contained page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Protocol

from pipeline.formats.html import document
from pipeline.provenance import host_of, shortened, web_link


class _CitedPage(Protocol):
    @property
    def url(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def published(self) -> str: ...
    @property
    def note(self) -> str: ...


class _Finding(Protocol):
    @property
    def text(self) -> str: ...
    @property
    def section(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def passage(self) -> str: ...
    @property
    def cited(self) -> Sequence[_CitedPage]: ...
    @property
    def remark(self) -> str: ...
    @property
    def unsettled(self) -> str: ...


class _Report(Protocol):
    @property
    def title(self) -> str: ...
    @property
    def findings(self) -> Sequence[_Finding]: ...
    def in_words(self) -> str: ...


def check_html(report: _Report, labels: Mapping[str, str]) -> str:
    """Statements in the order of the article, each with its verdict, its pages and the best passage."""
    parts: list[str] = []
    section = None
    for finding in report.findings:
        if finding.section != section:
            section = finding.section
            parts.append(f'<h2 dir="auto">{escape(section or "Introduction")}</h2>')
        parts.append(_finding(finding, labels[finding.verdict]))
    body = f"""<div class="page run"><main>
<header class="head"><h1 dir="auto">{escape(report.title or "An article")}: its citations, checked</h1></header>
<p class="notice" role="note">{escape(report.in_words())}. A program judged this, and errs: read the passage beside a statement
before you change anything.</p>
{"".join(parts)}
</main></div>"""
    return document(f"Check of {report.title or 'an article'}", body, "")


def _finding(finding: _Finding, label: str) -> str:
    pages = "".join(f"<li>{_page(page)}</li>" for page in finding.cited)
    quoted = f'<span class="quote" dir="auto">“{escape(shortened(finding.passage, 600))}”</span>' if finding.passage else ""
    return (
        f'<section class="finding {escape(finding.verdict)}"><p dir="auto"><strong>{escape(label)}.</strong> '
        f"{escape(finding.text)}</p>{_remark(finding)}{f'<ul>{pages}</ul>' if pages else ''}{quoted}</section>\n"
    )


def _remark(finding: _Finding) -> str:
    told = "; ".join(one for one in (finding.remark, finding.unsettled) if one)
    return f'<p class="warning">To look at: {escape(told)}</p>' if told else ""


def _page(page: _CitedPage) -> str:
    link, name = web_link(page.url), escape(page.title or host_of(page.url) or "a source without an address")
    shown = (
        f'<a href="{escape(link)}" rel="nofollow noopener noreferrer" target="_blank"><bdi>{name}</bdi></a>' if link else name
    )
    about = ", ".join(part for part in (host_of(page.url), page.published, page.note) if part)
    return f"{shown} <span class='meta'>{escape(about)}</span>"
