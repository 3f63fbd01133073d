"""Processes that read pages, kept from one command of the tests to the next: each loads its libraries for a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest

from pipeline.reading import documents
from pipeline.reading.sandbox import WorkerPool


class Borrowed:
    """A pool that outlives its user: its end cancels what the user still waits for, and leaves the processes."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._given: list[Future[Any]] = []

    def submit(self, job: bytes, receive: Callable[[Any], Any]) -> Future[Any]:
        self._given.append(self._pool.submit(job, receive))
        return self._given[-1]

    def close(self) -> None:
        for future in self._given:
            future.cancel()


Pools = dict[tuple[object, ...], WorkerPool]


@contextmanager
def kept_readers(pools: Pools) -> Iterator[None]:
    """Within it, page readers of the same limits share the processes of `pools`, which whoever made it closes. How a reader
    ends its own: `pipeline/reading/test_sandbox`."""

    def lend(module: str, **limits: Any) -> Borrowed:
        key = (module, *sorted(limits.items()))
        if key not in pools:
            pools[key] = WorkerPool(module, **limits)
        return Borrowed(pools[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "WorkerPool", lend)
        yield
