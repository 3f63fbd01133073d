"""The printed form of a comparison of two scored systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from benchmark.submissions.submitted import Submission
from eval.aggregate import EventDifference, PairedDifference, holm
from eval.catalogue import HEADLINE, less_is_better
from flows.showing import console

if TYPE_CHECKING:
    from rich.table import Table


def report(
    a: Submission,
    b: Submission,
    found: Mapping[str, PairedDifference],
    apart: Sequence[EventDifference] = (),
    *,
    as_json: bool,
) -> None:
    """`apart`: the events on which they differ most, shown below."""
    headline = [name for name in HEADLINE if name in found]
    adjusted = dict(zip(headline, holm([found[name].p for name in headline]), strict=True))
    if as_json:
        console.result_json(
            {
                "first": a.system.name,
                "second": b.system.name,
                "differences": {
                    name: {
                        "mean": d.mean,
                        "ci95": [d.low, d.high],
                        "p": d.p,
                        "p_holm": adjusted.get(name),
                        "n": d.n,
                        "sd": d.sd,
                        "detectable": d.detectable,
                    }
                    for name, d in found.items()
                },
                "events": [
                    {"id": one.event_id, "first": one.statuses[0], "second": one.statuses[1], "differences": one.values}
                    for one in apart
                ],
            }
        )
        return
    from rich import box
    from rich.table import Table

    title = f"{a.system.name} minus {b.system.name}, {a.data.n_events} events (split {a.data.split}), percentage points"
    table = Table(title=title, box=box.SIMPLE, title_justify="left", title_style="bold")
    for name in ("metric", "first", "second", "difference", "95% interval", "p", "Holm", "detects", "n"):
        table.add_column(name, justify="left" if name == "metric" else "right")
    for name, d in found.items():
        unit = _unit(name)
        table.add_row(
            f"{name}{' (less)' if less_is_better(name) else ''} *" if name in headline else name,
            f"{unit * a.scores[name].mean:.1f}",
            f"{unit * b.scores[name].mean:.1f}",
            f"{unit * d.mean:+.2f}",
            f"{unit * d.low:+.2f} to {unit * d.high:+.2f}",
            f"{d.p:.4f}",
            f"{adjusted[name]:.4f}" if name in adjusted else "",
            "" if d.detectable is None else f"{unit * d.detectable:.2f}",
            str(d.n),
        )
    table.caption = (
        "* headline metric; (less): less is better\n"
        "words and numbers of things as they are; detects: the smallest true difference that these events would show at 5% in "
        "four of five cases"
    )
    table.caption_justify = "left"
    console.show(table)
    if apart:
        console.show(_events_table(apart))


def _unit(metric: str) -> int:
    """What a value is multiplied by to be read: shares in percent, numbers of things as they are."""
    return 1 if metric.startswith("n_") or metric in ("words", "longest_copy_words", "citations_per_claim") else 100


def _events_table(apart: Sequence[EventDifference]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title="events furthest apart, first minus second", box=box.SIMPLE, title_justify="left", title_style="bold")
    table.add_column("event")
    for name in apart[0].values:
        table.add_column(name, justify="right")
    for one in apart:
        failed = [f"{which} {status}" for which, status in zip(("first", "second"), one.statuses) if status != "ok"]
        label = f"{one.event_id} ({', '.join(failed)})" if failed else one.event_id
        table.add_row(label, *("" if value is None else f"{_unit(name) * value:+.1f}" for name, value in one.values.items()))
    return table
