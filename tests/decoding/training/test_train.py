"""A training in its folder: it learns, it can be killed at any moment, and it goes on as if nothing had happened."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from data.codec import to_plain
from data.errors import UserError
from decoding.training import checkpoint
from decoding.training.batches import Mixture
from decoding.training.corpus import Document
from decoding.training.presets import PRESETS, Phase, Preset
from decoding.training.train import Training, main
from tests.decoding.training.documents import made_documents, write_corpus

TINY = Preset(
    n_layers=4, hidden=32, vocab_size=400, tokens=12 * 512, tokens_per_step=512, matrix_rate=0.02, embedding_rate=0.02,
    norm_rate=0.01, head_dim=16,
    context=256, eval_every=4, checkpoint_minutes=0.0,
    phases=(Phase(0.0, Mixture(copying=0.3), (128,)), Phase(0.5, Mixture(copying=0.2, sections=0.2, outlines=0.1), (64, 256))),
)  # fmt: skip
"""Twelve steps, with a checkpoint after each."""
SMOKE_TOKENS = 8 * 1024
SMOKE = ("--preset", "smoke", "--tokens", str(SMOKE_TOKENS))
"""Eight steps of it: a whole training of the command, too short to learn much."""


def training(
    out: Path, documents: list[Document], preset: Preset = TINY, seed: int = 0, say: Any = lambda line: None
) -> Training:
    return Training(out, documents, preset, seed=seed, compiled=False, say=say)


def tensors(out: Path) -> dict[str, torch.Tensor]:
    """Weights and optimizer of the checkpoint."""
    return {**load_file(out / "model" / "model.safetensors"), **load_file(out / "model" / "optimizer.safetensors")}


def log(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "log.jsonl").read_text(encoding="utf-8").splitlines()]


def assert_same_run(found: Path, expected: Path) -> None:
    ours, theirs = tensors(found), tensors(expected)
    assert ours.keys() == theirs.keys()
    assert [name for name, value in ours.items() if not value.equal(theirs[name])] == []
    states = [replace(checkpoint.read_state(out / "model"), seconds=0.0) for out in (found, expected)]
    assert states[0] == states[1]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, documents: list[Document]) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    training(out, documents).run()
    return out


@pytest.fixture(scope="module")
def smoke_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "corpus.jsonl", made_documents(40))


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory, smoke_corpus: Path) -> Path:
    out = tmp_path_factory.mktemp("smoke") / "run"
    assert main([*SMOKE, "--corpus", str(smoke_corpus), "--out", str(out)]) == 0
    return out


@pytest.mark.slow
def test_the_smoke_preset_learns(tmp_path: Path, smoke_corpus: Path) -> None:
    """Slow: two thirds of the preset take ten seconds. `test_a_finished_model_knows_more_than_a_new_one` is always run."""
    smoke = tmp_path / "run"
    words = ["--preset", "smoke", "--tokens", str(80 * 1024), "--corpus", str(smoke_corpus), "--out", str(smoke)]
    assert main(words) == 0
    lines = log(smoke)
    assert [line["step"] for line in lines] == [40, 80]
    assert [line["tokens"] for line in lines] == [40 * 1024, 80 * 1024]
    for line in lines:
        assert list(line) == [
            "step", "tokens", "seconds", "loss", "rate", "tokens_per_s", "text_bits_per_byte", "task_bits_per_byte",
            "next_token", "copying", "choosing", "citing",
        ]  # fmt: skip
    first, last = lines
    assert last["loss"] < 0.6 * first["loss"]
    assert last["text_bits_per_byte"] < first["text_bits_per_byte"] < 8
    assert last["task_bits_per_byte"] < first["task_bits_per_byte"]
    assert (first["rate"], last["rate"]) == (1.0, 0.0)


def test_the_command_leaves_a_log_a_plot_a_model_and_its_tokenizer(smoke: Path) -> None:
    (line,) = log(smoke)
    assert (line["step"], line["tokens"], line["rate"]) == (8, SMOKE_TOKENS, 0.0)
    assert {path.name for path in smoke.iterdir()} == {"log.jsonl", "loss.svg", "model", "tokenizer"}


def test_a_finished_model_knows_more_than_a_new_one(undisturbed: Path, documents: list[Document], tmp_path: Path) -> None:
    """Of documents that it did not read; the log says the same of it. Twelve steps bring it to 0.93 of the bits of a new one,
    which itself has 1; how near exactly depends on the CPU, and so do the few tokens that it gets right."""
    new, finished = (training(out, documents).scores() for out in (tmp_path / "run", undisturbed))
    assert finished.text_bits_per_byte < 0.98 * new.text_bits_per_byte
    last = log(undisturbed)[-1]
    assert {name: last[name] for name in to_plain(finished)} == to_plain(finished)


def test_the_checkpoint_is_a_model_folder_of_transformers(smoke: Path, smoke_corpus: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from decoding.training.corpus import read_corpus

    ours = training(smoke, read_corpus(smoke_corpus), replace(PRESETS["smoke"], tokens=SMOKE_TOKENS))
    model = AutoModelForCausalLM.from_pretrained(smoke / "model", local_files_only=True, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(smoke / "model", local_files_only=True)
    text = "Aldale is a town of 5000 people on the River Corham."
    assert tokenizer(text).input_ids == ours.tokenizer(text).input_ids
    ids = tokenizer(text, return_tensors="pt").input_ids
    with torch.no_grad():
        assert model(ids).logits.equal(ours.model.eval()(ids).logits)
    assert model.config.eos_token_id == tokenizer.eos_token_id


def test_what_is_finished_stays_as_it_is(smoke: Path, smoke_corpus: Path, tmp_path: Path) -> None:
    out = shutil.copytree(smoke, tmp_path / "run")
    assert main([*SMOKE, "--corpus", str(smoke_corpus), "--out", str(out)]) == 0
    assert_same_run(out, smoke)
    assert log(out) == log(smoke)


def test_another_seed_is_another_run(undisturbed: Path, documents: list[Document], tmp_path: Path) -> None:
    training(tmp_path / "run", documents, seed=1).run(until=1 / 12)
    assert checkpoint.read_state(tmp_path / "run" / "model").step == 1
    training(tmp_path / "again", documents).run(until=1 / 12)
    weights = [tensors(tmp_path / name)["model.embed_tokens.weight"] for name in ("run", "again")]
    assert not weights[0].equal(weights[1])


def test_a_training_in_pieces_equals_an_undisturbed_one(undisturbed: Path, documents: list[Document], tmp_path: Path) -> None:
    """Bit for bit: weights, optimizer, place in the text, and what the log says of the steps."""
    out = tmp_path / "run"
    for until in (0.3, 0.55, 1.0):
        said: list[str] = []
        training(out, documents, say=said.append).run(until)
        assert any(line.startswith("going on at step") for line in said) == (until > 0.3)
    assert_same_run(out, undisturbed)
    scores = [
        [{k: v for k, v in line.items() if "bits" in k or k == "step"} for line in log(run)] for run in (out, undisturbed)
    ]
    assert scores[0] == scores[1]


def train_until_killed(out: Path, documents: list[Document], step: int) -> None:
    """Dies in the middle of a step's end: evaluated and logged, its checkpoint not yet begun."""

    def die(line: str) -> None:
        if line.startswith(f'{{"step": {step},'):
            os.kill(os.getpid(), signal.SIGKILL)

    training(out, documents, say=die).run()


@pytest.mark.parametrize("step", [pytest.param(4, marks=pytest.mark.slow), 8])
def test_a_killed_training_goes_on(undisturbed: Path, documents: list[Document], tmp_path: Path, step: int) -> None:
    out = tmp_path / "run"
    child = multiprocessing.get_context("fork").Process(target=train_until_killed, args=(out, documents, step))
    child.start()
    child.join(timeout=60)
    assert child.exitcode == -signal.SIGKILL
    found = checkpoint.find(out / "model")
    assert found is not None and checkpoint.read_state(found).step == step - 1
    training(out, documents).run()
    assert_same_run(out, undisturbed)


@pytest.mark.parametrize("left", ["half written", "between the renames", "not cleaned up"])
def test_a_kill_while_saving_leaves_a_whole_checkpoint(
    undisturbed: Path, documents: list[Document], tmp_path: Path, left: str
) -> None:
    """Each state of the folder that `save` goes through, and after it one more kill in the next `save`."""
    out = tmp_path / "run"
    training(out, documents).run(until=0.5)
    model, saving, old = (out / f"model{end}" for end in ("", ".saving", ".old"))
    match left:
        case "half written":
            shutil.copytree(model, saving)
            (saving / "state.json").unlink()
        case "between the renames":
            shutil.copytree(model, saving)
            model.rename(old)
        case "not cleaned up":
            shutil.copytree(model, old)
    taken_up = training(out, documents)
    assert taken_up.state.step == 6

    def interrupted(folder: Path) -> None:
        raise KeyboardInterrupt

    taken_up.model.save_pretrained = interrupted
    with pytest.raises(KeyboardInterrupt):
        taken_up.run()
    found = checkpoint.find(model)
    assert found is not None and checkpoint.read_state(found).step == 6
    training(out, documents).run()
    assert_same_run(out, undisturbed)
    assert {path.name for path in out.iterdir()} == {"log.jsonl", "loss.svg", "model", "tokenizer"}


@pytest.mark.parametrize(
    ("words", "what"),
    [(["--seed", "1"], "seed"), (["--layers", "5"], "preset"), (["--matrix-rate", "0.5"], "preset"), ([], "corpus")],
)
def test_another_training_in_the_same_folder_is_refused(
    smoke: Path, smoke_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], what: str
) -> None:
    before = tensors(smoke)
    corpus = smoke_corpus if words else write_corpus(tmp_path / "other.jsonl", made_documents(39))
    assert main([*SMOKE, "--corpus", str(corpus), "--out", str(smoke), *words]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: {smoke} holds a training with another {what}; name another --out")
    assert all(value.equal(before[name]) for name, value in tensors(smoke).items())


def test_a_missing_corpus_ends_with_the_way_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.jsonl"
    assert main(["--preset", "smoke", "--corpus", str(missing), "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err.startswith(f"error: cannot read the corpus {missing}: No such file")
    assert not (tmp_path / "run").exists()


def test_a_checkpoint_of_another_shape_is_refused(undisturbed: Path, documents: list[Document], tmp_path: Path) -> None:
    out = shutil.copytree(undisturbed, tmp_path / "run")
    wider = replace(TINY, hidden=48)
    path = out / "model" / "state.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"hidden": 32', '"hidden": 48'), encoding="utf-8")
    with pytest.raises(UserError, match=r"(?s)is of another model: .*; train into another folder"):
        training(out, documents, wider)
