"""The training of prompts' beginnings: what it learns from, that it learns, and that a broken one goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.splits import in_dev
from data import codec
from decoding.models.loading import load
from decoding.prefixes.prefix import TrainedPrefix
from tests.tiny_model import build_tiny_model
from tools.fits import fit_prefix
from tools.fits.fit_prefix import SAYINGS_FILE, Example, Task, Training, main

TEXT = ["The bridge over the river fell on Monday morning, the mayor said."]
EXAMPLES = tuple(Example((30 + i, 40, 41), (50, 30 + i, 51, 2)) for i in range(40))
TASK = Task((tuple(range(20, 30)),), ("",), EXAMPLES[:32], EXAMPLES[32:])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = build_tiny_model(tmp_path_factory.mktemp("tiny"), chat_template=True, vocab_from=TEXT, context_tokens=256)
    return load(str(folder), device="cpu").model


def test_answers_are_of_development_events_alone() -> None:
    said = [json.loads(line) for line in codec.lines_of(SAYINGS_FILE)]
    assert len(said) > 2_000 and all(in_dev(row["event"]) for row in said if "event" in row)
    assert all(row["said"] and ("statement" in row) != ("sentence" in row) for row in said)
    assert {row["part"] for row in said} == {"train", "held out"}
    in_parts = [row["parts"] for row in said if "parts" in row]
    assert len(in_parts) > 900 and all(len(parts) > 1 and all(part.strip() for part in parts) for parts in in_parts)


def test_a_beginning_learns_what_the_weights_do_not(model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_prefix, "RATE", 0.1)
    monkeypatch.setattr(fit_prefix, "LOOK", 4)
    weights = [weight.clone() for weight in model.parameters()]
    training = Training(model, TASK)
    first = [part.clone() for part in training.best()]
    before, after = training.run(tmp_path / "say.part")
    assert after < before - 0.3
    assert all((a == b).all() for a, b in zip(weights, model.parameters(), strict=True))
    for old, new in zip(first, training.best(), strict=True):
        assert (old != new).any() and (old[:, :, 0] == new[:, :, 0]).all(), "the first token stays as it is"
    assert not (tmp_path / "say.part").exists()


def test_one_task_is_trained_on_from_the_beginning_of_another(model: Any, tmp_path: Path) -> None:
    first = [part.numpy() for part in Training(model, TASK).best()]
    begun = TrainedPrefix("say", "", TASK.beginnings, TASK.texts, 9, "", first[0] + 1, first[1] - 1)
    for old, new in zip((begun.keys, begun.values), Training(model, TASK, begun).best(), strict=True):
        assert np.array_equal(old, new.numpy())


def test_a_broken_training_goes_on_to_the_same_end(model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_prefix, "LOOK", 3)
    whole = Training(model, TASK)
    expected = whole.run(tmp_path / "whole.part")
    calls = [0]
    loss = Training._loss

    def breaking(self: Training, batch: Any) -> Any:
        calls[0] += 1
        if calls[0] == 7:
            raise KeyboardInterrupt
        return loss(self, batch)

    monkeypatch.setattr(Training, "_loss", breaking)
    with pytest.raises(KeyboardInterrupt):
        Training(model, TASK).run(tmp_path / "say.part")
    assert (tmp_path / "say.part").is_file()
    monkeypatch.setattr(Training, "_loss", loss)
    again = Training(model, TASK)
    assert again.run(tmp_path / "say.part") == expected
    assert all((a == b).all() for a, b in zip(whole.best(), again.best(), strict=True))


def test_folders_without_the_events_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["say", "--data", "no/such/folder"]) == 2
    assert "no/such/folder" in capsys.readouterr().err
