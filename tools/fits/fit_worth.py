"""Fit how likely an evidence sentence states a fact of the human article, on development splits only.

    python -m tools.fits.fit_worth --data wikigenbench/data --data wiki-live-challenge/data

Label: whether the five best sentences of the human article support the sentence, by the judge `lexical`. Logistic regression,
every event with the same weight; prints the area under the ROC curve within held-out events (8 folds by event), then writes
pipeline/choosing/worth.json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flows.showing import console

if TYPE_CHECKING:
    import numpy as np

INVERSE_PENALTY = 0.1
FOLDS = 8
LEAST_SENTENCES = 20
"""Of an event with fewer there is nothing to choose from."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fits.fit_worth", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", metavar="DIR", action="append", required=True, help="benchmark folder; may be given again")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: pipeline/choosing/worth.json")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: fit(arguments.data, arguments.out))


def fit(folders: Sequence[str], out: Path | None) -> int:
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GroupKFold

    from data import codec
    from pipeline.choosing.relevance import RelevanceModel
    from pipeline.choosing.worth import FEATURES, MODEL_FILE

    found = [one for folder in folders for one in labelled(folder)]
    rows, label = np.vstack([rows for rows, _ in found]), np.concatenate([label for _, label in found])
    group = np.repeat(np.arange(len(found)), [len(label) for _, label in found])
    means, scales = rows.mean(axis=0), rows.std(axis=0)
    scales[scales < 1e-6] = 1.0  # what the gate lets never pass (questions) is 0 everywhere
    rows = (rows - means) / scales
    weight = 1.0 / np.bincount(group)[group]
    weight *= len(weight) / weight.sum()

    def fitted(chosen: np.ndarray) -> LogisticRegression:
        model = LogisticRegression(C=INVERSE_PENALTY, max_iter=1_000)
        return model.fit(rows[chosen], label[chosen], sample_weight=weight[chosen])

    predicted = np.zeros(len(label))
    for train, test in GroupKFold(FOLDS).split(rows, label, group):
        predicted[test] = fitted(train).decision_function(rows[test])
    mixed = [g for g in range(len(found)) if 0 < label[group == g].mean() < 1]
    within = np.mean([roc_auc_score(label[group == g], predicted[group == g]) for g in mixed])
    whole = fitted(np.arange(len(label)))
    model = RelevanceModel(
        intercept=round(float(whole.intercept_[0]), 6),
        typical=round(float(label.mean()), 6),
        weights=dict(zip(FEATURES, whole.coef_[0].round(6).tolist(), strict=True)),
        means=dict(zip(FEATURES, means.round(6).tolist(), strict=True)),
        scales=dict(zip(FEATURES, scales.round(6).tolist(), strict=True)),
        fitted_on=f"splits dev of {len(folders)} folders, track search, {len(found)} events, {len(label)} sentences",
    )
    codec.write_atomic(out or MODEL_FILE, codec.to_json(model, indent=1) + "\n")
    console.result(f"{model.fitted_on}; AUROC within held-out events {within:.3f} ({FOLDS} folds)")
    return 0


def labelled(folder: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Of each event of the split `dev` its sentences' features, shape (n, 29), and labels, shape (n,)."""
    import numpy as np

    from benchmark.splits import split_ids
    from data.errors import NoEvidence
    from data.gold import load_gold
    from data.locate import locate
    from data.sentences import split_sentences
    from data.settings import Settings
    from data.snapshot import Snapshot
    from eval.judges.lexical_judge import LexicalJudge
    from eval.metrics.told_facts import Facts
    from flows.wiring import models
    from flows.wiring.page_sources import build_collect
    from pipeline.choosing.statements import Pool
    from pipeline.evidence import Evidence
    from pipeline.planning.planner import pooled

    snapshot, settings = Snapshot(locate(folder)), Settings()
    collect, encoder, facts = build_collect(snapshot, settings), models.build_encoder(), Facts(LexicalJudge())
    ids = split_ids(snapshot, "search", "dev")
    for event_id in console.tracked(f"reading {folder}", ids, len(ids), str):
        event = snapshot.event(event_id)
        try:
            pool: Pool = pooled(Evidence.unlapped(event, collect(event), settings.retrieval), encoder).pool
        except NoEvidence:
            continue
        if len(pool.offered) >= LEAST_SENTENCES:
            held = facts.held([one.text for one in pool.offered], split_sentences(load_gold(snapshot, event_id).prose))
            yield pool.rows, np.array(held, dtype=float)


if __name__ == "__main__":
    sys.exit(main())
