"""All systems of a recipe in one table, and which of their differences are more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmark.floors import COLUMNS
from benchmark.scoring import support_unknown, unmet
from benchmark.site.figures import seconds_an_article
from benchmark.submissions import submission
from data.errors import UserError
from eval.catalogue import HEADLINE, less_is_better
from flows.showing import console

if TYPE_CHECKING:
    from rich.table import Table

    from benchmark.submissions.submitted import Submission
    from eval.aggregate import PairedDifference

LEVEL = 0.05
BESIDE = 3
"""Systems side by side in one table: more do not fit into 110 characters."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A system minus the baseline on one metric; `p` is Holm's, over all comparisons that are shown."""

    system: str
    metric: str
    difference: PairedDifference
    p: float


def report(
    files: Mapping[str, Path],
    baseline: str,
    *,
    failed: Sequence[str],
    unlike: Sequence[str] | None,
    site: Path | None,
    as_json: bool,
) -> None:
    """`unlike` is what a check found, None where none was asked for."""
    made = {name: submission.read(path) for name, path in files.items()}
    compared, apart = against(made, baseline)
    if as_json:
        console.result_json(_plain(made, baseline, compared, failed, unlike))
        return
    names = list(made)
    for n in range(0, len(names), BESIDE):
        console.show(_table({name: made[name] for name in names[n : n + BESIDE]}, baseline, compared))
    for line in (*_verdicts(compared, baseline), *apart):
        console.result(line)
    for line in failed:
        console.result(f"failed: {line}")
    for line in unlike or ():
        console.result(f"differs: {line}")
    if unlike is not None and made:
        told = f"{len(unlike)} differences" if unlike else "the same hashes and scores"
        console.result(f"checked {', '.join(made)}: {told}")
    if site is not None:
        console.result(f"leaderboard: {site.resolve()}")


def against(made: Mapping[str, Submission], baseline: str) -> tuple[list[Compared], list[str]]:
    """Each other system minus the baseline on the headline metrics, and which could not be compared and why."""
    from benchmark.comparing.differences import differences
    from eval.aggregate import holm

    if baseline not in made:
        return [], [f"nothing is compared: the baseline {baseline} has no submission"] if made else []
    found: list[tuple[str, str, PairedDifference]] = []
    apart = []
    for name, other in made.items():
        if name == baseline:
            continue
        common = [metric for metric in HEADLINE if metric in other.scores and metric in made[baseline].scores]
        try:
            found += [(name, metric, d) for metric, d in differences(other, made[baseline], common).items()]
        except UserError as error:
            apart.append(f"{name} is not compared with {baseline}: {error}")
    adjusted = holm([d.p for _, _, d in found])
    return [Compared(*one, p) for one, p in zip(found, adjusted, strict=True)], apart


def _verdicts(compared: Sequence[Compared], baseline: str) -> list[str]:
    if not compared:
        return []
    clear = [one for one in compared if one.p <= LEVEL]
    lines = [
        f"against {baseline}: {len(clear)} of {len(compared)} differences are significant (paired bootstrap and sign-flip test "
        f"over the same events, Holm over all {len(compared)}, 5%)"
    ]
    for one in clear:
        d = one.difference
        side = "better than" if (d.mean > 0) is (not less_is_better(one.metric)) else "worse than"
        points = f"{100 * d.mean:+.2f} points [{100 * d.low:+.2f}, {100 * d.high:+.2f}], p = {one.p:.4f}"
        lines.append(f"  {one.system} {side} {baseline} in {one.metric}: {points}")
    return lines


def _table(made: Mapping[str, Submission], baseline: str, compared: Sequence[Compared]) -> Table:
    from rich import box
    from rich.table import Table

    one = next(iter(made.values()))
    title = f"split {one.data.split}, {one.data.n_events} events, percent with 95% intervals"
    table = Table(title=title, box=box.SIMPLE, title_justify="left", title_style="bold", padding=0)
    table.add_column("metric", no_wrap=True)
    for name in made:
        table.add_column(f"{name} (baseline)" if name == baseline else name, justify="right", no_wrap=True)
    floors = {name: means for m in made.values() for name, means in m.floors.items()}
    for name in floors:
        table.add_column(COLUMNS.get(name, name), justify="right", no_wrap=True)
    clear = {(c.system, c.metric) for c in compared if c.p <= LEVEL}
    for metric in HEADLINE:
        cells = [_score(made[name], metric, marked=(name, metric) in clear) for name in made]
        table.add_row(
            f"{metric} (less)" if less_is_better(metric) else metric,
            *cells,
            *(f"{100 * means[metric]:.1f}" if metric in means else "" for means in floors.values()),
        )
    table.add_row("fails", *(", ".join(unmet(made[name].means)) or "nothing" for name in made))
    table.add_row("words", *(f"{_words(m):.0f}" for m in made.values()))
    table.add_row("failed events", *(str(sum(event.status != "ok" for event in m.events)) for m in made.values()))
    table.add_row("seconds an event", *(_seconds(m) for m in made.values()))
    notes = [f"* differs significantly from {baseline}"] if clear else []
    notes.append("(less): less is better; fails: preconditions, by which systems are ranked first, then by quality")
    notes += [f"the last {len(floors)} columns are floors, which any system should beat"] if floors else []
    table.caption = "\n".join(notes)
    table.caption_justify = "left"
    return table


def _score(made: Submission, metric: str, *, marked: bool) -> str:
    score = made.scores.get(metric)
    if score is None:
        return ""
    if metric == "cite_f1" and support_unknown(made.means):
        return "unknown"
    return f"{100 * score.mean:.1f}{'*' if marked else ''} {100 * score.ci95[0]:.1f}-{100 * score.ci95[1]:.1f}"


def _words(made: Submission) -> float:
    """Of an article that was written."""
    written = [event.words for event in made.events if event.status == "ok"]
    return fmean(written) if written else 0.0


def _seconds(made: Submission) -> str:
    seconds = seconds_an_article(made)
    return "" if seconds is None else f"{seconds:.2f}"


def _plain(
    made: Mapping[str, Submission],
    baseline: str,
    compared: Sequence[Compared],
    failed: Sequence[str],
    unlike: Sequence[str] | None,
) -> dict[str, Any]:
    return {
        "baseline": baseline,
        "failed": list(failed),
        "unlike": None if unlike is None else list(unlike),
        "systems": {
            name: {
                "n_events": m.data.n_events,
                "n_failed": sum(event.status != "ok" for event in m.events),
                "recomputed": m.recomputed,
                "words": round(_words(m), 1),
                "seconds_an_event": seconds_an_article(m),
                "scores": {k: {"mean": s.mean, "ci95": list(s.ci95)} for k, s in m.scores.items() if k in HEADLINE},
                "floors": {k: {x: v for x, v in means.items() if x in HEADLINE} for k, means in m.floors.items()},
            }
            for name, m in made.items()
        },
        "differences": [
            {
                "system": one.system,
                "metric": one.metric,
                "mean": one.difference.mean,
                "ci95": [one.difference.low, one.difference.high],
                "p_holm": one.p,
                "significant": one.p <= LEVEL,
            }
            for one in compared
        ],
    }
