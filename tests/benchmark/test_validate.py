from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmark import submission
from benchmark.validate import main
from tests.benchmark.submissions import ROWS, submit


@pytest.fixture
def good(tmp_path: Path) -> Path:
    submission.write(tmp_path / "run" / "submission.json", submit(ROWS))
    return tmp_path / "run"


@pytest.fixture
def bad(tmp_path: Path, good: Path) -> Path:
    value = json.loads((good / "submission.json").read_text())
    value["data"]["n_events"] = 5
    value["scores"]["recall"]["mean"] = 0.5
    (tmp_path / "bad.json").write_text(json.dumps(value))
    return tmp_path / "bad.json"


def test_valid(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(good), str(good / "submission.json")]) == 0
    assert capsys.readouterr().out == f"{good / 'submission.json'}: valid\n"


def test_each_problem_is_a_line(good: Path, bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(bad), str(good)]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{bad}: data.n_events is 5, but 4 events are listed"
    assert lines[1].startswith(f"{bad}: scores.recall.mean is 0.5, recomputed from the events it is 0.43")
    assert lines[2:] == [f"{good / 'submission.json'}: valid"]


def test_json_is_one_line_with_all_files(good: Path, bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(good), str(bad), str(tmp_path / "none"), "--json"]) == 2
    told = capsys.readouterr()
    assert told.out.count("\n") == 1 and told.err == ""
    report = json.loads(told.out)
    assert report[str(good / "submission.json")] == [] and len(report[str(bad)]) == 2
    assert report[str(tmp_path / "none")] == [f"cannot read {tmp_path / 'none'}: No such file or directory"]


def test_a_folder_without_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert f"cannot read {tmp_path / 'submission.json'}" in capsys.readouterr().out


def test_nothing_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([])
    assert end.value.code == 2 and "required: submission" in capsys.readouterr().err
