"""Fit the lexical judge again, and say how good it is.

    python -m eval.fitting.fit_lexical --wice DIR --out eval/judges/lexical_judge.json [--data DIR]

`--wice` is a folder with `oracle_chunks_claim_dev.jsonl` of WiCE (Kamoi et al. 2023); its test part is never used.
`--data` is a benchmark snapshot: verbatim sentences of its search pages are then edited to see what the judge accepts, on
the development third only (events whose sha256(id) starts with 0-4). Same input, same file: every fold and edit is seeded.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from data import codec
from data.errors import WikigenError
from data.snapshot import Snapshot
from eval.cards.judge_accuracy import Row, auroc_interval, balanced_accuracy, read_rows
from eval.cards.stress import read_quotes, stress
from eval.judges.features import (
    FEATURES,
    VERSION,
    Evidence,
    analyse_claim,
    analyse_premise,
    features,
    gather,
)
from eval.judges.judge import Pair
from eval.judges.lexical_judge import VETOED, Card, Coefficient, LexicalJudge, LexicalModel
from eval.judges.vetoes import Finding, examine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

WICE_FILE = "oracle_chunks_claim_dev.jsonl"
MIN_DOCUMENTS = 20
"""Stems in the evidence of fewer claims than this weigh 1 and are not listed."""
STRENGTH = 0.1
"""Inverse regularisation strength. Not chosen in each fold: from 0.03 to 0.3 the AUROC moves by 0.001, but scores of folds with
different strengths do not compare."""
FOLDS = 5
SEEDS = 5
BAND = (0.30, 0.80, 0.01)
"""Thresholds to choose from: lowest, highest, step. All lie above what a veto leaves."""


def fit_idf(rows: Sequence[Row]) -> dict[str, float]:
    """Square root of the idf over the evidence of one claim as one document, as a share of that of unlisted stems.

    The root, because a full idf lets one rare missing word outweigh a sentence. Labels are not used.
    """
    documents: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for premise in row.pair.premises:
            for unit in analyse_premise(premise):
                documents[row.claim_id] |= unit.stem_set
    counts = Counter(stem for stems in documents.values() for stem in stems)
    n = len(documents) + 1
    top = math.log(n / MIN_DOCUMENTS)
    listed = sorted(stem for stem, count in counts.items() if count >= MIN_DOCUMENTS)
    return {stem: round(math.sqrt(math.log(n / (counts[stem] + 1)) / top), 3) for stem in listed}


@dataclass(frozen=True)
class Sample:
    """WiCE as arrays over rows: `x` (rows, features), `y` 0 or 1, `claim` the row's claim number, `vetoed` 0 or 1.

    `labels[c]` is the label of claim c; `weight` gives every claim the same say however many chunks it has.
    """

    x: Floats
    y: Ints
    claim: Ints
    vetoed: Ints
    weight: Floats
    labels: tuple[str, ...]
    claim_words: Floats

    @property
    def claim_y(self) -> Ints:
        import numpy as np

        return np.array([label == "supported" for label in self.labels], dtype=np.int64)

    def per_claim(self, scores: Floats) -> Floats:
        """Row scores -> claim scores, their maximum."""
        import numpy as np

        best = np.full(len(self.labels), -np.inf)
        np.maximum.at(best, self.claim, scores)
        return best


def make_sample(rows: Sequence[Row], weight: Callable[[str], float]) -> Sample:
    import numpy as np

    evidence: list[Evidence] = [gather(analyse_claim(row.pair.claim), row.pair.premises, weight) for row in rows]
    number = {claim_id: c for c, claim_id in enumerate(sorted({row.claim_id for row in rows}))}
    label = {row.claim_id: row.label for row in rows}
    words = {row.claim_id: len(row.pair.claim.split()) for row in rows}
    claim = np.array([number[row.claim_id] for row in rows])
    return Sample(
        x=np.array([features(e) for e in evidence]),
        y=np.array([row.label == "supported" for row in rows], dtype=np.int64),
        claim=claim,
        vetoed=np.array([_is_strong(examine(e)) for e in evidence], dtype=np.int64),
        weight=1.0 / np.bincount(claim)[claim],
        labels=tuple(label[claim_id] for claim_id in number),
        claim_words=np.array([words[claim_id] for claim_id in number], dtype=np.float64),
    )


def _is_strong(found: Finding) -> bool:
    """A weak reason lowers a score to below the threshold, which is not known yet."""
    return found.reason is not None and not found.weak


class Fitted(NamedTuple):
    mean: Floats
    scale: Floats
    coefficients: Floats
    intercept: float

    def scores(self, x: Floats, vetoed: Ints) -> Floats:
        import numpy as np

        probability = 1 / (1 + np.exp(-((x - self.mean) / self.scale @ self.coefficients + self.intercept)))
        return np.where(vetoed, VETOED * probability, probability)


def fit(sample: Sample, rows: NDArray[np.bool_]) -> Fitted:
    """Fitted twice: a supported claim is not supported by each of its rows, so the second time only its best one is kept."""
    import numpy as np

    first = _regression(sample, rows, sample.weight)
    scores = np.where(rows, first.scores(sample.x, np.zeros_like(sample.vetoed)), -np.inf)
    kept = rows & ((sample.y == 0) | (scores >= sample.per_claim(scores)[sample.claim]))
    share = 1.0 / np.maximum(1, np.bincount(sample.claim[kept], minlength=len(sample.labels)))  # equal rows share a claim
    return _regression(sample, kept, share[sample.claim])


def _regression(sample: Sample, rows: NDArray[np.bool_], weight: Floats) -> Fitted:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(sample.x[rows])
    model = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=1000, tol=1e-8)
    model.fit(scaler.transform(sample.x[rows]), sample.y[rows], sample_weight=weight[rows])
    return Fitted(scaler.mean_, scaler.scale_, model.coef_[0], float(model.intercept_[0]))


def out_of_fold(sample: Sample, rows: NDArray[np.bool_], seed: int) -> Floats:
    """Scores of the claims of `rows`, each by a model that saw none of its rows; claims outside `rows` are -inf."""
    import numpy as np

    fold = cut_folds(len(sample.labels), seed)[sample.claim]
    scores = np.full(len(sample.y), -np.inf)
    for k in range(FOLDS):
        held = rows & (fold == k)
        scores[held] = fit(sample, rows & (fold != k)).scores(sample.x[held], sample.vetoed[held])
    return sample.per_claim(scores)


def cut_folds(n: int, seed: int) -> Ints:
    import numpy as np

    folds = np.empty(n, dtype=np.int64)
    folds[np.random.default_rng(seed).permutation(n)] = np.arange(n) % FOLDS
    return folds


def choose_threshold(sample: Sample, rows: NDArray[np.bool_], seeds: Iterable[int]) -> float:
    """By cross-validated balanced accuracy, averaged over seeds."""
    import numpy as np

    inside = np.unique(sample.claim[rows])
    truth = sample.claim_y[inside]
    runs = [out_of_fold(sample, rows, seed)[inside] for seed in seeds]
    low, high, step = BAND
    thresholds = [round(low + step * i, 4) for i in range(round((high - low) / step) + 1)]
    accuracy = [np.mean([balanced_accuracy(truth, scores >= threshold) for scores in runs]) for threshold in thresholds]
    flat = [t for t, value in zip(thresholds, accuracy, strict=True) if value >= max(accuracy) - 1e-9]
    return flat[len(flat) // 2]


def nested_card(sample: Sample, seeds: int) -> Card:
    """Accuracy of the whole procedure: the threshold is chosen inside, on the other folds, every time."""
    import numpy as np
    from sklearn.metrics import f1_score, roc_auc_score

    truth = sample.claim_y
    labels = np.array(sample.labels)
    aurocs, partially, nots, accuracies, f1s, pooled = [], [], [], [], [], np.zeros(len(truth))
    for seed in range(seeds):
        fold = cut_folds(len(truth), 1000 + seed)
        scores, accepted = np.zeros(len(truth)), np.zeros(len(truth), dtype=bool)
        for k in range(FOLDS):
            rows = fold[sample.claim] != k
            threshold = choose_threshold(sample, rows, [seed])
            claim_scores = sample.per_claim(fit(sample, rows).scores(sample.x, sample.vetoed))
            scores[fold == k] = claim_scores[fold == k]
            accepted[fold == k] = claim_scores[fold == k] >= threshold
        aurocs.append(roc_auc_score(truth, scores))
        some, none = labels != "not_supported", labels != "partially_supported"
        partially.append(roc_auc_score(truth[some], scores[some]))
        nots.append(roc_auc_score(truth[none], scores[none]))
        accuracies.append(balanced_accuracy(truth, accepted))
        f1s.append(f1_score(truth, accepted))
        pooled += scores / seeds
    low, high = auroc_interval(truth, pooled)
    return Card(
        n_claims=len(truth),
        n_supported=int(truth.sum()),
        auroc=round(float(np.mean(aurocs)), 4),
        auroc_low=round(low, 4),
        auroc_high=round(high, 4),
        auroc_partially=round(float(np.mean(partially)), 4),
        auroc_not=round(float(np.mean(nots)), 4),
        auroc_length=round(float(roc_auc_score(truth, -sample.claim_words)), 4),
        balanced_accuracy=round(float(np.mean(accuracies)), 4),
        f1=round(float(np.mean(f1s)), 4),
    )


def fit_model(rows: Sequence[Row], seeds: int = SEEDS) -> LexicalModel:
    """The model on all rows. Threshold and card are averages over `seeds` ways to cut the folds."""
    import numpy as np

    idf = fit_idf(rows)
    sample = make_sample(rows, lambda stem: idf.get(stem, 1.0))
    everything = np.ones(len(sample.y), dtype=bool)
    threshold = choose_threshold(sample, everything, range(seeds))
    fitted = fit(sample, everything)
    columns = zip(FEATURES, fitted.mean, fitted.scale, fitted.coefficients, strict=True)
    return LexicalModel(
        version=VERSION,
        threshold=threshold,
        intercept=round(fitted.intercept, 4),
        coefficients=tuple(Coefficient(f, *(round(float(v), 4) for v in values)) for f, *values in columns),
        idf=idf,
        card=nested_card(sample, seeds),
    )


def milliseconds_per_pair(judge: LexicalJudge, pairs: Sequence[Pair]) -> tuple[float, float]:
    """With texts never seen before, and once more with all of them in memory."""
    analyse_claim.cache_clear()
    analyse_premise.cache_clear()
    times = []
    for _ in range(2):
        start = time.perf_counter()
        judge.score(pairs)
        times.append(1000 * (time.perf_counter() - start) / len(pairs))
    return times[0], times[1]


def write_model(model: LexicalModel, path: Path) -> None:
    codec.write_atomic(path, codec.to_json(model, indent=1) + "\n")


def card_text(model: LexicalModel, ms: tuple[float, float]) -> str:
    card = model.card
    lines = [
        f"WiCE dev, {card.n_claims} claims ({card.n_supported} supported), nested cross-validation by claim, {SEEDS} seeds",
        f"AUROC {card.auroc:.3f} [{card.auroc_low:.3f}, {card.auroc_high:.3f}]; against partially supported "
        f"{card.auroc_partially:.3f}, not supported {card.auroc_not:.3f}; claim length alone {card.auroc_length:.3f}",
        f"balanced accuracy {card.balanced_accuracy:.3f}, F1 {card.f1:.3f}; threshold {model.threshold:g}; "
        f"{ms[0]:.2f} ms a pair, {ms[1]:.2f} ms once its texts are known",
        "",
        *(f"{c.feature:28s}{c.coefficient:+8.3f}" for c in model.coefficients),
    ]
    if card.stress:
        lines += ["", "accepted after an edit of a verbatim sentence:"]
        lines += [f"{rate.edit:40s}{rate.accepted:8.3f}  of {rate.n}" for rate in card.stress]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eval.fitting.fit_lexical", description=__doc__.split("\n")[0] if __doc__ else None
    )
    parser.add_argument("--wice", type=Path, required=True, help=f"folder that holds {WICE_FILE}")
    parser.add_argument("--out", type=Path, required=True, help="the model file to write")
    parser.add_argument("--data", type=Path, help="benchmark snapshot for the stress table; left out without it")
    args: Any = parser.parse_args(argv)
    try:
        rows = read_rows(args.wice / WICE_FILE)
        model = fit_model(rows)
        write_model(model, args.out)
        judge = LexicalJudge(args.out)
        if args.data:
            rates = stress(judge, list(read_quotes(Snapshot(args.data))))
            model = replace(model, card=replace(model.card, stress=rates))
            write_model(model, args.out)
        sys.stdout.write(card_text(model, milliseconds_per_pair(judge, [row.pair for row in rows[:1000]])) + "\n")
    except WikigenError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
