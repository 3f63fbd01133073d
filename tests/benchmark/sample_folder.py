"""A submission folder of the bundled sample, as the commands make it, of articles that a system without a model wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmark.runner import run_event
from benchmark.scoring import score_run, system_scores
from benchmark.submissions import folder, submission, verdicts
from benchmark.submissions.submitted import SubmittedCost, SubmittedSystem
from data.errors import NoEvidence
from data.runs import RunFolder
from data.settings import Settings
from data.snapshot import SAMPLE, Snapshot
from data.stage_types import Stages
from data.types import Article, Event, Page
from eval.judges.lexical_judge import LexicalJudge
from eval.metric import Metric
from eval.metrics.citations import Citations
from eval.metrics.coverage import Coverage
from eval.metrics.rouge import Rouge
from flows.commands import submit
from flows.wiring.page_sources import build_collect
from pipeline.systems.baselines import LeadSystem

FAILED = "9000005"
SNAPSHOT = Snapshot(SAMPLE)
IDS = SNAPSHOT.ids("search")


class LeadButOne(LeadSystem):
    """Finds nothing for one event, so that a failure is among the rows."""

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        if event.id == FAILED:
            raise NoEvidence("no usable page")
        return super().write(event, pages, stages)


def metrics() -> tuple[Metric, ...]:
    """Some of the real ones: those that load no encoder."""
    return (Citations(LexicalJudge()), Coverage(), Rouge())


def collect() -> Callable[[Event], tuple[Page, ...]]:
    return build_collect(SNAPSHOT, Settings())


def scored_run(path: Path) -> RunFolder:
    """A run over the sample with its submission.json, scored by `metrics` with few resamples."""
    settings = Settings()
    run = RunFolder.open(path, {"system": "lead", "languages": "en"})
    for event_id in IDS:
        run_event(run, LeadButOne(settings.retrieval, settings.writing), event_id, SNAPSHOT.event, collect())
    score(run)
    return run


def score(run: RunFolder) -> None:
    rows = list(score_run(run, SNAPSHOT, IDS, metrics(), collect()))
    judges, judged = submission.judges_of(metrics())
    made = submission.build(
        system_scores("lead", "search", "sample", rows, metrics(), resamples=100, seed=3),
        SubmittedSystem("lead", "0.1.0", "search", True, settings=run.identity() or {}),
        benchmark="sample",
        leak_filter=True,
        resamples=100,
        seed=3,
        cost=SubmittedCost(1.5, 4),
        created="2031-03-16T12:00:00+00:00",
        judges=judges,
        judged=judged,
    )
    submission.write(run.path / folder.SUBMISSION, made)


def make(run: RunFolder, out: Path, *, hash_only: bool = False) -> Path:
    made = submit.completed(run, submit.scored(run.path, metrics()), metrics())
    folder.write(run, made, out, None if hash_only else verdicts.verdicts(run, made, metrics()))
    return out
