"""`wikigenben demo`: the bundled sample, offline, from HTML pages to scored articles that can be clicked through."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from benchmark.runner import EventOutcome
from data.settings import Settings
from decoding.models.registry import DEFAULT_MODEL
from flows import run_events, run_scores
from flows.job import Job
from flows.showing import console
from flows.wiring.prepared import Prepared, prepare


def demo(out: Path, *, as_json: bool, minutes: float, everything: bool = False) -> int:
    """Write as many events as fit into `minutes`, and score these. `everything`: all events, however long, and all metrics."""
    began = time.monotonic()
    console.note(
        f"The demo's system is `ours`: {DEFAULT_MODEL} reads the pages, notes facts, and says them in its own words. With "
        "another model: wikigenben write TITLE --model NAME (wikigenben models lists them), gguf:FILE or server:MODEL@URL."
    )
    prepared = prepare(Job(system="ours", settings=Settings(), data="sample", out=out))
    most = "" if everything else f"; as many as fit into {minutes:g} minutes (--all: all of them)"
    console.note(f"writing {len(prepared.ids)} articles on invented events, from their web pages; nothing is fetched{most}")
    write = run_events.one_by_one if everything else within(minutes * 60, began)
    evaluated = run_scores.evaluate(prepared, write, partly=True)
    run_scores.report(evaluated, as_json=as_json, everything=everything)
    return evaluated.generated.exit_code


def within(seconds: float, began: float) -> run_events.Write:
    """Writes the first event, and another one as long as, by the mean so far, it ends within `seconds` after `began`."""

    def write(prepared: Prepared, ids: tuple[str, ...]) -> Iterator[EventOutcome]:
        first = time.monotonic()
        with closing(run_events.one_by_one(prepared, ids)) as outcomes:
            for n, outcome in enumerate(outcomes, start=1):
                yield outcome
                now = time.monotonic()
                if n < len(ids) and now - began + (now - first) / n > seconds:
                    console.note(f"{n} of {len(ids)} articles fit into {seconds / 60:g} minutes; --all writes the others, too")
                    return

    return write
