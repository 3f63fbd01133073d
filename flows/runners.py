"""How many events are written at once, and where.

| text | what it starts |
|---|---|
| `threads:4` | four at once in this process, which share one system with its models |
| `processes:2` | two processes, each with a system of its own |
| `dask:2`, `ray:2` | two processes of a cluster made for the run |
| `dask:tcp://HOST:8786`, `ray:ray://HOST:10001` | the workers of a cluster that is there, which sees the same folders |
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

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

KILLED = frozenset({"KilledWorker", "WorkerCrashedError", "OutOfMemoryError"})
"""Exceptions by which dask and ray say, after tries of their own, that an event's process does not survive it."""

Submit: TypeAlias = "Callable[[TaskRunner[Any], str], PrefectFuture[Any]]"
"""Starts one event, by its id, on a started pool."""


@dataclass(frozen=True, slots=True)
class RunnerSpec:
    """`threads` share one system, with its models, in this process; each worker of the other kinds builds its own.

    `address` is that of a running cluster; then `workers` bounds what is handed to it.
    """

    kind: Kind
    workers: int
    address: str = ""


def parse_runner(text: str) -> RunnerSpec:
    """`KIND:N` or `KIND:ADDRESS`. Raises UserError that names what is wrong."""
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
                from prefect_dask import DaskTaskRunner
            except ImportError:
                raise MissingExtra("prefect-dask", "dask", f"runner {_shown(spec)!r}") from None
            if spec.address:
                return DaskTaskRunner(address=spec.address, client_kwargs={"timeout": CONNECT_S})
            cluster = {"n_workers": spec.workers, "threads_per_worker": 1, "dashboard_address": None}
            return DaskTaskRunner(cluster_kwargs=cluster)
        case "ray":
            try:
                from prefect_ray import RayTaskRunner
            except ImportError:
                raise MissingExtra("prefect-ray", "ray", f"runner {_shown(spec)!r}") from None
            if spec.address:
                return RayTaskRunner(address=spec.address)
            return RayTaskRunner(init_kwargs={"num_cpus": spec.workers, "include_dashboard": False})


def _shown(spec: RunnerSpec) -> str:
    return f"{spec.kind}:{spec.address or spec.workers}"


class WorkerDied(StageError):
    """The process that wrote an event ended under it: killed by the system for its memory, as a rule, or crashed."""

    def __init__(self) -> None:
        super().__init__("worker", "the process that wrote this event was killed or crashed; was there memory enough for it?")

    def __reduce__(self) -> tuple[type[WorkerDied], tuple[()]]:
        return type(self), ()


def run_all(spec: RunnerSpec, ids: Sequence[str], submit: Submit) -> Iterator[tuple[str, Any]]:
    """Each id with the result of its task, or with the exception that it ended in, in the order in which they end.

    At most as many as there are workers are under way, so that an error of the caller stops what has not begun. When a
    process of a pool dies, Prefect's whole pool is lost: those under way are then run alone, one after the other, which
    tells whose fault it was (that one ends in WorkerDied), and the others go on in a new pool.
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


def _run_pool(spec: RunnerSpec, left: deque[str], submit: Submit) -> Iterator[tuple[str, Any]]:
    """Takes ids off `left`. Returns those that were under way when the pool broke, in their order."""
    from concurrent.futures.process import BrokenProcessPool

    under_way: dict[PrefectFuture[Any], str] = {}
    ended: SimpleQueue[PrefectFuture[Any]] = SimpleQueue()
    lost: list[str] = []
    with _started(spec) as pool:
        while under_way or (left and not lost):
            while left and not lost and len(under_way) < spec.workers:
                event_id = left.popleft()
                future = submit(pool, event_id)
                under_way[future] = event_id
                future.add_done_callback(ended.put)
            future = ended.get()
            event_id = under_way.pop(future)
            value = _result(future)
            if isinstance(value, BrokenProcessPool):
                lost.append(event_id)
            else:
                yield event_id, value
    return lost  # type: ignore[return-value]


@contextmanager
def _started(spec: RunnerSpec) -> Iterator[TaskRunner[Any]]:
    """A pool, ready for tasks. Raises UserError when the cluster that it is of does not answer."""
    with ExitStack() as stack:
        if spec.kind != "threads" and not spec.address:
            stack.enter_context(_one_server())
        try:
            pool = stack.enter_context(make_runner(spec))
            if spec.kind == "dask":
                _ = pool.client  # type: ignore[attr-defined]  # connects, which it would do with the first task
        except (OSError, ConnectionError) as error:  # TimeoutError is one
            if not spec.address:
                raise
            why = str(error).partition("\n")[0] or type(error).__name__
            raise UserError(
                f"no {spec.kind} cluster answers at {spec.address} ({why}); start it, or use runner {spec.kind}:2"
            ) from None
        yield pool


@contextmanager
def _one_server() -> Iterator[None]:
    """Processes started meanwhile report to the server of this one; where it is a temporary one, each would start its own."""
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with get_client(sync_client=True) as client:
        url = str(client.api_url)
    with temporary_settings({PREFECT_API_URL: url}):
        yield


def _result(future: PrefectFuture[Any]) -> Any:
    """What it returned, or the exception that it ended in."""
    try:
        future.wait()  # else a finished future may still say that it is pending
        value = future.result(raise_on_failure=False)
    except Exception as error:  # the pool's own trouble, as an outcome of this task
        value = error
    return WorkerDied() if type(value).__name__ in KILLED else value
