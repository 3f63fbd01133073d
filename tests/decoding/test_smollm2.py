"""The default model's package and its adapter: on disk, merged, trained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from data.errors import UserError
from decoding.models.loading import LoadedModel, load
from decoding.smollm2 import gguf_file, load_smollm2
from decoding.smollm2.adapter import FORM, Adapter, merge, read_adapter, write_adapter
from decoding.smollm2.training import Lesson, Recipe, answer_loss, train
from tests.tiny_model import build_tiny_model

TEXT = "The reservoir was 93 per cent full on the morning of 12 March 2031."
BASE = "ab" * 32


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_model(tmp_path_factory.mktemp("tiny"), chat_template=True, vocab_from=[TEXT])


@pytest.fixture
def loaded(folder: Path) -> LoadedModel:
    return load(str(folder), device="cpu")


def adapter(**more: object) -> Adapter:
    torch.manual_seed(0)
    matrices = {(n, "q_proj"): (torch.randn(2, 64), torch.randn(64, 2)) for n in range(4)}
    return replace(Adapter(BASE, 2.0, 2, FORM, matrices), **more)  # type: ignore[arg-type]


def test_an_adapter_is_read_as_it_was_written_in_eight_bits(tmp_path: Path) -> None:
    file = tmp_path / "adapter.safetensors"
    kept = write_adapter(adapter(), file)
    read = read_adapter(file, base=BASE)
    assert (read.scale, read.rank, read.form, read.sha256) == (2.0, 2, FORM, kept.sha256) and read.sha256
    for place, pair in adapter().matrices.items():
        for written, back in zip(pair, read.matrices[place], strict=True):
            assert torch.allclose(written, back, atol=float(written.abs().max()) / 127)


def test_merging_adds_the_product(loaded: LoadedModel) -> None:
    before = loaded.model.get_decoder().layers[1].self_attn.q_proj.weight.clone()
    merge(loaded.model, adapter())
    a, b = adapter().matrices[1, "q_proj"]
    after = loaded.model.get_decoder().layers[1].self_attn.q_proj.weight
    assert torch.allclose(after, before + 2.0 * b @ a, atol=1e-5)


def test_one_that_does_not_fit_is_refused(loaded: LoadedModel, tmp_path: Path) -> None:
    file = tmp_path / "adapter.safetensors"
    write_adapter(adapter(), file)
    with pytest.raises(UserError, match=r"trained on weights with sha256 abababababab.*smollm2-base"):
        read_adapter(file, base="cd" * 32)
    with pytest.raises(UserError, match="prompts of the form"):
        read_adapter(write_and(file, form="other/1"), base=BASE)
    for matrices, words in (
        ({(9, "q_proj"): adapter().matrices[0, "q_proj"]}, "more than 9 layers"),
        ({(0, "down_proj"): adapter().matrices[0, "q_proj"]}, "of shape"),
    ):
        with pytest.raises(UserError, match=words):
            merge(loaded.model, adapter(matrices=matrices))
    with pytest.raises(UserError, match="finite"):
        write_adapter(adapter(matrices={(0, "q_proj"): (torch.full((2, 64), torch.nan), torch.zeros(64, 2))}), file)


def write_and(file: Path, **more: object) -> Path:
    write_adapter(adapter(), file)
    from safetensors import safe_open

    with safe_open(file, "pt") as opened:
        about = {**opened.metadata(), **more}
    save_file(load_file(file), file, metadata=about)  # type: ignore[arg-type]
    return file


def test_a_damaged_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "adapter.safetensors"
    write_adapter(adapter(), file)
    whole = file.read_bytes()
    for content in (b"", b"no", whole[:100], whole[:-50]):
        file.write_bytes(content)
        with pytest.raises(UserError, match="is not an adapter"):
            read_adapter(file, base=BASE)
    tensors = {"layers.0.q_proj.a": torch.zeros(2, 64), "stray": torch.zeros(1)}
    about = {"base": BASE, "scale": "2.0", "rank": "2", "form": FORM}
    for kept in ({"stray": tensors["stray"]}, {"layers.0.q_proj.a": tensors["layers.0.q_proj.a"]}):
        save_file(kept, file, metadata=about)
        with pytest.raises(UserError, match="smollm2-base"):
            read_adapter(file, base=BASE)


def test_training_learns_the_answers_and_goes_on_where_it_stopped(folder: Path, tmp_path: Path) -> None:
    lessons = [Lesson((5, 6, 7 + n), (40 + n, 41 + n, 2)) for n in range(8)]
    recipe = Recipe(rank=2, projections=("q_proj", "down_proj"), passes=12, batch_tokens=24, warmup=2, threads=1)

    def fresh() -> LoadedModel:
        return load(str(folder), device="cpu")

    def loss(model: LoadedModel) -> float:
        with torch.no_grad():
            return sum(float(answer_loss(model, lesson)) for lesson in lessons)

    first = fresh()
    before = loss(first)
    straight = train(first, lessons, recipe, base=BASE)
    assert loss(first) < before, "twelve passes over eight lessons"
    kept = tmp_path / "checkpoint.safetensors"
    train(fresh(), lessons, recipe, base=BASE, checkpoint=kept, stop_after=9)
    resumed = train(fresh(), lessons, recipe, base=BASE, checkpoint=kept)
    for place, pair in straight.matrices.items():
        for one, other in zip(pair, resumed.matrices[place], strict=True):
            assert torch.allclose(one, other, atol=1e-3)
    merged = fresh()
    merge(merged.model, straight)
    assert abs(loss(merged) - loss(first)) < 0.05 * before, "merged it says what it says beside the weights"


def test_the_package_holds_the_model_that_the_adapter_is_of() -> None:
    """The real one: it knows the world, and its adapter fits it."""
    assert gguf_file().stat().st_size > 90_000_000
    model = load_smollm2("smollm2", device="cpu")
    assert model.name == "smollm2" and model.composes and model.eos_ids == {2}
    assert [model.tokenizer.decode([i]) for i in model.tokenizer("2031", add_special_tokens=False).input_ids] == list("2031")
    ids = model.tokenizer("The capital of France is", return_tensors="pt").input_ids
    with torch.no_grad():
        best = int(model.model(ids).logits[0, -1].argmax())
    assert model.tokenizer.decode([best]).strip() in ("Paris", "the", "a")


def test_an_unknown_name_and_dtype(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="smollm2-base"):
        load_smollm2("smollm3")
    with pytest.raises(UserError, match="unknown dtype"):
        load_smollm2("smollm2", dtype="int3")
