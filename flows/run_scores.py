"""Generate missing articles, score every event, and the floors beside it; write submission.json, print the tables."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark import floors, scoring, strata
from benchmark.checkout import commit
from benchmark.submissions import submission, submitted
from data.scores import EventScores, SystemScores
from eval.catalogue import BESIDE, CATALOGUE, HEADLINE, by_group, entry
from eval.catalogue import shown as shown_value
from flows import run_events
from flows.job import MODEL_SYSTEMS
from flows.showing import console, preview
from flows.showing.drafted import drafted_lines
from flows.showing.report.page import REPORT, write_report
from flows.wiring.judges import judge_card
from flows.wiring.metrics import build_metrics, floors_folder
from flows.wiring.models import model_facts
from flows.wiring.prepared import Prepared
from flows.wiring.systems import put_away

if TYPE_CHECKING:
    from rich.table import Table

    from eval.metric import Metric


@dataclass(frozen=True, slots=True)
class Evaluated:
    """`score_s` is wall time of scoring the system alone. `beside` holds floors and ceilings, empty where not asked for."""

    scores: SystemScores
    submission: Path
    generated: run_events.Generated
    score_s: float
    beside: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    strata: Mapping[str, strata.Stratum] = field(default_factory=dict)


def evaluate(
    prepared: Prepared, write: run_events.Write = run_events.one_by_one, *, with_floors: bool = True, partly: bool = False
) -> Evaluated:
    """Floors take longer than a system without a model; they are computed once, for all runs on the same data.

    `partly`: `write` may leave events out, and these are not scored.
    """
    generated = run_events.generate(prepared, write)
    if partly:
        prepared = replace(prepared, ids=tuple(outcome.event_id for outcome in generated.outcomes))
    put_away(prepared.system)  # 0.6 GiB of the default model, while the judges load theirs
    settings = prepared.job.settings
    metrics = build_metrics(settings)
    began = time.perf_counter()
    with prepared.run.locked():
        rows = list(
            console.tracked(
                "scoring",
                scoring.score_run(prepared.run, prepared.snapshot, prepared.ids, metrics, prepared.pages_to_score),
                len(prepared.ids),
                lambda row: row.id,
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
        beside = _floors(prepared, metrics) if with_floors else {}
        cut = _strata(prepared, rows)
        path = prepared.run.path / "submission.json"
        submission.write(path, with_tables(submission_of(prepared, scores, metrics), beside, cut))
        preview.write_index(prepared.run, prepared.system.name, scores)
        write_report(prepared.run)
    return Evaluated(scores, path, generated, score_s, beside, cut)


def _floors(prepared: Prepared, metrics: Sequence[Metric]) -> dict[str, dict[str, float]]:
    rows = floors.score_floors(
        prepared.run,
        prepared.snapshot,
        prepared.ids,
        metrics,
        prepared.pages_to_score,
        seed=prepared.job.settings.evaluation.seed,
        kept=floors_folder(),
    )
    return floors.means(console.tracked("floors", rows, len(prepared.ids), lambda row: row.id))


def _strata(prepared: Prepared, rows: Sequence[EventScores]) -> dict[str, strata.Stratum]:
    chosen = prepared.job.settings.evaluation
    traits = strata.read_traits(prepared.run, prepared.snapshot, prepared.ids, prepared.pages_to_score)
    return strata.stratify(traits, rows, resamples=chosen.resamples, seed=chosen.seed)


def with_tables(
    made: submitted.Submission, beside: Mapping[str, Mapping[str, float]], cut: Mapping[str, strata.Stratum]
) -> submitted.Submission:
    return replace(
        made,
        floors=submission.rounded({name: beside[name] for name in floors.FLOORS if name in beside}),
        ceilings=submission.rounded({name: beside[name] for name in floors.CEILINGS if name in beside}),
        strata=submission.submitted_strata(cut, made.scores),
    )


def submission_of(prepared: Prepared, scores: SystemScores, metrics: Sequence[Metric]) -> submitted.Submission:
    """What the run, its rows and its metrics say, without floors and strata."""
    job, identity = prepared.job, prepared.run.identity() or {}
    stats = [s for i in prepared.ids if (s := prepared.run.event(i).stats()) is not None]
    usages = [s.usage for s in stats if s.usage is not None]
    judges, judged = submission.judges_of(metrics, judge_card)
    models: tuple[submitted.SubmittedModel, ...] = ()
    if job.system in MODEL_SYSTEMS:
        name = identity["system.model"]
        size, licence = model_facts(name)
        models = (submitted.SubmittedModel("writer", name, identity["system.model_fingerprint"], size, licence),)
    return submission.build(
        scores,
        submitted.SubmittedSystem(
            name=prepared.system.name,
            version=identity["package"],
            evidence_track=job.settings.evidence.track,
            extractive=job.system not in MODEL_SYSTEMS,
            models=models,
            uses_web=prepared.is_live,
            settings=identity,
            commit=commit(),
        ),
        benchmark=identity["data"],
        leak_filter=job.settings.evidence.leak_filter,
        resamples=job.settings.evaluation.resamples,
        seed=job.settings.evaluation.seed,
        cost=submitted.SubmittedCost(
            write_s=round(sum(s.seconds for s in stats), 3),
            n_written=len(stats),
            n_prompt_tokens=sum(u.n_prompt_tokens for u in usages) if usages else None,
            n_new_tokens=sum(u.n_new_tokens for u in usages) if usages else None,
        ),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        judges=judges,
        judged=judged,
    )


def report(evaluated: Evaluated, *, as_json: bool, with_strata: bool = False, everything: bool = False) -> None:
    """`everything`: all values of the table, in place of the headline and what is beside it. JSON has all of them."""
    scores = evaluated.scores
    lost = [row for row in scores.events if row.status != "ok"]
    for row in lost:
        console.note(f"{row.status}: {row.id}: {row.reason} (scores 0, stays in n)")
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
                "floors": {name: {k: round(v, 6) for k, v in means.items()} for name, means in evaluated.beside.items()},
                "strata": {
                    name: {
                        metric: {"mean": round(e.mean, 6), "ci95": [round(e.low, 6), round(e.high, 6)], "n": e.n}
                        for metric, e in one.estimates.items()
                    }
                    for name, one in evaluated.strata.items()
                },
            }
        )
        return
    console.show(score_table(scores, evaluated.beside, everything=everything))
    for line in (*explained(scores), *references_explained(evaluated.beside)):
        console.result(line)
    for line in preconditions({name: e.mean for name, e in scores.estimates.items()}):
        console.result(line)
    if with_strata:
        console.show(strata_table(evaluated.strata))
    n_written = evaluated.generated.count("written")
    if n_written:
        console.result(f"wrote {n_written} articles in {evaluated.generated.seconds:.1f} s ({_each(evaluated)})")
        for line in drafted_lines(run_events.usages_of(evaluated.generated)):
            console.result(line)
    console.result(f"scored in {evaluated.score_s:.1f} s; {_conditions()}")
    console.result(f"{len(lost)} of {len(scores.events)} events failed or empty; each counts as 0 where 0 is worst")
    console.result(f"submission: {evaluated.submission!s}")
    console.result(f"report (best and worst events, plots, times): {evaluated.submission.with_name(REPORT).resolve()}")
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


def explained(scores: SystemScores) -> list[str]:
    """A line for each metric of the headline and beside it that was measured."""
    known = [name for name in (*HEADLINE, *BESIDE) if name in scores.estimates]
    return [f"{name:14} {entry(name).meaning}" for name in known]


def references_explained(beside: Mapping[str, object]) -> list[str]:
    """What the columns beside the interval are: floors, then ceilings."""
    lines = []
    for kind in ("floor", "ceiling"):
        told = [
            f"{one.column}: {one.meaning}"
            for name, one in floors.REFERENCES.items()
            if name in beside and one.kind == kind and one.column
        ]
        lines += textwrap.wrap(f"{kind + 's':14} {'; '.join(told)}", 110, subsequent_indent=" " * 15) if told else []
    return lines


def preconditions(means: Mapping[str, float]) -> list[str]:
    """Which of them fail, by which values, and whether support is known."""
    failed = scoring.why_unmet(means)
    told = "; ".join(f"{name} ({why})" for name, why in failed.items())
    lines = [f"preconditions failed: {told}" if failed else "preconditions failed: none"]
    if why := scoring.support_unknown(means):
        lines.append(f"support is unknown: {why}; it fails no precondition and takes no part in quality")
    return [part for line in lines for part in textwrap.wrap(line, 110, subsequent_indent="  ")]


def score_table(
    scores: SystemScores, beside: Mapping[str, Mapping[str, float]] | None = None, *, everything: bool = False
) -> Table:
    """`beside`: means of floors and ceilings, each a column."""
    beside = {name: means for name, means in (beside or {}).items() if name in floors.COLUMNS}
    title = (
        f"{scores.system} on {len(scores.events)} events (split {scores.split}, track {scores.track}), percent, 95% intervals"
    )
    groups = _groups(scores.estimates, everything=everything)
    shown = [name for _, names in groups for name in names]
    unknown = scoring.support_unknown({name: e.mean for name, e in scores.estimates.items()})
    unscored = ("unscored",) if any(scores.estimates[name].n_unscored for name in shown) else ()
    columns = ("", "metric", "mean", "interval", *(floors.COLUMNS[name] for name in beside), *unscored)
    table = _table(title, columns, n_left=2)
    reached = False
    for group, names in groups:
        for name in names:
            e, headline = scores.estimates[name], name in HEADLINE
            hidden = name == "cite_f1" and bool(unknown)
            equalled = floors.not_beaten(name, e.mean, beside) if headline and not hidden else ()
            reached = reached or bool(equalled)
            table.add_row(
                group if name == names[0] else "",
                f"{name} *" if headline else name,
                "unknown" if hidden else shown_value(name, e.mean) + ("!" if equalled else ""),
                "" if hidden else f"{shown_value(name, e.low)}-{shown_value(name, e.high)}",
                *(shown_value(name, means[name]) if name in means else "" for means in beside.values()),
                *([str(e.n_unscored or "")] if unscored else ()),
            )
    notes = [f"* headline metric; systems that fail as many preconditions are ranked by {', then '.join(scoring.RANKED)}"]
    if reached:
        notes.append(
            "! a floor (wrong article, lead or best passages of the pages) is not below: this value alone says nothing"
        )
    if n_more := len(scores.estimates.keys() - {*shown}):
        notes.append(f"{n_more} more metrics: --all")
    table.caption = "\n".join(notes)
    table.caption_justify = "left"
    return table


def _groups(names: Container[str], *, everything: bool) -> list[tuple[str, list[str]]]:
    """The headline and what is beside it, rubrics where a model was asked for them, then all others by group."""
    groups = [
        ("headline", [name for name in HEADLINE if name in names]),
        ("beside", [name for name in BESIDE if name in names]),
    ]
    for group, entries in by_group(name for name in CATALOGUE if name in names and name not in (*HEADLINE, *BESIDE)):
        if everything or group == "Rubrics":
            groups.append((group, [one.name for one in entries]))
    return groups


def strata_table(found: Mapping[str, strata.Stratum]) -> Table:
    """The headline metrics of each stratum."""
    table = _table("by kind of event, percent (n scored events)", ("events", "metric", "mean", "95% interval", "n"), n_left=2)
    for name, one in found.items():
        for place, (metric, e) in enumerate(one.estimates.items()):
            interval = f"{shown_value(metric, e.low)}-{shown_value(metric, e.high)}"
            table.add_row(name if place == 0 else "", metric, shown_value(metric, e.mean), interval, str(e.n))
    return table


def _table(title: str, columns: Sequence[str], *, n_left: int) -> Table:
    from rich import box
    from rich.table import Table

    # with one space between them all columns fit into 110 characters
    table = Table(title=title, box=box.SIMPLE, title_justify="left", title_style="bold", padding=0)
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place < n_left else "right", no_wrap=True)
    return table
