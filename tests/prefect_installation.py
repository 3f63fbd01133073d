"""What `wikigenben up` starts, as processes of their own that end with the test."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[1]
PREFECT = Path(sys.executable).with_name("prefect")


@dataclass(frozen=True)
class Installation:
    """`env` is the environment in which commands find it, `said` what `up` wrote to stdout until it was ready."""

    env: dict[str, str]
    home: Path
    said: str
    process: subprocess.Popen[str]

    def prefect(self, *words: str, timeout: float = 240) -> str:
        done = subprocess.run(
            [str(PREFECT), *words], cwd=ROOT, env=self.env, capture_output=True, text=True, timeout=timeout, check=False
        )
        assert done.returncode == 0, f"prefect {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def api(self, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            f"{self.env['PREFECT_API_URL']}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def knows(self, path: str) -> bool:
        try:
            self.api(path)
        except OSError:
            return False
        return True

    def states(self) -> list[str]:
        """Of all flow runs, the oldest first."""
        runs = self.api("/flow_runs/filter", {"sort": "EXPECTED_START_TIME_ASC"})
        return [run["state"]["type"] for run in runs]

    def processes(self) -> dict[int, str]:
        """All that run with our environment, by process id, except `up` itself: their command lines."""
        found: dict[int, str] = {}
        mark = f"PREFECT_HOME={self.home}".encode()
        for folder in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                pid = int(folder.name)
                if mark in (folder / "environ").read_bytes().split(b"\0") and pid != self.process.pid:
                    found[pid] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        return found

    def kill(self, *commands: str) -> None:
        """kill -9 of the one process whose command line has these words, for each of them in turn."""
        for words in commands:
            (pid,) = (pid for pid, command in self.processes().items() if words in command)
            os.kill(pid, signal.SIGKILL)


@contextmanager
def brought_up(home: Path, port: int, *, code: int = 0, err: str = "up.err") -> Iterator[Installation]:
    """`wikigenben up`, told to stop at the end of the block, unless it ended by itself, with that exit code."""
    home.mkdir(exist_ok=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "WIKIGEN_"))}
    env |= {
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_RESULTS_LOCAL_STORAGE_PATH": str(home / "stages"),
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "HF_HUB_OFFLINE": "1",
        "WIKIGEN_RUNS": str(home / "runs"),
    }
    command = [sys.executable, "-m", "flows.cli", "up", "--port", str(port), "--logs", str(home / "logs")]
    with (
        (home / err).open("w") as told,
        subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=told, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            said = _until(process.stdout, "Ctrl-C")
            assert "Ctrl-C stops everything" in said, (home / err).read_text()
            here = Installation(env, home, said, process)
            yield here
            process.send_signal(signal.SIGTERM)
            assert process.wait(90) == code, (home / err).read_text()
            assert err != "up.err" or here.processes() == {}  # beside another one its processes stay
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(90)


def _until(stream: IO[str], word: str) -> str:
    lines: list[str] = []
    for line in iter(stream.readline, ""):
        lines.append(line)
        if word in line:
            break
    return "".join(lines)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)
