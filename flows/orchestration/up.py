"""`wikigenben up`: server, work pool, deployment and worker in one command, until Ctrl-C or SIGTERM.

    wikigenben up                                       # then, in a second terminal:
    prefect deployment run wiki-gen/wiki-gen -p limit=2 --watch      # in the same folder, whose .env says where the server is

Each child leads a process group and writes a log. On the way out the worker ends first, with the run that it holds (which
goes on where it was when it is run again), then the server; a group that does not end within `GRACE_S` is killed. A server
that is there already is used, and left running.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import UserError, WikigenError
from flows.orchestration import prefect_server
from flows.orchestration.client_env import told_to_clients
from flows.showing import console

if TYPE_CHECKING:
    from types import FrameType

POOL = "wiki-gen-local"
"""As prefect.yaml names it."""
DEPLOYMENT = "wiki-gen/wiki-gen"
HOST = "127.0.0.1"
START_S = 180.0
"""For a server's first start, which makes its database, on a busy machine."""
GRACE_S = 15.0
ENDING_S = 2.0
"""For a port to become free, or its server to answer, before it is called taken by another program."""
LOOK_EVERY_S = 0.2
TAIL = 12
"""Lines of a log that are shown when its process ends by itself."""
_PR_SET_CHILD_SUBREAPER = 36


class Stopped(Exception):
    """Somebody asked us to end."""


@dataclass(frozen=True, slots=True)
class Up:
    """`root` is the folder with prefect.yaml, where Prefect is started; `limit` how many runs the worker takes at once.
    Relative outputs go into `work`, by default the root. Commands in the folder `clients` are told of the server."""

    root: Path
    port: int
    logs: Path
    limit: int = 1
    work: Path | None = None
    clients: Path | None = None

    @property
    def ui(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def api(self) -> str:
        return f"{self.ui}/api"

    def environment(self) -> dict[str, str]:
        work = self.work or self.root
        return {
            **(settings_of(self.root, work) if self.work is not None else {}),
            **os.environ,
            "PREFECT_API_URL": self.api,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            # any site could else have this machine run what it likes: by default the server lets all pages ask
            "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": self.ui,
            "DO_NOT_TRACK": "1",
            "PWD": str(work),  # prefect.yaml reads it
        }


def settings_of(root: Path, work: Path) -> dict[str, str]:
    """Those of prefect.toml as environment variables, for processes that start elsewhere."""
    found: dict[str, str] = {}

    def gather(table: dict[str, Any], name: str) -> None:
        for key, value in table.items():
            if isinstance(value, dict):
                gather(value, f"{name}_{key}")
            else:
                found[f"{name}_{key}".upper()] = str(value).lower() if isinstance(value, bool) else str(value)

    gather(tomllib.loads((root / "prefect.toml").read_text(encoding="utf-8")), "prefect")
    stages = "PREFECT_RESULTS_LOCAL_STORAGE_PATH"
    return found | {stages: str(work / found[stages])}


@dataclass(frozen=True, slots=True)
class Child:
    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def check(self) -> None:
        """Raises when it ended, with what it said last."""
        code = self.process.poll()
        if code is not None:
            said = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:]
            for line in said:
                console.note(f"  {line}")
            raise WikigenError(
                f"the {self.name} ended with code {code}; its log is {self.log}; start all again with: wikigenben up"
            )

    def stop(self) -> None:
        """It and all processes of its group."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE_S)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def up(asked: Up) -> int:
    """Runs until it is asked to stop, which is its good end. Raises UserError for a port or folder that cannot be used, and
    WikigenError when the server or the worker ends by itself."""
    if not (asked.root / "prefect.yaml").is_file():
        raise UserError(f"{asked.root} has no prefect.yaml; run it in the repository, or use: wikigenben serve")
    here = _server_there(asked)
    _make_folder(asked.logs)
    children: list[Child] = []
    with _told_to_stop(), _adopting(), ExitStack() as held:
        try:
            if not here:
                children.append(_start_server(asked))
            else:
                console.note(f"using the Prefect server that is there: {asked.ui}")
            try:
                _make_deployment(asked)
            except WikigenError:
                if children or prefect_server.is_well(asked.api):
                    raise
                console.note("that server has just ended")
                _wait_for_port(asked)
                children.append(_start_server(asked))
                _make_deployment(asked)
            _end_dead_runs(asked)
            worker = ("worker", "start", "--pool", POOL, "--type", "process", "--limit", str(asked.limit))
            children.append(_start(asked, "worker", *worker))
            told = held.enter_context(told_to_clients(asked.clients, asked.api)) if asked.clients is not None else False
            console.result(f"dashboard: {asked.ui}")
            named = "" if told else f"PREFECT_API_URL={asked.api} "
            console.result(f"run it:    {named}prefect deployment run {DEPLOYMENT} -p limit=2 --watch")
            if told:
                console.result(f"           in {asked.clients}; elsewhere with PREFECT_API_URL={asked.api} before it")
            console.result(f"outputs:   {(asked.work or asked.root) / 'runs'}")
            console.result(f"logs:      {asked.logs}   (Ctrl-C stops everything)")
            sys.stdout.flush()
            while True:
                for child in children:
                    child.check()
                time.sleep(LOOK_EVERY_S)
        except Stopped:
            console.note("stopping")
        finally:
            for child in reversed(children):
                child.stop()
            _stop_orphans()
    return 0


def _start_server(asked: Up) -> Child:
    """Returns when it answers."""
    console.note(f"starting the Prefect server; the first start takes a quarter of a minute (log: {asked.logs})")
    server = _start(asked, "server", "server", "start", "--host", HOST, "--port", str(asked.port))
    try:
        _wait_for_health(asked, server)
    except BaseException:  # also Stopped: nobody else knows of it yet
        server.stop()
        raise
    return server


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: one that just ended is no hindrance
        try:
            probe.bind((HOST, port))
        except PermissionError:
            raise UserError(f"port {port} may not be used by you; choose one above 1023 with --port") from None
        except OSError:
            return False
    return True


def _wait_for_port(asked: Up) -> None:
    deadline = time.monotonic() + GRACE_S
    while not _is_free(asked.port):
        if time.monotonic() > deadline:
            raise WikigenError(
                f"the server that had port {asked.port} does not end; end it, or choose another port with --port"
            )
        time.sleep(LOOK_EVERY_S)


def _server_there(asked: Up) -> bool:
    """Whether a Prefect server has the port. One that is ending may hold it and not answer any more. Raises UserError when
    something else has it."""
    deadline = time.monotonic() + ENDING_S
    while True:
        if _is_free(asked.port):
            return False
        version = prefect_server.ask(asked.api, "/admin/version")
        if isinstance(version, str) or time.monotonic() > deadline:
            break
        time.sleep(LOOK_EVERY_S)
    if not isinstance(version, str):
        raise UserError(f"port {asked.port} is used by a program that is no Prefect server; choose another with --port")
    from prefect import __version__

    if version != __version__:
        console.note(
            f"that server is Prefect {version}, this is {__version__}; if they do not get along, choose another --port"
        )
    return True


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder {path}: {error.strerror}; choose another with --logs") from None


def _start(asked: Up, name: str, *words: str) -> Child:
    log = asked.logs / f"{name}.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "prefect", *words],
            cwd=asked.root,
            env=asked.environment(),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # else a terminal's Ctrl-C would end the server before the worker
        )
    return Child(name, process, log)


def _wait_for_health(asked: Up, server: Child) -> None:
    deadline = time.monotonic() + START_S
    while not prefect_server.is_well(asked.api):
        server.check()
        if time.monotonic() > deadline:
            raise WikigenError(f"the server was not ready within {START_S:.0f} s; its log is {server.log}")
        time.sleep(LOOK_EVERY_S)


def _make_deployment(asked: Up) -> None:
    if prefect_server.ask(asked.api, f"/work_pools/{POOL}") is None:
        _prefect(asked, "work-pool", "create", POOL, "--type", "process")
    _prefect(asked, "--no-prompt", "deploy", "--all")


def _end_dead_runs(asked: Up) -> None:
    """Runs whose process is gone with an earlier worker: Prefect would have them Running for ever, and let the next one wait
    for them, as the deployment takes one at a time. The server is on loopback, so its runs are processes of this machine."""
    active = {"type": {"any_": ["RUNNING", "PENDING", "CANCELLING"]}}
    query = {"flow_runs": {"state": active}, "flows": {"name": {"any_": [DEPLOYMENT.partition("/")[0]]}}}
    for run in prefect_server.ask(asked.api, "/flow_runs/filter", query) or []:
        host, _, pid = str(run.get("infrastructure_pid") or "").rpartition(":")
        if host in ("", socket.gethostname()) and pid.isdigit() and not _writes(int(pid), run["id"]):
            state = {"type": "CRASHED", "name": "Crashed", "message": "its process is gone; run it again to go on"}
            prefect_server.ask(asked.api, f"/flow_runs/{run['id']}/set_state", {"state": state})
            console.note(f"an earlier run did not end well and can be run again: {run['name']}")


def _writes(pid: int, run_id: str) -> bool:
    """Whether that process is there and is that run, not another one that got the number since."""
    if sys.platform != "linux":
        return subprocess.run(["ps", "-p", str(pid)], capture_output=True, check=False).returncode == 0
    try:
        return f"PREFECT__FLOW_RUN_ID={run_id}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except PermissionError:
        return True
    except OSError:
        return False


def _prefect(asked: Up, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "prefect", *words],
        cwd=asked.root,
        env=asked.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        log = asked.logs / "prefect.log"
        log.write_text(said + "\n", encoding="utf-8")
        last = said.splitlines()[-1].strip() if said else f"it ended with code {done.returncode}"
        raise WikigenError(f"prefect {' '.join(words)} failed: {last[:300]} (all that it said: {log})")


@contextmanager
def _told_to_stop() -> Iterator[None]:
    """SIGINT and SIGTERM raise Stopped, once: while we stop, further ones change nothing.

    Children then start with the system's own handling of both, also where a script started us in the background, which
    makes a process ignore SIGINT.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, _nothing)
        raise Stopped

    before = {one: signal.signal(one, stop) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _nothing(number: int, frame: Any) -> None:
    """A handler, not SIG_IGN: that one would be handed down to children."""


@contextmanager
def _adopting() -> Iterator[None]:
    """A worker starts each run in a process group of its own. Should the worker be killed, its runs become our children, so
    that they can be stopped with the rest (Linux, prctl(2); elsewhere they end by themselves when they are done)."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None
    if prctl is not None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        if prctl is not None:
            prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _stop_orphans() -> None:
    """Ends what became our child in the meantime: all of ours are waited for by now."""
    if sys.platform != "linux":
        return
    deadline = time.monotonic() + GRACE_S
    while True:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
        for pid in map(int, children):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM if time.monotonic() < deadline else signal.SIGKILL)
        if not children:
            return
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(LOOK_EVERY_S)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben up", description="Start Prefect's server, a worker and the deployment wiki-gen; Ctrl-C stops them."
    )
    parser.add_argument("--port", type=int, default=4200, metavar="N", help="of the server, on loopback (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=1, metavar="N", help="runs at once (default: 1, for they share a GPU)")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="folder of the logs (default: runs/prefect)")
    parser.add_argument("--no-env", action="store_true", help="do not tell commands in this folder of the server, by its .env")
    arguments = parser.parse_args(argv)
    if not 0 < arguments.port < 65536 or arguments.limit < 1:
        parser.error("--port lies between 1 and 65535, --limit is at least 1")
    logs = arguments.logs or Path(os.environ.get("WIKIGEN_RUNS", "runs")) / "prefect"
    checkout, installed = Path(__file__).resolve().parents[2], Path(__file__).resolve().parent / "deployment"
    in_checkout = (checkout / "prefect.yaml").is_file()
    root, work = (checkout, None) if in_checkout else (installed, Path.cwd())
    clients = None if arguments.no_env else Path.cwd()
    return console.guarded(lambda: up(Up(root, arguments.port, logs.absolute(), arguments.limit, work, clients)))


if __name__ == "__main__":
    sys.exit(main())
