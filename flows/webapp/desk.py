"""The desk: requests, one after the other, and the process that does it.

A `Job` gathers what the worker says, so that a browser that comes late, or again, sees all of it. A worker that dies takes its
job with it, never the page; the next one is started for the next job.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["queued", "running", "done", "failed", "stopped"]
ENDED: tuple[State, ...] = ("done", "failed", "stopped")
STOP_S = 10.0
"""How long a job may take to stop by itself before its process is killed."""
MOST_QUEUED = 20
WORKER = "flows.webapp.worker"
"""The module that writes, in a process of its own."""
QUIET_S = 15.0
"""After which a listener is told that nothing happened."""
LINE_LIMIT = 64 << 20
"""Bytes of one message: all pages of an article, with their reasons."""


@dataclass
class Job:
    """`name` is that of the run folder. `events` are numbered by their place."""

    do: Literal["write", "check", "update"]
    name: str
    title: str
    words: tuple[str, ...]
    state: State = "queued"
    why: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        self.changed.set()
        self.changed = asyncio.Event()

    async def follow(self, after: int) -> AsyncIterator[tuple[int, dict[str, Any]] | None]:
        """Events from number `after` on, until the job has ended; None when nothing happened for a while."""
        at = after
        while True:
            changed = self.changed
            while at < len(self.events):
                yield at, self.events[at]
                at += 1
            if self.state in ENDED:
                return
            try:
                await asyncio.wait_for(changed.wait(), QUIET_S)
            except TimeoutError:
                yield None


class Desk:
    """Runs jobs one at a time. `words` are the flags with which every article is written, such as --model."""

    def __init__(self, words: Sequence[str] = (), *, warm: bool = True) -> None:
        self.jobs: dict[tuple[str, str], Job] = {}
        self._words = tuple(words)
        self._warm = warm
        self._waiting: deque[Job] = deque()
        self._wake = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._current: Job | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._task = asyncio.create_task(self._work())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self._end_process()

    @property
    def is_full(self) -> bool:
        return len(self._waiting) >= MOST_QUEUED

    def job(self, do: str, name: str) -> Job | None:
        return self.jobs.get((do, name))

    def names(self, do: str) -> set[str]:
        return {name for kind, name in self.jobs if kind == do}

    def ask(self, job: Job) -> Job:
        """The job, queued; one that is queued or running under this name already is that job."""
        key = (job.do, job.name)
        known = self.jobs.get(key)
        if known is not None and known.state not in ENDED:
            return known
        self.jobs[key] = job
        self._waiting.append(job)
        self._tell_places()
        self._wake.set()
        return job

    async def stop(self, job: Job) -> None:
        if job in self._waiting:
            self._waiting.remove(job)
            self._end(job, "stopped", "taken off the queue")
            self._tell_places()
        elif job is self._current and self._process is not None:
            process = self._process
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
            asyncio.get_running_loop().call_later(STOP_S, self._kill_if_still, process, job)

    def _kill_if_still(self, process: asyncio.subprocess.Process, job: Job) -> None:
        if job.state == "running" and process.returncode is None:
            process.kill()

    def _tell_places(self) -> None:
        for place, job in enumerate(self._waiting, 1):
            job.tell({"kind": "queued", "place": place})

    def _end(self, job: Job, state: State, why: str) -> None:
        job.state, job.why = state, why
        job.tell({"kind": "ended", "status": state, "why": why})

    # --- the process -------------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        if self._warm:
            await self._start()
        while True:
            while not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            job = self._waiting.popleft()
            self._tell_places()
            job.state, self._current = "running", job
            job.tell({"kind": "begun"})
            try:
                await self._run(job)
            except OSError as error:
                self._end(job, "failed", f"the writing process cannot be started: {error.strerror}")
            except (
                ValueError,
                KeyError,
                TypeError,
            ) as error:  # a line of 64 MiB, or one that is no message: the next job has a new process
                self._end(job, "failed", f"the writing process said what is no message ({type(error).__name__})")
                await self._end_process()
            finally:
                self._current = None
                if job.state == "running":  # the page is being closed
                    self._end(job, "stopped", "the page was closed")

    async def _run(self, job: Job) -> None:
        process = await self._start()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps({"do": job.do, "words": [*job.words]}).encode() + b"\n")
        await process.stdin.drain()
        while line := await process.stdout.readline():
            message = json.loads(line)
            if message["kind"] == "ended":
                self._end(job, message["status"], message["why"])
                return
            if message["kind"] != "ready":
                job.tell(message)
        code = await process.wait()
        self._process = None
        how = "stopped" if code in (-signal.SIGKILL, -signal.SIGINT, 130) else f"ended with code {code}"
        self._end(job, "stopped", f"the writing process {how}; ask it to go on")

    async def _start(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                WORKER,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LINE_LIMIT,
                start_new_session=True,  # Ctrl-C on the page's terminal reaches the page alone
            )
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"words": [*self._words]}).encode() + b"\n")
        return self._process

    async def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
