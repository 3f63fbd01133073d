"""Fits what the default judge adds to words, and measures it on claims it has not seen.

Claims labelled by people: WiCE's development part (349), Wikipedia citations (74). Edited statements
(`eval.fitting.support_examples.edited_rows`): paraphrases of their evidence, true and with one thing changed. On WiCE all
is nested: coefficients and threshold of the words come from four fifths of the claims, scores from the rest, in several ways
to cut the folds. The word judge was never fitted on the other two, and none of the edited topics was trained on by the
network. The network's limit was chosen on all three, from the figures beside it; so expect a point less elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from decoding.api import SupportReader
from eval.cards.judge_accuracy import Row, auroc_interval, balanced_accuracy
from eval.fitting.fit_lexical import FOLDS, SEEDS, Sample, choose_threshold, cut_folds, fit, make_sample
from eval.judges.embedded_judge import (
    OBJECTED,
    READ_VERSION,
    SENTENCES,
    Agreement,
    EmbeddedCard,
    EmbeddedModel,
    refused_share,
    surest_doubt,
)
from eval.judges.features import VERSION, analyse_claim, closest, gather
from eval.judges.lexical_judge import REPEATED, VETOED, LexicalJudge
from eval.judges.vetoes import examine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

SURE = 0.95
"""Chance that a word lacks support, above which the network's doubt refuses a claim. WiCE's AUROC and balanced accuracy (not
nested), and edited statements accepted, true and false: without the network 0.862, 0.791, 99 and 63%; 0.88: 0.849, 0.757,
91 and 9%; 0.95: 0.855, 0.775, 95 and 11%; 0.983: 0.854, 0.778, 99 and 15%. Other limits for claims whose words are nearly all
there, or for function words, gain nothing."""
POSSIBLE = 0.4
"""Rows that the word judge gives less are accepted in no fold, and not read."""


@dataclass(frozen=True)
class Claims:
    """One set of claims: `sample` has the word features of each row. By row: `words` is the word judge's probability, `strong`
    and `weak` say that a rule refuses, `repeats` that the claim repeats its evidence; `doubt` is the network's surest one, 0
    where it did not read. By claim: `refused` is how much of it lacks support, of its best row."""

    sample: Sample
    words: Floats
    strong: Bools
    weak: Bools
    repeats: Bools
    doubt: Floats
    refused: Floats

    def decided(self, words: Floats, threshold: float) -> Floats:
        """Scores by claim, as the judge makes them from probabilities by words."""
        import numpy as np

        scores = np.where(self.repeats, np.maximum(words, REPEATED), words)
        scores = np.where((self.doubt > SURE) & ~self.repeats, words * OBJECTED, scores)
        scores = np.where(self.weak & ~self.repeats, words * threshold, scores)
        return self.sample.per_claim(np.where(self.strong, VETOED * words, scores))


def read_claims(rows: Sequence[Row], judge: LexicalJudge, reader: SupportReader) -> Claims:
    """The network reads rows that may be accepted, and the best row of each claim."""
    import numpy as np

    sample = make_sample(rows, judge.weight)
    evidence = [gather(analyse_claim(row.pair.claim), row.pair.premises, judge.weight) for row in rows]
    words = np.array([judge.probability(e) if e.units and e.claim.stem_set else 0.0 for e in evidence])
    found = [examine(e) for e in evidence]
    weak = np.array([f.reason is not None and f.weak for f in found])
    repeats = np.array([f.repeats for f in found])
    best = words == sample.per_claim(words)[sample.claim]
    is_open = (words >= POSSIBLE) & ~repeats & ~weak & (sample.vetoed == 0)
    read = [i for i, e in enumerate(evidence) if e.units and (best[i] or is_open[i])]
    readings = reader.read([(rows[i].pair.claim, closest(evidence[i], SENTENCES)) for i in read])
    doubt = np.zeros(len(rows))
    refused = np.ones(len(sample.labels))
    for i, reading in zip(read, readings, strict=True):
        if reading is None:
            continue
        if is_open[i]:
            doubt[i] = surest_doubt(evidence[i], reading)
        if best[i]:
            refused[sample.claim[i]] = min(refused[sample.claim[i]], refused_share(evidence[i], reading))
    return Claims(sample, words, sample.vetoed == 1, weak, repeats, doubt, refused)


@dataclass(frozen=True)
class _Held:
    """Scores and verdicts by claim, a row for each way to cut the folds."""

    scores: Floats
    accepted: Bools


def fit_model(wice: Claims, citations: Claims, edited: Claims, judge: LexicalJudge, reader: SupportReader) -> EmbeddedModel:
    import numpy as np

    held = _nested(wice)
    beside = citations.decided(citations.words, judge.threshold)
    scores = np.concatenate([held.scores.ravel(), np.tile(beside, len(held.scores))])
    truth = np.concatenate([np.tile(one.sample.claim_y, len(held.scores)) for one in (wice, citations)])
    counted = np.concatenate([np.tile(_is_open(one), len(held.scores)) for one in (wice, citations)])
    slope, shift = _calibration(scores[counted], truth[counted])
    model = EmbeddedModel(
        version=f"{VERSION}+{READ_VERSION}",
        reader=reader.fingerprint,
        lexical=judge.fitted,
        sure=SURE,
        slope=round(slope, 4),
        shift=round(shift, 4),
        doubtful=(0.0, 1.0),
        refused_share=_refused_share((wice, citations)),
        card=_card(wice, held, citations, edited, judge.threshold),
    )
    probabilities = np.array([model.calibrated(score) for score in scores])
    doubtful = _doubtful(probabilities, truth, model.calibrated(judge.threshold))
    return replace(model, doubtful=doubtful)


def _nested(claims: Claims, seeds: int = SEEDS) -> _Held:
    """Each claim by words that were fitted without it, with a threshold that was chosen without it."""
    import numpy as np

    sample = claims.sample
    n = len(sample.labels)
    scores, accepted = np.zeros((seeds, n)), np.zeros((seeds, n), dtype=bool)
    for seed in range(seeds):
        fold = cut_folds(n, 1000 + seed)
        for k in range(FOLDS):
            rows = fold[sample.claim] != k
            threshold = choose_threshold(sample, rows, [seed])
            words = fit(sample, rows).scores(sample.x, np.zeros_like(sample.vetoed))
            found = claims.decided(words, threshold)
            scores[seed, fold == k] = found[fold == k]
            accepted[seed, fold == k] = found[fold == k] >= threshold
    return _Held(scores, accepted)


def _is_open(claims: Claims) -> Bools:
    """Not decided by rules: at least one row of the claim is neither refused nor repeated."""
    import numpy as np

    is_open = np.zeros(len(claims.sample.labels), dtype=bool)
    is_open[claims.sample.claim[~(claims.strong | claims.repeats)]] = True
    return is_open


def _calibration(scores: Floats, truth: NDArray[np.int64]) -> tuple[float, float]:
    """Slope and shift of log odds (Platt 1999)."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    scores = scores.clip(1e-4, 1 - 1e-4)
    model = LogisticRegression(C=1e6).fit(np.log(scores / (1 - scores))[:, None], truth)
    return float(model.coef_[0][0]), float(model.intercept_[0])


def _doubtful(scores: Floats, truth: NDArray[np.int64], threshold: float) -> tuple[float, float]:
    """The widest range around the threshold inside which fewer than two thirds of people's held-out claims are decided
    rightly."""
    import numpy as np

    right = (scores >= threshold) == (truth == 1)
    widest = 0.0
    for width in np.arange(0.02, 0.4, 0.01):
        inside = np.abs(scores - threshold) <= width
        if inside.any() and right[inside].mean() < 2 / 3:
            widest = float(width)
    return round(max(0.0, threshold - widest), 3), round(min(1.0, threshold + widest), 3)


def _refused_share(sets: Sequence[Claims]) -> float:
    """Parts people's "partially supported" from "not supported" best, by balanced accuracy."""
    import numpy as np

    labels = np.array([label for claims in sets for label in claims.sample.labels])
    refused = np.concatenate([claims.refused for claims in sets])
    shares = np.linspace(0.1, 0.9, 33)
    right = [
        (refused[labels == "not_supported"] > share).mean() + (refused[labels == "partially_supported"] <= share).mean()
        for share in shares
    ]
    return round(float(shares[int(np.argmax(right))]), 3)


def _card(wice: Claims, held: _Held, citations: Claims, edited: Claims, threshold: float) -> EmbeddedCard:
    import numpy as np

    beside = citations.decided(citations.words, threshold)
    verdicts = edited.decided(edited.words, threshold) >= threshold
    truth = edited.sample.claim_y
    return EmbeddedCard(
        wice=_agreement(wice.sample.claim_y, held),
        citations=_agreement(citations.sample.claim_y, _Held(beside[np.newaxis], (beside >= threshold)[np.newaxis])),
        edited_true=round(float(verdicts[truth == 1].mean()), 4),
        edited_false=round(float(verdicts[truth == 0].mean()), 4),
    )


def _agreement(truth: NDArray[np.int64], held: _Held) -> Agreement:
    import numpy as np
    from sklearn.metrics import f1_score, roc_auc_score

    low, high = auroc_interval(truth, held.scores.mean(axis=0))
    return Agreement(
        n_claims=len(truth),
        n_supported=int(truth.sum()),
        auroc=round(float(np.mean([roc_auc_score(truth, one) for one in held.scores])), 4),
        auroc_low=round(low, 4),
        auroc_high=round(high, 4),
        balanced_accuracy=round(float(np.mean([balanced_accuracy(truth, one) for one in held.accepted])), 4),
        f1=round(float(np.mean([f1_score(truth, one) for one in held.accepted])), 4),
    )
