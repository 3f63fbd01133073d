"""How many at once: the text, the pools, and processes that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from data.errors import MissingExtra, UserError
from flows.runners import RunnerSpec, WorkerDied, make_runner, parse_runner, run_all
from tests.prefect_installation import ROOT


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("threads:1", RunnerSpec("threads", 1)),
        ("threads:16", RunnerSpec("threads", 16)),
        (" processes:2 ", RunnerSpec("processes", 2)),
        ("dask:3", RunnerSpec("dask", 3)),
        ("ray:4", RunnerSpec("ray", 4)),
    ],
)
def test_runner_text(text: str, spec: RunnerSpec) -> None:
    assert parse_runner(text) == spec


@pytest.mark.parametrize(
    "text",
    [
        "dask:tcp://127.0.0.1:8786",
        "dask:tls://scheduler.lan:443",
        "dask:tcp://[::1]:8786",
        "ray:ray://head-1.lan:10001",
    ],
)
def test_address_of_a_cluster(text: str) -> None:
    spec = parse_runner(text)
    assert f"{spec.kind}:{spec.address}" == text


@pytest.mark.parametrize(
    "text", ["", "threads", "threads:", "threads:0", "threads:-1", "threads:two", "threads:²", "gpu:1", "4", "dask:auto"]
)
def test_bad_runner_text_names_the_value_and_a_good_one(text: str) -> None:
    with pytest.raises(UserError, match=r"threads:\d|threads:2|dask:2") as caught:
        parse_runner(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "threads:tcp://127.0.0.1:1",
        "processes:tcp://127.0.0.1:1",
        "dask:ray://127.0.0.1:8786",
        "ray:tcp://127.0.0.1:10001",
        "dask:tcp://127.0.0.1",
        "dask:tcp://127.0.0.1:0",
        "dask:tcp://127.0.0.1:65536",
        "dask:tcp://:8786",
        "dask:tcp://user@host:8786",
        "dask:tcp://host:8786/path",
        "dask:tcp://-host:8786",
        "dask:tcp://host:8786\nx",
        "dask:http://host:8786",
        "dask://host:8786",
    ],
)
def test_bad_address_names_the_value_and_a_good_one(text: str) -> None:
    with pytest.raises(UserError, match=r"use for example (threads:2|processes:2|dask:tcp://|dask:2|ray:ray://)") as caught:
        parse_runner(text)
    assert repr(text) in str(caught.value)


def test_runners_are_bounded() -> None:
    from prefect.task_runners import ProcessPoolTaskRunner, ThreadPoolTaskRunner

    assert make_runner(parse_runner("threads:3")) == ThreadPoolTaskRunner(max_workers=3)
    assert make_runner(parse_runner("processes:2")) == ProcessPoolTaskRunner(max_workers=2)


@pytest.mark.parametrize("text", ["dask:2", "ray:2", "dask:tcp://127.0.0.1:8786", "ray:ray://127.0.0.1:10001"])
def test_missing_runner_package_says_what_to_install(text: str) -> None:
    kind = text.partition(":")[0]
    try:
        __import__(f"prefect_{kind}")
    except ImportError:
        with pytest.raises(MissingExtra, match=rf"'{text}' needs .*pip install 'wikigenben\[{kind}\]'"):
            make_runner(parse_runner(text))
    else:
        assert make_runner(parse_runner(text)).name == kind


class Threads:
    """A pool of Prefect's in which plain functions run, and what was submitted to it."""

    def __init__(self) -> None:
        self.submitted: list[str] = []

    def submit(self, pool: Any, event_id: str) -> Any:
        from prefect import task

        self.submitted.append(event_id)

        @task(name="toy", persist_result=False)
        def toy(event_id: str) -> str:
            if event_id == "bad":
                raise UserError("the disk is full; make room")
            time.sleep(0.02)
            return f"{event_id} in {threading.get_native_id()}"

        return pool.submit(toy, {"event_id": event_id})


@pytest.mark.slow
def test_an_error_stops_what_has_not_begun(prefect_api: None) -> None:
    toy = Threads()
    ids = ["1", "2", "bad", *map(str, range(4, 40))]
    ended = run_all(parse_runner("threads:2"), ids, toy.submit)
    for event_id, value in ended:
        if isinstance(value, UserError):
            ended.close()
            assert event_id == "bad"
            break
    else:
        pytest.fail("the error was lost")
    assert 3 <= len(toy.submitted) < 10


def deadly(event_id: str, folder: str) -> str:
    """Leaves a line for each time that it began; one event kills its process."""
    with (Path(folder) / event_id).open("a") as began:
        began.write(f"{os.getpid()}\n")
    if event_id == "3":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.2)
    return f"wrote {event_id}"


@pytest.mark.slow
def test_killed_worker_process_fails_the_event_that_it_wrote(prefect_api: None, tmp_path: Path) -> None:
    from prefect import task

    toy = task(deadly, name="deadly", persist_result=False)
    ids = [str(n) for n in range(1, 7)]
    spec = parse_runner("processes:2")
    ended = dict(run_all(spec, ids, lambda pool, i: pool.submit(toy, {"event_id": i, "folder": str(tmp_path)})))
    assert ended.keys() == set(ids)
    assert isinstance(ended.pop("3"), WorkerDied)
    assert ended == {i: f"wrote {i}" for i in ids if i != "3"}
    assert all(len((tmp_path / i).read_text().split()) <= 2 for i in ids)  # in flight, and once again alone


@pytest.mark.slow
def test_worker_processes_share_a_temporary_server(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    parameters = ("system=lead", "limit=2", "evaluate=false", "runner=processes:2", f"out={tmp_path / 'run'}")
    done = subprocess.run(
        [sys.executable, "-m", "flows.wiki_gen", *(word for one in parameters for word in ("-p", one))],
        cwd=ROOT, env=env | {"PREFECT_HOME": str(tmp_path / "home")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Starting temporary server") == 1
