"""The chance that a human article says a sentence, too."""

from __future__ import annotations

import numpy as np

from pipeline.choosing.worth import FEATURES, load_model, worths


def test_the_shipped_model_can_divide_by_its_scales() -> None:
    model = load_model()
    assert all(model.scales[name] > 1e-3 for name in FEATURES), "a feature that is the same everywhere has scale 1"


def test_chances_of_any_row_are_chances() -> None:
    model = load_model()
    usual = np.array([model.means[name] for name in FEATURES])
    rows = np.stack([usual, np.zeros(len(FEATURES)), usual + 50, usual - 50])
    found = worths(rows, model)
    assert np.isfinite(found).all() and ((found >= 0) & (found <= 1)).all()
    assert 0.02 < found[0] < 0.5, "a usual sentence of a page is in few articles"


def test_of_two_sentences_the_shorter_and_the_more_central_one_is_worth_more() -> None:
    model = load_model()
    usual = np.array([model.means[name] for name in FEATURES])

    def changed(name: str, by: float) -> float:
        row = usual.copy()
        row[FEATURES.index(name)] += by
        return float(worths(row[None], model)[0])

    assert changed("log_words", -0.5) > changed("log_words", 0.5)
    assert changed("cos_centroid", 0.2) > changed("cos_centroid", -0.2)
    assert changed("other_page", 0.2) > changed("other_page", -0.2)
