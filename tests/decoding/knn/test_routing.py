"""Anchors, plans and the router, on vectors and models whose right answer is known."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from decoding.api import Message
from decoding.backend import FULL, SkipSet
from decoding.drafters.drafter import Request
from decoding.drafters.lengths import Threshold
from decoding.knn.anchors import cluster, k_means
from decoding.knn.artefact import (
    EVERYTHING,
    FORMAT,
    Calibration,
    GlobalRouting,
    Identity,
    Meta,
    Plan,
    TaskRouting,
)
from decoding.knn.calibration_report import leave_one_out, markdown, measured, verdict
from decoding.knn.draft_agreement import Logged, log_answer
from decoding.knn.kept_stages import Stages
from decoding.knn.plans import Planner, SearchSettings, Split, TaskPlans
from decoding.knn.prompt_files import PromptRow
from decoding.knn.prompt_vectors import centred, unit
from decoding.knn.router import Router
from decoding.knn.trials import Trials
from tests.toy_backend import COSTS, ToyBackend

D = 16


def _blobs(k: int, n: int, spread: float = 0.1, seed: int = 0) -> np.ndarray:
    """(k * n, D) float32 around k far points that share a large common part."""
    rng = np.random.default_rng(seed)
    centres = np.eye(D)[:k] * 3
    rows = np.repeat(centres, n, axis=0) + spread * rng.standard_normal((k * n, D)) + 10
    return rows.astype(np.float32)


def test_equal_vectors_and_more_clusters_than_rows(capfd: pytest.CaptureFixture[str]) -> None:
    rows = np.repeat(unit(_blobs(2, 1)), 5, axis=0)
    assert k_means(rows, 10, seed=42).k == 2
    assert k_means(rows[:1], 10, seed=42).k == 1
    assert capfd.readouterr().err == ""  # faiss warns on stderr of few points


def test_leave_one_out() -> None:
    raw = _blobs(2, 6)
    rows = centred(raw, raw.mean(axis=0))
    told = leave_one_out(rows, ["a"] * 6 + ["b"] * 6)
    assert (told.right, told.majority, told.n) == (1.0, 0.5, 12)
    lone = leave_one_out(rows, ["a"] * 6 + ["b"] * 5 + ["c"])  # itself left out, nobody says c
    assert lone.right == pytest.approx(11 / 12)
    assert leave_one_out(rows, ["a", "b", *[""] * 10]).n == 2


# --- router -----------------------------------------------------------------------------------------------------------

A, B, MIXED = SkipSet((1,)), SkipSet((2,)), SkipSet((3,))


def _plan(name: str, skip: SkipSet, found: SkipSet | None = None) -> Plan:
    return Plan(name, skip, found or skip, Threshold(), (0.9,), 4, 1.2)


def _calibration(*, floor: float = 0.2, used: tuple[str, ...] = ("section/0", "section/1")) -> Calibration:
    raw = _blobs(2, 6)
    mean = raw.mean(axis=0)
    rows = centred(raw, mean)
    found = cluster(rows)
    first = int(found.of[0])
    plans = (
        _plan("section", MIXED),
        _plan(f"section/{first}", A),
        _plan(f"section/{1 - first}", B),
        _plan("lead", FULL, found=A),
        _plan(EVERYTHING, SkipSet((4,))),
    )
    section = TaskRouting("section", mean, found.centroids, rows[found.medoids], floor, used, ("x", "y"), (6, 6))
    lead = TaskRouting("lead", mean, found.centroids[:1], rows[found.medoids[:1]], floor, ("lead",), ("x",), (6,))
    anchors = unit(np.stack([raw[0], raw[6]]))
    meta = Meta(FORMAT, Identity("hf:m", "f" * 64, "float32", "t", "c", 8, D), {}, "toy", 0, "cost", "c", "d", (), (), ())
    everywhere = GlobalRouting(anchors, ("lead", "section"), {"lead": "lead", "section": "section"})
    return Calibration(meta, plans, (section, lead), everywhere, {}, COSTS)


def _route(router: Router, task: str, vector: np.ndarray) -> SkipSet:
    backend = ToyBackend()
    prefill = replace(backend.prefill([1], capacity=2), vector=vector)
    return router(Request([1], prefill, None, task))  # type: ignore[arg-type]


def test_what_is_like_nothing_seen_gets_the_tasks_set() -> None:
    router = Router(_calibration(floor=0.5))
    odd = _blobs(3, 1)[2]  # a third direction
    assert _route(router, "section", odd) == MIXED
    assert _route(router, "section", _blobs(2, 1)[0]) == A


def test_tasks_are_never_crossed() -> None:
    router = Router(_calibration())
    vector = _blobs(2, 1)[0]
    assert _route(router, "lead", vector) == FULL  # does not pay there
    assert _route(router, "outline", vector) == SkipSet((4,))  # was not calibrated


def test_a_drafter_that_forgot_the_vector_is_told() -> None:
    with pytest.raises(ValueError, match="Wants"):
        _route(Router(_calibration()), "section", None)  # type: ignore[arg-type]


# --- planning ---------------------------------------------------------------------------------------------------------

FOUR_BLOCKS = replace(COSTS, attention=0.1, mlp=0.125)
"""A draft step that skips nothing costs as much as a full one."""


class TwoMinds(ToyBackend):
    """Prompts that begin with token 0 do without attention and those with 1 without MLPs, but not the other way round."""

    def logits_after(self, prefix: Sequence[int], plan: SkipSet = FULL) -> torch.Tensor:
        harmful = SkipSet(mlp=plan.mlp) if prefix[0] == 0 else SkipSet(attention=plan.attention)
        return super().logits_after(prefix, harmful)


class OneMind(ToyBackend):
    """All prompts do without attention."""

    def logits_after(self, prefix: Sequence[int], plan: SkipSet = FULL) -> torch.Tensor:
        return super().logits_after(prefix, SkipSet(mlp=plan.mlp))


def _logged(backend: ToyBackend, n: int) -> list[Logged]:
    """Half the prompts begin with 0, half with 1, in words of their own."""
    found = []
    for i in range(n):
        kind = i % 2
        words = random.Random(i).choices(range(4 * kind, 4 * kind + 4), k=20)  # the toy's vector counts tokens mod 8
        row = PromptRow(f"p{i}", (Message("user", "u"),), "section", "war" if kind else "law", event=f"e{i}")
        found.append(log_answer(backend, row, [kind, *words], frozenset(), 24))
    return found


def _planned(backend: ToyBackend, folder: Path) -> tuple[TaskPlans, Calibration, Trials, Split, list[str]]:
    logged = _logged(backend, 40)
    split = Split(tuple(logged[:24]), tuple(logged[24:]))
    said: list[str] = []
    stages = Stages(folder)
    trials = Trials(backend, stages, FOUR_BLOCKS)
    planner = Planner(trials, stages, SearchSettings(iterations=0, prompts=8), said.append)
    found = planner.task("section", split)
    everywhere, others = planner.everywhere(split, ["section"], [plan.found for plan in found.plans])
    meta = Meta(FORMAT, Identity("hf:m", "f" * 64, "float32", "t", "c", 8, 8), {}, "toy", 0, "cost", "c", "d", (), (), ())
    calibration = Calibration(meta, (*found.plans, *others), (found.routing,), everywhere, {}, COSTS)
    return found, calibration, trials, split, said


def test_routing_is_kept_where_it_pays(tmp_path: Path) -> None:
    found, calibration, trials, split, said = _planned(TwoMinds(n_layers=4, noise=60.0), tmp_path)
    assert found.routing.routes and len(found.routing.plans) == 2
    router = Router(calibration)
    for logged in split.held_out:
        skip = router.choose("section", np.array(logged.vector, dtype=np.float32)).skip
        assert skip and (skip.attention, skip.mlp)[logged.prompt[0]] and not (skip.mlp, skip.attention)[logged.prompt[0]]
    figures = measured(calibration, [found], {"section": split}, trials)
    (of_task,) = figures.tasks
    assert of_task.regret["routed"] < 0.02 < of_task.regret["constant"]
    assert of_task.speed["routed"] > of_task.speed["constant"] and of_task.speed["none"] == 1
    assert of_task.topics is not None and of_task.topics.right == 1
    assert verdict(of_task, found.routing, calibration.plan("section")).startswith("Routing pays")
    assert "| section/1 | yes |" in markdown(calibration, figures)
    assert any(line.startswith("search section/0: ") for line in said)


def test_routing_is_dropped_where_one_set_does(tmp_path: Path) -> None:
    found, calibration, trials, split, _ = _planned(OneMind(n_layers=4, noise=60.0), tmp_path)
    assert len(found.routing.plans) == 2 and not found.routing.routes  # the vectors differ, the sets need not
    assert found.plans[0].skip.attention and not found.plans[0].skip.mlp
    figures = measured(calibration, [found], {"section": split}, trials)
    assert "**Routing does not pay**" in verdict(figures.tasks[0], found.routing, calibration.plan("section"))
    assert figures.tasks[0].regret["constant"] < 0.03
