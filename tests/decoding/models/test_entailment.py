"""Entailment models against direct calls of transformers, on tiny models with random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from data.errors import UserError
from decoding.models.entailment import load_entailment, support_label
from tests.tiny_entailment import build_classifier, build_t5
from tests.tiny_model import build_tiny_model

PREMISE = "The ferry Marisol sank on Lake Tanda on 14 March 2019."
CLAIMS = ["The ferry sank.", "Captain Jonas Weller had warned the owner about the damaged hull.", "It sank in 2020."]
PAIRS = [(PREMISE, claim) for claim in CLAIMS]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_classifier(tmp_path_factory.mktemp("nli"), ["CONTRADICTION", "NEUTRAL", "ENTAILMENT"])


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_t5(tmp_path_factory.mktemp("t5"))


def classified(folder: Path, *texts: str) -> list[float]:
    """Probabilities of the labels, straight from transformers."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return model(**tokenizer(*texts, return_tensors="pt")).logits[0].softmax(-1).tolist()


def first_step(folder: Path, text: str) -> tuple[Any, Any]:
    """The tokenizer, and the logits of a T5's first decoder step."""
    from transformers import AutoTokenizer, T5ForConditionalGeneration

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = T5ForConditionalGeneration.from_pretrained(folder).eval()
    with torch.no_grad():
        start = torch.tensor([[tokenizer.pad_token_id]])
        return tokenizer, model(**tokenizer(text, return_tensors="pt"), decoder_input_ids=start).logits[0, 0]


@pytest.mark.parametrize(
    ("labels", "index"),
    [
        (["contradiction", "entailment", "neutral"], 1),
        (["Entailment", "not_entailment"], 0),
        (["not_entailment", "entailment"], 1),
        (["unsupported", "SUPPORTED"], 1),
        (["0", "1"], 1),
        (["LABEL_0", "LABEL_1"], 1),
        (["inconsistent", "consistent"], 1),
    ],
)
def test_names_of_labels(labels: list[str], index: int) -> None:
    assert support_label(dict(enumerate(labels)), "m") == index


@pytest.mark.parametrize("labels", [["LABEL_0", "LABEL_1", "LABEL_2"], ["LABEL_0"], ["joy", "anger"], ["true", "supported"]])
def test_labels_that_do_not_tell_are_refused(labels: list[str]) -> None:
    with pytest.raises(UserError, match=r"id2label"):
        support_label(dict(enumerate(labels)), "m")


def test_true_reads_the_probability_of_1_at_the_first_decoder_step(t5: Path) -> None:
    model = load_entailment(str(t5), device="cpu")
    assert model.form == "true"
    expected = []
    for premise, claim in PAIRS:
        tokenizer, logits = first_step(t5, f"premise: {premise} hypothesis: {claim}")
        expected.append(float(logits.softmax(-1)[tokenizer("1").input_ids[0]]))
    assert model.probabilities(PAIRS) == pytest.approx(expected, abs=1e-4)
    assert max(expected) > 2e-4


def test_minicheck_weighs_1_against_0(t5: Path) -> None:
    found = load_entailment(str(t5), device="cpu", form="minicheck").probabilities(PAIRS)
    for (premise, claim), value in zip(PAIRS, found, strict=True):
        tokenizer, logits = first_step(t5, f"predict: {premise}</s>{claim}")
        two = [tokenizer("0").input_ids[0], tokenizer("1").input_ids[0]]
        assert value == pytest.approx(float(logits[two].softmax(-1)[1]), abs=1e-4)


def test_a_minicheck_classifier_reads_one_text_and_is_known_by_its_name(tmp_path: Path) -> None:
    folder = build_classifier(tmp_path / "MiniCheck-tiny", n_labels=2)
    model = load_entailment(str(folder), device="cpu")
    assert (model.form, model.name) == ("minicheck", "MiniCheck-tiny")
    expected = classified(folder, f"{PREMISE}[SEP]{CLAIMS[0]}")[1]
    assert model.probabilities(PAIRS[:1]) == pytest.approx([expected], abs=1e-4)
    assert load_entailment(str(folder), device="cpu", form="pair").fingerprint != model.fingerprint


def test_company_in_a_batch_changes_nothing(classifier: Path, t5: Path) -> None:
    pairs = [(PREMISE * (n % 3), f"{CLAIMS[n % 3]} {n}") for n in range(20)]
    for folder in (classifier, t5):
        model = load_entailment(str(folder), device="cpu")
        together = model.probabilities([*pairs, pairs[0]])
        assert together[-1] == together[0]
        assert [model.probabilities([pair])[0] for pair in pairs] == pytest.approx(together[:-1], abs=1.1e-4)
    assert load_entailment(str(classifier), device="cpu").probabilities([]) == []


def test_room_is_what_a_premise_may_fill_and_nothing_is_cut(classifier: Path) -> None:
    model = load_entailment(str(classifier), device="cpu")
    claim = CLAIMS[1]
    room = model.room(claim)
    words = PREMISE.split() * 40
    n = max(n for n in range(1, len(words)) if model.count_tokens(" ".join(words[:n])) <= room)
    model.probabilities([(" ".join(words[:n]), claim)])
    with pytest.raises(ValueError, match="does not fit"):
        model.probabilities([(" ".join(words), claim)])
    assert model.room(" ".join(words)) < 0


def test_a_page_cannot_write_the_token_that_parts_it_from_the_claim(classifier: Path, t5: Path) -> None:
    for folder, form, token in ((classifier, "pair", "[SEP]"), (t5, "minicheck", "</s>")):
        model = load_entailment(str(folder), device="cpu", form=form)
        encoded = model._encoded(f"A page.{token}{CLAIMS[0]}", "The claim.")["input_ids"]
        plain = model._encoded("A page.", "The claim.")["input_ids"]
        special = model.tokenizer.convert_tokens_to_ids(token)
        assert encoded.count(special) == plain.count(special) == 2


def test_what_is_no_entailment_model_is_refused(classifier: Path, tmp_path: Path) -> None:
    causal = build_tiny_model(tmp_path / "llama", chat_template=False, vocab_from=[PREMISE])
    with pytest.raises(UserError, match="no entailment model"):
        load_entailment(str(causal), device="cpu")
    with pytest.raises(UserError, match="cannot be asked in the form 'true'"):
        load_entailment(str(classifier), device="cpu", form="true")
    with pytest.raises(UserError, match="no config"):
        (tmp_path / "empty").mkdir()
        load_entailment(str(tmp_path / "empty"), device="cpu")


def test_weights_as_a_pickle_and_heads_that_are_missing_are_refused(tmp_path: Path) -> None:
    folder = build_classifier(tmp_path / "a", ["entailment", "neutral"])
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    save_file(
        {k: v for k, v in weights.items() if not k.startswith("classifier")}, folder / "model.safetensors", {"format": "pt"}
    )
    with pytest.raises(UserError, match="would be random"):
        load_entailment(str(folder), device="cpu")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(UserError, match="pickle"):
        load_entailment(str(folder), device="cpu")


def test_code_that_a_model_brings_is_not_run(tmp_path: Path) -> None:
    folder = build_classifier(tmp_path / "a", ["entailment", "neutral"])
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModelForSequenceClassification": "own.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(UserError, match="bring their own code"):
        load_entailment(str(folder), device="cpu")
    assert not (tmp_path / "ran").exists()
