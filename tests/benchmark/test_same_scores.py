"""Scores depend on the article, the human article and the pages: not on the order of events, on who else scores, on hashes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmark.floors import means, not_beaten, score_floors
from benchmark.runner import run_event
from benchmark.scoring import RANKED, score_run, system_scores, unmet
from data.runs import RunFolder
from data.settings import Settings
from eval.metric import Metric
from eval.metrics.coverage import Coverage
from eval.metrics.rouge import Rouge
from pipeline.systems.baselines import Bm25System, LeadSystem
from pipeline.systems.extractive import ExtractiveSystem
from tests.benchmark.sample_folder import IDS, SNAPSHOT, collect
from tests.benchmark.score_part import metrics
from tests.fakes import FixedEncoder, SilentFiler

pytestmark = pytest.mark.slow  # seven whole scorings in processes of their own

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def extractive(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The sample as the extractive system writes it."""
    run, settings = RunFolder.open(tmp_path_factory.mktemp("extractive") / "run", {"system": "extractive"}), Settings()
    for event_id in IDS:
        system = ExtractiveSystem(settings.retrieval, settings.writing, FixedEncoder(), SilentFiler())
        run_event(run, system, event_id, SNAPSHOT.event, collect())
    return run


def means_of(run: RunFolder, chosen: Sequence[Metric], ids: Sequence[str] = IDS) -> dict[str, float]:
    rows = list(score_run(run, SNAPSHOT, ids, chosen, collect()))
    found = system_scores("x", "search", "sample", rows, chosen, resamples=10, seed=0).estimates
    return {name: one.mean for name, one in found.items()}


def scored_by_workers(run: RunFolder, work: Path, parts: list[list[str]]) -> list[bytes]:
    """The lines of scores.jsonl, in order, after a process for each part has scored it; each has another hash seed."""
    workers = []
    for n, part in enumerate(parts):
        (work / str(n)).mkdir(parents=True)
        (work / str(n) / "events").symlink_to(run.path / "events", target_is_directory=True)
        command = [sys.executable, "-m", "tests.benchmark.score_part", str(work / str(n)), *part]
        workers.append(subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": str(len(parts) + n)}))
    assert [worker.wait() for worker in workers] == [0] * len(parts)
    return sorted({line for n in range(len(parts)) for line in (work / str(n) / "scores.jsonl").read_bytes().splitlines()})


def test_one_worker_or_two_in_any_order_with_any_hashes(extractive: RunFolder, tmp_path: Path) -> None:
    for _ in score_run(extractive, SNAPSHOT, IDS, metrics(), collect()):  # one: this process
        pass
    alone = sorted((extractive.path / "scores.jsonl").read_bytes().splitlines())
    two = scored_by_workers(extractive, tmp_path / "two", [list(IDS[::-1][n::2]) for n in range(2)])
    assert len(alone) == len(IDS) + 1 and alone == two


def test_shuffled_files_give_the_same_scores(extractive: RunFolder, tmp_path: Path) -> None:
    """Files created, listed and scored in another order, in a process that scored others before."""
    found = []
    for name, ids in (("a", IDS), ("b", IDS[::-1])):
        for event_id in ids:
            shutil.copytree(extractive.event(event_id).path, tmp_path / name / "events" / event_id)
        found.append((means_of(RunFolder(tmp_path / name), metrics(), ids), (tmp_path / name / "scores.jsonl").read_bytes()))
    assert found[0] == found[1]


# ---- floors


def test_every_floor_is_below_the_extractive_system_where_systems_are_ranked(extractive: RunFolder) -> None:
    system = means_of(extractive, metrics())
    beside = means(score_floors(extractive, SNAPSHOT, IDS, metrics(), collect(), seed=0))
    for name in RANKED:
        assert not_beaten(name, system[name], beside) == (), name
    assert beside["lead"]["cite_recall"] > 0.9  # which is why support does not rank
    assert {"originality"} <= {*unmet(beside["lead"])}


@pytest.mark.parametrize("system", ["lead", "bm25", "extractive"])
def test_the_wrong_article_is_below_every_real_system(system: str, extractive: RunFolder, tmp_path: Path) -> None:
    settings, run = Settings(), extractive
    if system != "extractive":
        run = RunFolder.open(tmp_path / "run", {"system": system})
        kind = LeadSystem if system == "lead" else Bm25System
        for event_id in IDS:
            run_event(run, kind(settings.retrieval, settings.writing), event_id, SNAPSHOT.event, collect())
    cheap: list[Metric] = [Rouge(), Coverage()]
    own = RunFolder(tmp_path / "own")
    own.path.mkdir()
    (own.path / "events").symlink_to(run.path / "events", target_is_directory=True)
    right = means_of(own, cheap)
    wrong = means(score_floors(own, SNAPSHOT, IDS, cheap, collect(), seed=0))["wrong_article"]
    for name in ("rouge2_f", "entity_recall", "ib_hard"):
        assert wrong[name] < right[name], name
