"""Servers on loopback, each a process of its own that ends with the test: ours (`decoding.serve`), and one full of faults."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def served(folder: Path, *flags: str) -> Iterator[str]:
    """Our server on a model folder, under the name `tiny`; yields its address, up to and without `/v1`."""
    with served_process(folder, *flags) as (address, _):
        yield address


@contextmanager
def served_process(folder: Path, *flags: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    words = ["-m", "decoding.serve", "--model", str(folder), "--served-name", "tiny", "--port", "0", "--device", "cpu", *flags]
    with _started(words, r"at (http://\S+)/v1") as started:
        yield started


@contextmanager
def faulty() -> Iterator[str]:
    """`tests/faulty_server.py`; yields its address."""
    with _started([str(ROOT / "tests" / "faulty_server.py")], r"PORT (\d+)") as (port, _):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _started(words: Sequence[str], announced: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Runs python until the end of the block; yields what its first line announces, and the process."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # small matrices on many threads wait more than they compute
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as server:
        assert server.stdout is not None
        try:
            line = server.stdout.readline()
            found = re.search(announced, line)
            assert found, f"the server did not start: {line!r}"
            yield found.group(1), server
        finally:
            server.kill()
