"""Whether writing leaks: the same events over and over in this process, and what it holds after each round.

    python -m tools.speed.bench_soak --system extractive                              # the bundled sample
    python -m tools.speed.bench_soak --system ours --data wikigenbench/data --limit 4 --rounds 5 --score

The first round loads models and fills caches. Memory held after the second must be held after the last: every round does the
same, in a run folder of its own, so anything on top is kept for nothing. Exit code: 0 it is, 1 more is held, 2 wrong input.
`tools.speed.bench_memory RUN` says the memory of a run over many events, where caches and the largest event also count.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.runner import run_event
from benchmark.scoring import score_run
from data import heap
from data.errors import UserError
from data.runs import RunFolder, footprint
from flows.commands.arguments import add_job_flags, job_from
from flows.job import Job
from flows.showing import console

if TYPE_CHECKING:
    from benchmark.system import System

N_ROUNDS = 10
ALLOWED_MIB = 8.0
"""Of growth between the second round and the last: what pages of half-used memory come to."""


def held_after_rounds(job: Job, n_rounds: int, *, score: bool = False, system: System | None = None) -> Iterator[float]:
    """Write all events of the job, `n_rounds` times, and give what the process holds after each round, in MiB.

    `score`: score them, too, each time anew, though what a judge that is remembered has said is looked up. `system` is in
    for the job's own. Run folders are temporary; `job.out` is not used. Raises UserError for what the caller can fix, and where
    no event can be written or the operating system does not say what a process holds.
    """
    from flows.wiring.metrics import build_metrics
    from flows.wiring.prepared import prepare

    with tempfile.TemporaryDirectory() as place:
        prepared = prepare(replace(job, out=Path(place) / "0"), system)
        metrics = build_metrics(job.settings) if score else ()
        for n in range(n_rounds):
            run = RunFolder.open(Path(place) / str(n), prepared.run.identity() or {})
            ended = [run_event(run, prepared.system, i, prepared.snapshot.event, prepared.collect) for i in prepared.ids]
            if all(outcome.status == "failed" for outcome in ended):
                first = ended[0].failure
                raise UserError(f"no event could be written ({first.message if first else ''}); see wikigenben events --help")
            if score:
                for _ in score_run(run, prepared.snapshot, prepared.ids, metrics, prepared.collect):
                    pass
            yield _held()


def _held() -> float:
    gc.collect()  # what refers to itself is garbage, not a leak; when it is collected would be noise here
    heap.trim()
    found = footprint()
    if found is None:
        raise UserError("this system does not say what a process holds; measure on Linux, which has /proc/self/statm")
    return found.resident_mib


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.speed.bench_soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_job_flags(parser, system_default="extractive")
    soak = parser.add_argument_group("how long")
    soak.add_argument("--rounds", type=int, default=N_ROUNDS, metavar="N", help=f"at least 3 (default: {N_ROUNDS})")
    soak.add_argument("--score", action="store_true", help="also score the articles of each round")
    soak.add_argument(
        "--allow", type=float, default=ALLOWED_MIB, metavar="MIB", help=f"growth that is none (default: {ALLOWED_MIB:g})"
    )
    arguments = parser.parse_args(argv)
    if arguments.rounds < 3:
        parser.error(f"--rounds {arguments.rounds}: the first fills caches, so growth needs two more")

    def run() -> int:
        held: list[float] = []
        console.result(f"{'round':>6} {'MiB':>8}")
        for mib in held_after_rounds(job_from(arguments), arguments.rounds, score=arguments.score):
            held.append(mib)
            console.result(f"{len(held):>6} {mib:>8.1f}")
        grown = held[-1] - held[1]
        console.result(f"from the second round to the last: {grown:+.1f} MiB, {arguments.allow:g} allowed")
        return int(grown > arguments.allow)

    return console.guarded(run)


if __name__ == "__main__":
    sys.exit(main())
