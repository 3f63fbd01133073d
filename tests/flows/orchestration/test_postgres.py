"""docs/scale.md, done: a server on PostgreSQL, two workers, a job in two halves, and one worker killed with its half."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.flows.told import article_times
from tests.prefect_installation import ROOT, Installation, brought_up, free_port, wait_until
from tests.processes import children
from tests.toy_events import make_events

N_EVENTS = 40
IDS = [str(7_000_001 + k) for k in range(N_EVENTS)]
DATABASE = "PREFECT_SERVER_DATABASE_CONNECTION_URL"


def postgres_programs() -> Path | None:
    """The folder of initdb and postgres, which Debian does not put on the PATH."""
    found = [Path(path).resolve().parent for name in ("initdb",) if (path := shutil.which(name))]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in found if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


@pytest.fixture
def database() -> Iterator[str]:
    """The address of an empty database on a server of its own."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed (Debian: apt install postgresql)")
    with tempfile.TemporaryDirectory(prefix="wikigen-postgres-", ignore_cleanup_errors=True) as folder:
        user = unprivileged()
        if user is not None:
            shutil.chown(folder, user)
        data, port, log = Path(folder) / "data", free_port(), Path(folder) / "log"
        subprocess.run(
            [programs / "initdb", "-D", data, "-A", "trust", "-U", "wikigen", "--no-sync"], user=user, cwd=folder, check=True
        )
        settings = (f"port={port}", "listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off")
        command = [programs / "postgres", "-D", data, *(word for setting in settings for word in ("-c", setting))]
        with (
            log.open("wb") as stream,
            subprocess.Popen(command, user=user, cwd=folder, stdout=stream, stderr=stream) as server,
        ):
            try:
                wait_until(lambda: "ready to accept connections" in log.read_text() or server.poll() is not None, "PostgreSQL")
                assert server.poll() is None, log.read_text()
                yield f"postgresql+asyncpg://wikigen@127.0.0.1:{port}/postgres"
            finally:
                server.send_signal(signal.SIGINT)  # also when clients are still there


def unprivileged() -> str | None:
    """PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


@contextmanager
def second_worker(here: Installation) -> Iterator[subprocess.Popen[bytes]]:
    """Beside that of `up`, as on another machine; it leads a process group, but its runs do not belong to it."""
    pool = ("--pool", "wiki-gen-local", "--name", "second", "--limit", "1")
    command = [sys.executable, "-m", "prefect", "worker", "start", *pool]
    with (here.home / "second.log").open("wb") as log, subprocess.Popen(command, cwd=ROOT, env=here.env, stdout=log) as worker:
        try:
            yield worker
        finally:
            worker.kill()


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def out_of(here: Installation, pid: int) -> Path:
    """The run folder of the flow run in this process."""
    mark = b"PREFECT__FLOW_RUN_ID="

    def found() -> list[bytes]:
        return [word for word in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") if word.startswith(mark)]

    wait_until(lambda: bool(found()), "its process")
    (run_id,) = found()
    return Path(here.api(f"/flow_runs/{run_id.removeprefix(mark).decode()}")["parameters"]["out"])


def begin(here: Installation, parts: Mapping[Path, Sequence[str]], toys: Path) -> None:
    """At the same moment, which two commands after each other are not."""
    deployment = here.api("/deployments/name/wiki-gen/wiki-gen")["id"]
    for out, ids in parts.items():
        asked = {"data": str(toys), "out": str(out), "events": list(ids), "system": "bm25", "evaluate": False}
        here.api(f"/deployments/{deployment}/create_flow_run", {"parameters": asked, "state": {"type": "SCHEDULED"}})


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform != "linux", reason="finds a worker's runs in /proc")
def test_job_outlives_one_of_two_workers(tmp_path: Path, database: str) -> None:
    toys = make_events(tmp_path / "toys", N_EVENTS)
    parts = {tmp_path / "first": IDS[: N_EVENTS // 2], tmp_path / "second": IDS[N_EVENTS // 2 :]}
    with brought_up(tmp_path / "home", free_port(), **{DATABASE: database}) as here:
        here.prefect("--no-prompt", "deploy", "--name", "wiki-gen", "--concurrency-limit", "4")
        with second_worker(here) as worker:
            wait_until(lambda: len(here.api("/work_pools/wiki-gen-local/workers/filter", {})) == 2, "a second worker")
            begin(here, parts, toys)  # each worker takes one at a time
            wait_until(lambda: bool(children(worker.pid)), "the second worker takes a run")
            (run,) = children(worker.pid)
            lost = out_of(here, run)
            wait_until(lambda: len(article_times(lost)) >= 2, "some articles")
            os.kill(worker.pid, signal.SIGKILL)
            wait_until(lambda: is_gone(run), "its run ends with it", 60)
        wait_until(lambda: sorted(here.states()) == ["COMPLETED", "CRASHED"], "the other worker's half")
        done = article_times(lost)
        begin(here, {lost: parts[lost]}, toys)
        wait_until(lambda: here.states().count("COMPLETED") == 2, "the lost half, on the worker that is left")
        assert {path.parent.name for out in parts for path in article_times(out)} == set(IDS)
        assert len(done) < N_EVENTS // 2 and done.items() <= article_times(lost).items()
    assert not (tmp_path / "home" / "prefect.db").exists()
