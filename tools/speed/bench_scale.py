"""How much the machine and the orchestration carry: `python -m tools.speed.bench_scale`.

    python -m tools.speed.bench_scale                                  # all three, on the bundled sample
    python -m tools.speed.bench_scale --only workers --system ours --events 40 --runners processes:1,processes:2,processes:4
    python -m tools.speed.bench_scale --only workers --system ours --events 40 --runners threads:1,threads:2,dask:2,ray:2
    python -m decoding.serve --model M --served-name M --port 8191 &      # a chat model, which all workers share
    python -m tools.speed.bench_scale --only workers --system ours --events 40 --model server:M@http://127.0.0.1:8191/v1

| part | what it measures |
|---|---|
| `workers` | a real system on the sample, repeated: events an hour by number of workers, where it stops growing, and why |
| `simulated` | 100 workers whose writing is stubbed by sleep, drawn from a distribution: how near they come to the ideal |
| `overhead` | 309 events that take no time to write: the seconds of orchestration, then of a second run that finds all done |

In `workers`, events an hour, CPU seconds and cores are of the time between the first event done and the last: what begins
before, loading programs and models, is `until first`. `own` is what flow, workers and a Prefect server started here computed,
`all` what the machine did: where they differ, other programs took part, among them a model server on this machine.

Needs no server: without PREFECT_API_URL one is started for the measurement, on the same cores, which it then shares.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import UserError
from data.model_name import parse_model
from data.runs import EventStats, RunFolder
from data.snapshot import N_BENCHMARK_EVENTS, SAMPLE, Snapshot
from data.stage_types import ARTICLE, OUTLINE, Stages
from data.types import Article, Event, Heading, Outline, Page, Section, Sentence
from flows.job import Job
from flows.orchestration.prefect_server import ask
from flows.orchestration.runners import RunnerSpec, n_cores, parse_runner
from flows.showing import console
from pipeline.stages import section_stage
from pipeline.writing.assembly import WrittenSection
from tools.speed.scaling import Machine, Row, conclusions
from tools.speed.usage import Sample, Use, can_watch, cpu_s, descendants, total_mib, use_between, watching

if TYPE_CHECKING:
    from benchmark.system import System

PARTS = ("workers", "simulated", "overhead")
N_SECTIONS = 8
SPREAD = 0.5
"""Of the logarithm of a simulated event's seconds: the largest of 100 then takes about 3.5 times the median."""

REST_S = 2.0
RESTING = 0.08
"""A server uses less than this share of a core when nothing is sent to it."""
MOST_REST_S = 60.0


@dataclass(frozen=True, slots=True)
class Measured:
    """`seconds` from the flow's first line until Prefect has its end, of which this process computed for `cpu_s`; `done_at` is
    when each event was done, in order, `until_first_s` when the first of them was begun."""

    seconds: float
    cpu_s: float
    done_at: tuple[float, ...]
    n_failed: int
    until_first_s: float = math.nan
    samples: tuple[Sample, ...] = ()

    @property
    def an_hour(self) -> float:
        """Events, from the first done to the last: loading models, which a long run does once, is left out."""
        if len(self.done_at) < 2:
            return math.nan
        return 3600 * (len(self.done_at) - 1) / max(self.done_at[-1] - self.done_at[0], 1e-9)

    @property
    def use(self) -> Use | None:
        """In the same time; of all where that is too short."""
        if len(self.done_at) > 1 and (use := use_between(self.samples, self.done_at[0], self.done_at[-1])):
            return use
        return use_between(self.samples, 0, math.inf)


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
        outline = stages.once(OUTLINE, lambda: Outline(event.title, headings))

        def section(heading: Heading) -> WrittenSection:
            return WrittenSection(Section(heading, ((text(),),)), ())

        sections = tuple(
            stages.once(section_stage(n), partial(section, heading)).section for n, heading in enumerate(outline.headings, 1)
        )
        lead = Section(Heading("", 1), ((text(),),))
        return stages.once(ARTICLE, lambda: Article(event.id, event.title, lead, sections, (), ()))


def measure(job: Job, spec: RunnerSpec, system: System | None = None) -> Measured:
    """Write the job's events as `wiki-gen` does, without scoring. `system` replaces the job's own; threads only."""
    from prefect import flow

    from flows.orchestration.artifacts import Artifacts
    from flows.orchestration.event_tasks import prepare_here
    from flows.run_events import Generated, generate
    from flows.wiki_gen import write_all

    begun_at = time.time()
    name = prepare_here(job, afresh=True, system=system).system.name

    @flow(name="wiki-gen-scale", flow_run_name=f"{name}, {spec.kind}:{spec.workers}", persist_result=False)
    def scaled() -> tuple[float, float, Generated]:
        began, cpu_began = time.perf_counter(), time.process_time()
        prepared = prepare_here(job)  # not from outside: worker processes get this function with all that it refers to
        written = generate(prepared, lambda p, ids: write_all(p, ids, spec, Artifacts(p.run), evaluate=False))
        return began, cpu_began, written

    with watching() as samples:
        began, cpu_began, generated = scaled()
        seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
    run = RunFolder(generated.run)
    stats = {s: done_at(run, s) for o in generated.outcomes if (s := run.event(o.event_id).stats()) is not None}
    until_first = min((at - s.seconds for s, at in stats.items()), default=math.nan) - begun_at
    return Measured(seconds, cpu_s, tuple(sorted(stats.values())), len(generated.failed), until_first, tuple(samples))


def done_at(run: RunFolder, stats: EventStats) -> float:
    return stats.footprint.at if stats.footprint else run.event(stats.event_id).path.stat().st_mtime


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


def _workers(folder: Path, system: str, model: str, n_events: int, runners: Sequence[RunnerSpec]) -> None:
    from data.settings import load_settings

    data = repeated_sample(folder / "sample", n_events)
    settings = load_settings(None, [], model={"name": model or None})
    rows: list[Row] = []
    for n, spec in enumerate(runners):
        job = Job(system=system, settings=settings, data=str(data), out=folder / f"run-{n}")
        with _no_stored_steps(folder / f"stages-{n}"):
            rows.append(_row(job, spec))
    machine = Machine(n_cores(), total_mib())
    of = f"{system} with {model}" if model else system
    _show(
        f"{of} on the sample repeated, {n_events} events, {machine.cores} cores",
        COLUMNS,
        [_cells(r, rows, machine) for r in rows],
    )
    for line in conclusions(rows, machine):
        console.result(line)


COLUMNS = (
    "runner", "events an hour", "times", "CPU s an event", "cores: own", "all", "MiB", "until first s", "in all s", "failed"
)  # fmt: skip


def _row(job: Job, spec: RunnerSpec) -> Row:
    """What cannot be measured says why: it is a row, too."""
    before = model_seconds(job.settings.model.name)
    try:
        measured = measure(job, spec)
    except UserError as error:
        return Row(spec, why_not=str(error))
    after, use = model_seconds(job.settings.model.name), measured.use
    busy = None if before is None or after is None else (after - before) / (measured.seconds - measured.until_first_s)
    n = len(measured.done_at) - 1 if len(measured.done_at) > 1 else 1
    each = (use.flow_s + use.workers_s) / n if use else math.nan
    return Row(
        spec, measured.an_hour, each, measured.until_first_s, measured.seconds, measured.n_failed, use=use, model_busy=busy
    )  # fmt: skip


def _cells(row: Row, rows: Sequence[Row], machine: Machine) -> tuple[str, ...]:
    if row.why_not:
        return (str(row.runner), "not measured", *("" for _ in COLUMNS[2:]))
    first = next(r for r in rows if not r.why_not)
    use = row.use
    shares = [f"{s / (machine.cores * use.seconds):.0%}" for s in (use.own_s, use.machine_s)] if use else ["", ""]
    return (
        str(row.runner),
        f"{row.an_hour:.0f}",
        f"{row.an_hour / first.an_hour:.2f}",
        f"{row.cpu_s_an_event:.1f}" if use else "",
        *shares,
        f"{use.held_mib:.0f}" if use else "",
        f"{row.until_first_s:.1f}",
        f"{row.seconds:.1f}",
        str(row.n_failed or ""),
    )


def model_seconds(name: str) -> float | None:
    """For which the model server of that name (`server:NAME@URL`) has computed since it began; None of one that does not say
    so in `/metrics`, as `decoding.serve` does."""
    asked = parse_model(name)
    if asked.kind != "server" or not asked.is_whole:
        return None
    answer = ask(asked.url.rstrip("/").removesuffix("/v1"), "/metrics")
    seconds = answer.get("decode_s") if isinstance(answer, dict) else None
    return float(seconds) if isinstance(seconds, (int, float)) else None


def _simulated(folder: Path, workers: int, n_events: int, mean_s: float) -> None:
    data = stub_events(folder / "simulated", n_events)
    system = Simulated(mean_s)
    with _no_stored_steps(folder / "stages-simulated"):
        measured = measure(
            Job(system="lead", data=str(data), out=folder / "run-simulated"), RunnerSpec("threads", workers), system
        )
    asleep = sum(system.seconds(i) for i in Snapshot(data).ids("search"))
    longest = max(system.seconds(i) for i in Snapshot(data).ids("search"))
    ideal = max(asleep / workers, longest)
    use = use_between(measured.samples, 0, math.inf)
    row = (
        str(workers),
        str(n_events),
        f"{mean_s:g}",
        f"{ideal:.1f}",
        f"{measured.seconds:.1f}",
        f"{ideal / measured.seconds:.0%}",
        *(f"{1000 * s / n_events:.0f}" for s in ((use.flow_s, use.server_s) if use else ())),
    )
    columns = ("workers", "events", "mean s", "ideal s", "measured s", "efficiency")
    more = ("CPU ms an event", "of the server") if use else ()
    _show("simulated writing (sleep, log-normal), nine pauses an event", (*columns, *more), [row])


def _overhead(folder: Path, n_events: int) -> None:
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
    """Of all running processes that this one started; 0 where the system does not say."""
    return sum(map(cpu_s, descendants())) if can_watch() else 0.0


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


def _runners(text: str) -> tuple[RunnerSpec, ...]:
    try:
        return tuple(parse_runner(word) for word in text.split(","))
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.speed.bench_scale", description="Measure what machine and orchestration carry."
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part; repeatable")
    parser.add_argument("--system", default="extractive", help="of part workers; one that brings its own model, if any")
    parser.add_argument("--model", default="", help="of that system, if it takes one; of decoding.serve: server:NAME@URL")
    runners = "processes:1,processes:2,processes:4"
    parser.add_argument("--runners", type=_runners, default=runners, metavar="KIND:N,...", help=f"(default: {runners})")
    parser.add_argument("--events", type=int, default=20, metavar="N", help="of part workers (default: %(default)s)")
    parser.add_argument("--simulated-workers", type=int, default=100, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--simulated-events", type=int, default=400, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--mean-s", type=float, default=20.0, metavar="S", help="of a simulated event (default: %(default)s)")
    parser.add_argument("--overhead-events", type=int, default=N_BENCHMARK_EVENTS, metavar="N", help="(default: %(default)s)")
    arguments = parser.parse_args(argv)

    def run() -> int:
        numbers = (arguments.events, arguments.simulated_events, arguments.simulated_workers, arguments.overhead_events)
        if min(numbers) < 2 or arguments.mean_s < 0:
            raise UserError(
                "events and workers are at least 2, seconds at least 0; try: python -m tools.speed.bench_scale --help"
            )
        where = conditions()
        parts: dict[str, Callable[[Path], None]] = {
            "workers": lambda folder: _workers(folder, arguments.system, arguments.model, arguments.events, arguments.runners),
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
