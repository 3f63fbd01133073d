"""A small valid submission, to be edited."""

from __future__ import annotations

from collections.abc import Sequence

from benchmark.submissions.submission import build
from benchmark.submissions.submitted import Submission, SubmittedCost, SubmittedModel, SubmittedSystem
from data import codec
from data.scores import Estimate, EventScores, SystemScores
from eval.aggregate import estimate

SHA = codec.sha256("an article")
NAMES = ("recall", "errors")


def submit(rows: Sequence[EventScores], *, system: str = "ours", signature: str = "words:v1") -> Submission:
    """As `wikigenben evaluate` builds it, with few resamples."""
    resamples, model = 100, SubmittedModel("writer", "hf:qwen", "3fa9")
    n_failed = sum(row.status != "ok" for row in rows)
    estimates: dict[str, Estimate] = {}
    for name in NAMES:
        values = [row.scores[name] for row in rows]
        if any(value is not None for value in values):
            estimates[name] = estimate(values, name=name, seed=3, resamples=resamples, n_failed=n_failed)
    return build(
        SystemScores(system, "search", "full", signature, estimates, tuple(rows)),
        SubmittedSystem(system, "1.0", "search", False, (model,), settings={"system": system, "top_k": "8"}),
        benchmark="wikigenbench",
        leak_filter=True,
        resamples=resamples,
        seed=3,
        cost=SubmittedCost(12.5, 2),
        created="2031-03-16T12:00:00+00:00",
    )


def ok(event_id: str, recall: float | None, errors: float | None = None) -> EventScores:
    return EventScores(event_id, "ok", SHA, 300, {"recall": recall, "errors": errors})


def failed(event_id: str) -> EventScores:
    return EventScores(event_id, "failed", "", 0, {"recall": 0.0, "errors": None}, "evidence: none")


ROWS = (ok("1", 0.9, 0.1), ok("2", 0.4), failed("3"), ok("4", None, 0.0))
