"""How much the machine and the orchestration carry: `python -m flows.scale`.

    python -m flows.scale                                  # all three, on the bundled sample
    python -m flows.scale --only workers --workers 1,2,4,8 --system ours --events 40

| part | what it measures |
|---|---|
| `workers` | a real system on the sample, repeated: events an hour with 1, 2, 4 worker processes, and where it stops growing |
| `simulated` | 100 workers whose writing is stubbed by sleep, drawn from a distribution: how near they come to the ideal |
| `overhead` | 309 events that take no time to write: the seconds of orchestration, then of a second run that finds all done |

Needs no server: without PREFECT_API_URL one is started for the measurement, on the same cores, which it then shares.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import UserError
from data.runs import RunFolder, Stages
from data.snapshot import N_BENCHMARK_EVENTS, SAMPLE, Snapshot
from data.types import Article, Event, Heading, Outline, Page, Section, Sentence
from flows import console
from flows.job import Job

if TYPE_CHECKING:
    from benchmark.system import System
    from flows.runners import RunnerSpec

PARTS = ("workers", "simulated", "overhead")
N_SECTIONS = 8
GROWTH = 1.1
"""Times the events an hour of fewer workers: less than this is taken for no growth."""
SPREAD = 0.5
"""Of the logarithm of a simulated event's seconds: the largest of 100 then takes about 3.5 times the median."""

REST_S = 2.0
RESTING = 0.08
"""A server uses less than this share of a core when nothing is sent to it."""
MOST_REST_S = 60.0


@dataclass(frozen=True, slots=True)
class Measured:
    """`seconds` from the flow's first line until Prefect has its end, of which this process computed for `cpu_s`; `done_at` is
    when each event was done, in order."""

    seconds: float
    cpu_s: float
    done_at: tuple[float, ...]
    n_failed: int

    @property
    def an_hour(self) -> float:
        """Events, from the first done to the last: loading models, which a long run does once, is left out."""
        if len(self.done_at) < 2:
            return math.nan
        return 3600 * (len(self.done_at) - 1) / max(self.done_at[-1] - self.done_at[0], 1e-9)


@dataclass(frozen=True, slots=True)
class Simulated:
    """A system whose sections take their time: each event sleeps `mean_s` on average, by its id always equally long."""

    mean_s: float
    name = "simulated"

    @property
    def identity(self) -> Mapping[str, str]:
        return {"mean_s": f"{self.mean_s:g}"}

    def seconds(self, event_id: str) -> float:
        """Log-normal, as the times of generated texts are: most near the median, some several times as long."""
        drawn = random.Random(event_id).lognormvariate(-(SPREAD**2) / 2, SPREAD)  # its mean is 1
        return self.mean_s * drawn

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        pause = self.seconds(event.id) / (N_SECTIONS + 1)

        def text() -> Sentence:
            time.sleep(pause)
            return Sentence("It took its time.", ())

        headings = tuple(Heading(f"Part {n}") for n in range(1, N_SECTIONS + 1))
        outline = stages.once("outline", Outline, lambda: Outline(event.title, headings))
        sections = tuple(
            stages.once(f"sections/{n:02}", Section, lambda heading=heading: Section(heading, ((text(),),)))  # type: ignore[misc]
            for n, heading in enumerate(outline.headings, 1)
        )
        lead = Section(Heading("", 1), ((text(),),))
        return stages.once("article", Article, lambda: Article(event.id, event.title, lead, sections, (), ()))


def measure(job: Job, spec: RunnerSpec, system: System | None = None) -> Measured:
    """Write the job's events as `wiki-gen` does, without scoring. `system` stands in for the job's own; threads only."""
    from prefect import flow

    from flows.artifacts import Artifacts
    from flows.generate import Generated, generate
    from flows.stages import prepare_here
    from flows.wiki_gen import write_all

    name = prepare_here(job, afresh=True, system=system).system.name

    @flow(name="wiki-gen-scale", flow_run_name=f"{name}, {spec.kind}:{spec.workers}", persist_result=False)
    def scaled() -> tuple[float, float, Generated]:
        began, cpu_began = time.perf_counter(), time.process_time()
        prepared = prepare_here(job)  # not from outside: worker processes get this function with all that it refers to
        written = generate(prepared, lambda p, ids: write_all(p, ids, spec, Artifacts(p.run), evaluate=False))
        return began, cpu_began, written

    began, cpu_began, generated = scaled()
    seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
    times = done_at(RunFolder(generated.run), [o.event_id for o in generated.outcomes])
    return Measured(seconds, cpu_s, times, len(generated.failed))


def done_at(run: RunFolder, ids: Sequence[str]) -> tuple[float, ...]:
    stats = [s for i in ids if (s := run.event(i).stats()) is not None]
    return tuple(sorted(s.footprint.at if s.footprint else run.event(s.event_id).path.stat().st_mtime for s in stats))


def repeated_sample(root: Path, n: int) -> Path:
    """A benchmark folder of `n` events that are those of the sample over and over, under ids of their own."""
    shutil.copytree(SAMPLE / "html", root / "html")
    ids = Snapshot(SAMPLE).ids("search")
    for half in ("wiki", "google"):
        (root / half).mkdir()
        for k in range(n):
            shutil.copyfile(SAMPLE / half / f"{ids[k % len(ids)]}.json", root / half / f"{9_100_001 + k}.json")
    return root


def stub_events(root: Path, n: int) -> Path:
    """A benchmark folder of `n` events with one page of one sentence."""
    for half in ("wiki", "google"):
        (root / half).mkdir(parents=True)
    for k in range(n):
        wiki = {"id": 9_200_001 + k, "key": f"Event {k + 1}", "text": f"Event {k + 1} was a flood.", "reference": []}
        page = {
            "title": "News",
            "link": f"https://news.example/{k}",
            "text": f"The river rose by {k + 1} centimetres on Monday.",
        }
        (root / "wiki" / f"{9_200_001 + k}.json").write_text(json.dumps(wiki), encoding="utf-8")
        (root / "google" / f"{9_200_001 + k}.json").write_text(json.dumps([page]), encoding="utf-8")
    return root


def stops_growing(rates: Mapping[int, float]) -> int | None:
    """The number of workers after which more of them add less than a tenth; None when the last still add."""
    counts = sorted(rates)
    for fewer, more in itertools.pairwise(counts):
        if rates[more] < GROWTH * rates[fewer]:
            return fewer
    return None


def _workers(folder: Path, system: str, n_events: int, counts: Sequence[int]) -> None:
    from flows.runners import RunnerSpec

    data = repeated_sample(folder / "sample", n_events)
    rates: dict[int, float] = {}
    rows: list[tuple[str, ...]] = []
    for count in counts:
        job = Job(system=system, data=str(data), out=folder / f"run-{count}")
        with _no_stored_steps(folder / f"stages-{count}"):
            measured = measure(job, RunnerSpec("processes", count))
        rates[count] = measured.an_hour
        each = f"{measured.an_hour / rates[min(rates)]:.2f}"
        rows.append((str(count), f"{measured.an_hour:.0f}", each, f"{measured.seconds:.1f}", str(measured.n_failed or "")))
    title = f"{system} on the sample repeated, {n_events} events, worker processes"
    _show(title, ("workers", "events an hour", "times one", "seconds in all", "failed"), rows)
    at = stops_growing(rates)
    console.result(f"it stops growing at {at} workers" if at else f"it still grows with {max(counts)} workers")


def _simulated(folder: Path, workers: int, n_events: int, mean_s: float) -> None:
    from flows.runners import RunnerSpec

    data = stub_events(folder / "simulated", n_events)
    system = Simulated(mean_s)
    with _no_stored_steps(folder / "stages-simulated"):
        measured = measure(
            Job(system="lead", data=str(data), out=folder / "run-simulated"), RunnerSpec("threads", workers), system
        )
    asleep = sum(system.seconds(i) for i in Snapshot(data).ids("search"))
    longest = max(system.seconds(i) for i in Snapshot(data).ids("search"))
    ideal = max(asleep / workers, longest)
    row = (
        str(workers),
        str(n_events),
        f"{mean_s:g}",
        f"{ideal:.1f}",
        f"{measured.seconds:.1f}",
        f"{ideal / measured.seconds:.0%}",
    )
    columns = ("workers", "events", "mean s", "ideal s", "measured s", "efficiency")
    _show("simulated writing (sleep, log-normal), nine pauses an event", columns, [row])


def _overhead(folder: Path, n_events: int) -> None:
    from flows.runners import RunnerSpec

    data = stub_events(folder / "overhead", n_events)
    job = Job(system="lead", data=str(data), out=folder / "run-overhead")
    rows: list[tuple[str, ...]] = []
    with _no_stored_steps(folder / "stages-overhead"):
        for what in ("first run", "second run, all done"):
            before = _at_rest()
            measured = measure(job, RunnerSpec("threads", 4), Simulated(0.0))
            server_s = f"{_at_rest() - before:.1f}" if before else ""
            each = f"{1000 * measured.seconds / n_events:.0f}"
            rows.append((what, str(n_events), f"{measured.seconds:.1f}", each, f"{measured.cpu_s:.1f}", server_s))
    _show(
        "orchestration alone: 12 tasks an event, writing takes no time",
        ("", "events", "seconds", "ms an event", "CPU s here", "of the server"),
        rows,
    )


def _at_rest() -> float:
    """CPU seconds of the server that was started here, once it has recorded all it was sent, which takes it longer than the
    run; 0 where there is none, or the system does not say."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:  # starts it, if that is still to be done
        client.hello()
    used, deadline = children_cpu_s(), time.monotonic() + MOST_REST_S
    while time.monotonic() < deadline:
        time.sleep(REST_S)
        before, used = used, children_cpu_s()
        if used - before < RESTING * REST_S:
            break
    return used


def children_cpu_s() -> float:
    """Of all running processes that this one started (Linux: proc_pid_task_children(5), proc_pid_stat(5); else 0)."""
    ticks = 0
    for children in Path("/proc/self/task").glob("*/children"):
        for pid in children.read_text(encoding="ascii").split():
            with suppress(OSError):  # it has ended
                fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])  # in user and in kernel mode
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else 0.0


def _no_stored_steps(folder: Path):  # type: ignore[no-untyped-def]
    """Steps that an earlier measurement stored would be found."""
    from prefect.settings import PREFECT_RESULTS_LOCAL_STORAGE_PATH, temporary_settings

    return temporary_settings({PREFECT_RESULTS_LOCAL_STORAGE_PATH: folder})


def _show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE, title_justify="left", title_style="bold")
    for name in columns:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*row)
    console.show(table)


def conditions() -> str:
    """Figures of speed say nothing without them."""
    import platform

    from prefect import __version__

    load = f", load {os.getloadavg()[0]:.1f} before" if hasattr(os, "getloadavg") else ""
    server = "a server of its own" if not os.environ.get("PREFECT_API_URL") else "the server of PREFECT_API_URL"
    return f"{os.cpu_count()} cores{load}, Python {platform.python_version()}, Prefect {__version__}, {server}"


def _counts(text: str) -> tuple[int, ...]:
    counts = tuple(int(word) for word in text.split(",") if word.isdigit() and int(word) > 0)
    if len(counts) != len(text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers above 0, such as 1,2,4")
    return counts


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m flows.scale", description="Measure what machine and orchestration carry.")
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part; repeatable")
    parser.add_argument("--system", default="extractive", help="of part workers; one that brings its own model, if any")
    parser.add_argument("--workers", type=_counts, default=(1, 2, 4), metavar="N,N", help="worker processes (default: 1,2,4)")
    parser.add_argument("--events", type=int, default=20, metavar="N", help="of part workers (default: %(default)s)")
    parser.add_argument("--simulated-workers", type=int, default=100, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--simulated-events", type=int, default=400, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--mean-s", type=float, default=20.0, metavar="S", help="of a simulated event (default: %(default)s)")
    parser.add_argument("--overhead-events", type=int, default=N_BENCHMARK_EVENTS, metavar="N", help="(default: %(default)s)")
    arguments = parser.parse_args(argv)

    def run() -> int:
        numbers = (arguments.events, arguments.simulated_events, arguments.simulated_workers, arguments.overhead_events)
        if min(numbers) < 2 or arguments.mean_s < 0:
            raise UserError("events and workers are at least 2, seconds at least 0; try: python -m flows.scale --help")
        where = conditions()
        parts: dict[str, Callable[[Path], None]] = {
            "workers": lambda folder: _workers(folder, arguments.system, arguments.events, arguments.workers),
            "simulated": lambda folder: _simulated(
                folder, arguments.simulated_workers, arguments.simulated_events, arguments.mean_s
            ),
            "overhead": lambda folder: _overhead(folder, arguments.overhead_events),
        }
        for part in arguments.only or PARTS:
            with tempfile.TemporaryDirectory(prefix="wikigen-scale-") as folder:
                parts[part](Path(folder))
        console.result(where)
        return 0

    return console.guarded(run)


if __name__ == "__main__":
    sys.exit(main())
