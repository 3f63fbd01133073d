"""What `wikigenben up` starts, as processes of their own that end with the test."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
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
def brought_up(
    home: Path, port: int, *, code: int = 0, err: str = "up.err", cwd: Path = ROOT, told: bool = False, **more: str
) -> Iterator[Installation]:
    """`wikigenben up`, told to stop at the end of the block, unless it ended by itself, with that exit code. `more` is put
    into its environment. With `told`, commands in `cwd` find its server."""
    home.mkdir(exist_ok=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "WIKIGEN_"))}
    env |= {
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_RESULTS_LOCAL_STORAGE_PATH": str(home / "stages"),
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "HF_HUB_OFFLINE": "1",
        "WIKIGEN_RUNS": str(home / "runs"),
        **more,
    }
    command = [sys.executable, "-m", "flows.cli", "up", "--port", str(port), "--logs", str(home / "logs")]
    command += [] if told else ["--no-env"]  # other tests start in the same folder
    with (
        (home / err).open("w") as errors,
        subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
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


class FlowProcess:
    """The flow `wiki-gen` in processes of its own, one after the other, that can be killed."""

    def __init__(self, env: Mapping[str, str], out: Path, log: Path, *parameters: str) -> None:
        self.env, self.out, self.log = env, out, log
        given = (f"out={out}", *parameters)
        self.command = [sys.executable, "-m", "flows.wiki_gen", *(w for p in given for w in ("-p", p))]

    def start(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as stream:
            return subprocess.Popen(self.command, cwd=ROOT, env=self.env, stdout=stream, stderr=stream)

    def finish(self) -> int:
        with self.start() as process:
            return process.wait(600)

    def killed_after(self, n: int) -> bool:
        """kill -9 when there are `n` more stages than before; whether it came to that before its end."""
        wanted = len(self.stages()) + n
        with self.start() as process:
            wait_until(lambda: len(self.stages()) >= wanted or process.poll() is not None, f"{n} more stages")
            process.kill()
        return process.returncode == -signal.SIGKILL

    def kill_at_random(self, kills: int, most: int) -> None:
        """Each time after at most so many more stages; then it comes to its end, having made again only what was in flight."""
        chance = random.Random(7)
        for _ in range(kills):
            assert self.killed_after(chance.randint(1, most)), self.log.read_text()
        before = self.stages()
        assert self.finish() == 0, self.log.read_text()
        assert len(before) < len(self.stages()) and before.items() <= self.stages().items()

    def stages(self) -> dict[Path, int]:
        """Whole files of events and when they were written; what a killed write left is hidden."""
        found = [p for p in self.out.glob("events/**/*.json*") if not p.name.startswith(".")]
        return {p: p.stat().st_mtime_ns for p in found if p.name not in ("stats.json", "failure.json")}


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
