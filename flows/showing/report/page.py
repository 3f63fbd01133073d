"""report.html of a scored run, and its plots as files: one page that loads nothing, runs nothing and trusts no text."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.scoring import support_unknown, why_unmet
from data import codec
from data.runs import RunFolder
from eval.catalogue import BESIDE, HEADLINE, entry
from flows.showing.report import plots
from flows.showing.report.contents import BETWEEN_STAGES, NO_STAGES, Contents, MetricLine, ReasonCount, gather
from pipeline.drop_words import DROP_REASONS
from pipeline.formats.page_words import REPAIRS
from pipeline.provenance import host_of, web_link
from pipeline.stages import ARTICLE, DRAFTS, OUTLINE, PAGES, SECTIONS

if TYPE_CHECKING:
    from jinja2 import Environment

REPORT = "report.html"
PLOTS = "plots"
REASONS_SHOWN = 20
"""Of removing; reasons that name figures or passages are many, and each is beside its sentence."""

STAGES = {
    PAGES.name: "reading and cleaning the pages",
    OUTLINE.name: "planning the headings",
    DRAFTS: "asking the language model",
    SECTIONS: "putting sections together and checking them",
    ARTICLE.name: "putting the article together",
    BETWEEN_STAGES: "cutting, indexing and ranking passages",
    NO_STAGES: "events written before times were kept, or reused",
}


def write_report(run: RunFolder) -> Path:
    """Write report.html and plots/*.svg into a scored run, and give the report's path. The same run gives the same bytes.

    Raises UserError when the run is not scored, or a file of it cannot be read.
    """
    contents = gather(run)
    drawn = plots.draw(contents)
    for plot in drawn:
        codec.write_atomic(run.path / PLOTS / f"{plot.name}.svg", plot.svg)
    for path in (run.path / PLOTS).glob("*.svg"):
        if path.stem not in {plot.name for plot in drawn}:
            path.unlink()  # of an earlier report with other metrics
    codec.write_atomic(run.path / REPORT, render(contents, drawn))
    return run.path / REPORT


def render(contents: Contents, drawn: tuple[plots.Plot, ...]) -> str:
    from markupsafe import Markup

    style = resources.files("flows.showing.report").joinpath("report.css").read_text(encoding="utf-8").replace("\r\n", "\n")
    hashed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        _environment()
        .get_template("report.html.jinja")
        .render(
            run=contents,
            made=contents.submission,
            failed=why_unmet(contents.submission.means),
            unknown=support_unknown(contents.submission.means),
            plots=[(plot, Markup(plots.as_markup(plot))) for plot in drawn],  # drawn here, of numbers and names of metrics
            style=Markup(style),
            policy=f"default-src 'none'; style-src 'sha256-{hashed}'; base-uri 'none'; form-action 'none'",
            meaning={name: entry(name).meaning for name in (*HEADLINE, *BESIDE)},
            stage_meaning=STAGES,
            drop_reasons=DROP_REASONS,
            repairs=REPAIRS,
            reasons_shown=REASONS_SHOWN,
        )
    )


@cache
def _environment() -> Environment:
    """Kept from report to report: compiling the templates takes longer than filling them."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("flows.showing", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"of": _of, "host": host_of, "link": web_link, "total": _total}
    return made


def _of(value: float | None, line: MetricLine) -> str:
    """A value of a metric as it is printed."""
    if value is None:
        return "–"
    return f"{100 * value:.1f}" if line.is_share else f"{value:,.2f}"


def _total(counts: tuple[ReasonCount, ...]) -> int:
    return sum(count.n for count in counts)
