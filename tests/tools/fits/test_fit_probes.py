"""The fit of probes: what is labelled, and that the line that is kept is the regression that was measured."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmark.splits import in_dev
from data import codec
from tools.fits.fit_probes import NOTES_FILE, SAYINGS_FILE, _direction, _regression, main


def test_labels_are_of_development_events_alone() -> None:
    for path, labels in ((NOTES_FILE, {"right", "partly", "wrong"}), (SAYINGS_FILE, {"same", "part", "wrong"})):
        rows = [json.loads(line) for line in codec.lines_of(path)]
        assert len(rows) > 500 and {row["label"] for row in rows} == labels
        assert all(in_dev(row["event"]) for row in rows)


def test_one_line_says_what_the_regression_says() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 40)) @ rng.normal(size=(40, 40))
    rows -= rows.mean(axis=1, keepdims=True)
    fitted = _regression().fit(rows, rows[:, 0] + rng.normal(size=300) > 0)
    weights, bias = _direction(fitted, rows)
    assert np.allclose(rows @ weights + bias, fitted.decision_function(rows))


def test_folders_without_labelled_events_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", "no/such/folder"]) == 2
    assert "no/such/folder" in capsys.readouterr().err
