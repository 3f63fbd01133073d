"""Training a prefix: it learns, goes on where it was cut off, and leaves the model alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from data.errors import UserError
from decoding.backends.build import build_backend
from decoding.models.loading import LoadedModel, load, lowered, with_prefixes
from decoding.prefixes.prefix import read_prefix
from decoding.prefixes.training import Example, PrefixTraining, Recipe, beginning_of
from tests.tiny_model import build_tiny_model

BEGINNING = tuple(range(20, 32))
RECIPE = Recipe(steps=42, batch=2, step_size=0.5)
EXAMPLES = [Example((*BEGINNING, 40 + i, 60), (7, 50 + i % 3)) for i in range(6)]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load(
        str(build_tiny_model(tmp_path_factory.mktemp("tiny"), chat_template=False, vocab_from=["A bridge fell."])), device="cpu"
    )


class Cut(Exception):
    """The run ends here."""


def cut_at(step: int) -> None:
    if step == 41:
        raise Cut


def test_it_learns_and_the_file_gives_what_was_learned(loaded: LoadedModel, tmp_path: Path) -> None:
    weights = {name: value.clone() for name, value in loaded.model.state_dict().items()}
    training = PrefixTraining(loaded, EXAMPLES, RECIPE)
    losses: list[float] = []
    training.run(tmp_path / "state", lambda step, loss: losses.append(loss))
    assert len(losses) == RECIPE.steps
    assert sum(losses[-6:]) < 0.7 * sum(losses[:6])
    assert all(torch.equal(value, weights[name]) for name, value in loaded.model.state_dict().items())

    training.write(tmp_path / "task.safetensors")
    prefix = read_prefix(tmp_path / "task.safetensors")
    assert prefix.ids == beginning_of(EXAMPLES) == training.ids == BEGINNING
    prompt = list(EXAMPLES[0].prompt)
    rows = build_backend(with_prefixes(loaded, [prefix]), "driven").prefill(prompt, capacity=len(prompt)).last
    expected = training.margins(EXAMPLES[:1], 7, 9)[0]
    logits = torch.as_tensor(rows.logits)[0]
    assert float(logits[7] - logits[9]) == pytest.approx(expected, abs=0.02)


def test_a_run_that_was_cut_off_goes_on_to_the_same(loaded: LoadedModel, tmp_path: Path) -> None:
    whole = PrefixTraining(loaded, EXAMPLES, RECIPE)
    whole.run(tmp_path / "whole", lambda step, loss: None)
    whole.write(tmp_path / "whole.safetensors")
    cut = PrefixTraining(loaded, EXAMPLES, RECIPE)
    with pytest.raises(Cut):
        cut.run(tmp_path / "cut", lambda step, loss: cut_at(step))
    again = PrefixTraining(loaded, EXAMPLES, RECIPE)
    steps: list[int] = []
    again.run(tmp_path / "cut", lambda step, loss: steps.append(step))
    again.write(tmp_path / "cut.safetensors")
    assert steps == [41, 42]
    assert read_prefix(tmp_path / "cut.safetensors").sha256 == read_prefix(tmp_path / "whole.safetensors").sha256


def test_the_state_of_another_training_is_refused(loaded: LoadedModel, tmp_path: Path) -> None:
    PrefixTraining(loaded, EXAMPLES, RECIPE).run(tmp_path / "state", lambda step, loss: None)
    others = [Example((5, *one.prompt), one.answer) for one in EXAMPLES]
    (tmp_path / "none").write_bytes(b"cut short")
    with pytest.raises(UserError, match="no state of a training"):
        PrefixTraining(loaded, EXAMPLES, RECIPE).run(tmp_path / "none", lambda step, loss: None)
    with pytest.raises(UserError, match="another training"):
        PrefixTraining(loaded, others, RECIPE).run(tmp_path / "state", lambda step, loss: None)


def test_what_cannot_be_trained_is_refused(loaded: LoadedModel, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="less than one batch"):
        PrefixTraining(loaded, EXAMPLES[:1], RECIPE)
    with pytest.raises(UserError, match="no beginning in common"):
        beginning_of([Example((1, 2), (3,)), Example((2, 2), (3,))])
    rounded = lowered(
        load(str(build_tiny_model(tmp_path, chat_template=False, vocab_from=["A bridge fell."])), device="cpu"), "int8"
    )
    with pytest.raises(UserError, match="pass no gradients"):
        PrefixTraining(rounded, EXAMPLES, RECIPE)
