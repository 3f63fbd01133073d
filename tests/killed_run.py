"""An event or a command in a child process that kills itself (SIGKILL) at a chosen write: what `kill -9` or a power cut leaves.

Children are forked from a server process that has this module loaded already, so that thirty of them take seconds.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from functools import cache
from pathlib import Path
from typing import Any, Literal

from benchmark.system import System
from data import codec
from data.errors import UserError
from data.pages.cleaning import clean_pages
from data.runs import RunFolder
from data.settings import Settings
from data.snapshot import SAMPLE, Snapshot
from data.stage_types import Unstored
from data.types import Page
from flows.job import Job
from flows.run_events import generate
from flows.wiring.prepared import Prepared, identity
from flows.wiring.systems import build_system
from pipeline.reading.extract import extract
from pipeline.systems.extractive import ExtractiveSystem
from tests.fakes import FixedEncoder, SilentFiler

EVENT = "9000004"
Moment = Literal["after", "before_rename", "half_written"]
"""When, in the n-th write: after it, when the temporary file is whole but not renamed, or when half of it is written."""


@cache
def system_of(name: str) -> System:
    """As wired, but for the encoder: the sentence model would take seconds to load and changes nothing here."""
    settings = Settings()
    if name == "extractive":
        return ExtractiveSystem(settings.retrieval, settings.writing, FixedEncoder(), SilentFiler())
    return build_system(name, settings)


@cache
def pages_read() -> tuple[Page, ...]:
    """The first of the event's pages, read once: children store them, and reading takes each a tenth of a second."""
    snapshot = Snapshot(SAMPLE)
    raw = snapshot.raw_pages(EVENT, "search")[:4]
    return clean_pages([extract(page) for page in raw], leak=None, leak_hosts=False)


def write(name: str, out: Path) -> list[str]:
    """The statuses of the run's one event."""
    settings, snapshot = Settings(), Snapshot(SAMPLE)
    system = system_of(name)
    job = Job(system=name, settings=settings, data="sample", events=(EVENT,), out=out)
    run = RunFolder.open(out, identity(job, snapshot, system))
    prepared = Prepared(job, snapshot, "sample", (EVENT,), system, lambda event: pages_read(), run)
    return [outcome.status for outcome in generate(prepared).outcomes]


def _child(name: str, out: Path, moment: Moment | None, n: int, answer: Any) -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    count = 0

    def is_due() -> bool:
        nonlocal count
        count += 1
        return count == n

    write_atomic, replace, fsync = codec.write_atomic, os.replace, os.fsync

    def killed_after(path: Path, text: str) -> None:
        write_atomic(path, text)
        if is_due():
            die()

    def killed_before_rename(source: Any, target: Any) -> None:
        if is_due():
            die()
        replace(source, target)

    def killed_half_written(handle: int) -> None:
        if is_due():
            os.ftruncate(handle, os.fstat(handle).st_size // 2)
            die()
        fsync(handle)

    match moment:
        case "after":
            codec.write_atomic = killed_after
        case "before_rename":
            os.replace = killed_before_rename  # type: ignore[assignment]
        case "half_written":
            os.fsync = killed_half_written  # type: ignore[assignment]
    try:
        answer.send(write(name, out))
    except UserError as error:
        answer.send([str(error)])


def _children() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.killed_run_server"])
    return context


def run_child(name: str, out: Path, moment: Moment | None = None, n: int = 0) -> tuple[int, list[str]]:
    """(exit code, statuses); -9 and none when the child killed itself in its n-th write, counted from 1."""
    context = _children()
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(name, out, moment, n, sender))
    child.start()
    sender.close()
    child.join(timeout=120)
    if child.exitcode is None:
        child.kill()
        raise TimeoutError(f"writing {EVENT} with {name} took more than two minutes")
    try:
        statuses = receiver.recv() if receiver.poll() else []
    except EOFError:
        statuses = []
    return child.exitcode, statuses


def warm_up() -> None:
    """Load and compute once what every child would: called in the server that children are forked from."""
    event = Snapshot(SAMPLE).event(EVENT)
    for name in ("extractive", "bm25"):
        system_of(name).write(event, pages_read(), Unstored())
