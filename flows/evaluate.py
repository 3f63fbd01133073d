"""Generate what is missing, score every event, write submission.json, print the table."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark import scoring, submission
from data.scores import SystemScores
from flows import console, generate, preview, wiring
from flows.job import MODEL_SYSTEMS

if TYPE_CHECKING:
    from rich.table import Table

TABLE = (
    ("citations", ("cite_recall", "cite_precision", "cite_f1", "cited_share", "cite_words")),
    ("faithfulness", ("grounded", "number_errors", "novel_entity_rate")),
    ("coverage", ("attainable_entity_recall", "entity_recall", "number_recall", "ib_hard", "ib_soft")),
    ("structure", ("heading_f", "heading_recall", "heading_precision")),
    ("wording", ("rouge1_f", "rouge2_f", "rougeL_f", "rouge2_recall", "length_ratio")),
    ("copying", ("copy8", "gold_copy8", "leak8", "repetition", "duplicate_sentence_share")),
    ("as WikiGenBench", ("wgb_bleu1", "wgb_bleu4", "wgb_meteor", "wgb_rougeL")),
    ("", ("wgb_cite_recall", "wgb_cite_precision", "wgb_cite_rate")),
)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """`score_s` is wall time of scoring alone."""

    scores: SystemScores
    submission: Path
    generated: generate.Generated
    score_s: float


def evaluate(prepared: wiring.Prepared, write: generate.Write = generate.one_by_one) -> Evaluated:
    generated = generate.generate(prepared, write)
    settings = prepared.job.settings
    metrics = wiring.build_metrics(settings)
    began = time.perf_counter()
    with prepared.run.locked():
        rows = list(
            console.tracked(
                "scoring",
                scoring.score_run(prepared.run, prepared.snapshot, prepared.ids, metrics, prepared.collect),
                len(prepared.ids),
                lambda row: row.event_id,
            )
        )
        score_s = time.perf_counter() - began
        scores = scoring.system_scores(
            prepared.system.name,
            settings.evidence.track,
            prepared.split,
            rows,
            metrics,
            resamples=settings.evaluation.resamples,
            seed=settings.evaluation.seed,
        )
        path = prepared.run.path / "submission.json"
        submission.write(path, _submission(prepared, scores))
        preview.write_index(prepared.run, prepared.system.name, scores)
    return Evaluated(scores, path, generated, score_s)


def _submission(prepared: wiring.Prepared, scores: SystemScores) -> submission.Submission:
    job, identity = prepared.job, prepared.run.identity() or {}
    stats = [s for i in prepared.ids if (s := prepared.run.event(i).stats()) is not None]
    usages = [s.usage for s in stats if s.usage is not None]
    models = ()
    if job.system in MODEL_SYSTEMS:
        models = (submission.SubmittedModel("writer", identity["system.model"], identity["system.model_fingerprint"]),)
    return submission.build(
        scores,
        submission.SubmittedSystem(
            name=prepared.system.name,
            version=identity["package"],
            evidence_track=job.settings.evidence.track,
            extractive=job.system not in MODEL_SYSTEMS,
            models=models,
            settings=identity,
        ),
        benchmark=identity["data"],
        leak_filter=job.settings.evidence.leak_filter,
        resamples=job.settings.evaluation.resamples,
        seed=job.settings.evaluation.seed,
        cost=submission.SubmittedCost(
            write_s=round(sum(s.seconds for s in stats), 3),
            n_written=len(stats),
            n_prompt_tokens=sum(u.n_prompt_tokens for u in usages) if usages else None,
            n_new_tokens=sum(u.n_new_tokens for u in usages) if usages else None,
        ),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def report(evaluated: Evaluated, *, as_json: bool) -> None:
    scores = evaluated.scores
    lost = [row for row in scores.events if row.status != "ok"]
    for row in lost:
        console.note(f"{row.status}: {row.event_id}: {row.reason} (scores 0, stays in n)")
    if as_json:
        console.result_json(
            {
                "system": scores.system,
                "split": scores.split,
                "track": scores.track,
                "n": len(scores.events),
                "n_failed": len(lost),
                "submission": str(evaluated.submission),
                "score_s": round(evaluated.score_s, 2),
                "scores": {name: round(e.mean, 6) for name, e in scores.estimates.items()},
            }
        )
        return
    console.show(score_table(scores))
    n_written = evaluated.generated.count("written")
    if n_written:
        console.result(f"wrote {n_written} articles in {evaluated.generated.seconds:.1f} s ({_each(evaluated)})")
    console.result(f"scored in {evaluated.score_s:.1f} s; {_conditions()}")
    console.result(f"{len(lost)} of {len(scores.events)} events failed or empty; each counts as 0 where 0 is worst")
    console.result(f"submission: {evaluated.submission}")
    console.result(
        f"HTML preview (click a citation to see its evidence): {preview.index_path(evaluated.submission.parent).resolve()}"
    )


def _each(evaluated: Evaluated) -> str:
    """How long one written event took: evidence, retrieval and writing, models loaded."""
    from statistics import mean, median

    seconds = [o.seconds for o in evaluated.generated.outcomes if o.status == "written"]
    return f"an event {mean(seconds):.2f} s on average, median {median(seconds):.2f}, largest {max(seconds):.2f}"


def _conditions() -> str:
    """What the times were measured on; peak memory is of this process since it began."""
    import os
    import platform
    import resource
    import sys

    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in KiB on Linux
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30
    return f"peak memory {peak:.2f} GiB, {os.cpu_count()} cores, Python {platform.python_version()}"


def score_table(scores: SystemScores) -> Table:
    from rich import box
    from rich.table import Table

    title = f"{scores.system} on {len(scores.events)} events (split {scores.split}, track {scores.track}), percent"
    table = Table(title=title, box=box.SIMPLE, title_justify="left", title_style="bold")
    for name, justify in (
        ("", "left"),
        ("metric", "left"),
        ("mean", "right"),
        ("95% interval", "right"),
        ("unscored", "right"),
    ):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for group, names in TABLE:
        known = [name for name in names if name in scores.estimates]
        for name in known:
            e = scores.estimates[name]
            headline = f"{name} *" if name in scoring.HEADLINE else name
            table.add_row(
                group if name == known[0] else "",
                headline,
                f"{100 * e.mean:.1f}",
                f"{100 * e.low:.1f} - {100 * e.high:.1f}",
                str(e.n_unscored) if e.n_unscored else "",
            )
    table.caption = "* headline metric; systems are ranked by these"
    table.caption_justify = "left"
    return table
