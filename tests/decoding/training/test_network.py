"""The training pass against transformers' own forward, and against the same model with modules taken out."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from decoding.training.network import QUERY_BLOCK, LayerDropout, SubLayer, TrainingPass, _attention_in_blocks, new_model

IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
N_LAYERS = 4


def small_model(seed: int = 0, **more: Any) -> Any:
    sizes = {"vocab_size": 320, "n_layers": N_LAYERS, "hidden": 64, "head_dim": 16, "context": 512, **more}
    model = new_model(ids=IDS, seed=seed, **sizes)
    with torch.no_grad():  # norms and residual branches as after some training, so that an omission shows
        generator = torch.Generator().manual_seed(seed)
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
            elif "embed" in name:
                parameter.mul_(0.1)
            else:
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
    return model


def rows(n: int, length: int, seed: int = 0) -> torch.Tensor:
    """Without the ids that never stand in text; the model's own embedding learns nothing from padding."""
    return torch.randint(3, 320, (n, length + 1), generator=torch.Generator().manual_seed(seed))


def plain(model: Any) -> TrainingPass:
    return TrainingPass(model, dtype=torch.float32, compiled=False)


def nats(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """(B, T), by the model's own forward."""
    logits = model(input_ids=ids[:, :-1], use_cache=False).logits
    return cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")


def without(model: Any, dropped: set[SubLayer]) -> Any:
    """The model with those sub-layers' last matrices set to zero: what they add to the states is then nothing."""
    model = copy.deepcopy(model)
    for kind, at in dropped:
        layer = model.model.layers[at]
        torch.nn.init.zeros_((layer.self_attn.o_proj if kind == "attention" else layer.mlp.down_proj).weight)
    return model


@pytest.mark.parametrize("sizes", [{}, {"head_dim": 32}, {"head_dim": 64}, {"hidden": 96, "head_dim": 24}], ids=str)
@pytest.mark.parametrize("length", [1, 60, QUERY_BLOCK, 2 * QUERY_BLOCK + 9])
def test_the_loss_is_that_of_transformers(sizes: dict[str, int], length: int) -> None:
    model, ids = small_model(**sizes), rows(3, length)
    loss, objective = plain(model).loss(ids)
    expected = nats(model, ids)
    torch.testing.assert_close(loss, expected.mean(), atol=1e-5, rtol=1e-5)
    assert objective.equal(loss) and not loss.requires_grad
    one, said = plain(model).judged(ids[:1])
    torch.testing.assert_close(one, expected[0], atol=1e-5, rtol=1e-5)
    assert said.equal(model(input_ids=ids[:1, :-1]).logits[0].argmax(-1))


def test_gradients_are_those_of_transformers() -> None:
    ours, theirs, ids = small_model(), small_model(), rows(2, 150)
    plain(ours).loss(ids)[1].backward()
    nats(theirs, ids).mean().backward()
    for (name, found), expected in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert expected.grad is not None and float(expected.grad.norm()) > 0, name
        torch.testing.assert_close(found.grad, expected.grad, atol=1e-5, rtol=1e-4, msg=lambda m, name=name: f"{name}: {m}")


@pytest.mark.parametrize(
    "dropped",
    [
        {("attention", 1)},
        {("mlp", 2)},
        {("attention", 1), ("mlp", 1), ("attention", 2)},
        {(kind, at) for kind in ("attention", "mlp") for at in range(N_LAYERS)},
    ],
    ids=lambda dropped: "-".join(f"{kind[0]}{at}" for kind, at in sorted(dropped)),
)
def test_dropped_sub_layers_are_as_deleted(dropped: set[SubLayer]) -> None:
    model, ids = small_model(), rows(2, 40)
    expected = nats(without(model, dropped), ids)
    assert float((expected - nats(model, ids)).detach().abs().max()) > 0.1
    loss, objective = plain(model).loss(ids, dropped)
    torch.testing.assert_close(loss, expected.mean(), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(plain(model).judged(ids[:1], dropped)[0], expected[0], atol=1e-5, rtol=1e-5)
    objective.backward()
    for at, layer in enumerate(model.model.layers):
        for kind, module in (("attention", layer.self_attn), ("mlp", layer.mlp)):
            assert all((p.grad is None) == ((kind, at) in dropped) for p in module.parameters())


@pytest.mark.parametrize("n_rows", [1, 8])
def test_the_early_exit_reads_the_states_before_its_layer(n_rows: int) -> None:
    model, ids = small_model(), rows(n_rows, 40)
    loss, objective = plain(model).loss(ids, {("mlp", 1)}, exit_layer=2, exit_weight=0.25)
    short = without(model, {("mlp", 1)})
    expected = nats(short, ids).mean()
    torch.testing.assert_close(loss, expected, atol=1e-5, rtol=1e-5)
    short.model.layers = short.model.layers[:2]
    early = nats(short, ids[: max(1, n_rows // 4)]).mean()
    torch.testing.assert_close(objective, expected + 0.25 * early, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("length", [1, 7, QUERY_BLOCK, QUERY_BLOCK + 1, 3 * QUERY_BLOCK - 2])
def test_attention_in_blocks_is_attention(length: int) -> None:
    queries, keys, values = torch.randn(3, 2, 4, length, 16, generator=torch.Generator().manual_seed(length)).unbind()
    expected = scaled_dot_product_attention(queries * 3, keys, values, is_causal=True)
    torch.testing.assert_close(_attention_in_blocks(queries * 3, keys, values), expected, atol=1e-5, rtol=1e-5)


def test_bfloat16_agrees_to_its_precision() -> None:
    model, ids = small_model(), rows(2, 100)
    found, _ = TrainingPass(model, dtype=torch.bfloat16, compiled=False).loss(ids)
    torch.testing.assert_close(found, nats(model, ids).mean(), atol=0.02, rtol=0)


def test_layers_are_dropped_more_often_in_the_depth_and_never_at_the_ends() -> None:
    dropout, rng = LayerDropout(most=0.6, whole=0.3), random.Random(0)
    draws = [dropout.draw(12, rng) for _ in range(4000)]
    assert 0.3 <= sum(not dropped for dropped in draws) / len(draws) < 0.4  # some of the others drop none by chance
    counts = [sum((kind, at) in dropped for dropped in draws for kind in ("attention", "mlp")) for at in range(12)]
    assert counts[0] == counts[-1] == 0
    assert counts[10] > 1.8 * counts[1] and counts[6] > counts[1]
    kinds = [sum(kind == k for dropped in draws for k, _ in dropped) for kind in ("attention", "mlp")]
    assert kinds[0] == pytest.approx(kinds[1], rel=0.1)
    assert all(not LayerDropout(most=0).draw(12, rng) for _ in range(20))
    assert dropout.draw(12, random.Random(5)) == dropout.draw(12, random.Random(5))


def test_a_new_model_is_what_was_asked_for_and_the_same_each_time() -> None:
    before = torch.random.get_rng_state()
    model = new_model(vocab_size=320, n_layers=3, hidden=96, head_dim=24, context=256, ids=IDS, seed=4)
    assert torch.random.get_rng_state().equal(before)
    config = model.config
    assert (config.num_attention_heads, config.num_key_value_heads, config.head_dim) == (4, 2, 24)
    assert (config.intermediate_size, config.max_position_embeddings, config.bos_token_id) == (256, 256, 1)
    assert model.lm_head.weight is not model.model.embed_tokens.weight and model.training
    again = new_model(vocab_size=320, n_layers=3, hidden=96, head_dim=24, context=256, ids=IDS, seed=4)
    other = new_model(vocab_size=320, n_layers=3, hidden=96, head_dim=24, context=256, ids=IDS, seed=5)
    for name, parameter in model.state_dict().items():
        assert parameter.equal(again.state_dict()[name])
    assert not model.lm_head.weight.equal(other.lm_head.weight)
    # branches into the residual stream begin as nothing
    assert all(not layer.self_attn.o_proj.weight.any() and not layer.mlp.down_proj.weight.any() for layer in model.model.layers)
