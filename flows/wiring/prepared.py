"""A job -> all that a run needs: events, system, pages, the open run folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

from benchmark import splits
from benchmark.system import System
from data.errors import StageError, UserError
from data.locate import locate
from data.pages.cleaning import CLEANING_VERSION
from data.runs import RunFolder, default_run_path
from data.snapshot import Snapshot
from data.types import Event, Page
from flows.job import Job
from flows.showing import console

if TYPE_CHECKING:
    pass

from flows.wiring.page_sources import build_collect, check_evidence, live_identity
from flows.wiring.systems import build_system


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job ready to run: ids in order, the system, where pages come from, the open run folder."""

    job: Job
    snapshot: Snapshot
    split: splits.Split
    ids: tuple[str, ...]
    system: System
    collect: Callable[[Event], tuple[Page, ...]]
    run: RunFolder

    @property
    def is_live(self) -> bool:
        """Whether pages come from the web, and not from the benchmark folder."""
        return self.job.settings.evidence.source != "recorded"

    def pages_to_score(self, event: Event) -> tuple[Page, ...]:
        """As `collect`, but live pages are never fetched for this: they are those that the event was written from.

        Raises StageError when the run folder has none.
        """
        if not self.is_live:
            return self.collect(event)
        from pipeline.web.events import kept_pages

        pages = kept_pages(self.run.event(event.id))
        if pages is None:
            raise StageError("evidence", f"{self.run.event(event.id).path} holds no pages, and scoring fetches none")
        return pages


def prepare(job: Job, system: System | None = None) -> Prepared:
    """`system` in place of the one that the job names. Raises UserError for anything the caller can fix."""
    snapshot = Snapshot(locate(job.data))
    if snapshot.is_sample and job.data is None and not os.environ.get("WIKIGEN_DATA"):
        console.note("no benchmark folder was named: the bundled sample of invented events is used (--data DIR names another)")
    split = _split(job, snapshot)
    track, source = job.settings.evidence.track, job.settings.evidence.source
    ids = splits.choose(snapshot, track, split, events=job.events, limit=job.limit)
    check_evidence(job.settings)
    system = system or build_system(job.system, job.settings)
    run = RunFolder.open(job.out or default_run_path(job.system, split, track, source), identity(job, snapshot, system))
    return Prepared(job, snapshot, split, ids, system, build_collect(snapshot, job.settings, run), run)


def identity(job: Job, snapshot: Snapshot, system: System) -> dict[str, str]:
    """What every article of a run depends on. The choice of events is not part of it: a run may grow."""
    evidence = job.settings.evidence
    return {
        "package": metadata.version("wikigenben"),
        "system": system.name,
        "data": "sample" if snapshot.is_sample else "wikigenbench",
        "track": evidence.track,
        "leak_filter": "on" if evidence.leak_filter else "off",
        "languages": ",".join(evidence.languages),
        "cleaning": CLEANING_VERSION,
        **live_identity(job.settings),
        **{f"system.{key}": value for key, value in system.identity.items()},
    }


def _split(job: Job, snapshot: Snapshot) -> splits.Split:
    asked = job.split or ("sample" if snapshot.is_sample else "full")
    if asked not in ("sample", "dev", "test", "full"):
        raise UserError(f"there is no split {asked!r}; known: sample, dev, test, full")
    return asked  # type: ignore[return-value]
