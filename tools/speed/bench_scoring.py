"""How long scoring takes, and how much memory: the articles of a finished run are scored afresh, beside the run's own files.

    python -m tools.speed.bench_scoring runs/extractive-full-search --data wikigenbench/data
    python -m tools.speed.bench_scoring runs/extractive-full-search --data wikigenbench/data --events 20,40 --json

Each case runs in a process of its own, one after the other, so that its peak memory is its own:

    judge-free   all metrics that ask no judge, from articles, human articles and pages on disk to rows
    judged       all metrics, with the embedded judge
    floors       floors and ceilings
    rerun        scores, floors, intervals and strata again from the rows that the two cases above stored
    peer         ROUGE-1, 2 and L by the rouge-score package and by ours, on some events; the values must agree to 1e-9

Wall and CPU seconds are read after 50, 100, 200 and all events, in an order of events drawn once, and extrapolated to the 309
of the whole benchmark by the last reading. Importing libraries and loading the encoder is "start" and not part of them.
Exit code: 0 measured, 1 the peer's values differ, 2 wrong input.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from data.errors import UserError
from data.types import Strict

if TYPE_CHECKING:
    from rich.table import Table
    from rouge_score.rouge_scorer import RougeScorer

    from data.runs import RunFolder
    from data.settings import Settings
    from data.snapshot import Snapshot
    from data.types import Event, Page
    from eval.metric import Better, Case, Metric

CASES = ("judge-free", "judged", "floors", "rerun", "peer")

WHOLE_BENCHMARK = 309
PEER_EVENTS = 8
PEER_TOLERANCE = 1e-9
DRAW = 0
"""Seed of the order of events, so that the first 50 are like the first 200."""


@dataclass(frozen=True, slots=True)
class Reading(Strict):
    """After `n_events`: seconds since the case began its first, and the most memory that the process ever held."""

    n_events: int
    wall_s: float
    cpu_s: float
    peak_mib: float


@dataclass(frozen=True, slots=True)
class Measured(Strict):
    """One case. `start_s` is from the start of the process to the first event. `metric_ms` is CPU time an event by class of
    metric, of case `judged`; what several share (the analysis of a passage) is paid by the first that asks.
    `largest_difference` is of the peer's values."""

    case: str
    start_s: float
    readings: tuple[Reading, ...]
    metric_ms: dict[str, float] = field(default_factory=dict)
    largest_difference: float | None = None

    def extrapolated(self) -> Reading:
        """All events, in proportion to the last reading; memory does not grow with events once the caches are full."""
        last = self.readings[-1]
        scale = WHOLE_BENCHMARK / last.n_events
        return Reading(WHOLE_BENCHMARK, last.wall_s * scale, last.cpu_s * scale, last.peak_mib)


@dataclass(frozen=True, slots=True)
class Timing(Strict):
    """All cases, and what they were measured on. With a load before, wall time is not all ours."""

    run: str
    n_events: int
    cores: int
    load: float
    threads: str
    commit: str
    environment: dict[str, str]
    cases: tuple[Measured, ...]

    def case(self, name: str) -> Measured:
        return next(case for case in self.cases if case.case == name)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.speed.bench_scoring", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="folder of a finished run; nothing in it is changed")
    parser.add_argument("--data", required=True, metavar="DIR", help="the benchmark folder it was written from, or: sample")
    parser.add_argument(
        "--events", default="50,100,200", metavar="N,N", help="read the clock there (default: 50,100,200) and at the end"
    )
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of tables")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)  # in a process of its own
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)

    from flows.showing.console import guarded

    def run() -> int:
        from data import codec
        from flows.showing import console

        sizes = _sizes(arguments.events)
        if arguments.case:
            console.result(codec.to_json(_case(arguments.case, arguments.run, arguments.data, sizes, arguments.work)))
            return 0
        timing = measure(arguments.run, arguments.data, sizes)
        if arguments.json:
            console.result_json(codec.to_plain(timing))
        else:
            _show(timing)
        return 1 if (timing.case("peer").largest_difference or 0.0) > PEER_TOLERANCE else 0

    return guarded(run)


def measure(run: Path, data: str, sizes: Sequence[int]) -> Timing:
    """Each case in a process of its own. Raises UserError when there is nothing to score, or a case ends with an error."""
    from benchmark.checkout import commit
    from benchmark.submissions.submission import environment

    load, n_events = os.getloadavg()[0], len(_written(run))
    with TemporaryDirectory() as work:
        cases = tuple(_in_own_process(case, run, data, sizes, Path(work)) for case in CASES)
    return Timing(
        run=run.name,
        n_events=n_events,
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0,
        load=round(load, 2),
        threads=os.environ.get("OMP_NUM_THREADS", ""),
        commit=commit(),
        environment=environment(),
        cases=cases,
    )


def _sizes(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise UserError(f"--events {text} is no list of numbers of events; give for instance --events 50,100,200")
    return sizes


def _written(run: Path) -> list[str]:
    """The events with an article, in the order in which they are measured."""
    ids = sorted(path.parent.name for path in run.glob("events/*/article.json"))
    if not ids:
        raise UserError(f"{run} holds no article; name the folder of a finished run, as wikigenben evaluate prints it")
    random.Random(DRAW).shuffle(ids)
    return ids


def _in_own_process(case: str, run: Path, data: str, sizes: Sequence[int], work: Path) -> Measured:
    from data import codec

    # This process imports nothing large: on Linux a child's peak memory begins with its parent's.
    command = [sys.executable, "-m", "tools.speed.bench_scoring", str(run), "--data", data, "--case", case, "--work", str(work)]
    done = subprocess.run([*command, "--events", ",".join(map(str, sizes))], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise UserError(
            f"case {case} of the measurement ended with code {done.returncode}; see the lines above, then run it again"
        )
    return codec.from_json(Measured, done.stdout, where=f"case {case}")


def _case(case: str, folder: Path, data: str, sizes: Sequence[int], work: Path) -> Measured:
    """`work` is an empty folder first, and keeps the rows from case to case."""
    from benchmark.floors import score_floors
    from benchmark.scoring import score_run
    from data.locate import locate
    from data.runs import RunFolder
    from data.snapshot import Snapshot
    from flows.wiring.metrics import build_metrics
    from flows.wiring.page_sources import build_collect

    ids, snapshot, settings = _written(folder), Snapshot(locate(data)), _settings(folder)
    if not (work / "events").exists():
        (work / "events").symlink_to((folder / "events").resolve(), target_is_directory=True)
    run = RunFolder(work)
    if case == "peer":
        return _peer(run, snapshot, ids[:PEER_EVENTS])
    collect, metrics = build_collect(snapshot, settings), build_metrics(settings)
    timed: tuple[Timed, ...] = ()
    if case == "judge-free":
        metrics = tuple(metric for metric in metrics if not hasattr(metric, "judge"))
    elif case == "judged":
        metrics = timed = tuple(Timed(metric) for metric in metrics)
    start_s = _since_start()
    at = sorted({n for n in sizes if n < len(ids)} | {len(ids)})
    if case == "rerun":
        readings = [_read(_rerun(run, snapshot, ids[:n], metrics, collect, settings), [n])[0] for n in at]
    elif case == "floors":
        readings = _read(score_floors(run, snapshot, ids, metrics, collect, seed=settings.evaluation.seed), at)
    else:
        readings = _read(score_run(run, snapshot, ids, metrics, collect), at)
    ms = {type(one.metric).__name__: round(1000 * one.cpu_s / len(ids), 2) for one in timed}
    return Measured(case, start_s, tuple(readings), ms)


class Timed:
    """A metric with the CPU time of its calls."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.cpu_s = 0.0

    @property
    def names(self) -> Mapping[str, Better]:
        return self.metric.names

    @property
    def signature(self) -> str:
        return self.metric.signature

    def score(self, case: Case) -> dict[str, float | None]:
        began = time.process_time()
        try:
            return self.metric.score(case)
        finally:
            self.cpu_s += time.process_time() - began


def _settings(folder: Path) -> Settings:
    """The defaults, with the evidence that the run was written from."""
    from data.runs import RunFolder
    from data.settings import load_settings

    identity = RunFolder(folder).identity() or {}
    evidence: dict[str, object] = {"track": identity.get("track")}
    if "leak_filter" in identity:
        evidence["leak_filter"] = identity["leak_filter"] == "on"
    if "languages" in identity:
        evidence["languages"] = tuple(identity["languages"].split(","))
    return load_settings(evidence=evidence)


def _read(rows: Iterable[object], at: Sequence[int]) -> list[Reading]:
    """The clock after each number of rows in `at`, from now."""
    wall, cpu = time.perf_counter(), time.process_time()
    return [
        Reading(n, round(time.perf_counter() - wall, 3), round(time.process_time() - cpu, 3), _peak_mib())
        for n, _ in enumerate(rows, 1)
        if n in at
    ]


def _rerun(
    run: RunFolder,
    snapshot: Snapshot,
    ids: Sequence[str],
    metrics: Sequence[Metric],
    collect: Callable[[Event], tuple[Page, ...]],
    settings: Settings,
) -> Iterator[str]:
    """As an evaluation whose rows are all stored; an item for each event, the last when everything is done."""
    from benchmark.floors import means, score_floors
    from benchmark.scoring import score_run, system_scores
    from benchmark.strata import read_traits, stratify

    chosen = settings.evaluation
    rows = list(score_run(run, snapshot, ids, metrics, collect))
    system_scores("", settings.evidence.track, "", rows, metrics, resamples=chosen.resamples, seed=chosen.seed)
    means(score_floors(run, snapshot, ids, metrics, collect, seed=chosen.seed))
    stratify(read_traits(run, snapshot, ids, collect), rows, resamples=chosen.resamples, seed=chosen.seed)
    yield from ids


def _peer(run: RunFolder, snapshot: Snapshot, ids: Sequence[str]) -> Measured:
    """Two readings of the same events: ours, then rouge-score's."""
    from rouge_score.rouge_scorer import RougeScorer

    from data.gold import load_gold
    from eval.metric import Case
    from eval.metrics.rouge import Rouge

    scorer, metric = RougeScorer(["rouge1", "rouge2", "rougeL"]), Rouge()
    cases = [Case(article, load_gold(snapshot, i), ()) for i in ids if (article := run.event(i).article()) is not None]
    start_s = _since_start()
    ours = [metric.score(case) for case in cases]
    (own,) = _read(map(metric.score, cases), [len(cases)])
    theirs: list[dict[str, float]] = []
    (peer,) = _read((theirs.append(_peer_values(scorer, case)) for case in cases), [len(cases)])  # type: ignore[func-returns-value]
    largest = max(abs((a[name] or 0.0) - value) for a, b in zip(ours, theirs, strict=True) for name, value in b.items())
    return Measured("peer", start_s, (own, peer), largest_difference=largest)


def _peer_values(scorer: RougeScorer, case: Case) -> dict[str, float]:
    """On NFKC forms, since the package reads characters as they come and drops full-width letters."""
    values: dict[str, float] = {}
    for name, score in scorer.score(*(unicodedata.normalize("NFKC", text) for text in (case.gold.prose, case.prose))).items():
        values |= {f"{name}_precision": score.precision, f"{name}_recall": score.recall, f"{name}_f": score.fmeasure}
    return values


def _since_start() -> float:
    """Seconds since this process began, imports among them."""
    try:
        began_ticks = float(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        up_s = float(Path("/proc/uptime").read_text().split()[0])
        return round(up_s - began_ticks / os.sysconf("SC_CLK_TCK"), 3)
    except (OSError, ValueError):  # no /proc: CPU time is the nearest that is known
        return round(time.process_time(), 3)


def _peak_mib() -> float:
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB on Linux
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20, 1)


def _show(timing: Timing) -> None:
    from flows.showing import console

    console.show(_table(timing))
    by_metric = sorted(timing.case("judged").metric_ms.items(), key=lambda item: -item[1])
    console.result("CPU ms an event by metric: " + ", ".join(f"{name} {ms:.1f}" for name, ms in by_metric))
    own, peer = timing.case("peer").readings
    console.result(
        f"ROUGE of {own.n_events} events: ours {1000 * own.cpu_s / own.n_events:.1f} ms an event (with lengths and letters), "
        f"rouge-score {1000 * peer.cpu_s / own.n_events:.0f} ms, {peer.cpu_s / max(own.cpu_s, 1e-3):.0f} times as long; "
        f"largest difference of a value {timing.case('peer').largest_difference:.1e}"
    )
    versions = ", ".join(f"{name} {version}" for name, version in timing.environment.items())
    threads = f"OMP_NUM_THREADS={timing.threads}" if timing.threads else "threads as libraries choose"
    console.result(
        f"{timing.cores} cores, load {timing.load} before, {threads}, {versions}, commit {timing.commit or 'unknown'}"
    )


def _table(timing: Timing) -> Table:
    from rich import box
    from rich.table import Table

    title = f"scoring the {timing.n_events} articles of {timing.run}; the last row of a case is extrapolated"
    table = Table(title=title, box=box.SIMPLE, title_justify="left", title_style="bold", padding=(0, 1))
    table.add_column("case")
    for head in ("events", "wall s", "CPU s", "CPU ms an event", "peak MiB", "start s"):
        table.add_column(head, justify="right")
    for case in timing.cases:
        if case.case == "peer":
            continue
        for place, one in enumerate((*case.readings, case.extrapolated())):
            table.add_row(
                case.case if place == 0 else "",
                str(one.n_events),
                f"{one.wall_s:.1f}",
                f"{one.cpu_s:.1f}",
                f"{1000 * one.cpu_s / one.n_events:.0f}",
                f"{one.peak_mib:.0f}",
                f"{case.start_s:.1f}" if place == 0 else "",
            )
    return table


if __name__ == "__main__":
    sys.exit(main())
