"""Fits the default judge's regression over word features and the network's readings, and measures it on claims it has not seen.

The labelled claims are few (WiCE's development part, 349; Wikipedia citations, 74), so everything is nested: coefficients,
threshold and calibration are chosen on four fifths of the claims and measured on the rest, in several ways to cut the folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from decoding.api import SupportReader
from eval.embedded_judge import READ_VERSION, READINGS, SENTENCES, EmbeddedModel, reading_features, refused_share
from eval.fit_lexical import (
    SEEDS,
    Sample,
    choose_threshold,
    fit,
    make_sample,
    nested_card,
    out_of_fold,
)
from eval.judge_accuracy import Row
from eval.judge_features import FEATURES, VERSION, analyse_claim, closest, gather
from eval.lexical_judge import Coefficient

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

UNREAD = (-6.9, 6.9, 6.9, 6.9)
"""Readings of a row without evidence: nothing supports it."""


class ReadSample(NamedTuple):
    """`refused` is how much of each claim lacks support, of its best row."""

    sample: Sample
    refused: Floats


def read_sample(rows: Sequence[Row], weight: Callable[[str], float], reader: SupportReader) -> ReadSample:
    """Rows with word features and readings side by side."""
    import numpy as np

    evidence = [gather(analyse_claim(row.pair.claim), row.pair.premises, weight) for row in rows]
    readings = reader.read([(row.pair.claim, closest(one, SENTENCES)) for row, one in zip(rows, evidence, strict=True)])
    values = [UNREAD if r is None or not e.units else reading_features(r) for r, e in zip(readings, evidence, strict=True)]
    shares = [1.0 if r is None or not e.units else refused_share(e, r) for r, e in zip(readings, evidence, strict=True)]
    sample = make_sample(rows, weight)
    refused = np.ones(len(sample.labels))
    np.minimum.at(refused, sample.claim, np.array(shares))
    return ReadSample(replace(sample, x=np.hstack([sample.x, np.array(values)])), refused)


def fit_model(read: ReadSample, reader: SupportReader, seeds: int = SEEDS) -> EmbeddedModel:
    """The model on all claims. Threshold, calibration and card are averages over `seeds` ways to cut the folds."""
    import numpy as np

    sample = read.sample
    everything = np.ones(len(sample.y), dtype=bool)
    fitted = fit(sample, everything)
    held = [out_of_fold(sample, everything, seed) for seed in range(seeds)]
    slope, shift = _calibration(held, sample)
    threshold = _calibrated(choose_threshold(sample, everything, range(seeds)), slope, shift)
    probabilities = [np.array([_calibrated(p, slope, shift) for p in scores]) for scores in held]
    columns = zip((*FEATURES, *READINGS), fitted.mean, fitted.scale, fitted.coefficients, strict=True)
    return EmbeddedModel(
        version=f"{VERSION}+{READ_VERSION}",
        reader=reader.fingerprint,
        threshold=round(threshold, 3),
        intercept=round(fitted.intercept, 4),
        coefficients=tuple(Coefficient(f, *(round(float(v), 4) for v in values)) for f, *values in columns),
        slope=round(slope, 4),
        shift=round(shift, 4),
        doubtful=_doubtful(probabilities, sample, threshold),
        refused_share=_refused_share(read),
        card=nested_card(sample, seeds),
    )


def _calibration(held: Sequence[Floats], sample: Sample) -> tuple[float, float]:
    """Slope and shift of log odds (Platt 1999) on held-out claims; a claim whose best row is vetoed takes no part."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    best_vetoed = sample.per_claim(1.0 - sample.vetoed) == 0
    truth = np.tile(sample.claim_y[~best_vetoed], len(held))
    scores = np.concatenate([scores[~best_vetoed] for scores in held]).clip(1e-4, 1 - 1e-4)
    model = LogisticRegression(C=1e6).fit(np.log(scores / (1 - scores))[:, None], truth)
    return float(model.coef_[0][0]), float(model.intercept_[0])


def _calibrated(score: float, slope: float, shift: float) -> float:
    import math

    score = min(max(score, 1e-6), 1 - 1e-6)
    return 1 / (1 + math.exp(-(slope * math.log(score / (1 - score)) + shift)))


def _doubtful(held: Sequence[Floats], sample: Sample, threshold: float) -> tuple[float, float]:
    """The widest range around the threshold inside which fewer than two thirds of the held-out claims are decided rightly."""
    import numpy as np

    scores, truth = np.concatenate(held), np.tile(sample.claim_y, len(held))
    right = (scores >= threshold) == (truth == 1)
    widest = 0.0
    for width in np.arange(0.02, 0.4, 0.01):
        inside = np.abs(scores - threshold) <= width
        if inside.any() and right[inside].mean() < 2 / 3:
            widest = float(width)
    return round(max(0.0, threshold - widest), 3), round(min(1.0, threshold + widest), 3)


def _refused_share(read: ReadSample) -> float:
    """Parts people's "partially supported" from "not supported" best, by balanced accuracy."""
    import numpy as np

    labels = np.array(read.sample.labels)
    shares = np.linspace(0.1, 0.9, 33)
    right = [
        (read.refused[labels == "not_supported"] > share).mean()
        + (read.refused[labels == "partially_supported"] <= share).mean()
        for share in shares
    ]
    return round(float(shares[int(np.argmax(right))]), 3)
