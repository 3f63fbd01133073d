"""GGUF blocks keep their numbers: the weights are those that `gguf` reads from them, bit for bit."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gguf
import numpy as np
import pytest
import torch

from data.errors import UserError
from decoding.backends.build import build_backend
from decoding.backends.lowbit import LowBitBackend
from decoding.backends.torch_backend import relative_error
from decoding.lowbit.gguf_blocks import NotInBlocks, stored
from decoding.lowbit.storage import FILE, read_weights
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


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"])
def test_blocks_keep_their_numbers(kind: str) -> None:
    one = tensor(kind)
    np.testing.assert_array_equal(stored(one).whole().values(), gguf.dequantize(one.data, one.tensor_type))


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
