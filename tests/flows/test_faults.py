"""Thirty events and a flow that is killed at random, again and again: what comes out is what nobody disturbed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.prefect_installation import ROOT, brought_up, free_port, wait_until
from tests.toy_events import make_events, results

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
N_EVENTS = 30
KILLS = 4


class Job:
    """The flow as a process, on a server of its own."""

    def __init__(self, env: dict[str, str], toys: Path, out: Path, log: Path) -> None:
        self.env, self.out, self.log = env, out, log
        parameters = ("system=extractive", f"data={toys}", f"out={out}", "runner=threads:2")
        self.command = [sys.executable, "-m", "flows.wiki_gen", *(w for p in parameters for w in ("-p", p))]

    def start(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as stream:
            return subprocess.Popen(self.command, cwd=ROOT, env=self.env, stdout=stream, stderr=stream)

    def finish(self) -> int:
        with self.start() as process:
            return process.wait(600)

    def stages(self) -> dict[Path, int]:
        """Whole files of events and when they were written; what a killed write left is hidden."""
        found = [p for p in self.out.glob("events/**/*.json*") if not p.name.startswith(".")]
        return {p: p.stat().st_mtime_ns for p in found if p.name not in ("stats.json", "failure.json")}


def test_thirty_events_with_random_kills(tmp_path: Path) -> None:
    chance, toys = random.Random(7), make_events(tmp_path / "toys", N_EVENTS)
    with brought_up(tmp_path / "home", free_port()) as here:
        alone = here.env | {"PREFECT_RESULTS_LOCAL_STORAGE_PATH": str(tmp_path / "stages-alone")}  # shares no stored step
        disturbed = Job(here.env, toys, tmp_path / "disturbed", tmp_path / "disturbed.log")
        undisturbed = Job(alone, toys, tmp_path / "undisturbed", tmp_path / "undisturbed.log")
        killed = 0
        while killed < KILLS:
            n = len(disturbed.stages()) + chance.randint(1, 25)
            process = disturbed.start()
            wait_until(lambda n=n, process=process: len(disturbed.stages()) >= n or process.poll() is not None, "some stages")  # type: ignore[misc]
            time.sleep(chance.random() / 5)
            if process.poll() is not None:
                break
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            killed += 1
            before = disturbed.stages()
        assert killed == KILLS
        assert disturbed.finish() == 0, disturbed.log.read_text()
        assert before.items() <= disturbed.stages().items()  # only what was in flight was made again
        assert undisturbed.finish() == 0, undisturbed.log.read_text()
    expected = results(tmp_path / "undisturbed")
    found = results(tmp_path / "disturbed")
    assert found.keys() == expected.keys() and len(expected) > 5 * N_EVENTS
    assert [name for name in expected if found[name] != expected[name]] == []


def test_server_killed_in_the_middle(tmp_path: Path) -> None:
    """Events are written and scored without it, the process ends by itself and says so; with a server again all is done."""
    home, port, toys = tmp_path / "home", free_port(), make_events(tmp_path / "toys", N_EVENTS)
    with brought_up(home, port, code=1) as here:
        env = here.env | {"PREFECT_API_REQUEST_TIMEOUT": "10"}
        job = Job(env, toys, tmp_path / "run", tmp_path / "run.log")
        with job.start() as process:
            wait_until(lambda: len(job.stages()) >= 10, "some stages")
            here.kill("server start")
            assert process.wait(400) == 1
    told = job.log.read_text(errors="replace")
    assert "is gone and does not know how this run ended; all of it lies in" in told
    assert "Traceback" not in told
    assert len(list(job.out.glob("events/*/article.json"))) == N_EVENTS
    assert (job.out / "submission.json").is_file() and (job.out / "report.html").is_file()
    before = job.stages()
    with brought_up(home, port):
        assert job.finish() == 0
    assert job.stages() == before
