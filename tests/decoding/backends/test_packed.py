"""Packed weights against `driven`: the same logits to rounding, the same text, and a model that nobody has touched."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from data.errors import UserError
from decoding.api import SamplingParams
from decoding.backend import SkipSet
from decoding.backends.build import build_backend
from decoding.backends.driven import DrivenBackend
from decoding.backends.packed import NotPacked, PackedBackend
from decoding.drafters.copy import CopyDrafter
from decoding.drafters.plain import NoDrafter
from decoding.sampling import Sampler
from decoding.speculative import decode
from tests.grids import rest_slow
from tests.model_families import DRIVABLE, tiny_family

PROMPT = [(7 * i * i + 3 * i) % 90 + 3 for i in range(30)]


def _difference(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    return float((ours.float() - theirs.float()).norm() / theirs.float().norm())


@pytest.mark.parametrize(
    ("family", "dtype"),
    rest_slow(
        product(DRIVABLE, ("float32", "bfloat16")),
        keep={
            *product(("llama", "llama-tied", "qwen2-sliding", "gemma3", "phi3", "olmo2", "qwen3-moe"), ["float32"]),
            ("gpt-oss", "bfloat16"),
        },
    ),
)
def test_steps_of_every_form_agree_with_driven(family: str, dtype: str) -> None:
    loaded = tiny_family(family, dtype=dtype)
    try:
        packed = PackedBackend(loaded)
    except NotPacked as error:
        assert "bfloat16 products" in error.why and dtype == "bfloat16"
        pytest.skip(error.why)
    driven = DrivenBackend(loaded)
    assert packed.info.name == "packed"
    allowed = 1e-5 if dtype == "float32" else 3e-2
    last = packed.info.n_layers - 1
    steps = (
        {"ids": [5]},
        {"ids": [5, 6, 7]},
        {"ids": list(range(5, 17))},
        {"ids": [5, 6, 7, 8], "parents": (-1, 0, 0, 1)},
        {"ids": [9], "plan": SkipSet((0,), (last,))},
        {"ids": [9, 4], "plan": SkipSet((last,), (0, last))},
    )
    first = [backend.prefill(PROMPT, capacity=80).last.logits.clone() for backend in (packed, driven)]
    assert _difference(*first) <= allowed
    for step in steps:
        ours, theirs = (backend.step(**step).logits.clone() for backend in (packed, driven))
        assert _difference(ours, theirs) <= allowed, step


@pytest.mark.parametrize("family", rest_slow(DRIVABLE, keep=("llama", "gemma3")))
def test_the_text_is_that_of_the_model_itself(family: str) -> None:
    loaded = tiny_family(family, dtype="float32")
    backend = PackedBackend(loaded)
    expected = loaded.model.generate(
        torch.tensor([PROMPT]), max_new_tokens=40, do_sample=False, eos_token_id=None, pad_token_id=0
    )
    for drafter in (NoDrafter(), CopyDrafter()):
        new: list[int] = []
        left = iter(range(39, -1, -1))

        def take(token: int, new: list[int] = new, left=left) -> bool:
            new.append(token)
            return next(left) > 0

        decode(backend, drafter, PROMPT, Sampler(SamplingParams(max_new_tokens=40), len(PROMPT)), take)
        assert new == expected[0, len(PROMPT) :].tolist(), drafter.name


def test_the_model_stays_as_it_was() -> None:
    loaded = tiny_family("llama", dtype="float32")
    ids = torch.tensor([PROMPT])
    modules = [(name, type(module)) for name, module in loaded.model.named_modules()]
    before = loaded.model(ids).logits
    backend = PackedBackend(loaded)
    backend.prefill(PROMPT, capacity=64)
    backend.step([1, 2, 3])
    assert torch.equal(loaded.model(ids).logits, before)
    assert [(name, type(module)) for name, module in loaded.model.named_modules()] == modules
    assert loaded.model.config._attn_implementation == "sdpa"


def test_auto_packs_on_the_cpu() -> None:
    assert build_backend(tiny_family("llama", dtype="float32")).info.name == "packed"


def test_half_precision_has_no_packed_kernels() -> None:
    loaded = tiny_family("llama", dtype="float16")
    with pytest.raises(UserError, match="no packed weights: there are no packed kernels for float16"):
        build_backend(loaded, "packed")
    said: list[str] = []
    assert build_backend(loaded, "auto", said.append).info.name == "driven"
    assert "without packed weights" in said[0]


def test_steps_of_a_small_model_take_one_thread_and_its_proof_takes_all() -> None:
    """The proof wants the same bits as the model's own forward, and other threads add in another order."""
    loaded, before = tiny_family("llama"), torch.get_num_threads()
    taken: list[int] = []
    loaded.model.get_decoder().embed_tokens.register_forward_hook(lambda *_: taken.append(torch.get_num_threads()))
    torch.set_num_threads(3)
    try:
        packed = PackedBackend(loaded)
        assert set(taken) == {3}
        taken.clear()
        packed.prefill([(7 * i) % 90 + 3 for i in range(80)], capacity=100)
        packed.step([5])
        assert taken[0] == 3 and taken[-1] == 1 and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
