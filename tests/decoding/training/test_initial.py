"""A fresh model that copies: what is written into its first two layers works before any training."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from decoding.training.initial import hold_constant, write_copying_heads
from decoding.training.network import TrainingPass, new_model
from decoding.training.presets import PRESETS

IDS: dict[str, int | None] = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


def fresh(copying: bool) -> Any:
    preset = PRESETS["cpu"]
    model = new_model(
        vocab_size=2000, n_layers=4, hidden=preset.hidden, head_dim=preset.head_dim, context=preset.context, ids=IDS, seed=0
    )
    if copying:
        write_copying_heads(model, 0, seed=0)
    return model


def repeats_right(model: Any, length: int) -> float:
    """Share of the tokens of a random sequence that are predicted when it comes a second time."""
    rng = random.Random(length)
    once = [rng.randrange(3, 2000) for _ in range(length)]
    said = TrainingPass(model, dtype=torch.float32, compiled=False).judged(torch.tensor([[*once, *once]]))[1]
    again = torch.tensor(once[4:])
    return float((said[length + 3 :] == again).float().mean())


def test_random_tokens_are_copied_before_any_training() -> None:
    with torch.no_grad():
        assert repeats_right(fresh(copying=False), 64) < 0.1
        model = fresh(copying=True)
        assert repeats_right(model, 32) > 0.8
        assert repeats_right(model, 64) > 0.7
        assert repeats_right(model, 256) > 0.3


def test_the_same_seed_gives_the_same_weights_and_leaves_the_random_numbers_alone() -> None:
    torch.manual_seed(5)
    ours, theirs = fresh(copying=True), fresh(copying=True)
    after = torch.rand(1)
    torch.manual_seed(5)
    assert torch.rand(1).equal(after)
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert one.equal(other)


def test_the_constant_component_stays_in_training() -> None:
    model = fresh(copying=True)
    loss = TrainingPass(model, dtype=torch.float32, compiled=False).loss(torch.randint(3, 2000, (2, 33)))[1]
    loss.backward()
    assert model.model.embed_tokens.weight.grad[:, 0].abs().max() > 0
    hold_constant(model)
    assert model.model.embed_tokens.weight.grad[:, 0].abs().max() == 0
    assert model.model.embed_tokens.weight.grad[:, 1:].abs().max() > 0
    assert model.model.norm.weight.grad[0] == 0
    assert model.model.embed_tokens.weight[:, 0].unique().numel() == 1


@pytest.mark.parametrize(("hidden", "head_dim"), [(32, 16), (64, 32), (128, 64), (256, 64)])
def test_other_shapes_take_it_too(hidden: int, head_dim: int) -> None:
    model = new_model(vocab_size=300, n_layers=4, hidden=hidden, head_dim=head_dim, context=256, ids=IDS, seed=0)
    write_copying_heads(model, 0, seed=0)
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    assert TrainingPass(model, dtype=torch.float32, compiled=False).judged(torch.randint(3, 300, (1, 40)))[0].isfinite().all()
