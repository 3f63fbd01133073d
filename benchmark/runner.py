"""One event through one system, isolated: whatever happens, there is an outcome, and it is on disk."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from benchmark.system import System
from data import heap, wikigenbench
from data.errors import StageError, UserError
from data.runs import EventFailure, EventFolder, EventStats, RunFolder, footprint
from data.stage_types import NOBODY, PAGES, ObservedStages, Observer, Stages
from data.types import Article, Event, Page


@dataclass(frozen=True, slots=True)
class EventOutcome:
    """`seconds` is 0 for a reused article. `failure` is set exactly when the status is `failed`."""

    event_id: str
    title: str
    status: Literal["written", "reused", "failed"]
    seconds: float
    failure: EventFailure | None = None


def run_event(
    run: RunFolder,
    system: System,
    event_id: str,
    load_event: Callable[[str], Event],
    collect: Callable[[Event], tuple[Page, ...]],
    stages: Callable[[EventFolder], Stages] = lambda folder: folder,
    observer: Observer = NOBODY,
) -> EventOutcome:
    """Collect pages, let the system write, store the article and its WikiGenBench file.

    An error of the set-up (UserError) stops the run; everything else is this event's failure. `stages` may wrap the
    event's folder, which is how an orchestrator takes the steps over; an `observer` only looks on.
    """
    folder = run.event(event_id)
    began = time.perf_counter()
    title = event_id
    try:
        event = load_event(event_id)
        title = event.title
        article = folder.article()
        if article is not None:
            folder.clear_failure()
            _export(run, article)
            return EventOutcome(event_id, title, "reused", 0.0)
        observer.begins(event)
        collecting = ObservedStages(folder, observer)
        pages = folder.pages(lambda: collecting.making(PAGES, lambda: collect(event)))
        observer.writes(event, pages)
        writing = ObservedStages(stages(folder), observer)
        article = system.write(event, pages, writing)
    except UserError:
        raise
    except Exception as error:
        return record_failure(run, event_id, title, error, time.perf_counter() - began)
    seconds = time.perf_counter() - began
    folder.clear_failure()
    n_usable = sum(page.usable for page in pages)
    heap.trim()
    times = (*collecting.times, *writing.times)
    folder.write_stats(EventStats(event_id, round(seconds, 3), len(pages), n_usable, folder.usage(), times, footprint()))
    _export(run, article)
    return EventOutcome(event_id, title, "written", seconds)


def record_failure(run: RunFolder, event_id: str, title: str, error: Exception, seconds: float = 0.0) -> EventOutcome:
    """The event ended in this error, also where nobody was left to say so: its worker process was killed."""
    failure = _failure(event_id, title, error)
    run.event(event_id).fail(failure)
    return EventOutcome(event_id, title, "failed", seconds, failure)


def _export(run: RunFolder, article: Article) -> None:
    """The file that WikiGenBench's own scripts read; made anew when it is not what the article gives."""
    path = run.path / "wikigenbench" / f"{article.event_id}.json"
    if not path.is_file() or path.read_bytes() != wikigenbench.to_wikigenbench(article).encode("ascii"):
        wikigenbench.write(path, article)


def _failure(event_id: str, title: str, error: Exception) -> EventFailure:
    known = isinstance(error, StageError)
    stage, message = (error.stage, error.why) if isinstance(error, StageError) else ("unknown", str(error) or repr(error))
    if isinstance(error, MemoryError) or "can't allocate memory" in message:  # as torch says it on a CPU
        known, stage, message = True, "memory", f"not enough of it: {message.splitlines()[0]}"
    return EventFailure(
        event_id=event_id,
        stage=stage,
        # A class that is private to its module is what its public parent is.
        kind=next(kind.__name__ for kind in type(error).__mro__ if not kind.__name__.startswith("_")),
        message=message,
        traceback="" if known else "".join(traceback.format_exception(error)),
        title=title,
    )
