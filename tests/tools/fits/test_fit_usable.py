"""The fit, on copies of the invented sample under ids of the development split, with labels made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from data import codec
from data.settings import Settings
from data.snapshot import SAMPLE, Snapshot
from flows.wiring.page_sources import build_collect
from pipeline.choosing.usable import UsableModel, chances
from pipeline.evidence import Evidence
from pipeline.planning.planner import pooled
from tests.fakes import FixedEncoder
from tests.tools.fits.test_fit_worth import development_copies
from tools.fits.fit_usable import FOLDS, LABELS, digest, main, read_labels, trees_of


@pytest.mark.slow  # gates five pages ten times, twice
def test_a_model_is_fitted_to_the_labelled_sentences_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("flows.wiring.models.build_encoder", lambda: FixedEncoder(384))
    folder = tmp_path / "data"
    copies = development_copies(folder, FOLDS)
    snapshot, settings = Snapshot(folder), Settings()
    collect = build_collect(snapshot, settings)
    lines = ["event,sentence,label"]
    for copy in copies:
        event = snapshot.event(copy)
        pool = pooled(Evidence.unlapped(event, collect(event), settings.retrieval), FixedEncoder(384)).pool
        # An easy rule to learn: long sentences are good.
        lines += [f"{copy},{digest(o.text)},{'g' if len(o.text.split()) > 14 else 'c'}" for o in pool.offered]
    labels, out = tmp_path / "labels.csv", tmp_path / "usable.json"
    labels.write_text("\n".join(lines) + "\n")
    assert main(["--data", str(folder), "--labels", str(labels), "--out", str(out)]) == 0
    model = codec.read(UsableModel, out)
    assert f"{FOLDS} events" in model.fitted_on and "AUROC" in capsys.readouterr().out
    found = chances(pool.features, model)
    long = np.array([len(o.text.split()) > 14 for o in pool.offered])
    assert found[long].mean() > found[~long].mean() + 0.3


def test_trees_are_those_of_the_library() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 4))
    good = (rows[:, 0] + rows[:, 1] ** 2 > 0.5).astype(float)
    grown = GradientBoostingClassifier(n_estimators=12, max_depth=3, random_state=0).fit(rows, good)
    start = float(np.log(good.mean() / (1 - good.mean())))
    model = UsableModel(tuple("abcd"), 0.0, (0.0,) * 4, (0.0,) * 4, (1.0,) * 4, start, trees_of(grown), "")
    doubled = chances(rows, model)  # the linear part is 0, so that these are half of the trees' log odds
    assert 2 * np.log(doubled / (1 - doubled)) == pytest.approx(grown.decision_function(rows), abs=1e-4)


def test_the_shipped_labels_are_read_and_others_and_folders_without_labels_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = read_labels(LABELS)
    assert len(labels) > 2_000 and set(labels.values()) == set("gjcvo")
    (tmp_path / "labels.csv").write_text("event,text\n1,2\n")
    assert main(["--data", str(SAMPLE), "--labels", str(tmp_path / "labels.csv")]) == 2
    monkeypatch.setattr("flows.wiring.models.build_encoder", FixedEncoder)
    assert main(["--data", str(SAMPLE)]) == 2
    assert "--data" in capsys.readouterr().err
