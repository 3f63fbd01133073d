"""Lets Prefect's commands in the folder where `wikigenben up` runs find its server: they read `.env` of their folder.

Without an address a command such as `prefect deployment run` starts a server of its own and waits there for a worker that
never comes. What we write stands between two marks, and is taken back when `up` ends; whatever else the file holds stays as it
was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.showing import console

ENV = ".env"
_NAME = b"PREFECT_API_URL"
_BEGIN, _END = b"# wikigenben up: taken back when it ends", b"# wikigenben up: until here"
_BLOCK = re.compile(rb"(?m)^%s\n(?:.*\n)*?%s\n?" % (re.escape(_BEGIN), re.escape(_END)))
_NAMED = re.compile(rb"(?mi)^[ \t]*(?:export[ \t]+)?%s[ \t]*=[ \t]*(.*)$" % _NAME)


@contextmanager
def told_to_clients(folder: Path, api: str) -> Iterator[bool]:
    """Within the block commands that start in `folder` ask the server at `api`; yields whether they do. A file that names
    another server, or cannot be written, is left alone, with a note."""
    path = folder / ENV
    told = _add(path, api)
    try:
        yield told
    finally:
        if told:
            _take_back(path, api)


def _add(path: Path, api: str) -> bool:
    try:
        others = _BLOCK.sub(b"", _content(path))  # of an `up` that was killed
        if named := _NAMED.search(others):
            other = named[1].decode("utf-8", "replace").strip().strip("'\"")
            if other.rstrip("/") == api:
                return False  # it says so already
            console.note(f"{path} names another Prefect server ({other}), which commands in this folder ask")
            return False
        gap = b"" if not others or others.endswith(b"\n") else b"\n"
        path.write_bytes(others + gap + _block(api))  # in place: it keeps its owner and mode
    except OSError as error:
        console.note(f"cannot write {path}: {error.strerror}; commands need PREFECT_API_URL={api}")
        return False
    return True


def _take_back(path: Path, api: str) -> None:
    """Ours alone: another `up` in this folder may have written its own since."""
    try:
        content = _content(path)
        rest = content.replace(_block(api), b"")
        if rest == content:
            return
        if rest:
            path.write_bytes(rest)
        else:
            path.unlink()
    except OSError as error:
        console.note(f"cannot write {path}: {error.strerror}; take its lines of wikigenben up out by hand")


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _block(api: str) -> bytes:
    return b"%s\n%s=%s\n%s\n" % (_BEGIN, _NAME, api.encode(), _END)
