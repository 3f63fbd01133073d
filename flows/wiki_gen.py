"""The Prefect flow `wiki-gen`: write and score events, each step a task.

    python -m flows.wiki_gen                                        # the bundled sample, no server needed
    prefect work-pool create wiki-gen-local --type process          # this and the rest need a server and PREFECT_API_URL
    prefect deploy --all
    prefect worker start --pool wiki-gen-local --type process
    prefect deployment run wiki-gen/wiki-gen -p system=ours -p model=hf:models/qwen3-4b -p data=wikigenbench/data --watch

In the repository root `prefect deployment run wiki-gen` works too. A run that was stopped goes on when it is run again.
"""

# No `from __future__ import annotations`: Prefect makes the form from the flow's annotations and reads them as types.

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from prefect import flow, get_run_logger, task
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.futures import as_completed
from prefect.states import Completed, Failed
from prefect.task_runners import TaskRunner

from benchmark import scoring
from benchmark.runner import EventOutcome
from data import codec
from data.errors import NoEvidence, UserError
from data.locate import locate
from data.runs import default_run_path
from data.settings import load_settings
from data.snapshot import Snapshot
from flows import console, preview
from flows.evaluate import Evaluated
from flows.evaluate import evaluate as evaluate_run
from flows.generate import Generated, generate
from flows.job import SYSTEMS, Job
from flows.runners import make_runner
from flows.stages import prepare_here, write_event
from flows.wiring import Prepared
from pipeline.formats.markdown import to_markdown

SystemName = Literal[SYSTEMS]  # type: ignore[valid-type]
SplitName = Literal["sample", "dev", "test", "full"]
TrackName = Literal["search", "cited", "both"]

MAX_NAMED = 20
"""Failed events named in the state's message; all of them are in failures.jsonl."""


def repository_root() -> Path:
    """Where relative outputs go: the folder with prefect.yaml, or the working directory of an installed package."""
    root = Path(__file__).resolve().parents[1]
    return root if (root / "prefect.yaml").is_file() else Path.cwd()


def run_name() -> str:
    """Such as `extractive on sample, 2 events`."""
    from prefect.runtime import flow_run

    asked = flow_run.parameters
    what = f"{asked['system']} {asked['model']}".strip()
    n = len(asked["events"]) or asked["limit"]
    return f"{what} on {asked['split'] or asked['data'] or 'benchmark'}, {n or 'all'} event{'' if n == 1 else 's'}"


@flow(name="wiki-gen", flow_run_name=run_name, persist_result=False)
def wiki_gen(
    system: SystemName = "extractive",
    model: str = "",
    data: str = "sample",
    split: SplitName | None = None,
    events: list[str] = [],  # noqa: B006 - the form shows defaults as they stand here; nobody writes to it
    limit: int | None = None,
    track: TrackName = "search",
    out: str = "",
    retry_failed: bool = False,
    runner: str = "threads:1",
    evaluate: bool = True,
    settings: list[str] = [],  # noqa: B006
) -> State[None]:
    """Write articles for events from web evidence, score them and make submission.json.

    Running it again goes on where it stopped. The run ends Failed when an event failed; the others are written and scored.

    Args:
        system: lead, bm25 and extractive use no model; ours brings its own; rr, prr and rprr need one.
        model: embedded, hf:PATH_OR_ID, or server:MODEL@BASE_URL (OpenAI-compatible); empty for the system's default.
        data: Benchmark folder; "sample" is the bundled one; empty: WIKIGEN_DATA, else what was downloaded, else the sample.
        split: By default sample for the bundled data, else full.
        events: Only the events with these ids.
        limit: Only the first so many events.
        track: Which evidence: found by search, cited by the human article, or both.
        out: Run folder, relative to the repository; by default runs/SYSTEM-SPLIT-TRACK.
        retry_failed: Forget the failed events of the run and write only those.
        runner: How many events at once: threads:N share one model, processes:N have one each; dask:N and ray:N are extras.
        evaluate: Score the articles and make submission.json.
        settings: Further settings as SECTION.KEY=VALUE, such as writing.max_words=800.
    """
    try:
        pool = make_runner(runner)
        job = _job(
            system=system, model=model, data=data, split=split, events=events, limit=limit, track=track, out=out,
            retry_failed=retry_failed, settings=settings,
        )  # fmt: skip
        prepared = prepare_here(job, afresh=True)
        get_run_logger().info("%s: %d events -> %s", system, len(prepared.ids), prepared.run.path)

        def write(prepared: Prepared, ids: tuple[str, ...]) -> list[EventOutcome]:
            return _write(prepared, ids, pool, evaluate=evaluate)

        if not evaluate:
            generated = generate(prepared, write)
        else:
            evaluated = evaluate_run(prepared, write)
            generated = evaluated.generated
            _publish_scores(evaluated)
    except UserError as error:  # the caller can mend it: the message says how, a traceback would hide it
        return Failed(message=str(error))
    _publish_article(prepared, generated)
    return final_state(generated)


@task(name="event", task_run_name="event-{event_id}", cache_policy=NO_CACHE, persist_result=False)
def event(event_id: str, job: Job, evaluate: bool) -> State[str]:
    """All of one event, never cached: what is done lies in the run folder. Its state carries the outcome as JSON, without
    the failure, which is in the folder: Prefect logs what a failed state carries.

    Worker processes get this function by value, so it may use only names that can be sent, not caches or locks.
    """
    outcome = write_event(job, event_id, evaluate=evaluate)
    data = codec.to_json(replace(outcome, failure=None))
    if outcome.failure is not None:
        return Failed(message=f"{outcome.failure.stage}: {outcome.failure.message}", data=data)
    return Completed(message=f"{outcome.title}: {outcome.status} in {outcome.seconds:.2f} s", data=data)


def final_state(generated: Generated) -> State[None]:
    """Completed, or Failed with the failed events by name; those without evidence apart, as no code can help them."""
    n, run = len(generated.outcomes), generated.run
    if not generated.failed:
        did = f"{generated.count('written')} written, {generated.count('reused')} reused"
        return Completed(message=f"{n} events: {did} in {generated.seconds:.1f} s -> {run}")
    named = []
    for outcome in generated.failed[:MAX_NAMED]:
        assert outcome.failure is not None
        kind = "no evidence" if outcome.failure.kind == NoEvidence.__name__ else outcome.failure.stage
        named.append(f"{outcome.event_id} {outcome.title} ({kind}: {outcome.failure.message[:160]})")
    if len(generated.failed) > MAX_NAMED:
        named.append(f"and {len(generated.failed) - MAX_NAMED} more")
    return Failed(
        message=f"{len(generated.failed)} of {n} events failed: {'; '.join(named)}. Reasons: {run}/failures.jsonl; "
        "run again with retry_failed=true to try those"
    )


def _job(
    *,
    system: str,
    model: str,
    data: str,
    split: str | None,
    events: list[str],
    limit: int | None,
    track: str,
    out: str,
    retry_failed: bool,
    settings: list[str],
) -> Job:
    loaded = load_settings(None, settings, model={"name": model or None}, evidence={"track": track})
    if not out:
        split = split or ("sample" if Snapshot(locate(data or None)).is_sample else "full")
        out = str(default_run_path(system, split, track))
    return Job(
        system=system,
        settings=loaded,
        data=data or None,
        split=split,
        events=tuple(events),
        limit=limit,
        out=repository_root() / Path(out).expanduser(),
        retry_failed=retry_failed,
    )


def _write(prepared: Prepared, ids: tuple[str, ...], pool: TaskRunner[Any], *, evaluate: bool) -> list[EventOutcome]:
    """The events as tasks of the pool; outcomes in the order of `ids`. The pool is used without a flow of its own, which
    would cost a second and buy nothing."""
    progress = create_progress_artifact(0.0, key="wiki-gen-progress", description=f"0 of {len(ids)} events")
    done: dict[str, EventOutcome] = {}
    with pool:
        futures = [pool.submit(event, {"event_id": i, "job": prepared.job, "evaluate": evaluate}) for i in ids]
        for future in as_completed(futures):
            future.wait()  # else a finished future may still say that it is pending
            value = future.result(raise_on_failure=False)
            if isinstance(value, BaseException):
                raise value
            outcome = codec.from_json(EventOutcome, value, where="the event's outcome")
            done[outcome.event_id] = replace(outcome, failure=prepared.run.event(outcome.event_id).failure())
            text = f"{len(done)} of {len(ids)} events; last: {outcome.title} ({outcome.status})"
            update_progress_artifact(progress, 100 * len(done) / len(ids), description=text)
    return [done[i] for i in ids]


def _publish_scores(evaluated: Evaluated) -> None:
    scores = evaluated.scores
    rows = [
        {
            "metric": name,
            "mean %": f"{100 * e.mean:.1f}",
            "95% interval": f"{100 * e.low:.1f} - {100 * e.high:.1f}",
            "events": e.n,
        }
        for name in scoring.HEADLINE
        if (e := scores.estimates.get(name)) is not None
    ]
    create_table_artifact(
        rows,
        key="wiki-gen-scores",
        description=f"{scores.system} on {len(scores.events)} events (split {scores.split}, track {scores.track}); "
        f"all metrics: {evaluated.submission}",
    )


def _publish_article(prepared: Prepared, generated: Generated) -> None:
    for outcome in generated.outcomes:
        article = prepared.run.event(outcome.event_id).article()
        if article is not None:
            text = f"{to_markdown(article)}\n\n---\n\nAll articles: {preview.index_path(prepared.run.path)}\n"
            create_markdown_artifact(text, key="wiki-gen-article", description=f"The first article: {article.title}")
            return


def main() -> int:
    """Run with the defaults, on a temporary server unless PREFECT_API_URL names one. 0 when all events are written."""
    state = wiki_gen(return_state=True)
    console.note(f"{state.name}: {state.message}")
    return 0 if state.is_completed() else 1


if __name__ == "__main__":
    from flows import wiki_gen as module  # not this one, __main__: worker processes import the flow by its module's name

    sys.exit(module.main())
