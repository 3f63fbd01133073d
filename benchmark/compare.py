"""What differs between two scored systems, and whether it is more than chance.

    python -m benchmark.compare runs/extractive-full-search runs/bm25-full-search
    python -m benchmark.compare runs/extractive-full-search runs/bm25-full-search --split test --events 10

Paired over the same events, failures included: mean difference with a 95% bootstrap interval and a sign-flip p; Holm's
adjustment over the headline metrics only. "detects" is the smallest true difference that this many events would show (at 5%,
in four of five cases): a smaller one found here is not to be reported.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmark.submission import Submission
    from eval.aggregate import EventDifference, PairedDifference


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("first", type=Path, help="submission.json, or a run folder that holds one")
    parser.add_argument("second", type=Path)
    parser.add_argument("--metrics", nargs="+", default=[], metavar="NAME", help="only these (default: all that both have)")
    parser.add_argument("--split", choices=("dev", "test"), help="only the events of both that belong to this split")
    parser.add_argument("--events", type=int, default=0, metavar="N", help="also the N events on which they differ most")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of a table")
    arguments = parser.parse_args(argv)

    from flows.console import guarded

    def run() -> int:
        from benchmark import submission
        from benchmark.splits import in_dev
        from data.errors import UserError
        from flows import compare

        files = [p / "submission.json" if p.is_dir() else p for p in (arguments.first, arguments.second)]
        a, b = (submission.read(path) for path in files)
        if arguments.split:
            a, b = (submission.part(s, arguments.split, lambda i: in_dev(i) == (arguments.split == "dev")) for s in (a, b))
        if arguments.events < 0:
            raise UserError(f"--events {arguments.events} is no number of events; use 0 or more")
        found = differences(a, b, arguments.metrics)
        apart = furthest_apart(a, b, arguments.metrics, arguments.events)
        compare.report(a, b, found, apart, as_json=arguments.json)
        return 0

    return guarded(run)


def differences(a: Submission, b: Submission, metrics: Sequence[str] = ()) -> dict[str, PairedDifference]:
    """a - b for each metric that both have, over the events that both list. Raises UserError when they cannot be compared."""
    from data.errors import UserError
    from eval.aggregate import paired

    if {event.id for event in a.events} != {event.id for event in b.events}:
        raise UserError(
            f"{a.system.name} has {len(a.events)} events and {b.system.name} {len(b.events)}, and they are not the same; "
            "evaluate both on the same --split and --limit"
        )
    if a.profile.signature != b.profile.signature:
        raise UserError("the two were scored with different metrics; evaluate both again with one version")
    common = [name for name in a.scores if name in b.scores]
    if unknown := [name for name in metrics if name not in common]:
        raise UserError(f"no metric {unknown[0]!r} in both; known: {', '.join(common)}")
    rows_b = {event.id: event.scores for event in b.events}
    found = {}
    for name in metrics or common:
        pairs = [(event.scores.get(name), rows_b[event.id].get(name)) for event in a.events]
        if any(x is not None and y is not None for x, y in pairs):
            found[name] = paired([x for x, _ in pairs], [y for _, y in pairs], a.profile.seed, name=name)
    return found


def furthest_apart(a: Submission, b: Submission, metrics: Sequence[str] = (), n: int = 10) -> tuple[EventDifference, ...]:
    """The `n` events on which two systems differ most, over the metrics named or else the headline; ties by id.

    Sizes are averaged as they are, so name metrics of one scale. An event that shares no scored metric is left out.
    """
    from benchmark.scoring import HEADLINE
    from eval.aggregate import EventDifference

    chosen = [name for name in metrics or HEADLINE if name in a.scores and name in b.scores]
    rows_b = {event.id: event for event in b.events}
    found = []
    for event in a.events:
        other = rows_b[event.id]
        pairs = {name: (event.scores.get(name), other.scores.get(name)) for name in chosen}
        values = {name: None if x is None or y is None else x - y for name, (x, y) in pairs.items()}
        sizes = [abs(value) for value in values.values() if value is not None]
        if sizes:
            found.append(EventDifference(event.id, (event.status, other.status), values, fmean(sizes)))
    return tuple(sorted(found, key=lambda one: (-one.distance, one.event_id))[:n])


if __name__ == "__main__":
    sys.exit(main())
