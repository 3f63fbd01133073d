"""A wired system over its events: the loop behind `wikigenben generate`, `evaluate` and `demo`, and around `flows.wiki_gen`."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.runner import EventOutcome, run_event
from data import codec
from data.decoding_counts import Usage
from data.errors import NoEvidence
from data.runs import RunFolder
from data.snapshot import N_BENCHMARK_EVENTS
from flows.showing import console, panel, preview
from flows.showing.drafted import drafted_lines
from flows.wiring.prepared import Prepared

Write = Callable[[Prepared, tuple[str, ...]], Iterable[EventOutcome]]
"""Writes these events and says how each went, in their order."""


@dataclass(frozen=True, slots=True)
class Generated:
    """What a loop over events did. `seconds` is wall time of the loop, models already loaded."""

    run: Path
    outcomes: tuple[EventOutcome, ...]
    seconds: float

    @property
    def failed(self) -> tuple[EventOutcome, ...]:
        return tuple(o for o in self.outcomes if o.status == "failed")

    def count(self, status: str) -> int:
        return sum(o.status == status for o in self.outcomes)

    @property
    def exit_code(self) -> int:
        """0 all written, 3 no event had evidence, 1 some event failed."""
        if not self.failed:
            return 0
        without = [o for o in self.outcomes if o.failure and o.failure.kind == NoEvidence.__name__]
        return NoEvidence.exit_code if len(without) == len(self.outcomes) else 1


def one_by_one(prepared: Prepared, ids: tuple[str, ...]) -> Generator[EventOutcome, None, None]:
    """In this process; on a terminal a panel shows how far it is."""
    with panel.watching(len(ids)) as watch:
        for event_id in ids:
            outcome = run_event(
                prepared.run, prepared.system, event_id, prepared.snapshot.event, prepared.collect, observer=watch
            )
            watch.ended(outcome)
            yield outcome


def generate(prepared: Prepared, write: Write = one_by_one) -> Generated:
    """Write missing articles. The run is locked while this goes on."""
    with prepared.run.locked():
        _record_environment(prepared)
        if not prepared.snapshot.is_sample:
            found = prepared.snapshot.inventory
            console.note(
                f"{len(prepared.ids)} events asked for; of the benchmark's {N_BENCHMARK_EVENTS}, "
                f"{prepared.snapshot.root} holds {found.describe()}"
            )
        began = time.perf_counter()
        ids = _events_to_write(prepared)
        outcomes = tuple(write(prepared, ids))
        seconds = time.perf_counter() - began
        prepared.run.write_failures()
        preview.write_previews(prepared.run, prepared.system.name)
    return Generated(prepared.run.path, outcomes, seconds)


def _events_to_write(prepared: Prepared) -> tuple[str, ...]:
    if not prepared.job.retry_failed:
        return prepared.ids
    failed = {failure.event_id for failure in prepared.run.failures()}
    ids = tuple(i for i in prepared.ids if i in failed)
    for event_id in ids:
        prepared.run.event(event_id).clear(keep_pages=prepared.is_live)  # another day's pages would be others
    return ids


def _record_environment(prepared: Prepared) -> None:
    """What the run was made with, beside what it depends on; the newest command wins."""
    import json

    from benchmark.submissions.submission import environment

    codec.write_atomic(prepared.run.path / "environment.json", json.dumps(environment(), indent=1) + "\n")


def report(generated: Generated, *, as_json: bool) -> None:
    """The result on stdout, the failures by name on stderr."""
    for outcome in generated.failed:
        failure = outcome.failure
        assert failure is not None
        console.note(f"failed: {outcome.event_id} {outcome.title}: {failure.stage}: {failure.message}")
    summary = {
        "run": str(generated.run),
        "written": generated.count("written"),
        "reused": generated.count("reused"),
        "failed": [o.event_id for o in generated.failed],
        "seconds": round(generated.seconds, 2),
    }
    if as_json:
        console.result_json(summary)
        return
    console.result(
        f"{summary['written']} written, {summary['reused']} reused, {len(generated.failed)} failed in {generated.seconds:.1f} s"
        f" -> {generated.run}"
    )
    usages = usages_of(generated)
    for line in (*_usage_line(usages), *drafted_lines(usages)):
        console.result(line)
    if generated.failed:
        console.result(f"reasons: {generated.run}/failures.jsonl; try those again with --retry-failed")
    console.result(f"read them: {preview.index_path(generated.run).resolve()}")


def usages_of(generated: Generated) -> list[Usage]:
    """What the language model took for each event written now; empty without a model."""
    run = RunFolder(generated.run)
    stats = [run.event(o.event_id).stats() for o in generated.outcomes if o.status == "written"]
    return [s.usage for s in stats if s is not None and s.usage is not None]


def _usage_line(usages: Sequence[Usage]) -> list[str]:
    if not usages:
        return []
    all_of = Usage.total(usages)
    return [f"language model: {all_of.n_calls} calls, {all_of.n_new_tokens} new tokens in {all_of.stats.total_s:.1f} s"]
