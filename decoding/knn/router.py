"""A prompt's vector -> the layer set to draft with (KNN-SSD, section 3.3). The vector came with the prefill."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Literal

from decoding.api import Task
from decoding.backend import SkipSet
from decoding.drafters.drafter import Request
from decoding.knn.artefact import EVERYTHING, Calibration, Plan, TaskRouting
from decoding.knn.prompt_vectors import centred, unit

if TYPE_CHECKING:
    from decoding.api import Vectors

Mode = Literal["task", "global"]
"""`task`: among the clusters of the prompt's own task, which the caller knows. `global`: the original's, one index for all, and
the set that was found, whether it pays or not."""

NEIGHBOURS = 3


class Router:
    """Implements `decoding.drafters.skip.Router`. Holds no state but its indices, so texts and threads may share it.

    In `task` mode three anchors (two for each cluster: its centroid and the prompt nearest to it) vote for their clusters'
    plans, each with its cosine. The task's own plan is taken where the nearest is below the task's floor, or all clusters share
    it; a task that was not calibrated gets the plan of all prompts together. The empty set says: skipping does not pay here.
    """

    def __init__(self, calibration: Calibration, mode: Mode = "task") -> None:
        self._calibration = calibration
        self._mode = mode
        self._tasks = {r.task: _TaskIndex(r) for r in calibration.tasks if r.routes} if mode == "task" else {}
        self._anchors: Any = _index(calibration.everywhere.anchors) if mode == "global" else None

    def __call__(self, request: Request) -> SkipSet:
        vector = request.prefill.vector
        if vector is None:
            raise ValueError("routing needs the prompt's vector: ask the prefill for Wants(vector=True)")
        plan = self.choose(request.task, vector)
        return plan.found if self._mode == "global" else plan.skip

    def choose(self, task: Task, vector: Vectors) -> Plan:
        """`vector`: (D,), as the prefill gives it."""
        if self._anchors is not None:
            return self._nearest(vector)
        index = self._tasks.get(task)
        if index is None:
            own = task if self._calibration.task(task) else EVERYTHING
            return self._calibration.plan(own)
        return self._calibration.plan(index.vote(vector))

    def _nearest(self, vector: Vectors) -> Plan:
        _, found = self._anchors.search(unit(vector[None]), 1)
        everywhere = self._calibration.everywhere
        name = everywhere.plans[everywhere.labels[int(found[0, 0])]]
        return self._calibration.plan(name)


class _TaskIndex:
    def __init__(self, routing: TaskRouting) -> None:
        import numpy as np

        self._routing = routing
        self._index = _index(np.concatenate([routing.centroids, routing.medoids]))

    def vote(self, vector: Vectors) -> str:
        """The plan's name."""
        routing = self._routing
        cosines, found = self._index.search(centred(vector[None], routing.mean), NEIGHBOURS)
        clusters = [int(i) % len(routing.plans) for i in found[0] if i >= 0]
        if float(cosines[0, 0]) < routing.floor:
            return routing.task
        votes: defaultdict[str, float] = defaultdict(float)
        for cluster, cosine in zip(clusters, cosines[0].tolist()):
            votes[routing.plans[cluster]] += max(0.0, cosine)
        return max(votes, key=lambda name: votes[name])  # of equals the nearer


def _index(rows: Vectors) -> Any:
    """Exact inner products with (N, D) rows."""
    import faiss
    import numpy as np

    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(np.ascontiguousarray(rows, dtype=np.float32))
    return index
