"""Compiled code is kept once for all processes, which must not take each other's."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from filelock import FileLock

from decoding.lowbit import compiling, kernels


def test_code_is_saved_by_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_CACHE", str(tmp_path / "kernels" / "of"))
    monkeypatch.setattr(compiling, "_TURN", FileLock(tmp_path / "kernels" / "of.lock"))
    at_once: list[int] = []
    saving: list[Any] = []

    def save(key: Any, code: Any) -> None:
        saving.append(key)
        time.sleep(0.01)
        at_once.append(len(saving))
        saving.remove(key)

    made = [
        compiling._saving_in_turn(SimpleNamespace(_cache=SimpleNamespace(_cache_file=SimpleNamespace(save=save)))) for _ in "ab"
    ]
    threads = [threading.Thread(target=one._cache._cache_file.save, args=(n, b"")) for n, one in enumerate([*made, *made])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert at_once == [1, 1, 1, 1]


def test_all_code_that_is_kept_is_saved_so() -> None:
    """numba's own name for where it saves; with another it would save without waiting, and this says so."""
    assert kernels.multiply._cache._cache_file.save.__name__ == "in_turn"


def test_where_no_lock_can_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setattr(compiling, "_CACHE", str(tmp_path / "file" / "of"))
    with compiling._in_turn():
        pass
