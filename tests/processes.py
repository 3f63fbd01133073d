"""Which processes a test has started. psutil reads a snapshot: a thread or process that ends while we look is left out."""

from __future__ import annotations

import psutil


def children(pid: int | None = None) -> set[int]:
    """Processes that `pid` (None: this one) has started and that are still there, also as zombies."""
    return {child.pid for child in psutil.Process(pid).children()}


def command(pid: int) -> str:
    """The command line of a process, empty when it has ended."""
    try:
        return " ".join(psutil.Process(pid).cmdline())
    except psutil.NoSuchProcess:  # a zombie too
        return ""
