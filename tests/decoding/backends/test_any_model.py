"""Models that are not Llama's kin: what can be drafted for them is, with the same text; what cannot is refused at once."""

from __future__ import annotations

import random
from functools import cache

import pytest
import torch

from data.errors import UserError
from decoding.api import SamplingParams
from decoding.backend import can_skip, takes_trees
from decoding.backends.build import build_backend
from decoding.methods import build_drafter
from decoding.sampling import Sampler
from decoding.speculative import decode
from tests.grids import rest_slow
from tests.model_families import MORE, OTHER, WINDOW, tiny_family

PROMPT = random.Random(3).choices(range(3, 300), k=3 * WINDOW)


@cache
def greedy(family: str) -> list[int]:
    return written(family, "greedy")


def written(family: str, method: str) -> list[int]:
    backend, tokens = build_backend(tiny_family(family)), []

    def take(token: int) -> bool:
        tokens.append(token)
        return len(tokens) < 24

    lengths = "fixed:3" if method == "clasp" else None  # else it drafts only where that pays, by this machine's clock
    drafter = build_drafter(method, backend, lengths=lengths)
    decode(backend, drafter, PROMPT, Sampler(SamplingParams(max_new_tokens=24), len(PROMPT)), take)
    return tokens


@pytest.mark.parametrize("method", ["recycle", "recycling"])
@pytest.mark.parametrize("family", OTHER)
def test_trees_are_drafted_where_they_can_be_proved(family: str, method: str) -> None:
    if takes_trees(build_backend(tiny_family(family))):
        assert written(family, method) == greedy(family)
    else:
        with pytest.raises(UserError, match="cannot verify"):
            written(family, method)


@pytest.mark.parametrize("method", ["swift", "clasp"])
@pytest.mark.parametrize("family", OTHER)
def test_layers_are_skipped_where_they_can_be(family: str, method: str) -> None:
    if can_skip(build_backend(tiny_family(family))):
        assert written(family, method) == greedy(family)
    else:
        with pytest.raises(UserError, match=f"'{method}' skips layers, which this model's cannot be"):
            written(family, method)


def test_a_window_that_our_masks_do_not_know_takes_no_trees() -> None:
    assert not takes_trees(build_backend(tiny_family("gpt-neo")))


@pytest.mark.parametrize("family", rest_slow(MORE, keep=("opt", "falcon-alibi", "mpt")))
def test_other_families_write_their_own_text_or_are_refused_before_any(family: str) -> None:
    loaded = tiny_family(family)
    backend = build_backend(loaded)
    for method in ("auto", "copy", "recycling", "swift"):
        fits = {"recycling": takes_trees(backend), "swift": can_skip(backend)}.get(method, True)
        if fits:
            assert written(family, method) == greedy(family), method
        else:
            with pytest.raises(UserError, match="choose copy"):
                build_drafter(method, backend)
    ids = torch.tensor([PROMPT])
    theirs = loaded.model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=24, do_sample=False, eos_token_id=None, use_cache=False
    )
    assert theirs[0, len(PROMPT) :].tolist() == greedy(family)
