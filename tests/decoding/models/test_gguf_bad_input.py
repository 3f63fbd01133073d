"""GGUF files that are not as they should be, or not as most are: read where that can be, or refused with the reason."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from data.errors import UserError
from decoding import machine
from decoding.backends.build import build_backend
from decoding.lowbit.superblocks import block_bytes
from decoding.models import gguf as gguf_models
from decoding.models.gguf import load_gguf
from decoding.models.gguf_reading import parts_of
from tests.gguf_file import write_gguf
from tests.tiny_model import build_tiny_model

TEXT = ["The reservoir was 93 per cent full on the morning of 12 March 2031.", "Heavy rain fell on the basin for six days."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_model(tmp_path_factory.mktemp("tiny"), chat_template=True, vocab_from=TEXT)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(("blocks", "dtype"), [("Q8_0", "stored"), ("", "float32")])
def test_a_model_in_parts_is_the_model(folder: Path, tmp_path: Path, blocks: str, dtype: str) -> None:
    """Named by any of them. Its last parts hold the output layer, without which it would have only one embedding."""
    first = write_gguf(folder, tmp_path / "tiny.gguf", blocks=blocks, tensors_a_part=10)
    parts = parts_of(first)
    assert len(parts) == len(list(tmp_path.glob("*.gguf"))) > 2
    whole = load_gguf(write_gguf(folder, tmp_path / "whole.gguf", blocks=blocks), device="cpu")
    joined = load_gguf(parts[1], device="cpu")
    assert joined.dtype == whole.dtype == dtype
    ids = whole.tokenizer(TEXT[0], return_tensors="pt").input_ids
    with torch.no_grad():
        assert torch.equal(joined.model(ids).logits, whole.model(ids).logits)
    parts[-1].write_bytes(parts[-1].read_bytes() + b"\0" * 32)
    assert load_gguf(first, device="cpu").fingerprint != joined.fingerprint or not blocks, "all parts are part of the hash"


def test_a_model_whose_parts_are_not_all_there_is_refused(folder: Path, tmp_path: Path) -> None:
    first = write_gguf(folder, tmp_path / "tiny.gguf", tensors_a_part=10)
    alone = first.rename(tmp_path / "renamed.gguf")
    with pytest.raises(UserError, match=r"one of \d parts.*-00001-of-0000\d\.gguf.*llama-gguf-split --merge"):
        load_gguf(alone, device="cpu")
    alone.rename(first)
    parts_of(first)[2].unlink()
    with pytest.raises(UserError, match=rf"no file {parts_of(first)[2]}; all {len(parts_of(first))} parts .* into one folder"):
        load_gguf(first, device="cpu")


def test_numbers_of_other_processors_are_refused(folder: Path, tmp_path: Path) -> None:
    file = write_gguf(folder, tmp_path / "big.gguf", big_endian=True)
    with pytest.raises(UserError, match=r"big end first.*gguf-convert-endian"):
        load_gguf(file, device="cpu")


def test_a_matrix_of_unknown_blocks_is_named_each_time(tmp_path: Path) -> None:
    """Ternary blocks, which the file's reader can unpack: the model runs, more slowly, and it is said which matrix is why."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    folder = build_tiny_model(tmp_path / "wide", chat_template=True, vocab_from=TEXT)
    before = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    same = ("vocab_size", "bos_token_id", "eos_token_id", "pad_token_id", "max_position_embeddings")
    config = Qwen2Config(
        hidden_size=256, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        **{name: before[name] for name in same},
    )  # fmt: skip
    Qwen2ForCausalLM(config).save_pretrained(folder)
    odd = "blk.0.attn_q.weight"
    file = write_gguf(
        folder,
        tmp_path / "odd.gguf",
        architecture="qwen2",
        blocks=lambda name: "TQ2_0" if name == odd else "Q8_0",
    )
    for _ in range(2):
        told: list[str] = []
        loaded = load_gguf(file, device="cpu", tell=told.append)
        assert loaded.is_low_bit and any(f"{odd} is stored as TQ2_0" in line and "float32" in line for line in told)
    build_backend(loaded, say=told.append)
    assert "without compiled low-bit steps, which takes two to three times as long" in told[-1] and "q_proj" in told[-1]


@pytest.mark.parametrize("blocks", ["Q8_0", ""])
@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"cut": frozenset({"blk.1.ffn_up.weight"})}, "up_proj|ffn_up|weights"),
        ({"leave_out": frozenset({"tokens"})}, "cannot read its tokenizer"),
        ({"template": "{{ raise_exception('no system prompts') }}"}, "chat template cannot be used .no system prompts"),
        ({"template": "{{ 1 / 0 }}"}, "chat template cannot be used .*zero"),
        ({"template": "{% for message in %}"}, "chat template cannot be used"),
    ],
    ids=["shape", "no tokenizer", "template raises", "template divides", "template is none"],
)
def test_what_does_not_fit_together_is_refused(
    folder: Path, tmp_path: Path, made: dict[str, object], words: str, blocks: str
) -> None:
    file = write_gguf(folder, tmp_path / "bad.gguf", blocks=blocks, **made)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=words) as refused:
        load_gguf(file, device="cpu")
    assert "\n" not in str(refused.value) and str(file) in str(refused.value)
    if blocks and "cut" in made:
        assert "the matrix model.layers.1.mlp.up_proj.weight is" in str(refused.value)


def test_too_little_memory_is_said_before_anything_is_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    file = write_gguf(folder, tmp_path / "tiny.gguf", blocks="Q8_0")
    monkeypatch.setattr(machine, "available_bytes", lambda: 100 << 20)
    with pytest.raises(
        UserError, match=r"tiny.gguf in its own bits needs about 0\.\d GB of memory, and 0.1 GB are free; take a file of fewer"
    ):
        load_gguf(file, device="cpu")
    assert not list((cache / "gguf").glob("*stored*"))
    free = 2_000_000_000
    monkeypatch.setattr(machine, "available_bytes", lambda: free)
    with pytest.raises(
        UserError, match=r"large.gguf as float32 needs about 7.0 GB .* --model qwen-1.5b \(1.1 GB\), or a file of"
    ):
        gguf_models.check_memory(Path("large.gguf"), 6_400_000_000, "as float32")
    monkeypatch.setattr(machine, "available_bytes", lambda: None)
    gguf_models.check_memory(Path("large.gguf"), 6_400_000_000, "as float32")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1867776000 bytes."),
    ],
)
def test_memory_that_ends_while_a_model_is_loaded(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def ended(*_: object, **__: object) -> None:
        raise error

    file = write_gguf(folder, tmp_path / "tiny.gguf", blocks="Q8_0")
    monkeypatch.setattr(gguf_models, "load_stored", ended)
    with pytest.raises(UserError, match=r"tiny.gguf in its own bits needs about .* GB of memory"):
        load_gguf(file, device="cpu")
    monkeypatch.setattr(gguf_models, "load_stored", lambda *_, **__: [][0])
    with pytest.raises(IndexError):  # a fault of ours stays one
        load_gguf(file, device="cpu")


def test_the_limit_of_the_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ulimit -v`: a mapping beyond it fails, however much memory is free."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 20, 1 << 20))
    assert machine.available_bytes() == 0, "this process has more already"
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert machine.available_bytes() != 0


def test_weights_beyond_the_memory_are_not_called_damaged(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    file = write_gguf(folder, tmp_path / "tiny.gguf", blocks="Q8_0")
    load_gguf(file, device="cpu")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr("mmap.mmap", full)
    with pytest.raises(UserError, match=r"no memory can be had for the 0\.0 GB of .*take a smaller model"):
        load_gguf(file, device="cpu")


def test_a_file_that_changes_while_it_is_read_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """A download that goes on, say. Nothing of it is kept, and later it is read."""
    file = write_gguf(folder, tmp_path / "tiny.gguf", blocks="Q8_0")
    save = gguf_models._save_tokenizer

    def later(path: Path, *rest: object) -> None:
        save(path, *rest)  # type: ignore[arg-type]
        os.utime(path, (1, 1))

    with monkeypatch.context() as patch:
        patch.setattr(gguf_models, "_save_tokenizer", later)
        with pytest.raises(UserError, match="was changed while it was read; wait until"):
            load_gguf(file, device="cpu")
    assert not list((cache / "gguf").glob("*/conversion.json"))
    assert load_gguf(file, device="cpu").is_low_bit


@pytest.mark.slow
def test_two_processes_may_compile_at_once(tmp_path: Path) -> None:
    program = "from decoding.lowbit.superblocks import block_bytes; print(block_bytes(4))"
    environment = {**os.environ, "WIKIGEN_CACHE": str(tmp_path / "fresh")}
    both = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment, text=True) for _ in range(2)
    ]
    assert [one.communicate()[0].strip() for one in both] == 2 * [str(block_bytes(4))]
    again = subprocess.run([sys.executable, "-c", program], capture_output=True, env=environment, text=True, check=True)
    assert again.stdout.strip() == str(block_bytes(4)) and list((tmp_path / "fresh" / "kernels").rglob("*.nbc"))
