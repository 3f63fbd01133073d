"""The Prefect flow `wiki-gen`: write and score events, each step a task.

    python -m flows.wiki_gen -p limit=2                             # the bundled sample, no server needed
    wikigenben up                                                   # server, worker and deployment, until Ctrl-C
    prefect deployment run wiki-gen/wiki-gen -p system=ours -p model=hf:models/qwen3-4b -p data=wikigenbench/data --watch

What `up` does can be done by hand, on any machine that has the code (all need PREFECT_API_URL):

    prefect work-pool create wiki-gen-local --type process
    prefect deploy --all
    prefect worker start --pool wiki-gen-local --type process

In the repository root `prefect deployment run wiki-gen` works too. A run that was stopped goes on when it is run again.
"""

# No `from __future__ import annotations`: Prefect makes the form from the flow's annotations and reads them as types.

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from prefect import flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture
from prefect.states import Completed, Failed
from prefect.task_runners import TaskRunner

from benchmark.runner import EventOutcome, record_failure
from benchmark.splits import Split
from data import codec
from data.errors import NoEvidence, StageError, UserError
from data.locate import locate
from data.runs import default_run_path
from data.settings import EvidenceFrom, load_settings
from data.snapshot import Snapshot
from data.types import Track
from decoding.methods import METHODS
from flows.job import SYSTEMS, Job
from flows.orchestration.artifacts import Artifacts
from flows.orchestration.event_tasks import prepare_here, write_event
from flows.orchestration.prefect_server import outlast_server, run_here
from flows.orchestration.runners import RunnerSpec, make_runner, parse_runner, run_all
from flows.run_events import Generated, generate
from flows.run_scores import evaluate as evaluate_run
from flows.showing import console
from flows.wiring.prepared import Prepared

SystemName = Literal[SYSTEMS]  # type: ignore[valid-type]
DecodingName = Literal[METHODS]  # type: ignore[valid-type]

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
    if asked["decoding"] != "auto":
        what += f" by {asked['decoding']}"
    if asked["evidence"] != "recorded":
        what += f" from {asked['evidence']}"
    n = len(asked["events"]) or asked["limit"]
    return f"{what} on {asked['split'] or asked['data'] or 'benchmark'}, {n or 'all'} event{'' if n == 1 else 's'}"


@flow(name="wiki-gen", flow_run_name=run_name, persist_result=False)
def wiki_gen(
    system: SystemName = "ours",
    model: str = "",
    decoding: DecodingName = "auto",
    data: str = "sample",
    split: Split | None = None,
    events: list[str] = [],  # noqa: B006 - the form shows these defaults; nobody writes to it
    limit: int | None = None,
    track: Track = "search",
    evidence: EvidenceFrom = "recorded",
    out: str = "",
    retry_failed: bool = False,
    runner: str = "threads:1",
    evaluate: bool = True,
    settings: list[str] = [],  # noqa: B006
) -> State[None]:
    """Write articles for events from web evidence, score them and make submission.json.

    Running it again goes on where it stopped. The run ends Failed when an event failed; the others are written and scored.

    Args:
        system: lead, bm25 and extractive use no model; ours has a default; rr, prr and rprr need one.
        model: a name of `wikigenben models`, gguf:FILE, hf:PATH_OR_ID, server:MODEL@BASE_URL; empty for the default.
        decoding: How a local model decodes: its speed, never its text.
        data: Benchmark folder; "sample" is the bundled one; empty: WIKIGEN_DATA, else the downloaded data, else the sample.
        split: By default sample for the bundled data, else full.
        events: Only the events with these ids.
        limit: Only the first so many events.
        track: Which evidence: pages found by search, cited by the human article, or both.
        evidence: Where pages come from: recorded in the benchmark folder, its links fetched anew, or a search on the live web
            (settings: web.search=searxng, web.as_of=2026-05-01). Runs on live pages are ranked apart; give them threads:N, as
            processes do not share the pace of a host.
        out: Run folder, relative to the repository; by default
            runs/SYSTEM-SPLIT-TRACK.
        retry_failed: Forget the failed events of the run and write only those.
        runner: How many events at once: threads:N share one model, processes:N have one each; with extras also dask:N, ray:N,
            or the address of a running cluster: dask:tcp://HOST:PORT, ray:ray://HOST:PORT.
        evaluate: Score the articles and make submission.json.
        settings: Further settings as SECTION.KEY=VALUE, such as writing.max_words=800.
    """
    try:
        spec = parse_runner(runner)
        make_runner(spec)  # whose package may be missing: known before a model is loaded
        job = _job(
            system=system, model=model, decoding=decoding, data=data, split=split, events=events, limit=limit, track=track,
            evidence=evidence, out=out, retry_failed=retry_failed, settings=settings,
        )  # fmt: skip
        prepared = prepare_here(job, afresh=True)
        get_run_logger().info("%s: %d events -> %s", system, len(prepared.ids), prepared.run.path)
        shown = Artifacts(prepared.run)

        def write(prepared: Prepared, ids: tuple[str, ...]) -> list[EventOutcome]:
            return write_all(prepared, ids, spec, shown, evaluate=evaluate)

        if not evaluate:
            generated = generate(prepared, write)
        else:
            evaluated = evaluate_run(prepared, write)
            generated = evaluated.generated
            shown.scores(evaluated)
        shown.articles([outcome.event_id for outcome in generated.outcomes])
        outlast_server(str(generated.run))
    except UserError as error:  # the caller can mend it: the message says how, a traceback would hide it
        return Failed(message=str(error))
    return final_state(generated)


@task(name="event", task_run_name="event-{event_id}", cache_policy=NO_CACHE, persist_result=False)
def event(event_id: str, job: Job, evaluate: bool) -> State[str]:
    """All of one event, never cached: finished stages are in the run folder. Its state carries the outcome as JSON, without
    the failure, which is in the folder: Prefect logs what a failed state carries.

    Worker processes get this function by value, so it may use only names that can be sent, not caches or locks.
    """
    try:
        outcome = write_event(job, event_id, evaluate=evaluate)
    except UserError as error:  # stops the run, which reports it; raised here, Prefect would log a traceback
        return Failed(message=str(error), data=error)
    data = codec.to_json(replace(outcome, failure=None))
    if outcome.failure is not None:
        return Failed(message=f"{outcome.failure.stage}: {outcome.failure.message}", data=data)
    return Completed(message=f"{outcome.title}: {outcome.status} in {outcome.seconds:.2f} s", data=data)


def final_state(generated: Generated) -> State[None]:
    """Completed, or Failed with the failed events by name; those without evidence apart, as no code can help them."""
    n, run = len(generated.outcomes), str(generated.run)
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
    decoding: str,
    data: str,
    split: str | None,
    events: list[str],
    limit: int | None,
    track: str,
    evidence: str,
    out: str,
    retry_failed: bool,
    settings: list[str],
) -> Job:
    chosen = {"method": None if decoding == "auto" else decoding}
    pages = {"track": track, "source": None if evidence == "recorded" else evidence}  # which --set may name, too
    loaded = load_settings(None, settings, model={"name": model or None}, decoding=chosen, evidence=pages)
    if data and Path(data).expanduser().is_dir():  # workers of a cluster may have been started elsewhere
        data = str(Path(data).expanduser().absolute())
    if not out:
        split = split or ("sample" if Snapshot(locate(data or None)).is_sample else "full")
        out = str(default_run_path(system, split, track, loaded.evidence.source))
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


def write_all(
    prepared: Prepared, ids: Sequence[str], spec: RunnerSpec, shown: Artifacts, *, evaluate: bool
) -> list[EventOutcome]:
    """The events as tasks of a pool; outcomes in the order of `ids`. The pool is used without a flow of its own, which would
    cost a second and buy nothing."""

    def submit(pool: TaskRunner[Any], event_id: str) -> PrefectFuture[Any]:
        future: PrefectFuture[Any] = pool.submit(event, {"event_id": event_id, "job": prepared.job, "evaluate": evaluate})
        return future

    done: dict[str, EventOutcome] = {}
    shown.begin(len(ids))
    with closing(run_all(spec, ids, submit)) as ended:
        for event_id, value in ended:
            done[event_id] = _outcome(prepared, event_id, value)
            shown.advance(done[event_id])
    return [done[i] for i in ids]


def _outcome(prepared: Prepared, event_id: str, value: object) -> EventOutcome:
    """What a task returned, with the failure that stayed in the folder. Raises what ended the task otherwise."""
    if isinstance(value, StageError):
        try:
            title = prepared.snapshot.event(event_id).title
        except StageError:
            title = event_id
        return record_failure(prepared.run, event_id, title, value)
    if isinstance(value, BaseException):
        raise value
    outcome = codec.from_json(EventOutcome, str(value), where="the event's outcome")
    return replace(outcome, failure=prepared.run.event(event_id).failure())


def main(argv: Sequence[str] | None = None) -> int:
    """Run it here, on a temporary server unless PREFECT_API_URL names one. 0 when all events are written."""
    parser = argparse.ArgumentParser(prog="python -m flows.wiki_gen", description="Run the flow in this process.")
    parser.add_argument(
        "-p", "--param", action="append", default=[], metavar="NAME=VALUE", help="as `prefect deployment run` takes them"
    )
    parameters = _parameters(parser.parse_args(argv).param)
    return run_here(lambda: wiki_gen(return_state=True, **parameters))


def _parameters(given: Sequence[str]) -> dict[str, Any]:
    known = wiki_gen.parameters.properties
    parameters: dict[str, Any] = {}
    for word in given:
        name, _, text = word.partition("=")
        if name not in known:
            raise UserError(f"the flow has no parameter {name!r}; known: {', '.join(known)}")
        try:
            parameters[name] = json.loads(text)
        except json.JSONDecodeError:
            parameters[name] = text
    return parameters


if __name__ == "__main__":
    from flows import wiki_gen as module  # not this one, __main__: worker processes import the flow by its module's name

    sys.exit(console.guarded(module.main))
