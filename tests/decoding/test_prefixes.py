"""Trained beginnings of prompts: found by whoever reads a prompt that begins so, in every backend, and by nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from data.errors import UserError
from decoding.api import SamplingParams
from decoding.backend import Wants
from decoding.backends.build import Kind, build_backend
from decoding.engine import Ask, Engine
from decoding.models.loading import LoadedModel, load, lowered, with_prefixes
from decoding.prefixes.prefix import TunedPrefix, prefix_of, read_prefix, write_prefix
from tests.tiny_model import build_tiny_model
from tests.toy_backend import COSTS

BEGINNING = list(range(20, 44))
OTHER = [*BEGINNING[:10], *range(60, 90)]
"""Begins as the prefix does, and goes on otherwise."""
TEXT = ["The bridge over the river fell on Monday morning, the mayor said.", "Two people were hurt, and the road is closed."]
SAMPLED = SamplingParams(max_new_tokens=20, temperature=0.9, top_p=0.9)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load(
        str(build_tiny_model(tmp_path_factory.mktemp("tiny"), chat_template=True, vocab_from=TEXT, context_tokens=256)),
        device="cpu",
    )


def read_from(model: LoadedModel, change: float, folder: Path) -> TunedPrefix:
    """What the model itself computes for the beginning, with so much noise."""
    with torch.inference_mode():
        cache = model.model(torch.tensor([BEGINNING]), use_cache=True).past_key_values
    random = np.random.default_rng(0)
    parts = []
    for part in ("keys", "values"):
        own = np.stack([getattr(layer, part)[0].numpy() for layer in cache.layers])
        parts.append(own + change * own.std() * random.standard_normal(own.shape).astype(np.float32))
    write_prefix(folder / "say.safetensors", BEGINNING, *parts)
    return read_prefix(folder / "say.safetensors")


@pytest.fixture(scope="module")
def prefix(plain: LoadedModel, tmp_path_factory: pytest.TempPathFactory) -> TunedPrefix:
    return read_from(plain, 1.0, tmp_path_factory.mktemp("prefix"))


@pytest.fixture(scope="module")
def low_bit(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = build_tiny_model(tmp_path_factory.mktemp("low"), chat_template=True, vocab_from=TEXT, context_tokens=256)
    return lowered(load(str(folder), device="cpu"), "int8")


@pytest.fixture(scope="module")
def engine(low_bit: LoadedModel, prefix: TunedPrefix) -> Engine:
    made = Engine(with_prefixes(low_bit, [prefix]))
    made._backend._costs = COSTS  # type: ignore[attr-defined]  # measured ones would make drafts depend on the machine
    return made


def first_logits(loaded: LoadedModel, kind: Kind, prompt: Sequence[int]) -> torch.Tensor:
    backend = build_backend(loaded, kind)
    return torch.as_tensor(backend.prefill(prompt, capacity=len(prompt)).last.logits).clone()


def test_the_models_own_keys_and_values_change_nothing(plain: LoadedModel, tmp_path: Path) -> None:
    own = with_prefixes(plain, [read_from(plain, 0.0, tmp_path)])
    prompt = [*BEGINNING, 101, 102, 103]
    assert torch.allclose(first_logits(own, "driven", prompt), first_logits(plain, "driven", prompt), atol=2e-2)


@pytest.mark.parametrize("kind", ["hf", "driven", "packed"])
def test_every_backend_answers_from_the_trained_ones(plain: LoadedModel, prefix: TunedPrefix, kind: Kind) -> None:
    tuned = with_prefixes(plain, [prefix])
    prompt = [*BEGINNING, 101, 102, 103]
    found, expected = first_logits(tuned, kind, prompt), first_logits(tuned, "hf", prompt)
    assert torch.allclose(found, expected, atol=1e-3)
    assert not torch.allclose(found, first_logits(plain, kind, prompt), atol=5e-2)
    assert torch.equal(first_logits(tuned, kind, OTHER), first_logits(plain, kind, OTHER))
    assert torch.equal(first_logits(tuned, kind, BEGINNING), first_logits(plain, kind, BEGINNING))  # nothing stands behind it


def test_the_compiled_steps_answer_as_the_models_own_modules(low_bit: LoadedModel, prefix: TunedPrefix) -> None:
    tuned, prompt = with_prefixes(low_bit, [prefix]), [*BEGINNING, 101, 102]
    found, expected = first_logits(tuned, "lowbit", prompt), first_logits(tuned, "driven", prompt)
    assert float((found - expected).norm() / expected.norm()) < 0.08
    assert float((found - first_logits(low_bit, "lowbit", prompt)).norm() / expected.norm()) > 0.15


def written(engine: Engine, prompt: Sequence[int], sampling: SamplingParams) -> list[int]:
    ids: list[int] = []
    with engine.lock:
        engine.decode(prompt, sampling, lambda token: ids.append(token) is None, drafts=False)
    return ids


@pytest.mark.parametrize(
    "prompts",
    [
        [[*BEGINNING, 101], [*BEGINNING, 102, 103], [*BEGINNING, 104]],
        [[*BEGINNING, 101, 102], [*BEGINNING, 101, 103]],
        [[*BEGINNING, 101], OTHER, [*BEGINNING, 102], [*BEGINNING[:12], 101]],
        [OTHER, [*OTHER, 101], [*BEGINNING, 101], BEGINNING],
        [[101, 102], [*BEGINNING, 101], [*BEGINNING, 101]],
    ],
    ids=["that is all they share", "and more", "some", "others first", "nothing shared"],
)
def test_texts_together_are_what_they_are_alone(engine: Engine, prompts: list[list[int]]) -> None:
    samplings = [replace(SAMPLED, seed=seed) for seed in range(len(prompts))]
    found: list[list[int]] = [[] for _ in prompts]

    def ask(at: int) -> Ask:
        return Ask(prompts[at], samplings[at], lambda token: found[at].append(token) is None)

    asks = [ask(at) for at in range(len(prompts))]
    with engine.lock:
        engine.decode_together(asks)
    assert found == [written(engine, *one) for one in zip(prompts, samplings, strict=True)]


def test_nothing_is_kept_from_a_prompt_of_another_beginning(engine: Engine) -> None:
    tuned, sampling = [*BEGINNING, 101, 102, 103], replace(SAMPLED, seed=3)
    expected = written(engine, tuned, sampling)
    with engine.lock:
        engine._backend.forget()
    fresh = written(engine, OTHER, sampling)
    assert written(engine, tuned, sampling) == expected
    assert written(engine, OTHER, sampling) == fresh
    assert written(engine, [*tuned[:-1], 104], sampling) == written(engine, [*tuned[:-1], 104], sampling)


def test_only_tokens_that_were_read_have_rows(plain: LoadedModel, prefix: TunedPrefix) -> None:
    backend = build_backend(with_prefixes(plain, [prefix]), "driven")
    found = backend.prefill([*BEGINNING, 101, 102, 103], capacity=64, wants=Wants(vector=True, top_k=4))
    assert found.top_ids is not None
    assert found.top_ids.shape == (3, 4)
    assert found.vector is not None
    assert np.isfinite(found.vector).all()


def test_drafts_change_nothing(plain: LoadedModel, prefix: TunedPrefix) -> None:
    tuned = with_prefixes(plain, [prefix])
    prompt, sampling = [*BEGINNING, 101, 102], SamplingParams(max_new_tokens=30)
    assert written(Engine(tuned, "recycle"), prompt, sampling) == written(Engine(tuned, "greedy"), prompt, sampling)


def test_it_is_another_model_to_whoever_compares(plain: LoadedModel, prefix: TunedPrefix) -> None:
    tuned = with_prefixes(plain, [prefix])
    assert tuned.fingerprint not in (plain.fingerprint, with_prefixes(tuned, [prefix]).fingerprint)
    assert with_prefixes(plain, ()) is plain


def test_a_prefix_of_another_model_is_refused(plain: LoadedModel, prefix: TunedPrefix) -> None:
    other = replace(prefix, keys=prefix.keys[1:], values=prefix.values[1:])
    with pytest.raises(UserError, match="'say' is of another model"):
        with_prefixes(plain, [other])


def test_a_damaged_file_is_refused(tmp_path: Path, prefix: TunedPrefix) -> None:
    path = tmp_path / "say.safetensors"
    path.write_bytes(b"no weights")
    with pytest.raises(UserError, match="no tuned prefix"):
        read_prefix(path)
    keys = prefix.keys.astype(np.float32)
    write_prefix(path, prefix.ids[:-1], keys, keys)
    with pytest.raises(UserError, match="do not fit together"):
        read_prefix(path)
    write_prefix(path, prefix.ids, np.full_like(keys, np.nan), keys)
    with pytest.raises(UserError, match="no number"):
        read_prefix(path)


def test_a_prompt_that_is_shorter_has_none(prefix: TunedPrefix) -> None:
    assert prefix_of([prefix], [*BEGINNING, 1]) is prefix
    assert prefix_of([prefix], BEGINNING) is None
    assert prefix_of([], [*BEGINNING, 1]) is None
