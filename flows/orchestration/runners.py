"""How many events are written at once, and where.

| text | what it starts |
|---|---|
| `threads:4` | four at once in this process, which share one system with its models |
| `processes:2` | two processes, each with a system of its own |
| `dask:2`, `ray:2` | two processes of a cluster made for the run |
| `dask:tcp://HOST:8786`, `ray:ray://HOST:10001` | the workers of a cluster that is there, which sees the same folders |
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import signal
import socket
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from data.errors import MissingExtra, StageError, UserError

if TYPE_CHECKING:
    from prefect.futures import PrefectFuture
    from prefect.task_runners import TaskRunner

Kind = Literal["threads", "processes", "dask", "ray"]
KINDS: tuple[str, ...] = get_args(Kind)
_SCHEMES = {"dask": ("tcp", "tls"), "ray": ("ray",)}
_EXAMPLES = {"dask": "dask:tcp://127.0.0.1:8786", "ray": "ray:ray://127.0.0.1:10001"}
_ADDRESS = re.compile(
    r"(?P<scheme>[a-z]+)://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\]):(?P<port>[0-9]{1,5})"
)

WORKERS_OF_A_CLUSTER = 1000
"""Events handed at once to a cluster whose size is not known here; more of them wait in this process."""

CONNECT_S = 10
"""Within which the scheduler of a running cluster answers."""

RAY_STORE_BYTES = 100 * 2**20
"""What passes between events and this process is an id and an outcome; the default is a third of the machine's memory."""
_QUIET_RAY: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}

KILLED = frozenset({"KilledWorker", "WorkerCrashedError", "OutOfMemoryError"})
"""Exceptions by which dask and ray say, after tries of their own, that an event's process does not survive it."""

LOST = frozenset({"FutureCancelledError", "CommClosedError", "ConnectionError", "LocalRayletDiedError", "RaySystemError"})
"""Exceptions by which they say that the cluster is not there any more."""

_NO_MODULE = re.compile(r"No module named '([A-Za-z_]+)")

Submit: TypeAlias = "Callable[[TaskRunner[Any], str], PrefectFuture[Any]]"
"""Starts one event, by its id, on a started pool."""


@dataclass(frozen=True, slots=True)
class RunnerSpec:
    """`threads` share one system, with its models, in this process; each worker of the other kinds builds its own.

    `address` is that of a running cluster; then `workers` bounds the tasks handed to it.
    """

    kind: Kind
    workers: int
    address: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.address or self.workers}"


def parse_runner(text: str) -> RunnerSpec:
    """`KIND:N` or `KIND:ADDRESS`. Raises UserError that names the mistake."""
    kind, _, rest = text.strip().partition(":")
    if kind not in KINDS:
        raise UserError(f"runner {text!r} is of no known kind; known: {', '.join(KINDS)}, as in threads:4")
    if "//" in rest:
        return RunnerSpec(kind, WORKERS_OF_A_CLUSTER, _address(text, kind, rest))  # type: ignore[arg-type]
    if not rest.isascii() or not rest.isdigit() or int(rest) < 1:
        raise UserError(f"runner {text!r} does not say how many events at once; use for example {kind}:2")
    return RunnerSpec(kind, int(rest))  # type: ignore[arg-type]


def _address(text: str, kind: str, address: str) -> str:
    if kind not in _SCHEMES:
        raise UserError(f"runner {text!r}: {kind} are of this machine and have no address; use for example {kind}:2")
    found = _ADDRESS.fullmatch(address)
    if found is None or found["scheme"] not in _SCHEMES[kind] or not 0 < int(found["port"]) < 65536:
        scheme = " or ".join(f"{scheme}://HOST:PORT" for scheme in _SCHEMES[kind])
        raise UserError(f"runner {text!r}: the address of a {kind} cluster is {scheme}; use for example {_EXAMPLES[kind]}")
    return address


def make_runner(spec: RunnerSpec) -> TaskRunner[Any]:
    """A task runner, not yet started. Raises MissingExtra when its package is not installed."""
    match spec.kind:
        case "threads":
            from prefect.task_runners import ThreadPoolTaskRunner

            return ThreadPoolTaskRunner(max_workers=spec.workers)
        case "processes":
            from prefect.task_runners import ProcessPoolTaskRunner

            return ProcessPoolTaskRunner(max_workers=spec.workers)
        case "dask":
            try:
                from prefect_dask.task_runners import DaskTaskRunner
            except ImportError:
                raise MissingExtra("prefect-dask", "dask", f"runner {str(spec)!r}") from None
            if spec.address:
                return DaskTaskRunner(address=spec.address, client_kwargs={"timeout": CONNECT_S})
            return DaskTaskRunner(cluster_kwargs=_own_dask(spec.workers))
        case "ray":
            try:
                from prefect_ray import RayTaskRunner
            except ImportError:
                raise MissingExtra("prefect-ray", "ray", f"runner {str(spec)!r}") from None
            own = _QUIET_RAY if spec.address else _own_ray(spec.workers)
            runner: TaskRunner[Any] = RayTaskRunner(address=spec.address or None, init_kwargs=own)
            return runner


def n_cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _own_dask(workers: int) -> dict[str, Any]:
    """Of a cluster made for the run. Its scheduler answers about its health on any port of loopback, not on 8787 of all. Its
    workers first import Prefect inside an event loop, where its plugins, which are of commands alone, fail with a traceback."""
    return {
        "n_workers": workers,
        "threads_per_worker": 1,
        "dashboard_address": None,
        "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"},
        "env": {"PREFECT_PLUGINS_ENABLED": "false"},
    }


def _own_ray(workers: int) -> dict[str, Any]:
    """Of a cluster made for the run. `local`: else Ray joins one that it finds on this machine."""
    return _QUIET_RAY | {
        "address": "local",
        "num_cpus": workers,
        "include_dashboard": False,
        "object_store_memory": RAY_STORE_BYTES,
    }


class WorkerDied(StageError):
    """The process that wrote an event ended under it: killed by the system for its memory, as a rule, or crashed."""

    def __init__(self) -> None:
        super().__init__("worker", "the process that wrote this event was killed or crashed; was there memory enough for it?")

    def __reduce__(self) -> tuple[type[WorkerDied], tuple[()]]:
        return type(self), ()


def run_all(spec: RunnerSpec, ids: Sequence[str], submit: Submit) -> Generator[tuple[str, Any], None, None]:
    """Each id with the result of its task, or with the exception that it ended in, in the order in which they end.

    At most as many as there are workers are under way, so that an error of the caller stops jobs that have not begun. When a
    process of a pool dies, Prefect's whole pool is lost: those under way are then run alone, one after the other, which
    says whose fault it was (that one ends in WorkerDied), and the others go on in a new pool.
    """
    left = deque(ids)
    while left:
        lost = yield from _run_pool(spec, left, submit)
        if not lost:
            return
        if len(lost) == 1:
            yield lost[0], WorkerDied()
        else:
            yield from run_all(replace(spec, workers=1), lost, submit)


def _run_pool(spec: RunnerSpec, left: deque[str], submit: Submit) -> Generator[tuple[str, Any], None, list[str]]:
    """Takes ids off `left`. Returns those that were under way when the pool broke, in their order."""
    from concurrent.futures.process import BrokenProcessPool

    under_way: dict[PrefectFuture[Any], str] = {}
    ended: SimpleQueue[PrefectFuture[Any]] = SimpleQueue()
    lost: list[str] = []
    with _started(spec) as pool:
        while under_way or (left and not lost):
            while left and not lost and len(under_way) < spec.workers:
                event_id = left.popleft()
                try:
                    future = submit(pool, event_id)
                except ConnectionError as error:
                    raise trouble_of_cluster(spec, error) or error from None
                under_way[future] = event_id
                future.add_done_callback(ended.put)
            future = ended.get()
            event_id = under_way.pop(future)
            value = _result(future)
            if isinstance(value, Exception) and (trouble := trouble_of_cluster(spec, value)):
                raise trouble
            if isinstance(value, BrokenProcessPool):
                lost.append(event_id)
            else:
                yield event_id, value
    return lost


def trouble_of_cluster(spec: RunnerSpec, error: Exception) -> UserError | None:
    """What ends the run, when the error is of the cluster and not of an event: it is lost, or its workers lack this package."""
    missing = _NO_MODULE.search(f"{error} {error.__cause__}")
    if spec.address and missing:
        return UserError(
            f"runner {str(spec)!r}: its workers cannot import {missing[1]}; install this package where they run, then start "
            "them again"
        )
    if type(error).__name__ in LOST or str(error).startswith("Ray Client is not connected"):
        why = str(error).partition("\n")[0]
        return UserError(
            f"the cluster of runner {str(spec)!r} went away ({why}); start it and run again: what is done is found"
        )
    return None


@contextmanager
def _started(spec: RunnerSpec) -> Iterator[TaskRunner[Any]]:
    """A pool, ready for tasks. Raises UserError when the cluster that it is of does not answer."""
    with ExitStack() as stack:
        if spec.kind != "threads":
            stack.enter_context(_seen_by_workers(spec))
        # Dask reports each step of its workers; a Ray that is lost is started anew on this machine by the next question to it.
        stack.enter_context(_environment(DASK_LOGGING__DISTRIBUTED="warning", RAY_ENABLE_AUTO_CONNECT="0"))
        if spec.kind == "processes" and "OMP_NUM_THREADS" not in os.environ:
            # each would take a thread for every core, and threads without a core hold up the others of their process
            stack.enter_context(_environment(OMP_NUM_THREADS=str(max(1, n_cores() // spec.workers))))
        if spec.kind == "dask" and not spec.address:
            stack.enter_context(_lasting_heap())
        try:
            if spec.address:
                _knock(spec.address)
            runner = make_runner(spec)
            logging.getLogger("distributed").setLevel(logging.WARNING)  # Prefect shows what all others log, too
            pool = stack.enter_context(_ray_pool(spec, runner) if spec.kind == "ray" else runner)
            if spec.kind == "dask":
                _ = pool.client  # type: ignore[attr-defined]  # connects, which it would do with the first task
        except (OSError, RuntimeError) as error:  # TimeoutError is of the first; other versions, other tokens of the second
            if not spec.address:
                raise
            why = str(error).partition("\n")[0] or type(error).__name__
            raise UserError(
                f"no {spec.kind} cluster answers at {spec.address} ({why}); start it, or use runner {spec.kind}:2"
            ) from None
        yield pool


@contextmanager
def _lasting_heap() -> Iterator[None]:
    """Dask has its workers give memory back whenever 64 KiB are free, to fetch it again for the next product, and samples their
    stacks: an event took 1.3 times the CPU seconds."""
    import dask.config

    with dask.config.set(
        {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None, "distributed.worker.profile.enabled": False}
    ):
        yield


def _knock(address: str) -> None:
    """Ray would try for half a minute. Raises OSError when nothing listens there."""
    at = urlsplit(address)
    socket.create_connection((at.hostname or "", at.port or 0), timeout=CONNECT_S).close()


@contextmanager
def _ray_pool(spec: RunnerSpec, runner: TaskRunner[Any]) -> Iterator[TaskRunner[Any]]:
    """Nothing of a cluster made for the run is left, neither its processes nor its folder, and nothing is sent anywhere."""
    on_term = signal.getsignal(signal.SIGTERM)
    with ExitStack() as stack:
        if not spec.address:
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # as there, it then listens on loopback alone
            folder = tempfile.mkdtemp(prefix="wikigen-ray-", dir=os.environ.get("RAY_TMPDIR", "/tmp"))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            stack.enter_context(_environment(RAY_TMPDIR=folder, RAY_USAGE_STATS_ENABLED="0"))
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # read once a process; else it is kept at home
        import ray

        stack.callback(ray.shutdown)  # the runner does not leave a cluster that was there
        pool = stack.enter_context(runner)
        pool._owns_ray = False  # type: ignore[attr-defined]  # at the end it asks Ray, which starts one where all is lost
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, on_term)  # Ray takes it, and Prefect stops a run by it
        ray._private.worker._worker_logs_enabled = False  # it prints a page to stdout for each worker that dies
        yield pool


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _seen_by_workers(spec: RunnerSpec) -> Iterator[None]:
    """Settings go with each event. Those that hold in this process alone are made such as hold in others: a folder by its
    absolute path, and the temporary server, of which each process would start its own. Raises UserError when workers on
    other machines cannot reach that."""
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL, PREFECT_RESULTS_LOCAL_STORAGE_PATH, temporary_settings

    if spec.address and not PREFECT_API_URL.value() and not _is_here(spec.address):
        raise UserError(
            f"runner {str(spec)!r} needs a Prefect server that its workers reach; start one (prefect server start --host "
            "ADDRESS) and set PREFECT_API_URL"
        )
    with get_client(sync_client=True) as client:
        url = str(client.api_url)
    stored = PREFECT_RESULTS_LOCAL_STORAGE_PATH.value().expanduser().absolute()
    with temporary_settings({PREFECT_API_URL: url, PREFECT_RESULTS_LOCAL_STORAGE_PATH: stored}):
        yield


def _is_here(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.")


def _result(future: PrefectFuture[Any]) -> Any:
    """What it returned, or the exception that it ended in."""
    try:
        future.wait()  # else a finished future may still say that it is pending
        value = future.result(raise_on_failure=False)
    except Exception as error:  # the pool's own trouble, as an outcome of this task
        value = error
    return WorkerDied() if type(value).__name__ in KILLED else value
