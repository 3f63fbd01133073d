"""What a run's processes held in memory after each event: whether it grows. `python -m tools.speed.bench_memory RUN`."""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from data.errors import UserError
from data.runs import Footprint, RunFolder
from flows.showing import console

BLOCKS = 6
"""Parts of a process's later half, whose means are compared."""
T_95 = 2.776
"""Student's t, two-sided 95%, for the BLOCKS - 2 degrees of freedom that their differences leave."""
LEAST_EVENTS = 4 * BLOCKS
"""For a slope: two events in each block."""
N_TIMES = 10
N_LARGEST = 5


@dataclass(frozen=True, slots=True)
class Mark:
    """An event, the bytes of its stored pages, and what the process held once it was written (MiB)."""

    event_id: str
    n_bytes: int
    held: float


@dataclass(frozen=True, slots=True)
class Slope:
    """MiB for each 100 events, with a 95% interval."""

    per_100: float
    low: float
    high: float

    @property
    def grows(self) -> bool:
        return self.low > 0


@dataclass(frozen=True, slots=True)
class Growth:
    """One process and its events in the order in which it wrote them."""

    pid: int
    marks: tuple[Mark, ...]

    @property
    def held(self) -> list[float]:
        return [mark.held for mark in self.marks]

    def slope(self) -> Slope | None:
        """Over the later half of the events; None where there are fewer than LEAST_EVENTS.

        What a process holds comes in steps, and one event's mark stays with those after it: the residuals of a straight line
        are not independent, and its standard error would be far too small. So the half is cut into BLOCKS, and the differences
        of their means are taken as a sample of the growth from block to block. A steady leak gives a narrow interval, a single
        large event a wide one around it; where memory only goes up and down the interval is wider than it need be.
        """
        half = self.held[len(self.held) // 2 :]
        size = len(half) // BLOCKS
        if len(self.held) < LEAST_EVENTS:
            return None
        half = half[-BLOCKS * size :]
        means = [statistics.fmean(half[at : at + size]) for at in range(0, len(half), size)]
        steps = [100 * (after - before) / size for before, after in pairwise(means)]
        mean, spread = statistics.fmean(steps), T_95 * statistics.stdev(steps) / math.sqrt(len(steps))
        return Slope(mean, mean - spread, mean + spread)

    def times(self) -> list[tuple[int, float]]:
        """(events written, MiB held) at the first and at N_TIMES even steps to the last."""
        n = len(self.marks)
        at = sorted({1, *(max(1, round(n * k / N_TIMES)) for k in range(1, N_TIMES + 1))})
        return [(k, self.marks[k - 1].held) for k in at]

    def largest(self) -> list[tuple[int, float | None]]:
        """(place from 1 on, MiB held before) of the events with the largest pages, largest first; None before the first."""
        order = sorted(range(len(self.marks)), key=lambda k: -self.marks[k].n_bytes)[:N_LARGEST]
        return [(k + 1, self.marks[k - 1].held if k else None) for k in order]


def growth_of(run: RunFolder) -> tuple[Growth, ...]:
    """Of each process that wrote events of the run, the busiest first."""
    by_pid: dict[int, list[tuple[Footprint, Mark]]] = defaultdict(list)
    for folder in run.event_folders():
        stats = folder.stats()
        if stats is not None and stats.footprint is not None:
            pages = folder.path / "pages.jsonl"
            n_bytes = pages.stat().st_size if pages.exists() else 0
            mark = Mark(folder.event_id, n_bytes, stats.footprint.resident_mib)
            by_pid[stats.footprint.pid].append((stats.footprint, mark))
    found = []
    for pid, prints in by_pid.items():
        found.append(Growth(pid, tuple(mark for _, mark in sorted(prints, key=lambda pair: pair[0].at))))
    return tuple(sorted(found, key=lambda growth: -len(growth.marks)))


def lines_of(found: Sequence[Growth]) -> Iterator[str]:
    """A row for each process; of the busiest one, memory over time and the largest events beside their marks."""
    yield f"{'process':>8} {'events':>7} {'first MiB':>10} {'last MiB':>9} {'most MiB':>9}  later half, per 100 events (95%)"
    for growth in found:
        held = growth.held
        row = f"{growth.pid:>8} {len(held):>7} {held[0]:>10.0f} {held[-1]:>9.0f} {max(held):>9.0f}"
        yield f"{row}  {_told(growth.slope())}"
    busiest = found[0]
    yield f"\nprocess {busiest.pid} over time"
    times = busiest.times()
    yield f"{'events':>8}" + "".join(f"{n:>6}" for n, _ in times)
    yield f"{'MiB':>8}" + "".join(f"{held:>6.0f}" for _, held in times)
    yield f"\nits largest events\n{'place':>8} {'event':>12} {'pages KiB':>10} {'before MiB':>11} {'after MiB':>10}"
    for place, before in busiest.largest():
        mark = busiest.marks[place - 1]
        held_before = "" if before is None else f"{before:.0f}"
        yield f"{place:>8} {mark.event_id:>12} {mark.n_bytes / 1024:>10.0f} {held_before:>11} {mark.held:>10.0f}"


def _told(slope: Slope | None) -> str:
    if slope is None:
        return f"too few events: {LEAST_EVENTS} tell"
    told = f"{slope.per_100:+.1f} ({slope.low:+.1f} to {slope.high:+.1f})"
    return f"{told}: it grows" if slope.grows else f"{told}: no growth shown"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.speed.bench_memory", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder")
    arguments = parser.parse_args(argv)

    def run() -> int:
        found = growth_of(RunFolder(arguments.run))
        if not found:
            raise UserError(f"no event of {arguments.run} says what its process held; write some: wikigenben generate --help")
        for line in lines_of(found):
            console.result(line)
        return 0

    return console.guarded(run)


if __name__ == "__main__":
    sys.exit(main())
