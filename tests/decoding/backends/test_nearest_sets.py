"""Searches for skip sets: each row of a search is what the model computes without that row's set, on every backend."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import pytest
import torch

from data.errors import UserError
from decoding.backend import Budget, SkipSet, can_choose
from decoding.backends import nearest_sets
from decoding.backends.build import build_backend
from decoding.backends.hf import HFBackend
from decoding.backends.nearest_sets import SetSearch
from decoding.backends.torch_backend import relative_error
from decoding.methods import build_drafter
from decoding.models.loading import lowered
from tests.model_families import tiny_family

PROMPT = random.Random(0).choices(range(3, 300), k=21)


class Residual:
    """Layers that each add a map of the state and a constant: a model as the search sees it."""

    def __init__(self, n_layers: int, seed: int, size: int = 12) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.maps = torch.randn(n_layers, 2, size, size, generator=generator) * 0.08
        self.added = torch.randn(n_layers, 2, size, generator=generator) * torch.rand(n_layers, 2, 1, generator=generator)
        self.start = torch.randn(1, size, generator=generator)

    def through(self, i: int, k: int, rows: torch.Tensor) -> torch.Tensor:
        return rows + rows @ self.maps[i, k] + self.added[i, k]

    def without(self, plan: SkipSet) -> torch.Tensor:
        rows = self.start
        for i in range(len(self.maps)):
            rows = rows if i in plan.attention else self.through(i, 0, rows)
            rows = rows if i in plan.mlp else self.through(i, 1, rows)
        return rows[0]

    def searched(self, budget: Budget) -> tuple[SetSearch, torch.Tensor]:
        search, rows = SetSearch(len(self.maps), budget), self.start
        for i in range(len(self.maps)):
            rows = search.passed("attention", i, rows, self.through(i, 0, rows))
            rows = search.passed("mlp", i, rows, self.through(i, 1, rows))
        return search, rows

    def nearness(self, plan: SkipSet) -> float:
        return float(torch.cosine_similarity(self.without(plan), self.without(SkipSet()), dim=0))


def test_sets_are_nearly_the_nearest_of_all() -> None:
    """All sets of four sub-layers out of eight, twelve models: found by name, or little farther than the nearest one."""
    parts = [("attention", i) for i in range(1, 5)] + [("mlp", i) for i in range(1, 5)]
    ranks = []
    for seed in range(12):
        model = Residual(6, seed)
        plan = dict(model.searched(Budget(1, 1, 4))[0].sets())[4]
        others = [
            SkipSet(tuple(i for part, i in left if part == "attention"), tuple(i for part, i in left if part == "mlp"))
            for left in combinations(parts, 4)
        ]
        ranks.append(sum(model.nearness(other) > model.nearness(plan) + 1e-6 for other in others))
    assert sorted(ranks)[6] <= 2 and max(ranks) < 35, ranks  # of 70


def test_two_layers_leave_nothing_to_choose() -> None:
    assert Residual(2, 0).searched(Budget(1, 1, 0))[0].sets() == []
    assert Residual(2, 0).searched(Budget(1, 1, 3))[0].sets() == []


CASES = [
    ("llama", "hf"), ("llama", "driven"), ("llama", "packed"), ("llama", "lowbit"), ("qwen3", "lowbit"), ("gemma2", "hf"),
    ("gemma2", "driven"), ("granite", "driven"), ("granite", "lowbit"), ("phi3", "hf"), ("cohere", "hf"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "kind"), CASES)
def test_rows_are_steps_without_their_sets(family: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = tiny_family(family, **({"head_dim": 32} if (family, kind) == ("qwen3", "lowbit") else {}))
    loaded = lowered(loaded, "int8") if kind == "lowbit" else loaded
    backend: Any = build_backend(loaded, kind)  # type: ignore[arg-type]
    assert can_choose(backend)
    rows: list[torch.Tensor] = []
    passed = SetSearch.passed

    def seen(self: SetSearch, *args: Any) -> torch.Tensor:
        rows.append(passed(self, *args).clone())
        return rows[-1]

    monkeypatch.setattr(nearest_sets.SetSearch, "passed", seen)
    backend.prefill(PROMPT, capacity=64)
    found = backend.nearest_sets(7, Budget(1, 2, 4))
    assert backend.n == len(PROMPT) and found
    norm = loaded.model.get_decoder().norm
    for units, plan in [(0, SkipSet()), *found]:
        with torch.inference_mode():
            expected = backend._run(torch.tensor([[7]]), backend.n, plan=plan, states=True)[1]
            row = norm(rows[-1][units : units + 1])
        assert relative_error(row, expected) < (2e-5 if kind != "lowbit" else 1e-6), plan


def test_a_model_whose_states_cannot_be_had_is_refused_before_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HFBackend, "_searched", lambda self, ids, search, parts: torch.zeros(ids.shape[1], 300))
    with pytest.raises(UserError, match="'clasp' compares states between the layers"):
        build_drafter("clasp", HFBackend(tiny_family("cohere")))


@pytest.mark.parametrize("family", ["gpt2", "gpt-neo", "bloom"])
def test_models_whose_layers_cannot_be_left_out_have_no_sets(family: str) -> None:
    assert not can_choose(build_backend(tiny_family(family)))
