"""The run that is meant for a GPU, on a tiny model of the CPU: all its parts are there, and what is left out says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from data import codec
from decoding.api import Message
from decoding.bench import __main__ as bench
from decoding.knn.prompt_files import PromptRow
from tests.tiny_model import build_tiny_model
from tools import bench_gpu

TEXT = "The bridge over the river fell on Monday morning, the mayor said. Nobody was hurt, as the road was closed."


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    rows = [PromptRow(f"{i}-01", (Message("user", TEXT[: 60 + i]),), "section", "disaster", str(i)) for i in range(3)]
    (tmp_path / "prompts.jsonl").write_text("".join(codec.to_json(row) + "\n" for row in rows), encoding="utf-8")
    monkeypatch.setattr(bench, "SAMPLE_PROMPTS", tmp_path / "prompts.jsonl")
    monkeypatch.setattr(bench_gpu, "METHODS", ("copy", "mix"))
    monkeypatch.setattr(bench_gpu, "PEERS", ("hf",))
    return str(build_tiny_model(tmp_path / "model", chat_template=True, vocab_from=[TEXT], context_tokens=512))


def test_one_run_makes_one_json(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "gpu.json"
    words = ["--device", "cpu", "--model", model, "--dtypes", "float32", "--prompts", "2", "--tokens", "8"]
    assert bench_gpu.main([*words, "--out", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(out.read_text(encoding="utf-8"))
    greedy, sampled = found["parts"]["greedy float32"], found["parts"]["sampled float32"]
    assert [one["name"] for one in greedy["methods"]] == ["greedy", "copy", "mix", "hf"] and found["n_bugs"] == 0
    assert sampled["texts"] == 2 and set(sampled["differ"]) == {"greedy", "copy", "mix"} and not sampled["differ"]["greedy"]


def test_what_time_does_not_allow_is_named_and_a_device_that_is_not_there_refused(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--device", "cpu", "--model", model, "--dtypes", "float32", "--minutes", "-1"]
    assert bench_gpu.main(words) == 0
    parts = json.loads(capsys.readouterr().out)["parts"]
    assert parts.keys() == {"greedy float32", "sampled float32"} and all("left out" in part for part in parts.values())
    assert bench_gpu.main(["--device", "cuda:63"]) == 2
    assert "device 'cuda:63' was asked for but" in capsys.readouterr().err
