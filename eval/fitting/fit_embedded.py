"""Fits the default judge's regression over word features and the network's readings, and measures it on claims it has not seen.

Two kinds of claims take part. Claims labelled by people are few (WiCE's development part, 349; Wikipedia citations, 74) and
decide. Edited statements (`eval.fitting.support_examples.edited_rows`) are many and easy to make; at a tenth of the weight they
keep the regression from trusting words alone, which on the people's claims would cost it nothing. Everything is nested:
coefficients come from four fifths of the claims, scores from the rest, in several ways to cut the folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from decoding.api import SupportReader
from eval.cards.judge_accuracy import Row, auroc_interval, balanced_accuracy
from eval.fitting.fit_lexical import FOLDS, SEEDS, Fitted, Sample, fit, make_sample
from eval.judges.embedded_judge import (
    READ_VERSION,
    READINGS,
    SENTENCES,
    Agreement,
    EmbeddedCard,
    EmbeddedModel,
    reading_features,
    refused_share,
)
from eval.judges.features import FEATURES, VERSION, analyse_claim, closest, gather
from eval.judges.lexical_judge import Coefficient

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

UNREAD = (-6.9, 6.9, 6.9, 6.9)
"""Readings of a row without evidence: nothing supports it."""
EDITED_WEIGHT = 0.1
"""Of an edited statement beside a claim that people labelled. Of 0, 0.1, 0.3 and 1 (nested, WiCE's AUROC and the share of false
edits accepted): 0.845 and 27%, 0.834 and 23%, 0.824 and 18%, 0.811 and 13%; by words alone 0.848 and 60%."""


THRESHOLD = 0.5
"""Of the calibrated probability: more likely than not. The best balanced accuracy is at 0.31, for a third of the labelled
claims are supported; but of the sentences of a human article a tenth are in another text, and with 0.31 twice as many of
them were accepted as by words alone (`bm25` on two development topics 19 and 37%, by words 9 and 22%, with 0.5 8 and 15%)."""


@dataclass(frozen=True)
class Claims:
    """`source` of each claim: 0 WiCE, 1 citations, 2 edited. `refused`: how much of it lacks support, of its best row."""

    sample: Sample
    source: NDArray[np.int64]
    refused: Floats

    @property
    def by_people(self) -> Bools:
        return self.source < 2


class _Read(NamedTuple):
    sample: Sample
    refused: Floats


def read_claims(
    wice: Sequence[Row],
    citations: Sequence[Row],
    edited: Sequence[Row],
    weight: Callable[[str], float],
    reader: SupportReader,
) -> Claims:
    """Every row with word features and readings side by side."""
    import numpy as np

    parts = [_read(rows, weight, reader) for rows in (wice, citations, edited)]
    samples = [part.sample for part in parts]
    starts = np.cumsum([0, *(len(sample.labels) for sample in samples)])
    joined = Sample(
        x=np.vstack([sample.x for sample in samples]),
        y=np.concatenate([sample.y for sample in samples]),
        claim=np.concatenate([sample.claim + start for sample, start in zip(samples, starts[:-1], strict=True)]),
        vetoed=np.concatenate([sample.vetoed for sample in samples]),
        weight=np.concatenate(
            [sample.weight * share for sample, share in zip(samples, (1.0, 1.0, EDITED_WEIGHT), strict=True)]
        ),
        labels=tuple(label for sample in samples for label in sample.labels),
        claim_words=np.concatenate([sample.claim_words for sample in samples]),
    )
    source = np.concatenate([np.full(len(sample.labels), n) for n, sample in enumerate(samples)])
    return Claims(joined, source, np.concatenate([part.refused for part in parts]))


def _read(rows: Sequence[Row], weight: Callable[[str], float], reader: SupportReader) -> _Read:
    import numpy as np

    evidence = [gather(analyse_claim(row.pair.claim), row.pair.premises, weight) for row in rows]
    readings = reader.read([(row.pair.claim, closest(one, SENTENCES)) for row, one in zip(rows, evidence, strict=True)])
    both = [(r if e.units else None, e) for r, e in zip(readings, evidence, strict=True)]
    values = [UNREAD if r is None else reading_features(r) for r, _ in both]
    shares = [1.0 if r is None else refused_share(e, r) for r, e in both]
    sample = make_sample(rows, weight)
    refused = np.ones(len(sample.labels))
    np.minimum.at(refused, sample.claim, np.array(shares))
    return _Read(replace(sample, x=np.hstack([sample.x, np.array(values)])), refused)


def fit_model(claims: Claims, reader: SupportReader, seeds: int = SEEDS) -> EmbeddedModel:
    """The model on all claims. Threshold, calibration and card come from held-out scores, pooled over ways to cut the folds."""
    import numpy as np

    sample = claims.sample
    fitted = fit(sample, np.ones(len(sample.y), dtype=bool), weighted=True)
    held = [_held_out(sample, seed) for seed in range(seeds)]
    slope, shift = _calibration(claims, held)
    probabilities = [_calibrated(scores, slope, shift) for scores in held]
    columns = zip((*FEATURES, *READINGS), fitted.mean, fitted.scale, fitted.coefficients, strict=True)
    return EmbeddedModel(
        version=f"{VERSION}+{READ_VERSION}",
        reader=reader.fingerprint,
        threshold=THRESHOLD,
        intercept=round(fitted.intercept, 4),
        coefficients=tuple(Coefficient(f, *(round(float(v), 4) for v in values)) for f, *values in columns),
        slope=round(slope, 4),
        shift=round(shift, 4),
        doubtful=_doubtful(claims, probabilities, THRESHOLD),
        refused_share=_refused_share(claims),
        card=_card(claims, probabilities),
    )


def _held_out(sample: Sample, seed: int) -> Floats:
    """A score for each claim, by a model that saw none of its rows."""
    import numpy as np

    scores = np.zeros(len(sample.labels))
    fold = np.random.default_rng(seed).permutation(len(sample.labels)) % FOLDS
    for k in range(FOLDS):
        model: Fitted = fit(sample, fold[sample.claim] != k, weighted=True)
        scores[fold == k] = sample.per_claim(model.scores(sample.x, sample.vetoed))[fold == k]
    return scores


def _calibration(claims: Claims, held: Sequence[Floats]) -> tuple[float, float]:
    """Slope and shift of log odds (Platt 1999) on people's claims; one whose rows are all vetoed takes no part."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    sample = claims.sample
    is_open = np.zeros(len(sample.labels), dtype=bool)
    is_open[sample.claim[sample.vetoed == 0]] = True
    counted = claims.by_people & is_open
    truth = np.tile(sample.claim_y[counted], len(held))
    scores = np.concatenate([scores[counted] for scores in held]).clip(1e-4, 1 - 1e-4)
    model = LogisticRegression(C=1e6).fit(np.log(scores / (1 - scores))[:, None], truth)
    return float(model.coef_[0][0]), float(model.intercept_[0])


def _calibrated(scores: Floats, slope: float, shift: float) -> Floats:
    import numpy as np

    scores = scores.clip(1e-6, 1 - 1e-6)
    calibrated: Floats = 1 / (1 + np.exp(-(slope * np.log(scores / (1 - scores)) + shift)))
    return calibrated


def _doubtful(claims: Claims, held: Sequence[Floats], threshold: float) -> tuple[float, float]:
    """The widest range around the threshold inside which fewer than two thirds of people's held-out claims are decided
    rightly."""
    import numpy as np

    people = claims.by_people
    scores, truth = np.concatenate([one[people] for one in held]), np.tile(claims.sample.claim_y[people], len(held))
    right = (scores >= threshold) == (truth == 1)
    widest = 0.0
    for width in np.arange(0.02, 0.4, 0.01):
        inside = np.abs(scores - threshold) <= width
        if inside.any() and right[inside].mean() < 2 / 3:
            widest = float(width)
    return round(max(0.0, threshold - widest), 3), round(min(1.0, threshold + widest), 3)


def _refused_share(claims: Claims) -> float:
    """Parts people's "partially supported" from "not supported" best, by balanced accuracy."""
    import numpy as np

    labels = np.where(claims.by_people, np.array(claims.sample.labels), "")
    shares = np.linspace(0.1, 0.9, 33)
    right = [
        (claims.refused[labels == "not_supported"] > share).mean()
        + (claims.refused[labels == "partially_supported"] <= share).mean()
        for share in shares
    ]
    return round(float(shares[int(np.argmax(right))]), 3)


def _card(claims: Claims, probabilities: Sequence[Floats]) -> EmbeddedCard:
    """From scores of models that saw none of a claim's rows; only the two numbers of the calibration saw them all."""
    import numpy as np

    truth, scores = claims.sample.claim_y, np.array(probabilities)
    accepted = scores >= THRESHOLD
    wice, citations = (_agreement(truth, scores, accepted, claims.source == n) for n in (0, 1))
    edited = claims.source == 2
    return EmbeddedCard(
        wice=wice,
        citations=citations,
        edited_true=round(float(accepted[:, edited & (truth == 1)].mean()), 4),
        edited_false=round(float(accepted[:, edited & (truth == 0)].mean()), 4),
    )


def _agreement(truth: NDArray[np.int64], scores: Floats, accepted: Bools, chosen: Bools) -> Agreement:
    import numpy as np
    from sklearn.metrics import f1_score, roc_auc_score

    own = truth[chosen]
    low, high = auroc_interval(own, scores[:, chosen].mean(axis=0))
    return Agreement(
        n_claims=int(chosen.sum()),
        n_supported=int(own.sum()),
        auroc=round(float(np.mean([roc_auc_score(own, one[chosen]) for one in scores])), 4),
        auroc_low=round(low, 4),
        auroc_high=round(high, 4),
        balanced_accuracy=round(float(np.mean([balanced_accuracy(own, one[chosen]) for one in accepted])), 4),
        f1=round(float(np.mean([f1_score(own, one[chosen]) for one in accepted])), 4),
    )
