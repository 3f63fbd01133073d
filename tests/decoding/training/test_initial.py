"""A fresh model that copies and cites: what is written into it works before any training."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from decoding.training.initial import SLOW, hold, write_copying_heads
from decoding.training.network import TrainingPass, new_model
from decoding.training.presets import PRESETS

IDS: dict[str, int | None] = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
VOCABULARY = 2000


def fresh(copying: bool) -> Any:
    preset = PRESETS["cpu"]
    model = new_model(
        vocab_size=VOCABULARY,
        n_layers=4,
        hidden=preset.hidden,
        head_dim=preset.head_dim,
        context=preset.context,
        ids=IDS,
        seed=0,
    )
    if copying:
        write_copying_heads(model, seed=0)
    return model


def said(model: Any, ids: list[int]) -> list[int]:
    """The next token after each of `ids`."""
    with torch.no_grad():
        return TrainingPass(model, dtype=torch.float32, compiled=False).judged(torch.tensor([[*ids, 0]]))[1].tolist()


def repeats_right(model: Any, length: int) -> float:
    """Share of the tokens of a random sequence that are predicted when it comes a second time."""
    rng = random.Random(length)
    once = [rng.randrange(3, VOCABULARY) for _ in range(length)]
    answers = said(model, [1, *once, *once])[length + 4 :]
    return sum(a == b for a, b in zip(answers, once[4:], strict=False)) / (length - 4)


def test_random_tokens_are_copied_before_any_training() -> None:
    assert repeats_right(fresh(copying=False), 64) < 0.1
    model = fresh(copying=True)
    assert all(repeats_right(model, length) > 0.9 for length in (32, 64, 256, 500))


def test_three_tokens_decide() -> None:
    """The last two stand in many places, each time with something else behind them: so do a full stop and a bracket."""
    rng = random.Random(3)
    words = rng.sample(range(100, VOCABULARY), 60)
    ids, answers = [1], {}
    for word, number in zip(words, range(20, 80), strict=True):
        ids += [*(rng.randrange(100, VOCABULARY) for _ in range(6)), word, 5, 6, number]
        answers[word] = number
    model = fresh(copying=True)
    right = sum(said(model, [*ids, 7, word, 5, 6])[-1] == answers[word] for word in words[::4])
    assert right >= 12, right  # of 15


def test_where_nothing_agrees_nothing_is_said() -> None:
    """Random tokens once: the output stays near uniform instead of naming a place that happens to be like this one."""
    rng = random.Random(4)
    ids = [1, *(rng.randrange(3, VOCABULARY) for _ in range(300))]
    with torch.no_grad():
        nats = TrainingPass(fresh(copying=True), dtype=torch.float32, compiled=False).judged(torch.tensor([ids]))[0]
    uniform = torch.tensor(float(VOCABULARY)).log()
    assert abs(float(nats.mean() - uniform)) < 1.5


def test_the_same_seed_gives_the_same_weights_and_leaves_the_random_numbers_alone() -> None:
    torch.manual_seed(5)
    ours, theirs = fresh(copying=True), fresh(copying=True)
    after = torch.rand(1)
    torch.manual_seed(5)
    assert torch.rand(1).equal(after)
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert one.equal(other)


def test_what_tokens_do_not_have_stays_in_training() -> None:
    model = fresh(copying=True)
    loss = TrainingPass(model, dtype=torch.float32, compiled=False).loss(torch.randint(3, VOCABULARY, (2, 33)))[1]
    loss.backward()
    embeddings = model.model.embed_tokens.weight
    empty = (embeddings[3:] == embeddings[3]).all(0)
    assert 3 < int(empty.sum()) < len(empty)
    assert embeddings.grad[:, empty].abs().max() > 0
    hold(model)
    assert embeddings.grad[:, empty].abs().max() == 0
    assert embeddings.grad[:, ~empty].abs().max() > 0
    assert model.model.norm.weight.grad[:2].abs().max() == 0 < model.model.norm.weight.grad[2:].abs().max()


def test_what_is_slowed_down_is_what_is_written() -> None:
    """Each name stands for parameters that there are, and that the writing sets."""
    plain, written = fresh(copying=False).state_dict(), fresh(copying=True).state_dict()
    for start in SLOW:
        names = [name for name in plain if name.startswith(start)]
        assert names and not any(plain[name].equal(written[name]) for name in names)


@pytest.mark.parametrize(("hidden", "head_dim"), [(32, 16), (64, 32), (128, 64), (256, 64)])
def test_other_shapes_take_it_too(hidden: int, head_dim: int) -> None:
    model = new_model(vocab_size=300, n_layers=4, hidden=hidden, head_dim=head_dim, context=256, ids=IDS, seed=0)
    write_copying_heads(model, seed=0)
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    assert TrainingPass(model, dtype=torch.float32, compiled=False).judged(torch.randint(3, 300, (1, 40)))[0].isfinite().all()
