"""Whose text is written next: first come, first served, and those who wait together are written for together where that pays.

A text that ends is handed over at once; the others of its group go on. Nobody who came later is written for sooner than the
group of those before, so a request waits for at most the texts that came before it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(slots=True, eq=False)
class Waiting(Generic[T, R]):
    """One who waits, and the future with what is written for it."""

    wanted: T
    done: asyncio.Future[R]
    loop: asyncio.AbstractEventLoop
    taken: bool = field(default=False)

    def finish(self, found: R | BaseException) -> None:
        """From any thread; the first one counts."""
        self.loop.call_soon_threadsafe(self._set, found)

    def _set(self, found: R | BaseException) -> None:
        if self.done.done():
            return
        if isinstance(found, BaseException):
            self.done.set_exception(found)
        else:
            self.done.set_result(found)


class Turns(Generic[T, R]):
    """Runs groups of texts one after the other, each on a thread of its own.

    Args:
        fits: whether these may be one group; one alone always is.
        write: writes for a group and calls `finish` for each, on another thread. What it raises is for those not yet finished.
    """

    def __init__(self, fits: Callable[[Sequence[T]], bool], write: Callable[[Sequence[Waiting[T, R]]], None]) -> None:
        self._fits, self._write = fits, write
        self._queue: deque[Waiting[T, R]] = deque()
        self._turn = asyncio.Lock()  # first come, first served; the model's own lock knows no order
        self._leading: set[asyncio.Task[None]] = set()

    async def written(self, wanted: T) -> R:
        """What is written for it, in its turn. Raises what `write` finished it with, or raised."""
        loop = asyncio.get_running_loop()
        mine: Waiting[T, R] = Waiting(wanted, loop.create_future(), loop)
        self._queue.append(mine)
        # a task of its own: the group is written to its end, also when who leads it has gone
        leading = asyncio.create_task(self._lead(mine))
        self._leading.add(leading)
        leading.add_done_callback(self._leading.discard)
        return await mine.done

    async def _lead(self, mine: Waiting[T, R]) -> None:
        async with self._turn:
            if mine.taken:
                return
            group = self._group()
            try:
                await asyncio.to_thread(self._write, group)
            except Exception as error:  # whatever it is, those who wait must learn of it
                for one in group:
                    one.finish(error)

    def _group(self) -> list[Waiting[T, R]]:
        """Who is first, and those behind as long as they fit."""
        group: list[Waiting[T, R]] = []
        while self._queue and (not group or self._fits([one.wanted for one in (*group, self._queue[0])])):
            group.append(self._queue.popleft())
            group[-1].taken = True
        return group
