"""A trained model put in its place: what is shipped loads by path, is examined as it is, and says where it comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from data import codec
from data.errors import UserError
from decoding.training import release as releasing
from decoding.training.release import Figures, main, release
from decoding.training.train import Training
from tests.decoding.training.documents import made_documents, write_corpus
from tests.decoding.training.test_train import TINY


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "corpus.jsonl", made_documents(40))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run")
    Training(out, made_documents(40), TINY, compiled=False).run()
    return out


def test_the_shipped_model_loads_by_path_and_says_what_the_trained_one_says(run: Path, corpus: Path, tmp_path: Path) -> None:
    figures = release(run, corpus, tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float32)
    trained = AutoModelForCausalLM.from_pretrained(run / "model", dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    ids = tokenizer("The castle of Aldale was built in 1340.", return_tensors="pt").input_ids
    torch.testing.assert_close(model(ids).logits, trained(ids).logits, atol=0.05, rtol=0.05)  # bfloat16 weights
    stored = codec.read(Figures, tmp_path / "model" / "figures.json")
    assert stored == figures and stored.n_parameters == sum(p.numel() for p in model.parameters())
    assert 0 < stored.megabytes < 40 and [a.skipped_share for a in stored.acceptance] == [0.25, 0.5, 0.7]
    card = (tmp_path / "model" / "README.md").read_text()
    assert "https://made.example/towns" in card and "CC0-1.0" in card
    assert f"{stored.scores.text_bits_per_byte:.3f}" in card
    assert (tmp_path / "model" / "loss.svg").read_text().lstrip().startswith("<?xml")


def test_the_old_model_and_its_calibration_are_replaced(run: Path, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "old.txt").write_text("old")
    (tmp_path / "calibration").mkdir()
    told: list[str] = []
    release(run, corpus, tmp_path, say=told.append)
    assert {path.name for path in tmp_path.iterdir()} == {"model"}
    assert not (tmp_path / "model" / "old.txt").exists()
    assert any("--calibrate" in line for line in told)


def test_a_model_that_is_too_large_leaves_the_old_one(
    run: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model").mkdir()
    monkeypatch.setattr(releasing, "MAX_MEGABYTES", 0.01)
    with pytest.raises(UserError, match=r"the limit is 0\.01; train a smaller one"):
        release(run, corpus, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_another_corpus_and_an_empty_folder_are_refused(
    run: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_corpus(tmp_path / "other.jsonl", made_documents(39))
    assert main([str(run), "--corpus", str(other), "--to", str(tmp_path / "to")]) == 2
    assert "is not the corpus that" in capsys.readouterr().err
    assert main([str(tmp_path), "--corpus", str(corpus), "--to", str(tmp_path / "to")]) == 2
    assert "holds no trained model; train one with" in capsys.readouterr().err
    assert not (tmp_path / "to" / "model").exists()


def test_skipping_nothing_changes_nothing_and_skipping_most_does(run: Path, corpus: Path, tmp_path: Path) -> None:
    release(run, corpus, tmp_path)
    found = json.loads((tmp_path / "model" / "figures.json").read_text())["acceptance"]
    assert len(found[0]["skipped"]) <= len(found[1]["skipped"]) <= len(found[2]["skipped"])
    assert all(0 <= one["rate"] <= 1 for one in found)
