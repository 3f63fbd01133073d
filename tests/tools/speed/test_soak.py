"""The same events over and over: what stays is told, and nothing of ours stays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from data.errors import UserError
from data.runs import footprint
from data.settings import RetrievalSettings, WritingSettings
from data.stage_types import Stages
from data.types import Article, Event, Page
from flows.job import Job
from pipeline.systems.baselines import LeadSystem
from tools.speed import bench_soak as soak

ROOT = Path(__file__).resolve().parents[3]

pytestmark = [  # a tool for those who work on this project, and seconds of measuring
    pytest.mark.slow,
    pytest.mark.skipif(footprint() is None, reason="this system does not say what a process holds"),
]


HOARDED_MIB = 8


class Hoarding:
    """Keeps 8 MiB of every event that it writes: far more than what a process holds now and then for reasons of its own."""

    name = "hoarding"

    def __init__(self) -> None:
        self._inner = LeadSystem(RetrievalSettings(), WritingSettings())
        self.kept: list[bytes] = []

    @property
    def identity(self) -> Mapping[str, str]:
        return {}

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        self.kept.append(b"x" * (HOARDED_MIB << 20))
        return self._inner.write(event, pages, stages)


def test_what_a_system_keeps_is_seen() -> None:
    system = Hoarding()
    held = list(soak.held_after_rounds(Job("lead", data="sample"), 4, system=system))
    assert len(system.kept) == 4 * 5, "each round writes anew"
    kept = 2 * 5 * HOARDED_MIB  # in the two rounds after the second
    assert held[-1] - held[1] > kept / 2


def test_a_round_without_an_article_is_refused(copied_sample: Path) -> None:
    for file in (copied_sample / "google").iterdir():
        file.write_text("[]", encoding="utf-8")
    with pytest.raises(UserError, match="no event could be written"):
        list(soak.held_after_rounds(Job("lead", data=str(copied_sample)), 3))


def test_the_rounds_are_printed_and_judged(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--system", "lead", "--data", "sample", "--limit", "2", "--rounds", "3"]
    assert soak.main([*words, "--allow", "100"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["round", "1", "2", "3", "from"] and "100 allowed" in lines[-1]
    assert soak.main([*words, "--allow", "-1000"]) == 1


def test_two_rounds_are_too_few(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        soak.main(["--rounds", "2"])
    assert end.value.code == 2


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_writing_and_scoring_the_same_events_ten_times_keeps_nothing(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tools.speed.bench_soak",
        "--system",
        "extractive",
        "--data",
        "sample",
        "--rounds",
        "10",
        "--score",
    ]
    ran = subprocess.run(command, cwd=ROOT, env={**os.environ, "WIKIGEN_RUNS": str(tmp_path)}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
