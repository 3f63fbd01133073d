"""Fit how likely an editor would use an evidence sentence, on sentences of development events that were labelled by reading.

    python -m tools.fits.fit_usable --data wikigenbench/data --data wiki-live-challenge/data

The labels are in `usable_labels.csv` here: the event, the first 12 hexadecimal digits of the sentence's SHA-256, and a letter:
g good, j junk, c needs context, v the voice of a reviewer or an advertisement, o off topic. They hold no text: the sentences
are found again in the benchmark folders. Good against the rest; prints the area under the ROC curve over held-out events (10
folds by event) and how many of the best are good, then writes pipeline/choosing/usable.json.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import UserError
from flows.showing import console

if TYPE_CHECKING:
    import numpy as np
    from sklearn.ensemble import GradientBoostingClassifier

    from pipeline.choosing.usable import Tree, UsableModel

LABELS = Path(__file__).with_name("usable_labels.csv")
FOLDS = 10
# Chosen by the same folds, among a few: areas differ by 0.01. Both together are better than either by 0.007.
INVERSE_PENALTY = 0.003
TREES, DEPTH, RATE, SHARE, LEAF, SEED = 200, 3, 0.04, 0.7, 15, 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fits.fit_usable", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", metavar="DIR", action="append", required=True, help="benchmark folder; may be given again")
    parser.add_argument("--labels", type=Path, metavar="FILE", default=LABELS, help="default: tools/fits/usable_labels.csv")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: pipeline/choosing/usable.json")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: fit(arguments.data, arguments.labels, arguments.out))


def fit(folders: Sequence[str], labels: Path, out: Path | None) -> int:
    import numpy as np
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GroupKFold

    from data import codec
    from pipeline.choosing.usable import MODEL_FILE, chances

    wanted = read_labels(labels)
    found = [one for folder in folders for one in labelled(folder, wanted)]
    if len(found) < FOLDS:
        raise UserError(
            f"{len(found)} events of {', '.join(folders)} have labelled sentences in {labels}, and {FOLDS} folds need as many: "
            "give the folders that the labels are of with --data"
        )
    rows, good = np.vstack([rows for rows, _ in found]), np.concatenate([good for _, good in found])
    group = np.repeat(np.arange(len(found)), [len(good) for _, good in found])
    predicted = np.zeros(len(good))
    for train, test in GroupKFold(FOLDS).split(rows, good, group):
        predicted[test] = chances(rows[test], fitted(rows[train], good[train], ""))
    best = np.argsort(-predicted, kind="stable")
    shares = ", ".join(f"{good[best[: round(part * len(best))]].mean():.2f} of the best {part:.0%}" for part in (0.1, 0.33))
    about = f"splits dev of {len(folders)} folders, {len(found)} events, {len(good)} of {len(wanted)} labelled sentences"
    codec.write_atomic(out or MODEL_FILE, codec.to_json(fitted(rows, good, about)) + "\n")
    console.result(
        f"{about}; AUROC over held-out events {roc_auc_score(good, predicted):.3f} ({FOLDS} folds); "
        f"good are {good.mean():.2f} of all, {shares}"
    )
    return 0


def read_labels(file: Path) -> dict[tuple[str, str], str]:
    """(event, digest of the sentence) -> letter. Raises UserError for a file of another form."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return {(row["event"], row["sentence"]): row["label"] for row in csv.DictReader(lines)}
    except (OSError, KeyError, UnicodeDecodeError) as error:
        raise UserError(f"--labels {file} is no CSV with the columns event, sentence, label: {error!r}") from error


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def labelled(folder: str, wanted: dict[tuple[str, str], str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Of each event that has some: features of its labelled sentences, shape (n, F), and which are good, shape (n,)."""
    import numpy as np

    from data.errors import NoEvidence
    from data.locate import locate
    from data.settings import Settings
    from data.snapshot import Snapshot
    from flows.wiring import models
    from flows.wiring.page_sources import build_collect
    from pipeline.evidence import Evidence
    from pipeline.planning.planner import pooled

    snapshot, settings = Snapshot(locate(folder)), Settings()
    collect, encoder = build_collect(snapshot, settings), models.build_encoder()
    ids = [event_id for event_id in snapshot.ids("search") if any(event == event_id for event, _ in wanted)]
    for event_id in console.tracked(f"reading {folder}", ids, len(ids), str):
        event = snapshot.event(event_id)
        try:
            pool = pooled(Evidence.unlapped(event, collect(event), settings.retrieval), encoder).pool
        except NoEvidence:
            continue
        letters = [wanted.get((event_id, digest(one.text)), "") for one in pool.offered]
        known = [n for n, letter in enumerate(letters) if letter]
        if known:
            yield pool.features[known], np.array([letters[n] == "g" for n in known], dtype=float)


def fitted(rows: np.ndarray, good: np.ndarray, about: str) -> UsableModel:
    import numpy as np
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    from pipeline.choosing.usable import SURFACE, UsableModel
    from pipeline.choosing.worth import FEATURES

    means, scales = rows.mean(axis=0).round(5), rows.std(axis=0).round(5)
    scales[scales < 1e-4] = 1.0  # what the gate lets never pass (questions) is 0 everywhere
    linear = LogisticRegression(C=INVERSE_PENALTY, max_iter=3_000).fit((rows - means) / scales, good)
    named = rows[:, : len(FEATURES) + len(SURFACE)]
    grown = GradientBoostingClassifier(
        n_estimators=TREES, max_depth=DEPTH, learning_rate=RATE, subsample=SHARE, max_features=0.3, min_samples_leaf=LEAF,
        random_state=SEED,
    ).fit(named, good)  # fmt: skip
    return UsableModel(
        names=(*FEATURES, *SURFACE),
        intercept=round(float(linear.intercept_[0]), 5),
        weights=tuple(linear.coef_[0].round(5).tolist()),
        means=tuple(means.tolist()),
        scales=tuple(scales.tolist()),
        start=round(float(np.log(good.mean() / (1 - good.mean()))), 5),
        trees=trees_of(grown),
        fitted_on=about,
    )


def trees_of(model: GradientBoostingClassifier) -> tuple[Tree, ...]:
    from pipeline.choosing.usable import Tree

    found = []
    for (regressor,) in model.estimators_:
        tree = regressor.tree_
        inner = tree.children_left >= 0
        found.append(
            Tree(
                feature=tuple(int(f) if is_inner else -1 for f, is_inner in zip(tree.feature, inner, strict=True)),
                threshold=tuple(
                    round(float(t), 6) if is_inner else 0.0 for t, is_inner in zip(tree.threshold, inner, strict=True)
                ),
                left=tuple(int(k) if is_inner else 0 for k, is_inner in zip(tree.children_left, inner, strict=True)),
                right=tuple(int(k) if is_inner else 0 for k, is_inner in zip(tree.children_right, inner, strict=True)),
                value=tuple(
                    0.0 if is_inner else round(model.learning_rate * float(v), 6)
                    for v, is_inner in zip(tree.value[:, 0, 0], inner, strict=True)
                ),
            )
        )
    return tuple(found)


if __name__ == "__main__":
    sys.exit(main())
