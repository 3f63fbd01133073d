"""How well a judge agrees with people: claims with evidence and a label, in the format of WiCE (Kamoi et al. 2023).

Several rows may share one claim, each with other evidence; the claim's score is the maximum over its rows, as in WiCE's own
evaluation. `supported` is the positive label, every other one negative.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from data import codec
from data.errors import UserError
from data.types import Strict
from eval.judges.judge import Pair

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

SUPPORTED = "supported"


class Row(NamedTuple):
    """One evidence chunk of a claim; the claim's score is the maximum over its rows, as in WiCE's own evaluation."""

    claim_id: str
    label: str
    pair: Pair


def read_rows(path: Path) -> list[Row]:
    """The rows of a file of JSON lines: `claim`, `evidence` (sentences), `label`, and `meta.id`, shared by rows of a claim."""
    try:
        lines = codec.lines_of(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"cannot read {path} ({reason}); WiCE's are at github.com/ryokamoi/wice") from None
    rows = []
    for n, line in enumerate(lines, 1):
        try:
            item = json.loads(line)
            rows.append(Row(str(item["meta"]["id"]), str(item["label"]), Pair(("\n".join(item["evidence"]),), item["claim"])))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}:{n} is no row of claim, evidence, label and meta.id ({error}); see WiCE's files") from None
    if len({row.label == SUPPORTED for row in rows}) < 2:
        raise UserError(f"{path} needs claims that are {SUPPORTED} and others that are not; name another file")
    return rows


def whole_pages(rows: Sequence[Row]) -> list[Row]:
    """One row a claim, the evidence of its rows one premise in their order: pages that were cut into pieces, whole again.

    A statement whose words stand in two pieces is refused by each of them.
    """
    by_claim: dict[str, list[Row]] = {}
    for row in rows:
        by_claim.setdefault(row.claim_id, []).append(row)
    return [all_of[0]._replace(pair=Pair((_joined(all_of),), all_of[0].pair.claim)) for all_of in by_claim.values()]


def _joined(rows: Sequence[Row]) -> str:
    return "\n".join(dict.fromkeys(text for row in rows for text in row.pair.premises))


@dataclass(frozen=True, slots=True)
class Accuracy(Strict):
    """Of a judge on labelled claims. Accuracy and F1 are at the judge's own threshold; an unjudged claim is not accepted, and
    scores lowest in the AUROC. `auroc_length` is the trivial baseline: the shorter claim is the supported one."""

    n_claims: int
    n_supported: int
    n_unjudged: int
    auroc: float
    auroc_low: float
    auroc_high: float
    auroc_length: float
    balanced_accuracy: float
    f1: float


def accuracy(rows: Sequence[Row], scores: Sequence[float | None], threshold: float) -> Accuracy:
    """Claims are compared by the maximum over their rows that were judged."""
    import numpy as np
    from sklearn.metrics import f1_score, roc_auc_score

    best: dict[str, float] = {}
    claims = {row.claim_id: row for row in rows}
    for row, score in zip(rows, scores, strict=True):
        if score is not None:
            best[row.claim_id] = max(score, best.get(row.claim_id, -np.inf))
    truth = np.array([row.label == SUPPORTED for row in claims.values()], dtype=np.int64)
    values = np.array([best.get(claim_id, -1.0) for claim_id in claims])
    accepted = values >= threshold
    low, high = auroc_interval(truth, values)
    words = np.array([len(row.pair.claim.split()) for row in claims.values()])
    return Accuracy(
        n_claims=len(truth),
        n_supported=int(truth.sum()),
        n_unjudged=len(claims) - len(best),
        auroc=round(float(roc_auc_score(truth, values)), 4),
        auroc_low=round(low, 4),
        auroc_high=round(high, 4),
        auroc_length=round(float(roc_auc_score(truth, -words)), 4),
        balanced_accuracy=round(balanced_accuracy(truth, accepted), 4),
        f1=round(float(f1_score(truth, accepted)), 4),
    )


def accepted_shares(rows: Sequence[Row], scores: Sequence[float | None], threshold: float) -> tuple[float, float]:
    """Of the supported claims and of the others, rounded to 4 places. An unjudged claim is not accepted."""
    accepted: dict[str, bool] = {}
    for row, score in zip(rows, scores, strict=True):
        accepted[row.claim_id] = accepted.get(row.claim_id, False) or (score is not None and score >= threshold)
    supported = {row.claim_id: row.label == SUPPORTED for row in rows}
    found = [[accepted[claim] for claim, label in supported.items() if label is wanted] for wanted in (True, False)]
    true, false = (round(sum(some) / len(some), 4) if some else 0.0 for some in found)
    return true, false


@dataclass(frozen=True, slots=True)
class AcceptedOf(Strict):
    """Of the `n` claims with a label, the share that the judge accepts; a claim left unjudged is not accepted."""

    label: str
    n: int
    accepted: float


def accepted_by_label(rows: Sequence[Row], scores: Sequence[float | None], threshold: float) -> tuple[AcceptedOf, ...]:
    """The supported first, then the other labels in the order of their names. Claims are compared by the maximum over their
    rows."""
    accepted: dict[str, bool] = {}
    labels = {row.claim_id: row.label for row in rows}
    for row, score in zip(rows, scores, strict=True):
        accepted[row.claim_id] = accepted.get(row.claim_id, False) or (score is not None and score >= threshold)
    found = []
    for label in sorted(set(labels.values()), key=lambda name: (name != SUPPORTED, name)):
        of = [accepted[claim_id] for claim_id, its in labels.items() if its == label]
        found.append(AcceptedOf(label, len(of), round(sum(of) / len(of), 4)))
    return tuple(found)


def balanced_accuracy(truth: Ints, accepted: NDArray[np.bool_]) -> float:
    return float((accepted[truth == 1].mean() + (~accepted[truth == 0]).mean()) / 2)


def auroc_interval(truth: Ints, scores: Floats, resamples: int = 1000) -> tuple[float, float]:
    """95% percentile interval of the AUROC over claims."""
    import numpy as np

    rng = np.random.default_rng(0)
    draws = (rng.integers(len(truth), size=len(truth)) for _ in range(resamples))
    _, rank = np.unique(scores, return_inverse=True)  # equal scores have one rank

    def area(drawn: Ints) -> float:
        right = np.bincount(rank[drawn], weights=truth[drawn])
        wrong = np.bincount(rank[drawn]) - right
        return float(((wrong.cumsum() - wrong / 2) * right).sum() / (right.sum() * wrong.sum()))  # half of the equal ones

    values = [area(d) for d in draws if 0 < truth[d].sum() < len(d)]
    return float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975))


BINS = 10


@dataclass(frozen=True, slots=True)
class Bin(Strict):
    """Claims whose score lies from `low` up to the next tenth; `supported` is the share that people call supported, None where
    there are no claims."""

    low: float
    n: int
    mean_score: float | None
    supported: float | None


@dataclass(frozen=True, slots=True)
class Reliability(Strict):
    """Are scores probabilities? `error` is the expected calibration error (Naeini et al. 2015): the mean distance between score
    and share of supported claims over ten bins, weighted by their claims. Unjudged claims take no part."""

    bins: tuple[Bin, ...]
    error: float | None


def reliability(rows: Sequence[Row], scores: Sequence[float | None]) -> Reliability:
    """Claims are compared by the maximum over their rows that were judged."""
    best: dict[str, tuple[float, bool]] = {}
    for row, score in zip(rows, scores, strict=True):
        if score is not None:
            best[row.claim_id] = (max(score, best.get(row.claim_id, (0.0, False))[0]), row.label == SUPPORTED)
    found: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for score, supported in best.values():
        found[min(BINS - 1, int(score * BINS))].append((score, supported))
    bins, distance = [], 0.0
    for i, claims in enumerate(found):
        n = len(claims)
        mean = sum(score for score, _ in claims) / n if n else None
        share = sum(supported for _, supported in claims) / n if n else None
        if mean is not None and share is not None:
            distance += n * abs(mean - share)
        bins.append(Bin(i / BINS, n, None if mean is None else round(mean, 4), None if share is None else round(share, 4)))
    return Reliability(tuple(bins), round(distance / len(best), 4) if best else None)
