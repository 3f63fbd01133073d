from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from data import codec
from data.errors import UserError
from data.runs import RunFolder
from data.snapshot import SAMPLE
from flows.wiring import models
from tests.fakes import FixedEncoder, FixedReader
from tools.speed import bench_scoring as timing
from tools.speed.bench_scoring import Measured, Reading

pytestmark = pytest.mark.slow  # a tool for those who work on this project, and seconds of measuring


@pytest.fixture
def finished(sample_run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(models, "build_encoder", FixedEncoder)
    monkeypatch.setattr("decoding.support.reader.judge_reader", FixedReader)
    shutil.copytree(sample_run.path, tmp_path / "run")
    return tmp_path / "run"


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_each_case_is_measured_and_the_run_stays_as_it_is(finished: Path, tmp_path: Path) -> None:
    before, work = content(finished), tmp_path / "work"
    work.mkdir()
    cases = ("judge-free", "judged", "floors", "rerun")
    found = {case: timing._case(case, finished, str(SAMPLE), (2, 50), work) for case in cases}
    assert content(finished) == before
    for case, one in found.items():
        assert one.case == case and [reading.n_events for reading in one.readings] == [2, 4]  # one event of the sample failed
        assert all(reading.peak_mib > 10 and reading.wall_s >= 0 for reading in one.readings)
    assert found["judged"].metric_ms.keys() >= {"Citations", "Facts", "Rouge", "WgbLexical"}
    assert all(found[case].metric_ms == {} for case in found if case != "judged")
    assert (work / "scores.jsonl").exists() and (work / "floors.jsonl").exists()
    assert codec.from_json(Measured, codec.to_json(found["judged"]), where="here") == found["judged"]


def test_a_rerun_computes_no_row(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for case in ("judged", "floors"):
        timing._case(case, finished, str(SAMPLE), (50,), tmp_path)

    def refuse(self: object, case: object) -> dict[str, float | None]:
        raise AssertionError("a stored row was computed again")

    monkeypatch.setattr("eval.metrics.rouge.Rouge.score", refuse)
    timing._case("rerun", finished, str(SAMPLE), (1, 2), tmp_path)


def test_the_peer_has_the_same_values(finished: Path, tmp_path: Path) -> None:
    path = sorted(finished.glob("events/*/article.json"))[0]
    path.write_text(path.read_text(encoding="utf-8").replace("the", "ｔｈｅ"), encoding="utf-8")  # as pages may write it
    one = timing._case("peer", finished, str(SAMPLE), (50,), tmp_path)
    ours, theirs = one.readings
    assert ours.n_events == theirs.n_events == 4
    assert one.largest_difference is not None and one.largest_difference <= timing.PEER_TOLERANCE


def test_sizes_folders_and_cases_that_cannot_be_measured(
    finished: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for events in ("0", "ten", "5,,6", "-1"):
        with pytest.raises(UserError, match="is no list of numbers of events"):
            timing._sizes(events)
    with pytest.raises(UserError, match="holds no article; name the folder of a finished run"):
        timing.measure(tmp_path, "sample", (50,))
    with pytest.raises(UserError, match="case peer of the measurement ended with code 2"):
        timing._in_own_process("peer", finished, str(tmp_path / "nothing"), (50,), tmp_path)
    assert "nothing" in capfd.readouterr().err


def test_the_order_of_events_is_drawn_once_and_the_last_reading_extrapolated(finished: Path) -> None:
    drawn = timing._written(finished)
    assert drawn == timing._written(finished)
    assert sorted(drawn) == sorted(path.parent.name for path in finished.glob("events/*/article.json"))
    one = Measured("floors", 1.0, (Reading(50, 9.0, 9.0, 80.0), Reading(103, 20.0, 10.0, 100.0)))
    assert one.extrapolated() == Reading(309, 60.0, 30.0, 100.0)
