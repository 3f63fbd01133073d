"""The fitted models that ship, and what is said of a file that is none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from data import codec
from data.errors import UserError
from pipeline.choosing import relevance
from pipeline.choosing.fitted import fitted_model
from pipeline.choosing.relevance import FEATURES, RelevanceModel


def test_a_file_that_is_none_is_named_with_what_makes_it_anew(tmp_path: Path) -> None:
    path = tmp_path / "relevance.json"
    shipped = relevance.load_model()
    fewer = replace(shipped, means=dict.fromkeys(FEATURES[1:], 0.0))
    for content, why in (
        (None, "No such file"),
        ("{", "is not a readable RelevanceModel"),
        ('{"weights": 1}', "is not a readable RelevanceModel"),
        (codec.to_json(fewer), "other features"),
    ):
        if content is not None:
            path.write_text(content, encoding="utf-8")
        with pytest.raises(UserError, match=why) as error:
            fitted_model(RelevanceModel, path, FEATURES, "tools.fits.fit_relevance")
        told = str(error.value)
        assert str(path) in told and told.endswith("run: python -m tools.fits.fit_relevance") and "make it anew" not in told
    path.write_text(codec.to_json(shipped), encoding="utf-8")
    assert fitted_model(RelevanceModel, path, FEATURES, "tools.fits.fit_relevance") == shipped
