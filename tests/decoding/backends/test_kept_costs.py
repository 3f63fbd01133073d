"""Costs are measured once a day on a machine, and never taken from another model or a damaged file."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from decoding.backends.costs import measure_costs
from decoding.backends.kept_costs import KEPT_S, KeptCosts
from decoding.backends.torch_backend import TorchBackend
from decoding.engine import backend_of, ready_engine
from decoding.models.loading import LoadedModel, load
from tests.tiny_model import build_tiny_model


def opened(folder: Path, seed: int = 0) -> tuple[LoadedModel, TorchBackend]:
    path = folder / f"model-{seed}"
    if not path.exists():
        build_tiny_model(
            path, chat_template=True, vocab_from=["The dam broke in May."], context_tokens=128, seed=seed, layers=1
        )
    loaded = load(str(path), device="cpu")
    backend = backend_of(loaded)
    assert isinstance(backend, TorchBackend)
    return loaded, backend


def test_measured_once(tmp_path: Path) -> None:
    kept = tmp_path / "costs"
    loaded, backend = opened(tmp_path)
    first = KeptCosts(loaded, backend, kept)
    first.give()
    assert backend.measured is None
    first.keep()
    assert not kept.exists(), "nothing was measured"
    costs = backend.costs()
    first.keep()
    (path,) = kept.iterdir()

    loaded, backend = opened(tmp_path)
    KeptCosts(loaded, backend, kept).give()
    assert backend.measured == costs == backend.costs()

    other, unlike = opened(tmp_path, seed=1)
    KeptCosts(other, unlike, kept).give()
    assert unlike.measured is None

    for spoil in (lambda: os.utime(path, (0, time.time() - KEPT_S - 9)), lambda: path.write_text("{", encoding="utf-8")):
        spoil()
        loaded, backend = opened(tmp_path)
        again = KeptCosts(loaded, backend, kept)
        again.give()
        assert backend.measured is None
    measured = backend.costs()
    again.keep()
    loaded, backend = opened(tmp_path)
    KeptCosts(loaded, backend, kept).give()
    assert backend.measured == measured


def test_a_decoder_takes_what_another_process_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))
    loaded, backend = opened(tmp_path)
    costs = measure_costs(backend, context=16, budget_s=0.01)
    backend.take_costs(costs)
    KeptCosts(loaded, backend, tmp_path / "cache" / "costs").keep()
    loaded, backend = opened(tmp_path)
    ready_engine(loaded)
    assert backend.measured == costs

    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "file"))  # nothing can be kept there, and nothing is told
    loaded, backend = opened(tmp_path)
    backend.take_costs(costs)
    ready_engine(loaded)
