"""The chance that an editor would let a sentence stand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pipeline.choosing.usable import SURFACE, Tree, UsableModel, chances, load_model
from pipeline.choosing.worth import FEATURES

STUMP = Tree(feature=(1, -1, -1), threshold=(0.5, 0.0, 0.0), left=(1, 0, 0), right=(2, 0, 0), value=(0.0, -2.0, 3.0))


def model_of(**fields: object) -> UsableModel:
    model = UsableModel(("a", "b"), 0.5, (1.0, -1.0, 4.0), (0.0, 1.0, 0.0), (1.0, 2.0, 1.0), -0.5, (STUMP, STUMP), "nothing")
    return replace(model, **fields)  # type: ignore[arg-type]


def test_the_linear_part_and_the_trees_are_averaged() -> None:
    rows = np.array([[1.0, 0.5, 0.25], [1.0, 2.0, 0.0]])
    linear = np.array([0.5 + 1.0 + 0.25 + 1.0, 0.5 + 1.0 - 0.5])
    grown = np.array([-0.5 - 4.0, -0.5 + 6.0])
    assert chances(rows, model_of()) == pytest.approx(1 / (1 + np.exp(-(linear + grown) / 2)))


def test_vectors_of_another_dimension_say_nothing() -> None:
    rows = np.array([[1.0, 0.5]])
    assert chances(np.hstack([rows, [[9.0, 9.0]]]), model_of()) == pytest.approx(chances(rows, model_of()))


def test_the_shipped_model_gives_chances_for_any_row() -> None:
    model = load_model()
    usual = np.array(model.means)
    rows = np.stack([usual, np.zeros(len(usual)), usual + 50, usual - 50])
    found = chances(rows, model)
    assert np.isfinite(found).all() and ((found >= 0) & (found <= 1)).all()
    assert 0.1 < found[0] < 0.6, "a third of the sentences that pass the gate are good"
    assert len(model.weights) == len(FEATURES) + len(SURFACE) + 384


def test_a_sentence_that_points_elsewhere_has_less_of_a_chance() -> None:
    model = load_model()
    usual = np.array(model.means)
    pointing = usual.copy()
    for name in ("pronouns", "pronoun_first", "definite", "pointing"):
        pointing[len(FEATURES) + SURFACE.index(name)] += 1
    assert chances(pointing[None], model)[0] < chances(usual[None], model)[0]
