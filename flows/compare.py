"""The printed form of a comparison of two scored systems."""

from __future__ import annotations

from collections.abc import Mapping

from benchmark.scoring import HEADLINE
from benchmark.submission import Submission
from eval.aggregate import PairedDifference, holm
from flows import console


def report(a: Submission, b: Submission, found: Mapping[str, PairedDifference], *, as_json: bool) -> None:
    headline = [name for name in HEADLINE if name in found]
    adjusted = dict(zip(headline, holm([found[name].p for name in headline]), strict=True))
    if as_json:
        console.result_json(
            {
                "first": a.system.name,
                "second": b.system.name,
                "differences": {
                    name: {"mean": d.mean, "ci95": [d.low, d.high], "p": d.p, "p_holm": adjusted.get(name), "n": d.n}
                    for name, d in found.items()
                },
            }
        )
        return
    from rich import box
    from rich.table import Table

    title = f"{a.system.name} minus {b.system.name}, {a.data.n_events} events (split {a.data.split}), percentage points"
    table = Table(title=title, box=box.SIMPLE, title_justify="left", title_style="bold")
    for name in ("metric", "first", "second", "difference", "95% interval", "p", "Holm", "n"):
        table.add_column(name, justify="left" if name == "metric" else "right")
    for name, d in found.items():
        table.add_row(
            f"{name} *" if name in headline else name,
            f"{100 * a.scores[name].mean:.1f}",
            f"{100 * b.scores[name].mean:.1f}",
            f"{100 * d.mean:+.2f}",
            f"{100 * d.low:+.2f} to {100 * d.high:+.2f}",
            f"{d.p:.4f}",
            f"{adjusted[name]:.4f}" if name in adjusted else "",
            str(d.n),
        )
    console.show(table)
