"""GGUF blocks keep their numbers: the weights are those that `gguf` reads from them, bit for bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gguf
import numpy as np
import pytest
import torch

from data.errors import UserError
from decoding.backends.build import build_backend
from decoding.backends.driven import DrivenBackend
from decoding.backends.hf import HFBackend
from decoding.backends.lowbit import LowBitBackend
from decoding.backends.torch_backend import relative_error
from decoding.lowbit.gguf_blocks import NotInBlocks, StoredMatrix, stored
from decoding.lowbit.matrix import Matrix
from decoding.lowbit.skeleton import Skeleton, whole_model
from decoding.lowbit.storage import FILE, read_weights
from decoding.lowbit.superblocks import SuperMatrix
from decoding.models.gguf import AS_STORED, converted, load_gguf
from tests.gguf_file import write_gguf
from tests.tiny_model import build_tiny_model

TEXT = ["The reservoir was 93 per cent full on the morning of 12 March 2031.", "Heavy rain fell on the basin for six days."]


def tensor(kind: str, seed: int = 0) -> Any:
    """Random bytes as blocks, the float16 scales among them small: the K-quants cannot be written by `gguf` itself."""
    rng, block = np.random.default_rng(seed), gguf.GGMLQuantizationType[kind]
    size, n_bytes = gguf.GGML_QUANT_SIZES[block]
    data = rng.integers(0, 256, (6, 512 // size, n_bytes), dtype=np.uint8)
    places = {"Q6_K": (-2,), "Q4_0": (0,), "Q5_0": (0,), "Q8_0": (0,)}.get(kind, (0, 2))
    for at in places:
        scales = (rng.standard_normal((6, 512 // size, 1)) / 64).astype(np.float16)
        data[:, :, at if at >= 0 else n_bytes + at :][:, :, :2] = scales.view(np.uint8)
    if kind == "Q8_0":
        data[:, :, 2:] = np.where(data[:, :, 2:] == 128, 129, data[:, :, 2:])  # -128 is never written
    return SimpleNamespace(name="blk.0.w", tensor_type=block, shape=(512, 6), data=data.reshape(6, -1))


def whole(matrix: StoredMatrix) -> Matrix:
    """Of few rows, which are one piece."""
    (piece,) = matrix.pieces()
    return piece


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"])
def test_blocks_keep_their_numbers(kind: str) -> None:
    one = tensor(kind)
    np.testing.assert_array_equal(whole(stored(one)).values(), gguf.dequantize(one.data, one.tensor_type))


def test_unknown_blocks_are_named() -> None:
    with pytest.raises(NotInBlocks, match=r"blk\.0\.w is stored as Q2_K; known are Q4_0"):
        stored(tensor("Q2_K"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_model(tmp_path_factory.mktemp("tiny"), chat_template=True, vocab_from=TEXT)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("kind", ["Q4_1", "Q8_0"])
def test_a_file_is_the_model_that_transformers_unpacks_from_it(kind: str, folder: Path, tmp_path: Path) -> None:
    file = write_gguf(folder, tmp_path / "tiny.gguf", blocks=kind)
    stored, unpacked = load_gguf(file, device="cpu"), load_gguf(file, device="cpu", dtype="float32")
    assert stored.is_low_bit and stored.dtype == AS_STORED and not unpacked.is_low_bit
    assert stored.eos_ids == unpacked.eos_ids and stored.context_tokens == unpacked.context_tokens
    matrices = {name: module.matrix for name, module in stored.model.named_modules() if hasattr(module, "matrix")}
    for name, module in unpacked.model.named_modules():
        if isinstance(module, torch.nn.Linear | torch.nn.Embedding):
            np.testing.assert_array_equal(matrices[name].values(), module.weight.numpy(), err_msg=name)
    ids = unpacked.tokenizer(TEXT[0], return_tensors="pt").input_ids
    assert relative_error(stored.model(ids).logits, unpacked.model(ids).logits) < 0.03
    assert isinstance(build_backend(stored), LowBitBackend)
    assert stored.fingerprint == load_gguf(file, device="cpu").fingerprint != unpacked.fingerprint


def test_a_file_without_low_bits_is_read_as_float32_and_it_is_said(folder: Path, tmp_path: Path) -> None:
    told: list[str] = []
    loaded = load_gguf(write_gguf(folder, tmp_path / "tiny.gguf"), device="cpu", tell=told.append)
    assert loaded.dtype == "float32" and any("none of its matrices is in low-bit blocks" in line for line in told)


def test_a_damaged_folder_is_made_again(folder: Path, tmp_path: Path) -> None:
    file = write_gguf(folder, tmp_path / "tiny.gguf", blocks="Q8_0")
    weights = converted(file, AS_STORED) / FILE
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-10])
    assert load_gguf(file, device="cpu").is_low_bit and weights.read_bytes() == whole
    weights.write_bytes(whole[:5000] + b"\0" * (len(whole) - 5000))  # of the right size: pages that were never written
    assert load_gguf(file, device="cpu").is_low_bit and weights.read_bytes() == whole


def test_a_file_that_is_no_model_of_low_bits_is_named(folder: Path, tmp_path: Path) -> None:
    weights = converted(write_gguf(folder, tmp_path / "tiny.gguf", blocks="Q8_0"), AS_STORED) / FILE
    whole = weights.read_bytes()
    for bad in (b"\0" * len(whole), whole[:9000], b"", whole.replace(b'"plain', b'"spare')):
        weights.write_bytes(bad)
        with pytest.raises(UserError, match="is damaged"):
            read_weights(weights.parent)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Qwen2 whose matrices K-quants can hold, with biases as large as what they are added to."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    folder = build_tiny_model(tmp_path_factory.mktemp("wide"), chat_template=True, vocab_from=TEXT)
    before = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    same = ("vocab_size", "bos_token_id", "eos_token_id", "pad_token_id", "max_position_embeddings")
    config = Qwen2Config(
        hidden_size=256, intermediate_size=512, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
        initializer_range=0.08, tie_word_embeddings=False, **{name: before[name] for name in same},
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Qwen2ForCausalLM(config)
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.data.normal_()
    model.save_pretrained(folder)
    return folder


def mixed(name: str) -> str:
    """As llama.cpp's Q4_K_M has it: six bits in the output layer, and in half of the values and of the MLPs' last matrices."""
    return "Q6_K" if name in ("output.weight", "blk.1.attn_v.weight", "blk.1.ffn_down.weight") else "Q4_K"


def others(name: str) -> str:
    """As Q4_K_M becomes where rows are no multiple of 256: types of 32 columns, of which some have least values."""
    parts = {"attn_q": "Q5_0", "attn_k": "Q5_1", "attn_v": "Q8_0", "ffn_gate": "Q4_1", "ffn_up": "Q5_0", "ffn_down": "Q6_K"}
    return next((kind for part, kind in parts.items() if part in name), "Q8_0")


@pytest.mark.parametrize("blocks", [mixed, others])
def test_matrices_of_different_forms_make_one_step(blocks: Callable[[str], str], wide: Path, tmp_path: Path) -> None:
    file = write_gguf(wide, tmp_path / "wide.gguf", architecture="qwen2", blocks=blocks)
    ours, unpacked = load_gguf(file, device="cpu"), load_gguf(file, device="cpu", dtype="float32")
    kept = {name: module.matrix for name, module in ours.model.named_modules() if hasattr(module, "matrix")}
    tensors = {one.name: one for one in gguf.GGUFReader(file).tensors}
    for name, theirs in (("lm_head", "output"), ("model.layers.1.self_attn.v_proj", "blk.1.attn_v")):
        one = tensors[f"{theirs}.weight"]
        np.testing.assert_array_equal(kept[name].values(), gguf.dequantize(one.data, one.tensor_type))
    told: list[str] = []
    step, driven, exact = build_backend(ours, say=told.append), build_backend(ours, "driven"), HFBackend(unpacked)
    assert isinstance(step, LowBitBackend) and not told
    ids = unpacked.tokenizer(TEXT[0]).input_ids
    for backend in (step, driven, exact):
        backend.prefill(ids, capacity=128)
    found, by_modules, expected = (backend.step(ids[:6]).logits.clone() for backend in (step, driven, exact))
    assert relative_error(found, by_modules) < 0.02
    assert relative_error(found, expected) < 0.05
    alone = []
    for token in ids[:6]:
        alone.append(step.step([token]).logits.clone())
        step.commit(1)
    assert torch.equal(torch.cat(alone), found)


def test_what_is_mapped_is_what_was_converted(wide: Path, tmp_path: Path) -> None:
    file = write_gguf(wide, tmp_path / "wide.gguf", architecture="qwen2", blocks=mixed)
    matrices, _ = read_weights(converted(file, AS_STORED))
    names = {"model.embed_tokens.weight": "token_embd.weight", "model.layers.0.mlp.up_proj.weight": "blk.0.ffn_up.weight"}
    for name, theirs in names.items():
        one = next(one for one in gguf.GGUFReader(file).tensors if one.name == theirs)
        made, mapped = whole(stored(one)), matrices[name]
        assert isinstance(made, SuperMatrix) and isinstance(mapped, SuperMatrix)
        np.testing.assert_array_equal(made.packed, mapped.packed)
        assert not mapped.packed.flags.owndata and mapped.packed.ctypes.data % 64 == 0


def test_scales_that_are_no_numbers_are_named() -> None:
    one = tensor("Q4_K")
    one.data[0, :2] = np.array([np.inf], dtype=np.float16).view(np.uint8)
    with pytest.raises(NotInBlocks, match=r"blk\.0\.w, stored as Q4_K, has scales that are no numbers"):
        whole(stored(one))


def test_what_was_compared_once_is_not_compared_again(wide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the hash of the file: another file, or what is no file, is compared; and both give the same logits."""
    compared: list[str] = []
    prove = DrivenBackend._prove

    def counted(self: DrivenBackend, reference: HFBackend | None) -> None:
        compared.append(self._loaded.name)
        prove(self, reference)

    monkeypatch.setattr(DrivenBackend, "_prove", counted)
    file = write_gguf(wide, tmp_path / "wide.gguf", architecture="qwen2", blocks=mixed)
    found = []
    for _ in range(2):
        backend = build_backend(load_gguf(file, device="cpu"))
        assert isinstance(backend, LowBitBackend)
        backend.prefill([5, 6, 7], capacity=32)
        found.append(backend.step([8, 9]).logits.clone())
    assert compared == [f"gguf:{file}"] and torch.equal(*found)
    other = write_gguf(wide, tmp_path / "other.gguf", architecture="qwen2", blocks="Q8_0")
    build_backend(load_gguf(other, device="cpu"))
    build_backend(load_gguf(file, device="cpu", dtype="int8"))
    build_backend(load_gguf(file, device="cpu", dtype="int8"))
    assert len(compared) == 4


def test_the_code_of_transformers_waits_until_it_is_asked_for(wide: Path, tmp_path: Path) -> None:
    """A later start needs none of it; the model's own forward is there all the same, on the same weights."""
    file = write_gguf(wide, tmp_path / "wide.gguf", architecture="qwen2", blocks=mixed)
    build_backend(load_gguf(file, device="cpu"))
    loaded = load_gguf(file, device="cpu")
    model: Any = loaded.model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Skeleton, "whole", lambda _: pytest.fail("transformers' model was asked for"))
        backend = build_backend(loaded)
        backend.prefill([5, 6, 7], capacity=32)
        ours = backend.step([8, 9]).logits.clone()
    assert isinstance(backend, LowBitBackend) and isinstance(model, Skeleton) and whole_model(model) is model.whole()
    with torch.inference_mode():
        theirs = model(input_ids=torch.tensor([[5, 6, 7, 8, 9]]), use_cache=False).logits[0, -2:]
    assert relative_error(ours, theirs) < 8e-2
    names = {name: parameter.shape for name, parameter in model.named_parameters()}
    assert names == {name: parameter.shape for name, parameter in model.whole().named_parameters()}
    model.to("meta")
    assert {parameter.device.type for parameter in model.whole().parameters()} == {"meta"}


def test_a_model_of_another_shape_is_read_by_transformers(wide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoding.lowbit.skeleton._SHAPES", frozenset())
    file = write_gguf(wide, tmp_path / "wide.gguf", architecture="qwen2", blocks=mixed)
    assert not isinstance(load_gguf(file, device="cpu").model, Skeleton)
