"""What a run uses of the machine while it goes on, read from Linux's proc(5) each second: CPU time and memory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

EVERY_S = 1.0
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Sample:
    """`at` in seconds since 1970. CPU seconds since the watch began: `flow_s` of this process, `workers_s` of those it started
    since then, `server_s` of those it had started before (a Prefect server of its own), `machine_s` of all processes of the
    machine. `held_mib` is what flow and workers hold together, `free_mib` what the machine has left for more."""

    at: float
    flow_s: float
    workers_s: float
    server_s: float
    machine_s: float
    held_mib: float
    free_mib: float


@dataclass(frozen=True, slots=True)
class Use:
    """Of a stretch of time: CPU seconds as in `Sample`, the most held, and the least that was free."""

    seconds: float
    flow_s: float
    workers_s: float
    server_s: float
    machine_s: float
    held_mib: float
    free_mib: float

    @property
    def own_s(self) -> float:
        return self.flow_s + self.workers_s + self.server_s


def can_watch() -> bool:
    return (_PROC / "self/smaps_rollup").exists() and (_PROC / "stat").exists()


def use_between(samples: Sequence[Sample], start: float, end: float) -> Use | None:
    """From the last sample before `start` to the first after `end`; None where these are not two."""
    if len(samples) < 2:
        return None
    first = max((k for k, s in enumerate(samples) if s.at <= start), default=0)
    last = min((k for k, s in enumerate(samples) if s.at >= end), default=len(samples) - 1)
    if last <= first:
        return None
    a, b, inside = samples[first], samples[last], samples[first : last + 1]
    return Use(
        seconds=b.at - a.at,
        flow_s=b.flow_s - a.flow_s,
        workers_s=b.workers_s - a.workers_s,
        server_s=b.server_s - a.server_s,
        machine_s=b.machine_s - a.machine_s,
        held_mib=max(s.held_mib for s in inside),
        free_mib=min(s.free_mib for s in inside),
    )


@contextmanager
def watching(every_s: float = EVERY_S) -> Iterator[list[Sample]]:
    """Fills the list meanwhile; it stays empty where the system does not say."""
    samples: list[Sample] = []
    if not can_watch():
        yield samples
        return
    watch, ended = _Watch(), threading.Event()

    def go_on() -> None:
        while not ended.wait(every_s):
            samples.append(watch.sample())

    samples.append(watch.sample())
    thread = threading.Thread(target=go_on, name="machine", daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()
        samples.append(watch.sample())


class _Watch:
    def __init__(self) -> None:
        self._before = {pid: cpu_s(pid) for pid in descendants()}
        self._flow_s, self._machine_s = cpu_s(os.getpid()), machine_cpu_s()
        self._used: dict[int, float] = {}  # also of those that have ended since

    def sample(self) -> Sample:
        now = descendants()
        for pid in now:
            self._used[pid] = max(self._used.get(pid, 0.0), cpu_s(pid) - self._before.get(pid, 0.0))
        workers = [pid for pid in now if pid not in self._before]
        return Sample(
            at=time.time(),
            flow_s=cpu_s(os.getpid()) - self._flow_s,
            workers_s=sum(s for pid, s in self._used.items() if pid not in self._before),
            server_s=sum(s for pid, s in self._used.items() if pid in self._before),
            machine_s=machine_cpu_s() - self._machine_s,
            held_mib=sum(map(held_mib, [os.getpid(), *workers])),
            free_mib=free_mib(),
        )


def descendants() -> list[int]:
    """Of this process, running now."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError, ValueError):  # it has ended
            children.setdefault(int(_stat(int(entry.name))[1]), []).append(int(entry.name))
    found, left = [], list(children.get(os.getpid(), ()))
    while left:
        pid = left.pop()
        found.append(pid)
        left += children.get(pid, ())
    return found


def _stat(pid: int) -> list[str]:
    """From the third field of proc_pid_stat(5) on: the second, in brackets, may hold anything."""
    return (_PROC / f"{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def cpu_s(pid: int) -> float:
    """In user and in kernel mode; 0 of one that has ended."""
    with suppress(OSError, IndexError):
        fields = _stat(pid)
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def machine_cpu_s() -> float:
    """Of all processes: all columns of proc_stat(5) but idle and waiting; guests are counted in the first two already."""
    fields = [int(word) for word in (_PROC / "stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:8])) / os.sysconf("SC_CLK_TCK")


def held_mib(pid: int) -> float:
    """Its share of memory: what several processes share, such as a model's file, is divided among them (Pss)."""
    with suppress(OSError):
        for line in (_PROC / f"{pid}/smaps_rollup").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


def free_mib() -> float:
    for line in (_PROC / "meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / 1024
    return 0.0


def total_mib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20
