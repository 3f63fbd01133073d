"""How many events are written at once, and where: `threads:4`, `processes:2`, `dask:2`, `ray:2` -> a Prefect task runner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from data.errors import MissingExtra, UserError

if TYPE_CHECKING:
    from prefect.task_runners import TaskRunner

Kind = Literal["threads", "processes", "dask", "ray"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class RunnerSpec:
    """`threads` share one system, with its models, in this process; each worker of the other kinds builds its own."""

    kind: Kind
    workers: int


def parse_runner(text: str) -> RunnerSpec:
    """`KIND:N`. Raises UserError that names what is wrong."""
    kind, _, number = text.strip().partition(":")
    if kind not in KINDS:
        raise UserError(f"runner {text!r} is of no known kind; known: {', '.join(KINDS)}, as in threads:4")
    if not number.isascii() or not number.isdigit() or int(number) < 1:
        raise UserError(f"runner {text!r} does not say how many events at once; use for example {kind}:2")
    return RunnerSpec(kind, int(number))  # type: ignore[arg-type]


def make_runner(text: str) -> TaskRunner[Any]:
    """A task runner, not yet started. Raises UserError for a bad text, MissingExtra when its package is not installed."""
    spec = parse_runner(text)
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
                raise MissingExtra("prefect-dask", "dask", f"runner {text!r}") from None
            return DaskTaskRunner(cluster_kwargs={"n_workers": spec.workers, "threads_per_worker": 1})
        case "ray":
            try:
                from prefect_ray import RayTaskRunner
            except ImportError:
                raise MissingExtra("prefect-ray", "ray", f"runner {text!r}") from None
            return RayTaskRunner(init_kwargs={"num_cpus": spec.workers, "include_dashboard": False})
