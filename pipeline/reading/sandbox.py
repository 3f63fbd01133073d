"""Work on hostile bytes in processes of their own: killed when late, capped in memory, and one crash costs one job.

A thread cannot be killed, and a parser written in C can take a process with it. Jobs and answers are frames of bytes on
the pipes of the worker; nothing is unpickled, so that a worker taken over by its input has no more to say than text. It
knows no secret either: of the environment it gets only what Python needs.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import LifoQueue
from threading import Timer
from typing import IO, Literal, Self, TypeVar

T = TypeVar("T")

_ENVIRONMENT = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TZ",
    "SYSTEMROOT",
    "VIRTUAL_ENV",
    "OMP_NUM_THREADS",
    "PYTHONDONTWRITEBYTECODE",
)
_MOST_BYTES = 100_000_000
"""Of one frame: no job and no honest answer is longer."""
_START_S = 60.0


@dataclass(frozen=True, slots=True)
class Lost:
    """A job without an answer: the worker was late, or it died."""

    reason: Literal["timeout", "crash"]
    detail: str


class WorkerPool:
    """Up to `workers` processes for jobs that come one after the other; close it at the end.

    `module` is run with `memory_mb` as its argument and must call `serve`. A process is started when a job finds no idle one,
    and stays until the end. Threads may share the pool.
    """

    def __init__(self, module: str, *, workers: int, timeout_s: float, memory_mb: int) -> None:
        self._workers = [Worker(module, timeout_s=timeout_s, memory_mb=memory_mb) for _ in range(workers)]
        self._idle: LifoQueue[Worker] = LifoQueue()  # the last one used has started already
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="worker")  # it starts them as they are needed

    def submit(self, job: bytes, receive: Callable[[bytes | Lost], T]) -> Future[T]:
        """What `receive` makes of the job's answer. The jobs are taken in the order in which they are given."""
        return self._threads.submit(self._ask, job, receive)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Jobs not finished by now are abandoned: the processes are killed, and the futures of waiting jobs cancelled."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.stop()
        self._threads.shutdown()

    def _ask(self, job: bytes, receive: Callable[[bytes | Lost], T]) -> T:
        worker = self._idle.get()
        try:
            answer = worker.ask(job)
        finally:
            self._idle.put(worker)
        return receive(answer)


class Worker:
    """One process, started when it is first asked and again after it died. For one thread at a time."""

    def __init__(self, module: str, *, timeout_s: float, memory_mb: int) -> None:
        self._command = [sys.executable, "-m", module, str(memory_mb)]
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def ask(self, job: bytes) -> bytes | Lost:
        if self._process is None and (lost := self._start()):
            return lost
        return self._exchange(job, self._timeout_s)

    def stop(self) -> None:
        self._stopped = True
        self._end()

    def _start(self) -> Lost | None:
        if self._stopped:
            return Lost("crash", "stopped")
        root = str(Path(__file__).resolve().parents[2])
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment, "PYTHONPATH": root},
        )
        if self._stopped:  # meanwhile
            self._end()
        greeting = self._exchange(None, _START_S)  # the time for loading is no page's
        return greeting if isinstance(greeting, Lost) else None

    def _exchange(self, job: bytes | None, timeout_s: float) -> bytes | Lost:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return Lost("crash", "stopped")
        late: list[bool] = []

        def kill() -> None:
            late.append(True)
            process.kill()

        timer = Timer(timeout_s, kill)
        timer.daemon = True
        timer.start()
        try:
            if job is not None:
                _write_frame(process.stdin, job)
            answer = _read_frame(process.stdout)
        except (OSError, EOFError, ValueError) as error:  # ValueError: a pipe closed by `stop`
            answer, why = None, str(error)
        finally:
            timer.cancel()
            timer.join()  # from here on it has killed the process or never will
        if answer is not None and not late:
            return answer
        self._end()
        if late:
            return Lost("timeout", f"no answer after {timeout_s:g} s")
        return Lost("crash", f"the worker ended with code {process.returncode}" if process.returncode else why)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:  # nobody reads the rest
                pass


def serve(handle: Callable[[bytes], bytes], memory_mb: int) -> None:
    """In the worker: answer frames until the input ends. What libraries print does not reach the answers."""
    limit_memory(memory_mb)
    jobs = sys.stdin.buffer
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    logging.disable(logging.CRITICAL)
    _write_frame(answers, b"")
    while True:
        try:
            job = _read_frame(jobs)
        except EOFError:
            return
        _write_frame(answers, handle(job))


def limit_memory(memory_mb: int) -> None:
    """Linux does; where the system has no such limit (Windows) or refuses it (macOS), the time limit alone holds."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        limit = memory_mb * 2**20
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _write_frame(pipe: IO[bytes], content: bytes) -> None:
    pipe.write(len(content).to_bytes(8, "big") + content)
    pipe.flush()


def _read_frame(pipe: IO[bytes]) -> bytes:
    length = int.from_bytes(_read(pipe, 8), "big")
    if length > _MOST_BYTES:
        raise EOFError(f"a frame of {length} bytes")
    return _read(pipe, length)


def _read(pipe: IO[bytes], length: int) -> bytes:
    content = pipe.read(length)
    if len(content) < length:
        raise EOFError("the pipe was closed")
    return content
