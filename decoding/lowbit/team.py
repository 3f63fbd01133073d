"""Threads that share one step: each runs the same compiled code on its own stack, takes the next piece of work, and waits for
the others where it needs what they made.

Which thread makes a number changes no bit of it. A piece is taken and waited for within a microsecond, a hundredth of what
handing it to another Python thread costs, and there are hundreds of them in a step.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from decoding.lowbit import thread_code
from decoding.lowbit.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

_add_to: Any = thread_code.add_to
_wait_for: Any = thread_code.wait_for


class Team(NamedTuple):
    """A thread's view of its team."""

    n: int
    """Threads."""
    shared: Any
    """int64: how often a thread has come to a meeting; then, for each list of work, pieces taken so far. Zeros at first."""
    own: Any
    """int64 (1,), of this thread alone: lists of work that it has begun."""


@compiled
def alone() -> Any:
    return Team(1, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))


@compiled
def new_work(team: Any) -> Any:
    """The address of the next list of work: all threads begin the same lists in the same order."""
    if team.n == 1:
        team.own[0] = 0
        return team.own.ctypes.data
    team.own[0] += 1
    return team.shared.ctypes.data + 8 * team.own[0]


@compiled
def taken(team: Any, work: Any) -> Any:
    """The next number of a list, 0 at first; every number is given to one thread."""
    if team.n == 1:
        team.own[0] += 1
        return team.own[0] - 1
    return _add_to(work, 1)


@compiled
def meet(team: Any) -> Any:
    """Wait until all threads have come here."""
    if team.n > 1:
        arrived = team.shared.ctypes.data
        mine = _add_to(arrived, 1)
        _wait_for(arrived, (mine // team.n + 1) * team.n)


def teams(n: int, most_work: int) -> list[Team]:
    """The views of n threads on one call with so many lists of work at most."""
    shared: NDArray[np.int64] = np.zeros(1 + most_work, dtype=np.int64)
    return [Team(n, shared, np.zeros(1, dtype=np.int64)) for _ in range(n)]


class _Threads:
    """Threads that wait for calls. One team at a time: a second one could wait for threads that wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._size = 0

    def run(self, n: int, call: Callable[[Team], object], most_work: int) -> None:
        if n > 1 and self._lock.acquire(blocking=False):
            try:
                self._together(n, call, most_work)
            finally:
                self._lock.release()
        else:
            call(teams(1, 0)[0])

    def _together(self, n: int, call: Callable[[Team], object], most_work: int) -> None:
        if self._pool is None or self._size < n - 1:
            if self._pool is not None:
                self._pool.shutdown(wait=False)
            self._pool, self._size = ThreadPoolExecutor(n - 1, thread_name_prefix="low-bit"), n - 1
        first, *others = teams(n, most_work)
        waiting = [self._pool.submit(call, team) for team in others]
        call(first)
        for one in waiting:
            one.result()


_threads = _Threads()


def _start_anew() -> None:
    """A forked process has none of its parent's threads."""
    global _threads
    _threads = _Threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def run_together(n: int, call: Callable[[Team], object], most_work: int) -> None:
    """`call`, compiled code that lets go of Python's lock, on n threads at once, each with its view of the team; on one where
    the threads are in use. `most_work` bounds the lists of work that the call begins."""
    _threads.run(n, call, most_work)
