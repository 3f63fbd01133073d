"""The flow `calibrate` on a tiny model: what is shown as tasks, and that it goes on where it was."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from decoding.knn.artefact import Calibration
from decoding.models import load
from tests.tiny_model import build_tiny_model
from tests.toy_events import make_events

pytestmark = pytest.mark.slow
ARTEFACT = ("plans.json", "stops.json", "anchors.safetensors")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "model"
    return build_tiny_model(folder, chat_template=True, vocab_from=["The river rose after heavy rain in the town."])


def artefact(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in ARTEFACT}


def stages(out: Path, name: str) -> list[Path]:
    return sorted((out / "stages").glob(f"*/{name}/*.json"))


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("prefect_api")
def test_calibration_goes_on_and_comes_back(tmp_path: Path, model: Path) -> None:
    from flows.calibrate import calibrate_model

    out, toys = tmp_path / "out", make_events(tmp_path / "toys", 12)
    prompts = tmp_path / "sample"
    shutil.copytree(toys, prompts)
    asked: dict[str, Any] = {
        "model": f"hf:{model}", "data": str(prompts), "split": "dev", "sections": 1, "max_prompts": 6, "max_new_tokens": 6,
        "iterations": 0, "out": str(out),
    }  # fmt: skip
    state = calibrate_model(**asked, return_state=True)
    assert state.is_completed(), state.message
    assert "report.md" in state.message and (out / "report.md").is_file()
    Calibration.load(out, load(str(model)))
    first = artefact(out)
    answers, searches = stages(out, "prompts"), stages(out, "searches")
    assert answers and searches

    made = {path: path.stat().st_mtime_ns for path in (*answers, *searches)}
    answers[0].unlink()  # as if killed before it; its stored result fills the file
    assert calibrate_model(**asked, return_state=True).is_completed()
    del made[answers[0]]
    assert made.items() <= {path: path.stat().st_mtime_ns for path in made}.items() and answers[0].is_file()
    assert artefact(out) == first
    assert len(list(out.glob("prompts-*.jsonl"))) == 1
    (wiki,) = list((prompts / "wiki").glob("7000001.json"))
    wiki.write_text(json.dumps(json.loads(wiki.read_text()) | {"text": "Other words, and more of them."}))
    assert calibrate_model(**asked, return_state=True).is_completed()
    assert len(list(out.glob("prompts-*.jsonl"))) == 2  # of other events


@pytest.mark.usefixtures("prefect_api")
def test_wrong_input_is_said(tmp_path: Path) -> None:
    from flows.calibrate import calibrate_model

    state = calibrate_model(model="server:x@http://127.0.0.1:1/v1", return_state=True)
    assert state.is_failed() and "its layers cannot be skipped" in state.message
    state = calibrate_model(model=str(tmp_path / "nothing"), out=str(tmp_path / "out"), return_state=True)
    assert state.is_failed() and "nothing" in state.message
