"""The flow `calibrate` on a tiny model: what is shown as tasks, and that it goes on where it was."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from decoding.knn.artefact import Calibration
from decoding.models.loading import load
from tests.prefect_installation import ROOT, wait_until
from tests.tiny_model import build_tiny_model
from tests.toy_events import make_events

pytestmark = pytest.mark.slow
ARTEFACT = ("plans.json", "stops.json", "anchors.safetensors")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "model"
    words = ["The river rose after heavy rain in the town."]
    return build_tiny_model(folder, chat_template=True, vocab_from=words, context_tokens=4096)


def artefact(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in ARTEFACT}


def stages(out: Path, name: str) -> list[Path]:
    return sorted((out / "stages").glob(f"*/{name}/*.json"))


def stamps(*paths: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in paths}


@pytest.mark.timeout(600)
def test_calibration_goes_on_after_kill_9_and_comes_back(tmp_path: Path, model: Path, flow_env: dict[str, str]) -> None:
    from flows.orchestration.calibration_flow import calibrate_model

    out, toys = tmp_path / "out", make_events(tmp_path / "toys", 12)
    asked: dict[str, Any] = {
        "model": f"hf:{model}", "data": str(toys), "split": "dev", "sections": 1, "max_prompts": 4, "max_new_tokens": 6,
        "iterations": 0, "out": str(out),
    }  # fmt: skip
    words = [word for name, value in asked.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    with subprocess.Popen(
        [sys.executable, "-m", "flows.orchestration.calibration_flow", *words], cwd=ROOT, env=flow_env
    ) as process:
        wait_until(lambda: len(stages(out, "prompts")) >= 3 or process.poll() is not None, "some answers")
        process.kill()
    assert process.returncode == -signal.SIGKILL
    before = stamps(*out.glob("prompts-*.jsonl"), *stages(out, "prompts"), *stages(out, "searches"))
    state = calibrate_model(**asked, return_state=True)
    assert state.is_completed(), state.message
    assert "report.md" in state.message and (out / "report.md").is_file()
    Calibration.load(out, load(str(model)))
    first = artefact(out)
    answers, searches = stages(out, "prompts"), stages(out, "searches")
    assert answers and searches and before.items() < stamps(*out.glob("prompts-*.jsonl"), *answers, *searches).items()

    made = stamps(*answers, *searches)
    (gone, *_) = (path for path in answers if path not in before)
    gone.unlink()  # its stored result fills the file
    assert calibrate_model(**asked, return_state=True).is_completed()
    del made[gone]
    assert made == stamps(*made) and gone.is_file()
    assert artefact(out) == first
    assert len(list(out.glob("prompts-*.jsonl"))) == 1
    wiki = toys / "wiki" / "7000001.json"
    wiki.write_text(json.dumps(json.loads(wiki.read_text()) | {"text": "Other words, and more of them."}))
    assert calibrate_model(**asked, return_state=True).is_completed()
    assert len(list(out.glob("prompts-*.jsonl"))) == 2  # of other events


@pytest.mark.usefixtures("prefect_api")
def test_wrong_input_is_said(tmp_path: Path) -> None:
    from flows.orchestration.calibration_flow import calibrate_model

    state = calibrate_model(model="server:x@http://127.0.0.1:1/v1", return_state=True)
    assert state.is_failed() and "its layers cannot be skipped" in state.message
    state = calibrate_model(model=str(tmp_path / "nothing"), out=str(tmp_path / "out"), return_state=True)
    assert state.is_failed() and "nothing" in state.message
