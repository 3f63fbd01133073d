"""The flow `wiki-gen` on the tests' own server: its form, its end states, what it reuses, and faults."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.sorting import TaskRunSort
from prefect.settings import PREFECT_RESULTS_LOCAL_STORAGE_PATH, temporary_settings

from benchmark.runner import EventOutcome
from data.runs import EventFailure, RunFolder
from data.stage_types import ARTICLE, Stages
from data.types import Article, Event, Heading, Page, Section, Sentence
from decoding.methods import METHODS
from flows.job import SYSTEMS, Job
from flows.orchestration.event_tasks import PIPELINE_VERSION, digest_of, prepare_here, result_key
from flows.orchestration.runners import KINDS
from flows.run_events import Generated, generate
from tests.conftest import copy_events, set_pages
from tests.flows.told import article_times
from tests.prefect_installation import ROOT, wait_until
from tests.servers import faulty
from tests.toy_events import make_events, results

IDS = ("9000001", "9000002", "9000003")


# ---- without Prefect's server


def test_keys_are_readable_and_depend_on_every_part_of_the_identity() -> None:
    identity = {"system": "lead", "track": "search"}
    digest = digest_of(identity)
    assert digest == digest_of(dict(reversed(identity.items()))) != digest_of({**identity, "track": "cited"})
    assert digest_of({"a": "b", "c": "d"}) != digest_of({"a": "b\nc=d"})
    assert result_key("section-02", "9000001", digest) == f"section-02/v{PIPELINE_VERSION}/9000001/{digest[:20]}"


def test_form_offers_what_there_is() -> None:
    from prefect.utilities.callables import parameter_schema

    from flows.wiki_gen import wiki_gen

    schema = parameter_schema(wiki_gen).model_dump()
    fields = schema["properties"]
    assert list(fields)[:4] == ["system", "model", "decoding", "data"] and not schema.get("required")
    assert all(field.get("description") for field in fields.values())
    assert {name: field["enum"] for name, field in fields.items() if "enum" in field} == {
        "system": list(SYSTEMS), "decoding": list(METHODS), "track": ["search", "cited", "both"],
        "evidence": ["recorded", "links", "search"],
    }  # fmt: skip
    assert fields["events"]["items"] == {"type": "string"}
    assert {part["type"] for part in fields["limit"]["anyOf"]} == {"integer", "null"}
    assert [fields[name]["default"] for name in ("system", "data", "runner")] == ["ours", "sample", "threads:1"]
    assert all(kind in fields["runner"]["description"] for kind in KINDS)


def test_threads_share_one_system(tmp_path: Path) -> None:
    job = Job(system="bm25", data="sample", out=tmp_path / "run")
    start = threading.Barrier(8)

    def get(_: int) -> Any:
        start.wait()
        return prepare_here(job)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(get, range(8)))
    assert len({id(prepared.system) for prepared in found}) == 1
    assert prepare_here(replace(job, out=tmp_path / "other")).run.path == tmp_path / "other"
    assert prepare_here(job, afresh=True) is not found[0]


@pytest.mark.slow
def test_threads_need_not_import_what_deadlocks(tmp_path: Path) -> None:
    """nltk's modules import each other in a circle: two threads that begin at two ends of it wait for each other."""
    code = (
        "import sys; from pathlib import Path; from flows.job import Job\n"
        "from flows.orchestration.event_tasks import prepare_here\n"
        "prepare_here(Job(system='lead', data='sample', out=Path(sys.argv[1])))\n"
        "assert {'nltk.stem.porter', 'nltk.stem.snowball'} <= sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], cwd=ROOT, check=True)


def outcome(event_id: str, kind: str = "") -> EventOutcome:
    stage = "evidence" if kind == "NoEvidence" else "outline"
    failure = EventFailure(event_id, stage, kind, "because") if kind else None
    return EventOutcome(event_id, f"Event {event_id}", "failed" if kind else "written", 1.0, failure)


def test_final_state_names_what_failed_and_what_had_no_evidence() -> None:
    from flows.wiki_gen import MAX_NAMED, final_state

    run = Path("runs/x")
    state = final_state(Generated(run, (outcome("1"), outcome("2")), 2.0))
    assert state.is_completed() and state.message == "2 events: 2 written, 0 reused in 2.0 s -> runs/x"
    state = final_state(Generated(run, (outcome("1"), outcome("2", "StageError"), outcome("3", "NoEvidence")), 2.0))
    message = str(state.message)
    assert state.is_failed()
    assert message.startswith("2 of 3 events failed: 2 Event 2 (outline: because); 3 Event 3 (no evidence: because).")
    assert "runs/x/failures.jsonl" in message and "retry_failed=true" in message
    many = tuple(outcome(str(i), "StageError") for i in range(MAX_NAMED + 5))
    assert "; and 5 more." in str(final_state(Generated(run, many, 2.0)).message)


# ---- the flow


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three events of the sample as a benchmark folder of their own."""
    return copy_events(tmp_path / "data", IDS)


@pytest.fixture
def toys(tmp_path: Path) -> Path:
    return make_events(tmp_path / "toys", 6)


def task_names(state: Any) -> list[str]:
    """The task runs of a finished flow run. The server records them a little later, in the order in which they ended, so the
    list is whole when the events that `state` names are there."""
    n_events, runs = int(str(state.message).split()[0]), list[Any]()

    def are_recorded() -> bool:
        with get_client(sync_client=True) as client:
            of_flow = FlowRunFilter(id=FlowRunFilterId(any_=[state.state_details.flow_run_id]))
            runs[:] = client.read_task_runs(flow_run_filter=of_flow, sort=TaskRunSort.END_TIME_DESC)
        return len([run for run in runs if run.name.startswith("event-") and run.end_time is not None]) == n_events

    wait_until(are_recorded, "the server has recorded all tasks", 60)
    return sorted(run.name for run in runs)


def run_flow(**parameters: Any) -> Any:
    from flows.wiki_gen import wiki_gen

    return wiki_gen(return_state=True, **parameters)


def articles(run: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in sorted(run.glob("events/*/article.json"))}


def stages(run: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (run / "events").rglob("*.json*")}


@pytest.mark.usefixtures("prefect_api")
def test_second_run_executes_no_stage_and_a_deleted_article_comes_back(tmp_path: Path, toys: Path) -> None:
    run = tmp_path / "run"
    asked: dict[str, Any] = {"system": "bm25", "data": str(toys), "out": str(run), "limit": 2, "evaluate": False}
    state = run_flow(**asked)
    assert state.is_completed(), state.message
    first, times = articles(run), stages(run)
    assert set(first) == {"7000001", "7000002"}
    assert task_names(state) == sorted(f"{kind}-{i}" for kind in ("event", "retrieve", "article") for i in first)

    state = run_flow(**asked)
    assert state.is_completed() and "0 written, 2 reused" in state.message
    assert task_names(state) == ["event-7000001", "event-7000002"] and stages(run) == times

    (run / "events" / "7000002" / "article.json").unlink()
    state = run_flow(**asked)
    assert state.is_completed() and "1 written, 1 reused" in state.message
    assert articles(run) == first


@pytest.mark.usefixtures("prefect_api")
def test_failing_events_are_recorded_and_the_others_completed(tmp_path: Path, data: Path) -> None:
    good = (data / "google" / "9000002.json").read_text(encoding="utf-8")
    (data / "google" / "9000002.json").write_text(good[:100], encoding="utf-8")
    set_pages(data, "9000003", [])
    run = tmp_path / "run"
    asked: dict[str, Any] = {"system": "lead", "data": str(data), "out": str(run), "runner": "threads:2", "evaluate": False}
    state = run_flow(**asked)
    assert state.is_failed()
    assert state.message.startswith("2 of 3 events failed: 9000002 2032 Halvenport mayoral election (data: ")
    assert "is not JSON" in state.message and "(no evidence: no usable page" in state.message
    assert set(articles(run)) == {"9000001"}
    assert [(f.event_id, f.kind) for f in RunFolder(run).failures()] == [("9000002", "StageError"), ("9000003", "NoEvidence")]

    (data / "google" / "9000002.json").write_text(good, encoding="utf-8")
    state = run_flow(**asked, retry_failed=True)
    assert state.is_failed() and state.message.startswith("1 of 2 events failed: 9000003")
    assert set(articles(run)) == {"9000001", "9000002"}


@pytest.mark.usefixtures("prefect_api")
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"runner": "gpu:1"}, "runner 'gpu:1' is of no known kind"),
        ({"system": "lead", "model": "hf:x"}, "--system lead uses no language model"),
        ({"system": "lead", "events": ["1"]}, "no event '1'"),
        ({"system": "lead", "data": "nowhere"}, "no benchmark folder at nowhere"),
        ({"system": "lead", "settings": ["writing.max_wrods=3"]}, "did you mean 'max_words'"),
    ],
)
def test_wrong_input_fails_at_once_with_its_message(parameters: dict[str, Any], message: str, tmp_path: Path) -> None:
    state = run_flow(**parameters, out=str(tmp_path / "run"))
    assert state.is_failed()
    assert message in state.message
    assert "Traceback" not in state.message and "Error" not in state.message
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("prefect_api")
def test_run_held_by_another_command_is_refused(tmp_path: Path) -> None:
    run = prepare_here(Job(system="lead", data="sample", out=tmp_path / "run")).run
    with run.locked():
        state = run_flow(system="lead", out=str(run.path), limit=1, evaluate=False)
    assert state.is_failed() and "another command is working on" in state.message


# ---- faults


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a file system of that size, or changes its size or flags: a real one that is really full."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = False

    def mount(options: str) -> Path:
        nonlocal mounted
        command = ["mount", "-t", "tmpfs", "-o", f"{'remount,' if mounted else ''}{options}", "tmpfs", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"mounting needs more rights: {done.stderr.strip()}")
        mounted = True
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.usefixtures("prefect_api")
@pytest.mark.parametrize("evaluate", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_full_disk_ends_the_run_and_the_next_one_goes_on(
    tmp_path: Path, toys: Path, tiny_disk: Callable[[str], Path], capfd: pytest.CaptureFixture[str], evaluate: bool
) -> None:
    run = tiny_disk("size=96k") / "run"
    asked: dict[str, Any] = {"system": "lead", "data": str(toys), "evaluate": evaluate, "runner": "threads:2"}
    state = run_flow(**asked, out=str(run))
    assert state.is_failed() and "No space left on device; make room there" in state.message, state.message
    assert "Traceback" not in capfd.readouterr().err
    done = article_times(run)
    assert 0 < len(done) < 6
    tiny_disk("size=16m")
    state = run_flow(**asked, out=str(run))
    assert state.is_completed() and f"{len(done)} reused" in state.message, state.message
    assert done.items() <= article_times(run).items()
    assert run_flow(**asked, out=str(tmp_path / "undisturbed")).is_completed()
    assert results(run) == results(tmp_path / "undisturbed")


@pytest.mark.usefixtures("prefect_api")
def test_full_disk_of_stored_results_costs_no_article(tmp_path: Path, toys: Path, tiny_disk: Callable[[str], Path]) -> None:
    """Steps are stored for other runs; an event does not need them."""
    with temporary_settings({PREFECT_RESULTS_LOCAL_STORAGE_PATH: tiny_disk("size=16k") / "stages"}):
        state = run_flow(system="lead", data=str(toys), evaluate=False, out=str(tmp_path / "run"))
    assert state.is_completed(), state.message


@pytest.mark.usefixtures("prefect_api")
def test_read_only_folder_is_said(toys: Path, tiny_disk: Callable[[str], Path], capfd: pytest.CaptureFixture[str]) -> None:
    asked: dict[str, Any] = {"system": "lead", "data": str(toys), "out": str(tiny_disk("size=4m") / "run"), "limit": 1}
    asked |= {"settings": ["evaluation.resamples=100", "evaluation.judge=lexical"]}
    tiny_disk("ro")
    state = run_flow(**asked)
    assert state.is_failed() and "Read-only file system; make room there or choose another folder" in state.message
    tiny_disk("rw")
    assert run_flow(**asked).is_completed()
    tiny_disk("ro")  # a finished run is read, and cannot be scored anew
    state = run_flow(**asked)
    assert state.is_failed() and "Read-only file system" in state.message, state.message
    assert "Traceback" not in capfd.readouterr().err


class Starving:
    """A system whose model asks for more memory than there is for the second event."""

    name = "starving"
    identity: Mapping[str, str] = {}

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        def made() -> Article:
            if event.id == "7000002":
                import torch

                torch.empty(1 << 60)
            lead = Section(Heading("", 1), ((Sentence("It happened.", ()),),))
            return Article(event.id, event.title, lead, (), (), ())

        return stages.once(ARTICLE, made)


@pytest.mark.usefixtures("prefect_api")
def test_model_without_memory_fails_its_event_alone(tmp_path: Path, toys: Path) -> None:
    from flows.orchestration.artifacts import Artifacts
    from flows.orchestration.runners import parse_runner
    from flows.wiki_gen import write_all

    job = Job(system="lead", data=str(toys), limit=3, out=tmp_path / "run")
    prepared, spec = prepare_here(job, afresh=True, system=Starving()), parse_runner("threads:2")

    @flow(name="starving", persist_result=False)
    def starving() -> Generated:
        return generate(prepared, lambda p, ids: write_all(p, ids, spec, Artifacts(p.run), evaluate=False))

    generated = starving()
    assert [outcome.status for outcome in generated.outcomes] == ["written", "failed", "written"]
    (failure,) = (outcome.failure for outcome in generated.failed)
    assert failure is not None and failure.stage == "memory" and not failure.traceback
    assert failure.message.startswith("not enough of it: ") and "\n" not in failure.message


@pytest.mark.usefixtures("prefect_api")
def test_host_that_hangs_fails_its_events_with_the_reason(tmp_path: Path, toys: Path) -> None:
    with faulty() as address:
        state = run_flow(
            system="rr", data=str(toys), out=str(tmp_path / "run"), limit=1, evaluate=False,
            model=f"server:fault-hang@{address}/v1", settings=["model.timeout_s=1"],
        )  # fmt: skip
    assert state.is_failed() and "1 of 1 events failed: 7000001" in state.message
    (failure,) = RunFolder(tmp_path / "run").failures()
    assert "no answer within 1 s" in failure.message and not failure.traceback, failure


@pytest.mark.slow
@pytest.mark.usefixtures("prefect_api")
@pytest.mark.parametrize("kind", ["processes", "dask"])
def test_worker_processes_write_the_same_bytes(tmp_path: Path, data: Path, kind: str) -> None:
    """With Dask: on a cluster made for the run, then on one that is there already."""
    if kind == "dask":
        distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
        pytest.importorskip("prefect_dask", reason="the extra dask is not installed")
    asked: dict[str, Any] = {"system": "bm25", "data": str(data), "evaluate": False}
    assert run_flow(**asked, out=str(tmp_path / "threads")).is_completed()
    expected = articles(tmp_path / "threads")
    state = run_flow(**asked, out=str(tmp_path / "made"), runner=f"{kind}:2")
    assert state.is_completed(), state.message
    assert articles(tmp_path / "made") == expected
    pids = {stats.footprint.pid for i in IDS if (stats := RunFolder(tmp_path / "made").event(i).stats()) and stats.footprint}
    assert os.getpid() not in pids
    set_pages(data, "9000003", [])
    del expected["9000003"]
    if kind == "processes":
        state = run_flow(**asked, out=str(tmp_path / "failing"), runner="processes:2")
    else:
        with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
            state = run_flow(**asked, out=str(tmp_path / "failing"), runner=f"dask:{cluster.scheduler_address}")
    assert state.is_failed() and "9000003" in state.message and "no evidence" in state.message
    assert articles(tmp_path / "failing") == expected
