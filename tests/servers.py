"""Servers on loopback that end with the test: ours (`decoding.serve`), and one full of faults. In threads of this process,
for loading the libraries anew takes longer than most tests; ours also as a process of its own."""

from __future__ import annotations

import os
import queue
import re
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fastapi import FastAPI

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def served(folder: Path, *, method: str = "auto", api_key: str | None = None, dtype: str = "auto") -> Iterator[str]:
    """Our server on a model folder, under the name `tiny`; yields its address, up to and without `/v1`."""
    from decoding.engine import Engine
    from decoding.models.loading import load
    from decoding.serving.endpoints import build_app
    from decoding.serving.service import Service

    loaded = load(str(folder), device="cpu", dtype=dtype)
    with _listening(build_app(Service(loaded, Engine(loaded, method), "tiny"), api_key)) as address:
        yield address


@contextmanager
def faulty() -> Iterator[str]:
    """`tests/faulty_server.py`; yields its address."""
    from tests.faulty_server import build_app

    with _listening(build_app()) as address:
        yield address


@contextmanager
def in_thread(server: socketserver.BaseServer) -> Iterator[None]:
    """Answers until the block ends, and is closed then."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def _listening(app: FastAPI) -> Iterator[str]:
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0), backlog=64)  # connections wait here until the server takes over
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, log_level="critical", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@contextmanager
def served_by_command(*flags: str) -> Iterator[str]:
    """`python -m decoding.serve FLAGS`, its `main` in a thread of this process; yields its address."""
    import uvicorn

    from decoding.serve import main

    started: queue.Queue[tuple[uvicorn.Server, str]] = queue.Queue()

    class Known(uvicorn.Server):
        def run(self, sockets: list[socket.socket] | None = None) -> None:
            (listening,) = sockets or []
            started.put((self, f"http://127.0.0.1:{listening.getsockname()[1]}"))
            super().run(sockets=sockets)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as thread:
        patch.setattr(uvicorn, "Server", Known)
        ended = thread.submit(main, ["--port", "0", "--device", "cpu", *flags])
        ended.add_done_callback(lambda done: started.put((None, f"it ended with {done}")))  # type: ignore[arg-type]
        server, address = started.get()
        assert server is not None, address
        try:
            yield address
        finally:
            server.should_exit = True
            assert ended.result() == 0


@contextmanager
def served_process(folder: Path, *flags: str, key: str = "") -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`python -m decoding.serve` on a model folder, until the end of the block: its address, and the process.

    `key` is in its environment as TINY_KEY.
    """
    words = ["-m", "decoding.serve", "--model", str(folder), "--served-name", "tiny", "--port", "0", "--device", "cpu", *flags]
    environment = (
        os.environ | ({"TINY_KEY": key} if key else {}) | {"OMP_NUM_THREADS": "1"}
    )  # small matrices on many threads wait more than they compute
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as server:
        assert server.stdout is not None
        try:
            line = server.stdout.readline()
            found = re.search(r"at (http://\S+)/v1", line)
            assert found, f"the server did not start: {line!r}"
            yield found.group(1), server
        finally:
            server.kill()
