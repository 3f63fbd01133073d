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
        torch.tensor([PROMPT]), max_new_tokens=20, do_sample=False, eos_token_id=None, pad_token_id=0
    )
    for drafter in (NoDrafter(), CopyDrafter()):
        new: list[int] = []
        left = iter(range(19, -1, -1))

        def take(token: int, new: list[int] = new, left=left) -> bool:
            new.append(token)
            return next(left) > 0

        decode(backend, drafter, PROMPT, Sampler(SamplingParams(max_new_tokens=20), len(PROMPT)), take)
        assert new == expected[0, len(PROMPT) :].tolist(), drafter.name


def test_half_precision_has_no_packed_kernels() -> None:
    loaded = tiny_family("llama", dtype="float16")
    with pytest.raises(UserError, match="no packed weights: there are no packed kernels for float16"):
        build_backend(loaded, "packed")
    said: list[str] = []
    assert build_backend(loaded, "auto", said.append).info.name == "driven"
    assert "without packed weights" in said[0]
