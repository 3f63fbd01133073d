"""A calibration that nobody searched for: of the right form for a model, with two clusters and two labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from decoding.api import Task
from decoding.backend import SkipSet
from decoding.drafters.hazard import Hazard
from decoding.drafters.lengths import Threshold
from decoding.knn.artefact import EVERYTHING, FORMAT, Calibration, GlobalRouting, Identity, Meta, Plan, TaskRouting
from tests.toy_backend import COSTS

if TYPE_CHECKING:
    from decoding.models.loading import LoadedModel

TASK: Task = "section"


def small_calibration(loaded: LoadedModel, *, by_confidence: bool = True) -> Calibration:
    """Plans: attention of layer 1 for everything, layer 1 for sections, and one more for the second cluster."""
    identity = Identity.of(loaded)
    skips = {EVERYTHING: SkipSet((1,)), TASK: SkipSet((1,), (1,)), f"{TASK}/1": SkipSet((1, 2), (2,))}
    rows = np.random.default_rng(0).standard_normal((2, identity.hidden_size)).astype(np.float32)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    routing = TaskRouting(
        task=TASK,
        mean=np.zeros(identity.hidden_size, dtype=np.float32),
        centroids=unit,
        medoids=unit,
        floor=-1.0,
        plans=(TASK, f"{TASK}/1"),
        medoid_ids=("a", "b"),
        sizes=(3, 4),
    )
    meta = Meta(
        format=FORMAT,
        identity=identity,
        versions={},
        backend="driven",
        seed=0,
        objective="none",
        command="tests",
        date="2031-01-01",
        calibration_ids=(),
        held_out_ids=(),
        groups=(),
    )
    return Calibration(
        meta=meta,
        plans=tuple(_plan(name, skip) for name, skip in skips.items()),
        tasks=(routing,),
        everywhere=GlobalRouting(unit, ("x", "y"), {"x": TASK, "y": EVERYTHING}),
        stops={EVERYTHING: Hazard((0.2, 0.9), (0.5, 0.95), (0.9, 0.8))} if by_confidence else {},
        costs=COSTS,
    )


def _plan(name: str, skip: SkipSet) -> Plan:
    return Plan(name=name, skip=skip, found=skip, policy=Threshold(), acceptance=(0.8, 0.6), n_search=1, searched=1.0)
