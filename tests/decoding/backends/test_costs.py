"""The cost table: what the fit recovers, what is cleaned up, and that a real backend can be timed at any context."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import codec
from decoding.backend import FULL, CostTable, SkipSet
from decoding.backends import costs
from decoding.backends.costs import VERIFY_SIZES, fit_plan_costs, measure_costs, plans_to_time, rising
from decoding.bench.roofline import read_bandwidth, step_bytes
from decoding.machine import signature, versions
from decoding.models.loading import load
from tests.tiny_model import build_tiny_model
from tests.toy_backend import ToyBackend


class Slow(ToyBackend):
    """Takes a known time for each row and each sub-layer, by a clock of its own: a busy machine changes nothing."""

    now = 0.0

    def prefill(self, ids, *, capacity):  # type: ignore[no-untyped-def]
        self.now += 1e-5 * len(ids)
        return super().prefill(ids, capacity=capacity)

    def step(self, ids, *, plan=FULL, parents=None, offset=0):  # type: ignore[no-untyped-def]
        run = 16 - plan.n_skipped
        self.now += 2e-4 + 1e-4 * run + 3e-4 * (len(ids) - 1)
        return super().step(ids, plan=plan, parents=parents, offset=offset)


def test_the_fit_recovers_exact_costs() -> None:
    plans = plans_to_time(8)
    true = CostTable(1.0, ((1, 1.0),), fixed=0.12, attention=0.07, mlp=0.04, context=1, machine="")
    fixed, attention, mlp = fit_plan_costs(plans, [true.c(plan, 8) for plan in plans], 8)
    assert (fixed, attention, mlp) == pytest.approx((0.12, 0.07, 0.04))


def test_the_fit_is_never_negative() -> None:
    """Noise: skipping the MLPs seems to cost more than running them."""
    plans = plans_to_time(4)
    fixed, attention, mlp = fit_plan_costs(plans, [1.0, 0.4, 1.1, 0.3, 0.7], 4)
    assert min(fixed, attention, mlp) >= 0 and attention > mlp


@given(st.lists(st.floats(0.1, 50), min_size=1, max_size=12))
def test_more_rows_never_cost_less(measured: list[float]) -> None:
    cleaned = rising(measured)
    assert len(cleaned) == len(measured) and cleaned[0] == 1.0 and cleaned == sorted(cleaned)
    once = rising([1.0, *sorted(max(1.0, cost) for cost in measured)])
    assert once == [1.0, *sorted(max(1.0, cost) for cost in measured)]  # what rises already stays


def test_a_table_tells_what_steps_take(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(noise=0.0)
    monkeypatch.setattr(costs, "time", SimpleNamespace(perf_counter=lambda: slow.now))
    table = measure_costs(slow, context=64, budget_s=0.5)
    assert (table.context, table.v(1)) == (64, 1.0)
    assert [size for size, _ in table.verify] == list(VERIFY_SIZES)
    assert table.unit_s == pytest.approx(1.8e-3)
    assert [table.v(rows) for rows in (4, 16, 32)] == pytest.approx([1 + 3e-4 * (rows - 1) / 1.8e-3 for rows in (4, 16, 32)])
    assert table.c(SkipSet(tuple(range(8)), tuple(range(8))), 8) < table.c(FULL, 8)
    assert "toy" in table.machine
    assert codec.from_json(CostTable, codec.to_json(table), where="table") == table


def test_a_backend_measures_itself_within_a_short_context(tmp_path: Path) -> None:
    loaded = load(str(build_tiny_model(tmp_path, chat_template=False, vocab_from=["a b c d"], context_tokens=48)), device="cpu")
    from decoding.backends.build import build_backend

    backend = build_backend(loaded)
    table = measure_costs(backend, context=512, budget_s=0.1)
    assert 0 < table.context <= 48 - table.verify[-1][0]
    assert table.machine == signature(backend.info) and versions()["torch"] in table.machine
    assert table.unit_s > 0


def test_bytes_of_a_step(tmp_path: Path) -> None:
    loaded = load(str(build_tiny_model(tmp_path, chat_template=False, vocab_from=["a b c d"])), device="cpu")
    needed = step_bytes(loaded.model)
    size = sum(p.numel() for p in loaded.model.parameters()) * 4
    embedding = loaded.model.get_input_embeddings().weight.numel() * 4
    assert needed.weights == size - embedding  # untied: one row of it is read
    assert needed.kv_per_token == 2 * 4 * 2 * 16 * 4  # keys and values, layers, heads, size, float32
    assert needed.total(10) == needed.weights + 10 * needed.kv_per_token


def test_bandwidth_is_that_of_a_memory() -> None:
    assert 1e8 < read_bandwidth("cpu") < 1e13
