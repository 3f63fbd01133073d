"""What a run's processes held in memory after each event: whether it grows. `python -m flows.memory RUN`."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from data.errors import UserError
from data.runs import Footprint, RunFolder
from flows import console


@dataclass(frozen=True, slots=True)
class Growth:
    """Of one process, in MiB. `per_100` is the slope of a straight line through all but the first tenth of its events, in
    which caches fill; None below ten events."""

    pid: int
    n_events: int
    first: float
    last: float
    most: float
    per_100: float | None


def growth_of(run: RunFolder) -> tuple[Growth, ...]:
    """Of each process that wrote events of the run, the busiest first."""
    by_pid: dict[int, list[Footprint]] = defaultdict(list)
    for folder in run.event_folders():
        stats = folder.stats()
        if stats is not None and stats.footprint is not None:
            by_pid[stats.footprint.pid].append(stats.footprint)
    found = [_growth(pid, sorted(prints, key=lambda p: p.at)) for pid, prints in by_pid.items()]
    return tuple(sorted(found, key=lambda growth: -growth.n_events))


def _growth(pid: int, prints: Sequence[Footprint]) -> Growth:
    held = [p.resident_mib for p in prints]
    later = held[len(held) // 10 :]
    slope = statistics.linear_regression(range(len(later)), later).slope if len(held) >= 10 else None
    return Growth(pid, len(held), held[0], held[-1], max(held), None if slope is None else round(100 * slope, 1))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m flows.memory", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder")
    arguments = parser.parse_args(argv)

    def run() -> int:
        found = growth_of(RunFolder(arguments.run))
        if not found:
            raise UserError(f"no event of {arguments.run} says what its process held; write some: wikigenben generate --help")
        console.result(f"{'process':>8} {'events':>7} {'first MiB':>10} {'last MiB':>9} {'most MiB':>9}  per 100 events")
        for g in found:
            slope = "" if g.per_100 is None else f"{g.per_100:+.1f}"
            console.result(f"{g.pid:>8} {g.n_events:>7} {g.first:>10.0f} {g.last:>9.0f} {g.most:>9.0f}  {slope}")
        return 0

    return console.guarded(run)


if __name__ == "__main__":
    sys.exit(main())
