"""The plots of a run's report: small figures, each as an SVG file of its own and as markup that takes the page's colours."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from flows.showing.report.contents import Contents, EventLine, MetricLine

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INCHES = (3.5, 2.3)
FEW = 15
"""Fewer values than these are points, not bars."""
BINS = 20
MOST_BAR_SPACE = 5.6
LEAST_FOR_TREND = 20
"""Events from which on a trend is drawn and a rank correlation is given."""

INK, SOFT, RULE, ACCENT, BAD, MARK = "#202122", "#54595d", "#c8ccd1", "#3366cc", "#b32424", "#d98300"
_COLOURS = {INK: "ink", SOFT: "soft", RULE: "rule", ACCENT: "accent", BAD: "bad", MARK: "mark"}
"""The colours that figures use, and the page's names for them."""
_DIGITS = re.compile(r"(\.\d\d)\d+")

_STYLE: dict[str, Any] = {
    "font.size": 8,
    "font.family": "sans-serif",
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": RULE,
    "axes.labelcolor": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "svg.fonttype": "none",  # text stays text: it can be read out and searched
    "svg.hashsalt": "wikigenben",
}


@dataclass(frozen=True, slots=True)
class Plot:
    """`name` is that of its file, `told` what it shows in words, for those who cannot see it too."""

    name: str
    group: str
    told: str
    svg: str


def draw(contents: Contents) -> tuple[Plot, ...]:
    """All plots that the run has the numbers for. The same contents give the same text."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):  # type: ignore[arg-type]
        return tuple(_plots(contents))


def _plots(contents: Contents) -> Iterator[Plot]:
    for line in contents.headline:
        yield _distribution(contents, line)
    for line in contents.headline:
        if (plot := _against_evidence(contents, line)) is not None:
            yield plot
    if contents.stages:
        yield _stage_seconds(contents)
    if contents.seconds:
        yield _histogram("seconds", "seconds", "seconds of writing an event", contents.seconds)
    if contents.decoding is not None and contents.decoding.per_pass_of_events:
        values = contents.decoding.per_pass_of_events
        yield _histogram("tokens-a-pass", "decoding", "tokens for each pass of the model, by event", values)


def _distribution(contents: Contents, line: MetricLine) -> Plot:
    """Events that failed count as 0 in the mean, so they are there, in another colour."""
    factor = 100.0 if line.is_share else 1.0
    written = [factor * v for e in contents.with_status("ok") if (v := e.values.get(line.name)) is not None]
    lost = [factor * v for e in contents.with_status("failed", "empty") if (v := e.values.get(line.name)) is not None]
    figure, axes = _figure()
    top = 100.0 if line.is_share else max([*written, *lost, 1.0])
    parts = [(written, ACCENT, "written")] + ([(lost, BAD, "failed or empty")] if lost else [])
    if len(written) + len(lost) < FEW:
        for values, colour, label in parts:
            _points(axes, values, colour, label)
    else:
        axes.hist(
            [values for values, _, _ in parts],
            bins=[top * i / BINS for i in range(BINS + 1)],
            stacked=True,
            color=[colour for _, colour, _ in parts],
            label=[label for _, _, label in parts],
        )
    mean = factor * line.score.mean
    axes.axvline(mean, color=MARK, linewidth=1.5, label=f"mean {mean:.1f}")
    axes.set(xlabel=line.name + (", percent" if line.is_share else ""), xlim=(0, top))
    axes.legend(loc="upper left" if mean > top / 2 else "upper right", frameon=False)
    if len(written) + len(lost) >= FEW:
        axes.set(ylabel="events")
        _whole_counts(axes)
    told = f"Distribution of {line.name} over {len(written) + len(lost)} events, mean {mean:.1f}"
    return Plot(f"distribution-{line.name}", "distribution", told, _svg(figure))


def _against_evidence(contents: Contents, line: MetricLine) -> Plot | None:
    points = [
        (e.evidence_words, v) for e in contents.with_status("ok") if (v := _scored(e, line)) is not None and e.evidence_words
    ]
    if not points:
        return None
    factor = 100.0 if line.is_share else 1.0
    words, scores = [float(w) for w, _ in points], [factor * s for _, s in points]
    figure, axes = _figure()
    axes.scatter(words, scores, s=9, color=ACCENT, alpha=0.5, linewidths=0)
    told = f"{line.name} against words of usable evidence, {len(points)} written events"
    if len(points) >= LEAST_FOR_TREND:
        xs, ys = _medians(words, scores)
        axes.plot(xs, ys, color=MARK, linewidth=1.5, marker="o", markersize=3, label="median of each fifth")
        axes.legend(loc="lower left" if line.score.mean > 0.5 else "upper left", frameon=False)
        if (rho := _rank_correlation(words, scores)) is not None:
            told += f"; Spearman's rank correlation {rho:+.2f}"
    _word_axis(axes, words)
    axes.set(xlabel="words of usable evidence", ylabel=line.name + (", percent" if line.is_share else ""))
    if line.is_share:
        axes.set_ylim(-4, 104)
    return Plot(f"evidence-{line.name}", "evidence", told, _svg(figure))


def _word_axis(axes: Axes, words: Sequence[float]) -> None:
    """Logarithmic where sizes differ by a factor of ten or more; over less, a logarithmic axis would have hardly a mark."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    wide = max(words) >= 10 * min(words)
    if wide:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)) if wide else MaxNLocator(nbins=5, integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _scored(event: EventLine, line: MetricLine) -> float | None:
    return event.values.get(line.name)


def _medians(xs: Sequence[float], ys: Sequence[float]) -> tuple[list[float], list[float]]:
    """Of each fifth of the points, by x."""
    import numpy as np

    order = np.argsort(xs, kind="stable")
    fifths = np.array_split(order, 5)
    x, y = np.asarray(xs), np.asarray(ys)
    return [float(np.median(x[part])) for part in fifths], [float(np.median(y[part])) for part in fifths]


def _rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """None where one side is constant."""
    from scipy.stats import spearmanr

    return float(spearmanr(xs, ys).statistic) if len(set(xs)) > 1 and len(set(ys)) > 1 else None


def _stage_seconds(contents: Contents) -> Plot:
    stages = contents.stages[::-1]  # the first bar is drawn at the bottom
    figure, axes = _figure(left=0.34)
    bars = axes.barh([line.stage for line in stages], [line.seconds for line in stages], color=ACCENT)
    axes.bar_label(bars, labels=[f"{line.seconds:,.1f}" for line in stages], padding=2, color=SOFT)
    axes.margins(x=0.15)
    axes.set_ylim(min(-0.6, len(stages) - MOST_BAR_SPACE), len(stages) - 0.4)  # few bars do not grow into blocks
    axes.set(xlabel="seconds, all events together")
    axes.tick_params(axis="y", length=0)
    told = "Seconds by stage: " + ", ".join(f"{line.stage} {line.seconds:,.1f}" for line in contents.stages)
    return Plot("seconds-by-stage", "seconds", told, _svg(figure))


def _points(axes: Axes, values: Sequence[float], colour: str, label: str) -> None:
    """Each event as a point: bars of a few values show nothing."""
    axes.plot(values, [0.5] * len(values), "o", color=colour, alpha=0.7, markersize=9, label=label or None)
    axes.set(ylim=(0, 1), yticks=[])


def _histogram(name: str, group: str, xlabel: str, values: Sequence[float]) -> Plot:
    figure, axes = _figure()
    if len(values) < FEW:
        _points(axes, values, ACCENT, "")
        axes.set(xlabel=xlabel, xlim=(0, None))
    else:
        axes.hist(values, bins=BINS, range=(0, max(values) or 1.0), color=ACCENT)
        axes.set(xlabel=xlabel, ylabel="events", xlim=(0, None))
        _whole_counts(axes)
    told = f"{xlabel[0].upper()}{xlabel[1:]}: {len(values)} events, median {median(values):.2f}"
    return Plot(name, group, told, _svg(figure))


def _figure(left: float = 0.15) -> tuple[Any, Axes]:
    """`left` is the share of the width for the labels of the vertical axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES)
    figure.subplots_adjust(left=left, right=0.97, bottom=0.19, top=0.96)
    return figure, figure.subplots()


def _whole_counts(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))


def _svg(figure: Any) -> str:
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def as_markup(plot: Plot) -> str:
    """An `svg` element for a page: colours become the page's variables, styles become attributes (a page's policy may forbid
    styles), names of parts become unique in the page, and what it shows is described."""
    root = ElementTree.fromstring(plot.svg)
    parents = {child: parent for parent in root.iter() for child in parent}
    for element in list(root.iter()):
        element.tag = element.tag.rpartition("}")[2]
        if element.tag in ("metadata", "style"):
            parents[element].remove(element)
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', plot.svg))
    for element in root.iter():
        element.attrib = dict(_attributes(element.attrib, used, plot.name))
        element.tail = None
        element.text = (element.text or "").strip() or None
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    root.attrib |= {"class": "plot", "role": "img", "aria-label": plot.told, "stroke-linejoin": "round"}
    return ElementTree.tostring(root, encoding="unicode")


def _attributes(given: dict[str, str], used: set[str], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in given.items():
        name = name.rpartition("}")[2]
        if name == "style":
            yield from _from_style(value)
        elif name == "id":
            if value in used:
                yield name, f"{prefix}-{value}"
        elif name == "href":
            yield name, value.replace("#", f"#{prefix}-", 1)
        elif name in ("d", "x", "y", "transform"):
            yield name, _DIGITS.sub(r"\1", value)  # hundredths of a point are finer than any screen
        else:
            yield name, value.replace("url(#", f"url(#{prefix}-")


def _from_style(style: str) -> Iterator[tuple[str, str]]:
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":  # only its size: the page has a typeface of its own
            yield "font-size", value.split("px", 1)[0].split()[-1]
        elif name:
            yield name, f"var(--{_COLOURS[value]})" if value in _COLOURS else "none" if value == "#ffffff" else value
