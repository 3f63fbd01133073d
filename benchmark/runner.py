"""One event through one system, isolated: whatever happens, there is an outcome, and it is on disk."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from benchmark.system import System
from data import wikigenbench
from data.errors import StageError, UserError
from data.runs import EventFailure, EventFolder, EventStats, RunFolder, StageClock, Stages, TimedStages
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
) -> EventOutcome:
    """Collect pages, let the system write, store the article and its WikiGenBench file.

    An error of the set-up (UserError) stops the run; everything else is this event's failure. `stages` may wrap the
    event's folder, which is how an orchestrator sees the steps.
    """
    folder = run.event(event_id)
    began = time.perf_counter()
    title = event_id
    clock = StageClock()
    try:
        event = load_event(event_id)
        title = event.title
        article = folder.article()
        if article is not None:
            folder.clear_failure()
            _export(run, article)
            return EventOutcome(event_id, title, "reused", 0.0)
        pages = folder.pages(clock.timing("pages", lambda: collect(event)))
        article = system.write(event, pages, TimedStages(stages(folder), clock))
    except UserError:
        raise
    except Exception as error:
        failure = _failure(event_id, title, error)
        folder.fail(failure)
        return EventOutcome(event_id, title, "failed", time.perf_counter() - began, failure)
    seconds = time.perf_counter() - began
    folder.clear_failure()
    n_usable = sum(page.usable for page in pages)
    folder.write_stats(EventStats(event_id, round(seconds, 3), len(pages), n_usable, folder.usage(), stages=tuple(clock.times)))
    _export(run, article)
    return EventOutcome(event_id, title, "written", seconds)


def _export(run: RunFolder, article: Article) -> None:
    """The file that WikiGenBench's own scripts read; made anew when it was deleted."""
    path = run.path / "wikigenbench" / f"{article.event_id}.json"
    if not path.exists():
        wikigenbench.write(path, article)


def _failure(event_id: str, title: str, error: Exception) -> EventFailure:
    known = isinstance(error, StageError)
    return EventFailure(
        event_id=event_id,
        stage=error.stage if isinstance(error, StageError) else "unknown",
        kind=type(error).__name__,
        message=error.why if isinstance(error, StageError) else str(error) or repr(error),
        traceback="" if known else "".join(traceback.format_exception(error)),
        title=title,
    )
