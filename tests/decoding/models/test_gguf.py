"""GGUF files: read once into plain weights that give the numbers of the model they came from, or refused with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from data.errors import UserError
from decoding.models.gguf import converted, load_gguf
from decoding.models.loading import load
from decoding.models.naming import load_named
from tests.gguf_file import write_gguf
from tests.tiny_model import build_tiny_model, train_tokenizer

TEXT = ["The reservoir was 93 per cent full on the morning of 12 March 2031.", "Heavy rain fell on the basin for six days."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_model(tmp_path_factory.mktemp("tiny"), chat_template=True, vocab_from=TEXT)


@pytest.fixture(scope="module")
def file(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(folder, tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_it_is_converted_once(file: Path, cache: Path) -> None:
    told: list[str] = []
    first = converted(file, "float32", told.append)
    weights = first / "model.safetensors"
    time = weights.stat().st_mtime_ns
    assert converted(file, "float32", told.append) == first and weights.stat().st_mtime_ns == time
    assert len(told) == 1 and file.name in told[0]
    weights.write_bytes(weights.read_bytes()[:-10])
    assert converted(file, "float32", told.append) == first and len(told) == 2, "a damaged conversion is made anew"
    file_of_other_bytes = file.with_name("other.gguf")
    file_of_other_bytes.write_bytes(file.read_bytes() + b"\0" * 32)
    assert converted(file_of_other_bytes, "float32") != first


def test_smollm_cuts_numbers_at_every_digit(folder: Path, tmp_path: Path) -> None:
    """transformers leaves this rule of its tokenizer out of what it reads from a GGUF."""
    loaded = load_gguf(write_gguf(folder, tmp_path / "smol.gguf", pretokenizer="smollm"), device="cpu")
    pieces = [loaded.tokenizer.decode([i]) for i in loaded.tokenizer("in 2031", add_special_tokens=False).input_ids]
    assert pieces[-4:] == ["2", "0", "3", "1"]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"architecture": "starship"}, ["architecture 'starship'", "llama", "--model hf:"]),
        ({"leave_out": frozenset({"chat_template"})}, ["no chat template", "gguf-new-metadata"]),
        ({"leave_out": frozenset({"eos"})}, ["which token ends a text"]),
        ({"leave_out": frozenset({"blk.2.ffn_up.weight"})}, ["1 weights are missing", "up_proj"]),
        ({"fields": {"split.count": 3}}, ["one of 3 parts", "-00001-of-00003.gguf", "llama-gguf-split --merge"]),
    ],
)
def test_what_cannot_be_used_is_refused(folder: Path, tmp_path: Path, made: dict, words: list[str]) -> None:  # type: ignore[type-arg]
    file = write_gguf(folder, tmp_path / "bad.gguf", **made)
    with pytest.raises(UserError) as refused:
        load_gguf(file, device="cpu")
    assert str(file) in str(refused.value) and all(word in str(refused.value) for word in words)
    assert not list((tmp_path / "cache" / "gguf").glob("*/model.safetensors"))


def test_a_damaged_file_is_refused(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    for n in (3, 40, 2000, len(whole) // 2, len(whole) - 100):
        cut = tmp_path / f"{n}.gguf"
        cut.write_bytes(whole[:n])
        with pytest.raises(UserError, match=r"cut short|not a GGUF|damaged"):
            load_gguf(cut, device="cpu")
    (tmp_path / "text.gguf").write_text("no model")
    for name, words in (("text.gguf", "not a GGUF file"), ("none.gguf", "no file"), (".", "is a folder")):
        with pytest.raises(UserError, match=words):
            load_gguf(tmp_path / name, device="cpu")


@pytest.mark.parametrize("tied", [True, False], ids=["as qwen3-4b", "as qwen3-8b"])
@pytest.mark.parametrize("blocks", ["", "Q8_0"])
def test_the_shape_of_qwen3(tmp_path: Path, tied: bool, blocks: str) -> None:
    """Norms of queries and keys, heads of another width than the rest, one embedding for both ends or two: random weights."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    tokenizer = train_tokenizer(TEXT, chat_template=True, context_tokens=512)
    torch.manual_seed(1)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=160,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=128,  # that of all Qwen3; transformers does not read it from a GGUF, and takes 128
        max_position_embeddings=512,
        initializer_range=0.15,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=tied,
    )
    model = Qwen3ForCausalLM(config)
    for name, parameter in model.named_parameters():
        if "norm" in name:
            torch.nn.init.uniform_(parameter, 0.5, 1.5)
    folder = tmp_path / "qwen3"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    file = write_gguf(folder, tmp_path / "tiny.gguf", architecture="qwen3", pretokenizer="qwen2", blocks=blocks)
    ours, theirs = load_gguf(file, device="cpu"), load(str(folder), device="cpu")
    assert ours.dtype == ("stored" if blocks else "float32")
    ids = theirs.tokenizer(TEXT[0], return_tensors="pt").input_ids
    with torch.no_grad():
        said, meant = ours.model(ids).logits, theirs.model(ids).logits
    assert torch.allclose(said, meant, atol=0.05 * float(meant.abs().max()) if blocks else 1e-4)


def test_names_of_models(file: Path, folder: Path) -> None:
    assert load_named(f"gguf:{file}", device="cpu").name == f"gguf:{file}"
    assert load_named(f"hf:{folder}", device="cpu").dtype == "float32"
    for name in ("gguf:", "hf:"):
        with pytest.raises(UserError, match="names no model"):
            load_named(name)
