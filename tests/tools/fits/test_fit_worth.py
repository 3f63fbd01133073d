"""The fit, on copies of the invented sample under ids of the development split."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmark.splits import in_dev
from data import codec
from data.snapshot import SAMPLE
from pipeline.choosing.relevance import RelevanceModel
from pipeline.choosing.worth import FEATURES
from tests.fakes import FixedEncoder
from tools.fits.fit_worth import FOLDS, main


def development_copies(folder: Path, n: int) -> list[str]:
    """A benchmark folder of two events of the sample, over and over, under ids of the development split."""
    shutil.copytree(SAMPLE / "html", folder / "html")
    copies = [str(i) for i in range(8_000_000, 8_000_200) if in_dev(str(i))][:n]
    for at, copy in enumerate(copies):
        for half in ("wiki", "google"):
            (folder / half).mkdir(exist_ok=True)
            shutil.copy(SAMPLE / half / f"{9_000_001 + at % 2}.json", folder / half / f"{copy}.json")
    return copies


@pytest.mark.slow  # gates five pages eight times
def test_a_model_of_all_features_is_fitted_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("flows.wiring.models.build_encoder", FixedEncoder)
    out = tmp_path / "worth.json"
    development_copies(tmp_path / "data", FOLDS)
    assert main(["--data", str(tmp_path / "data"), "--out", str(out)]) == 0
    model = codec.read(RelevanceModel, out)
    assert set(model.weights) == set(FEATURES) and all(model.scales[name] > 0 for name in FEATURES)
    assert f"{FOLDS} events" in model.fitted_on and "AUROC" in capsys.readouterr().out


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert main(["--data", str(tmp_path / "nowhere")]) == 2
