"""How many at once: the text, the pools, and processes that are killed."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from data.errors import MissingExtra, UserError
from flows.orchestration.runners import RunnerSpec, WorkerDied, make_runner, n_cores, parse_runner, run_all, trouble_of_cluster
from tests.prefect_installation import ROOT, free_port, wait_until
from tests.processes import command
from tests.worker_tasks import deadly, stored, threads
from tools.speed.usage import descendants


@pytest.mark.parametrize("text", ["threads:16", " processes:2 ", "dask:3", "ray:4"])
def test_runner_text(text: str) -> None:
    spec = parse_runner(text)
    assert f"{spec.kind}:{spec.workers}" == text.strip() and not spec.address


@pytest.mark.parametrize(
    "text", ["dask:tcp://127.0.0.1:8786", "dask:tls://scheduler.lan:443", "dask:tcp://[::1]:8786", "ray:ray://head-1.lan:10001"]
)
def test_address_of_a_cluster(text: str) -> None:
    spec = parse_runner(text)
    assert f"{spec.kind}:{spec.address}" == text


NO_NUMBER = ("", "threads", "threads:", "threads:0", "threads:-1", "threads:two", "threads:²", "gpu:1", "4", "dask:auto")
NO_ADDRESS = (
    *("threads:tcp://127.0.0.1:1", "processes:tcp://127.0.0.1:1", "dask:ray://127.0.0.1:8786", "ray:tcp://127.0.0.1:10001"),
    *("dask:tcp://127.0.0.1", "dask:tcp://127.0.0.1:0", "dask:tcp://127.0.0.1:65536", "dask:tcp://:8786"),
    *("dask:tcp://user@host:8786", "dask:tcp://host:8786/path", "dask:tcp://-host:8786", "dask:tcp://host:8786\nx"),
    *("dask:http://host:8786", "dask://host:8786"),
)


@pytest.mark.parametrize("text", [*NO_NUMBER, *NO_ADDRESS])
def test_bad_runner_text_names_the_value_and_a_good_one(text: str) -> None:
    with pytest.raises(
        UserError, match=r"as in threads:4|use for example (threads:2|processes:2|dask:2|dask:tcp://|ray:ray://)"
    ) as caught:
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


@pytest.mark.slow
def test_an_error_stops_what_has_not_begun(prefect_api: None) -> None:
    from prefect import task

    submitted: list[str] = []

    @task(name="toy", persist_result=False)
    def toy(event_id: str) -> str:
        if event_id == "bad":
            raise UserError("the disk is full; make room")
        time.sleep(0.02)
        return event_id

    def submit(pool: Any, event_id: str) -> Any:
        submitted.append(event_id)
        return pool.submit(toy, {"event_id": event_id})

    ended = run_all(parse_runner("threads:2"), ["1", "2", "bad", *map(str, range(4, 40))], submit)
    failed = next((event_id for event_id, value in ended if isinstance(value, UserError)), "the error was lost")
    ended.close()
    assert failed == "bad" and 3 <= len(submitted) < 10


POOLS = ["processes:2", "dask:2", "ray:2"]


def needs(runner: str) -> None:
    kind = runner.partition(":")[0]
    if kind in ("dask", "ray"):
        pytest.importorskip(f"prefect_{kind}", reason=f"the extra {kind} is not installed")


def run_toys(runner: str, ids: list[str], folder: Path) -> Iterator[tuple[str, Any]]:
    from prefect import task

    toy = task(deadly, name="deadly", persist_result=False)
    return run_all(parse_runner(runner), ids, lambda pool, i: pool.submit(toy, {"event_id": i, "folder": str(folder)}))


@pytest.mark.slow
def test_worker_processes_share_the_cores(prefect_api: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second thread for each would wait for a core that it does not get, and let the first one wait."""
    from prefect import task

    toy = task(threads, name="threads", persist_result=False)
    spec = RunnerSpec("processes", n_cores())
    for told, then in (("", "1"), ("3", "3")):
        monkeypatch.setenv("OMP_NUM_THREADS", told)
        if not told:
            monkeypatch.delenv("OMP_NUM_THREADS")
        assert dict(run_all(spec, ["1"], lambda pool, i: pool.submit(toy, {"event_id": i}))) == {"1": then}
    assert os.environ["OMP_NUM_THREADS"] == "3"


@pytest.mark.slow
@pytest.mark.parametrize("runner", POOLS)
def test_killed_worker_process_fails_the_event_that_it_wrote(
    runner: str, prefect_api: None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The others are written; neither a word on stdout nor a process is left of the pool."""
    needs(runner)
    ids, before, on_term = [str(n) for n in range(1, 7)], set(descendants()), signal.getsignal(signal.SIGTERM)
    ended = dict(run_toys(runner, ids, tmp_path))
    assert ended.keys() == set(ids)
    assert isinstance(ended.pop("3"), WorkerDied)
    assert ended == {i: f"wrote {i}" for i in ids if i != "3"}
    tries = 2 if runner == "processes:2" else 4  # in flight, and once again alone; Dask and Ray try three times more
    assert all(len((tmp_path / i).read_text().split()) <= tries for i in ids)
    assert capfd.readouterr().out == ""
    assert signal.getsignal(signal.SIGTERM) is on_term
    left = {command(pid) for pid in set(descendants()) - before} - {""}
    assert not [words for words in left if "resource_tracker" not in words], left  # Python's own, once a process


@pytest.mark.parametrize("runner", ["dask:tcp://127.0.0.1:1", "ray:ray://127.0.0.1:1"])
def test_cluster_that_does_not_answer_is_said(runner: str, prefect_api: None, tmp_path: Path) -> None:
    kind, _, address = runner.partition(":")
    with pytest.raises(UserError, match=f"no {kind} cluster answers at {address} .*use runner {kind}:2"):
        next(run_toys(runner, ["1"], tmp_path))


@pytest.mark.parametrize("runner", ["dask:tcp://scheduler.lan:8786", "ray:ray://192.0.2.7:10001"])
def test_workers_elsewhere_need_a_server_that_they_reach(runner: str, tmp_path: Path) -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: None}), pytest.raises(UserError, match="set PREFECT_API_URL") as caught:
        next(run_toys(runner, ["1"], tmp_path))
    assert repr(runner) in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("runner", POOLS)
def test_worker_processes_share_a_temporary_server(runner: str, tmp_path: Path) -> None:
    needs(runner)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    parameters = ("system=lead", "limit=2", "evaluate=false", f"runner={runner}", f"out={tmp_path / 'run'}")
    done = subprocess.run(
        [sys.executable, "-m", "flows.wiki_gen", *(word for one in parameters for word in ("-p", one))],
        cwd=ROOT, env=env | {"PREFECT_HOME": str(tmp_path / "home")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Starting temporary server") == 1
    assert not done.stdout


def started(folder: Path, *commands: Sequence[str], env: Mapping[str, str] | None = None) -> list[subprocess.Popen[bytes]]:
    """In a folder of their own, as workers on other machines are."""
    log = (folder / "log").open("wb")
    return [subprocess.Popen(words, cwd=folder, env=env, stdout=log, stderr=log) for words in commands]


def kill_cluster_in_the_middle(runner: str, folder: Path, end: Callable[[], None]) -> None:
    """Two events are done; of the third one hears that the cluster is gone."""
    ended = run_toys(runner, [str(n) for n in range(10, 100)], folder)
    for _, value in itertools.islice(ended, 2):
        assert str(value).startswith("wrote")
    end()
    with pytest.raises(UserError, match=f"the cluster of runner '{runner}' went away .*; start it and run again"):
        list(ended)


def test_workers_without_this_package_are_told_apart_from_a_lost_cluster() -> None:
    spec = parse_runner("ray:ray://127.0.0.1:10001")
    lost = ConnectionError("the data channel is closed")
    without = ConnectionError("details = \"No module named 'flows.wiki_gen'\"")
    wrapped = RuntimeError("Error during deserialization")
    wrapped.__cause__ = ModuleNotFoundError("No module named 'flows'")
    assert "went away (the data channel is closed); start it" in str(trouble_of_cluster(spec, lost))
    for error in (without, wrapped):
        assert "workers cannot import flows" in str(trouble_of_cluster(spec, error))
    assert trouble_of_cluster(spec, RuntimeError("a bug")) is None


@pytest.mark.slow
def test_two_clients_of_a_dask_cluster_and_a_lost_scheduler(prefect_api: None, tmp_path: Path) -> None:
    needs("dask:2")
    dask = str(Path(sys.executable).with_name("dask"))
    address = f"tcp://127.0.0.1:{free_port()}"
    scheduler = (dask, "scheduler", "--host", "127.0.0.1", "--port", address.rpartition(":")[2], "--no-dashboard")
    worker = (dask, "worker", address, "--nworkers", "2", "--nthreads", "1", "--no-dashboard")
    running = started(tmp_path, scheduler, worker, env=dict(os.environ) | {"PYTHONPATH": str(ROOT)})
    try:
        wait_until_open(address)
        for client in ("first", "second"):
            (tmp_path / client).mkdir()
        first = run_toys(f"dask:{address}", ["10", "11", "12"], tmp_path / "first")
        told = [next(first)]  # both are connected from here on
        told += run_toys(f"dask:{address}", ["10", "11"], tmp_path / "second")
        told += first
        assert sorted(told) == sorted((i, f"wrote {i}") for i in ("10", "10", "11", "11", "12"))
        kill_cluster_in_the_middle(f"dask:{address}", tmp_path, running[0].kill)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(30)


@pytest.mark.slow
def test_ray_cluster_that_was_there_and_is_lost(prefect_api: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its workers, which were started in another folder, store steps where this process does."""
    needs("ray:2")
    from prefect import task
    from prefect.settings import PREFECT_RESULTS_LOCAL_STORAGE_PATH, temporary_settings

    here, port = tmp_path / "here", free_port()
    here.mkdir()
    monkeypatch.chdir(here)
    with tempfile.TemporaryDirectory(prefix="ray-") as place:  # the paths of its sockets must be short
        ray = str(Path(sys.executable).with_name("ray"))
        env = dict(os.environ) | {"PYTHONPATH": str(ROOT), "RAY_TMPDIR": place, "RAY_USAGE_STATS_ENABLED": "0"}
        words = (
            ray, "start", "--head", "--block", "--port", str(free_port()), "--ray-client-server-port", str(port), "--num-cpus",
            "2", "--include-dashboard=false", "--disable-usage-stats", "--object-store-memory", str(100 * 2**20),
        )  # fmt: skip
        (head,) = started(tmp_path, words, env=env)
        try:
            wait_until_open(f"tcp://127.0.0.1:{port}")
            step = task(
                stored, name="stored", persist_result=True, result_serializer="json", cache_key_fn=lambda *_: "stored/1"
            )
            runner = f"ray:ray://127.0.0.1:{port}"
            with temporary_settings({PREFECT_RESULTS_LOCAL_STORAGE_PATH: Path("steps")}):
                ((_, told),) = run_all(parse_runner(runner), ["1"], lambda pool, i: pool.submit(step, {"event_id": i}))
            assert told == f"stored 1 from {tmp_path}"
            assert (here / "steps/stored/1").is_file()
            kill_cluster_in_the_middle(runner, tmp_path, head.terminate)
        finally:
            head.terminate()
            head.wait(60)


def wait_until_open(address: str) -> None:
    at = urlsplit(address)

    def is_open() -> bool:
        with suppress(OSError):
            socket.create_connection((at.hostname or "", at.port or 0), timeout=1).close()
            return True
        return False

    wait_until(is_open, f"somebody listens at {address}", 90)
