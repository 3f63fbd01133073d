"""Muon and AdamW behind one state and one schedule."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from safetensors.torch import load, save

from decoding.training.network import new_model
from decoding.training.optimizer import Optimizer, Schedule


def small_model() -> Any:
    ids = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    return new_model(vocab_size=64, n_layers=2, hidden=32, head_dim=16, context=64, ids=ids, seed=0)


def optimizer_of(model: Any) -> Optimizer:
    return Optimizer(model, matrix_rate=0.02, embedding_rate=0.01, norm_rate=0.01, weight_decay=0.1)


def learn(model: Any, optimizer: Optimizer, steps: range, *, factor: float = 1.0) -> list[float]:
    losses = []
    for step in steps:
        ids = torch.randint(8, (4, 17), generator=torch.Generator().manual_seed(step))
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step(factor)
        losses.append(float(loss.detach()))
    return losses


def copied(model: Any) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def test_it_learns() -> None:
    model = small_model()
    losses = learn(model, optimizer_of(model), range(30))
    assert losses[-1] < losses[0] - 1


def test_a_restored_state_takes_the_same_next_steps() -> None:
    """Through the bytes of a file, bit for bit."""
    model = small_model()
    optimizer = optimizer_of(model)
    learn(model, optimizer, range(4))
    weights, state = copied(model), save({name: value.contiguous() for name, value in optimizer.state().items()})
    learn(model, optimizer, range(4, 7))
    other = small_model()
    other.load_state_dict(weights)
    restored = optimizer_of(other)
    restored.restore(load(state))
    learn(other, restored, range(4, 7))
    for name, value in copied(model).items():
        assert value.equal(other.state_dict()[name]), name
    forgetful = small_model()
    forgetful.load_state_dict(weights)
    learn(forgetful, optimizer_of(forgetful), range(4, 7))
    assert not all(value.equal(forgetful.state_dict()[name]) for name, value in copied(model).items())


def test_every_parameter_has_one_part_and_its_state_a_name() -> None:
    """Matrices of the layers to Muon, all else to AdamW."""
    model = small_model()
    optimizer = optimizer_of(model)
    learn(model, optimizer, range(1))
    muon = {key.split("/")[1] for key in optimizer.state() if key.startswith("0/")}
    adam = {key.split("/")[1] for key in optimizer.state() if key.startswith(("1/", "2/"))}
    assert muon == {name for name, p in model.named_parameters() if ".layers." in name and p.dim() == 2}
    assert muon | adam == {name for name, _ in model.named_parameters()} and not muon & adam
    assert "model.embed_tokens.weight" in adam and "model.layers.0.input_layernorm.weight" in adam


def test_the_factor_scales_both_rates() -> None:
    model = small_model()
    before = copied(model)
    learn(model, optimizer_of(model), range(1), factor=0.0)
    assert all(value.equal(before[name]) for name, value in copied(model).items())
    moved = {}
    for factor in (0.5, 1.0):
        model = small_model()
        learn(model, optimizer_of(model), range(1), factor=factor)
        moved[factor] = {name: value - before[name] for name, value in copied(model).items()}
    for name, whole in moved[1.0].items():
        torch.testing.assert_close(moved[0.5][name] * 2, whole, atol=1e-6, rtol=1e-3)


def test_what_is_named_moves_slowly() -> None:
    moved = {}
    for share in (1.0, 0.25):
        model = small_model()
        before = copied(model)
        optimizer = Optimizer(
            model,
            matrix_rate=0.02,
            embedding_rate=0.02,
            norm_rate=0.004,
            weight_decay=0.0,
            slow={"model.layers.0.": share, "model.embed_tokens.": share},
        )
        learn(model, optimizer, range(1))
        moved[share] = {name: value - before[name] for name, value in copied(model).items()}
    for name, whole in moved[1.0].items():
        slow = name.startswith(("model.layers.0.", "model.embed_tokens."))
        torch.testing.assert_close(moved[0.25][name] * (4 if slow else 1), whole, atol=1e-6, rtol=1e-3)


def test_gradients_are_clipped_together_and_forgotten() -> None:
    model = small_model()
    optimizer = optimizer_of(model)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 1e4)
    optimizer.step(1.0)
    assert all(parameter.grad is None for parameter in model.parameters())
    averages = [value for key, value in optimizer.state().items() if key.endswith("/exp_avg")]
    n = sum(parameter.numel() for parameter in model.parameters())
    for average in averages:  # AdamW's first average is a tenth of the gradient, whose norm over all of them is now 1
        torch.testing.assert_close(average, torch.full_like(average, 0.1 * n**-0.5), atol=0, rtol=1e-3)


def test_the_schedule_warms_up_stays_and_decays_to_nothing() -> None:
    schedule = Schedule(warmup=0.1, decay_from=0.6)
    factors = [schedule.at(k / 100) for k in range(101)]
    assert 0 < factors[0] < 0.02
    assert all(a < b for a, b in pairwise(factors[:11]))
    assert set(factors[10:60]) == {1.0}
    assert factors[80] == pytest.approx(0.5) and factors[100] == 0
    assert all(a > b for a, b in pairwise(factors[60:]))
    assert Schedule(warmup=0).at(0) == 1 and schedule.at(1.01) == 0  # the last step may overshoot
