"""One event as Prefect sees it: its steps as tasks whose results outlive the run folder.

The run folder stays the truth: a stage whose file is there is read from it. When the file is missing, the stage's task is
asked, and a stored result - of this run, or of any run with the same identity and the same inputs - fills the file. So a
second system finds the pages that the first one had cleaned, and a deleted article comes back as it was. To have everything
made anew, choose another run folder and set PREFECT_TASKS_REFRESH_CACHE=true.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from filelock import FileLock
from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.states import Failed

from benchmark import scoring
from benchmark.runner import EventOutcome, run_event
from benchmark.system import System
from data import codec
from data.errors import UserError, WikigenError
from data.runs import EventFolder
from data.stage_types import Stage
from data.types import Event, Page, Sentence
from decoding.waiting import spin_briefly
from flows.job import Job
from flows.wiring.metrics import build_metrics
from flows.wiring.prepared import Prepared, prepare

if TYPE_CHECKING:
    from data.settings import Settings
    from eval.metric import Metric

T = TypeVar("T")
_log = logging.getLogger(__name__)

PIPELINE_VERSION = "2"
"""Raise when stored results of steps must not be used any more and nothing in a run's identity says so."""

_lock = threading.Lock()
_here: dict[Job, Prepared] = {}


def prepare_here(job: Job, *, afresh: bool = False, system: System | None = None) -> Prepared:
    """The job, prepared once in this process: threads share one system and its models, a worker process builds its own.

    Only the newest job is kept, so a process holds the models of one job. `system` replaces the job's own in this
    process. Raises UserError as `flows.wiring.prepare` does.
    """
    spin_briefly()
    with _lock:
        if afresh or job not in _here:
            _here.clear()
            _here[job] = prepare(job, system)
            _import_for_threads()
            logging.getLogger("prefect.task_runs").addFilter(_tells_more)  # which adds a filter once only
        return _here[job]


def _tells_more(record: logging.LogRecord) -> bool:
    """Of each step Prefect logs that it has ended, which its state says as well: a quarter of what a task costs its process."""
    return record.getMessage() != "Finished in state Completed()"


def _import_for_threads() -> None:
    """What events use first, and whose modules import each other in a circle: begun at two ends by two threads, importing
    them deadlocks, and Python resolves that by an error in one of the threads."""
    import nltk.stem  # noqa: F401 - for what it leaves in sys.modules


@lru_cache(maxsize=1)
def _metrics(settings: Settings) -> tuple[Metric, ...]:
    return build_metrics(settings)


def _metrics_here(settings: Settings) -> tuple[Metric, ...]:
    with _lock:
        return _metrics(settings)


def write_event(job: Job, event_id: str, *, evaluate: bool) -> EventOutcome:
    """Write one event, and score it; every step that is not done yet is a task. A UserError stops the run."""
    prepared = prepare_here(job)
    run, steps = prepared.run, EventSteps(prepared)
    outcome = run_event(run, prepared.system, event_id, prepared.snapshot.event, steps.collect, steps.after_pages)
    if evaluate:
        try:
            score_event(job, event_id)
        except UserError:
            raise
        except Exception as error:  # a bug in a metric: the other events come first, then scoring them all raises it again
            _log.error("scoring %s failed: %r; see the task score-%s", event_id, error, event_id)
    return outcome


@task(name="score", task_run_name="score-{event_id}", cache_policy=NO_CACHE, persist_result=False)
def score_event(job: Job, event_id: str) -> None:
    """Its result is the event's row in scores.jsonl, which is found there again while article and metrics are the same."""
    prepared = prepare_here(job)
    metrics = _metrics_here(job.settings)
    with FileLock(prepared.run.path / ".scores.lock"):  # rows of all events lie in one file
        for _ in scoring.score_run(prepared.run, prepared.snapshot, [event_id], metrics, prepared.pages_to_score):
            pass


class PrefectStages:
    """Implements `data.stage_types.Stages`: an event's folder, with a task in front of everything that has to be made.

    The key of a stored result is `STAGE/vVERSION/EVENT/DIGEST`. The digest covers the run's identity and, in order, every
    value that the writer was given so far: with an edited outline, or other pages, nothing made from the old ones is found.
    """

    def __init__(self, folder: EventFolder, digest: str) -> None:
        self._folder = folder
        self._digest = digest

    def once(self, stage: Stage[T], make: Callable[[], T]) -> T:
        before = self._digest
        first, _, part = stage.name.partition("/")
        words = [first.removesuffix("s"), part] if part else [first]
        event_id = self._folder.event_id
        key = result_key("-".join(words), event_id, before)

        def ask() -> T:
            label = "-".join([words[0], event_id, *words[1:]])
            plain = step(words[0], label, key, lambda: codec.to_plain(make()))
            return codec.from_plain(stage.kind, plain, where=f"stored result {key}")

        value = self._folder.once(stage, ask)
        # From `before`, not from what stages inside `make` left: those are not asked for when this one is stored.
        self._digest = codec.sha256("\n".join([before, stage.name, codec.to_json(value)]))
        return value

    def said(self, name: str, sentences: tuple[Sentence, ...]) -> None: ...


class EventSteps:
    """What the runner of one event asks for: its pages, then its stages."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._identity = prepared.run.identity() or {}

    def collect(self, event: Event) -> tuple[Page, ...]:
        """The cleaned pages. They do not depend on the system, so all systems share them; but live ones are this run's alone,
        and of the day on which it fetched them."""
        if self._prepared.is_live:
            pages: tuple[Page, ...] = step("retrieve", f"retrieve-{event.id}", None, lambda: self._prepared.collect(event))
            return pages
        key = result_key("retrieve", event.id, self._inputs(event))
        label = f"retrieve-{event.id}"
        plain = step("retrieve", label, key, lambda: codec.to_plain(self._prepared.collect(event)))
        return codec.from_plain(tuple[Page, ...], plain, where=f"stored result {key}")

    def after_pages(self, folder: EventFolder) -> PrefectStages:
        pages = [codec.to_json(page) for page in folder.stored_pages() or ()]
        digest = codec.sha256("\n".join([digest_of(self._identity), *pages]))
        return PrefectStages(folder, digest)

    def _inputs(self, event: Event) -> str:
        """Digest of all that the cleaned pages depend on: settings, raw pages, and the human article of the leak filter."""
        snapshot, track = self._prepared.snapshot, self._prepared.job.settings.evidence.track
        shared = {k: v for k, v in self._identity.items() if k != "system" and not k.startswith("system.")}
        raw = [codec.to_json(page) for page in snapshot.raw_pages(event.id, track)]
        human = (snapshot.root / "wiki" / f"{event.id}.json").read_text(encoding="utf-8")
        return codec.sha256("\n".join([digest_of(shared), event.title, *raw, human]))


@task(
    task_run_name="{label}",
    cache_key_fn=lambda context, parameters: parameters["key"],
    persist_result=True,
    result_serializer="json",
    cache_result_in_memory=False,
)
def _step(label: str, key: str, make: Callable[[], Any]) -> Any:
    return make()


@task(task_run_name="{label}", cache_policy=NO_CACHE, persist_result=False)
def _unstored_step(label: str, key: None, make: Callable[[], Any]) -> Any:
    return make()


@cache
def _named(kind: str, stored: bool) -> Task[..., Any]:
    return (_step if stored else _unstored_step).with_options(name=kind)


def step(kind: str, label: str, key: str | None, make: Callable[[], Any]) -> Any:
    """Run `make` as a task of this kind, or give the result stored under the key. Results are JSON values, kept
    where Prefect keeps them; without a key they are not stored, and may be anything.

    An error with a known reason fails the task and is raised here: inside, Prefect would log it with a traceback.
    """
    known: list[WikigenError] = []

    def tried() -> Any:
        try:
            return make()
        except WikigenError as error:
            known.append(error)
            return Failed(message=str(error))

    value = _named(kind, key is not None)(label, key, tried)
    if known:
        raise known[0]
    return value


def result_key(stage: str, event_id: str, digest: str) -> str:
    return f"{stage}/v{PIPELINE_VERSION}/{event_id}/{digest[:20]}"


def digest_of(identity: Mapping[str, str]) -> str:
    return codec.sha256(json.dumps(dict(sorted(identity.items()))))
