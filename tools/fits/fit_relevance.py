"""Fit how much an evidence sentence reads like the human article, on the development split only.

    python -m tools.fits.fit_relevance --data wikigenbench/data

Target: the share of a sentence's bigrams that the human article has. Ridge regression, every event with the same weight;
prints the correlation within held-out events (8 folds by event), then writes pipeline/choosing/relevance.json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from flows.showing import console

RIDGE = 50.0
FOLDS = 8


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fits.fit_relevance", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", metavar="DIR", help="benchmark folder (default: as for wikigenben generate)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: pipeline/choosing/relevance.json")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: fit(arguments.data, arguments.out))


def fit(data: str | None, out: Path | None) -> int:
    import numpy as np
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GroupKFold

    from benchmark.splits import split_ids
    from data import codec
    from data.errors import NoEvidence
    from data.gold import load_gold
    from data.locate import locate
    from data.settings import Settings
    from data.snapshot import Snapshot
    from eval.text import words
    from flows.wiring import models
    from flows.wiring.page_sources import build_collect
    from pipeline.choosing.finding import find_candidates
    from pipeline.choosing.relevance import FEATURES, MODEL_FILE, RelevanceModel, feature_rows
    from pipeline.evidence import Evidence

    snapshot = Snapshot(locate(data))
    settings = Settings()
    collect, encoder = build_collect(snapshot, settings), models.build_encoder()
    ids = split_ids(snapshot, "search", "dev")
    features, targets, events = [], [], []
    for n, event_id in enumerate(console.tracked("reading", ids, len(ids), str)):
        event = snapshot.event(event_id)
        try:
            evidence = Evidence.cut(event, collect(event), settings.retrieval)
            found = find_candidates(evidence, encoder)
        except NoEvidence:
            continue
        gold = words(load_gold(snapshot, event_id).prose)
        known = set(pairwise(gold))
        features.append(feature_rows(evidence, found))
        for candidate in found.candidates:
            tokens = words(candidate.text)
            bigrams = list(pairwise(tokens))
            targets.append(sum(b in known for b in bigrams) / max(len(bigrams), 1))
            events.append(n)
    rows, target, group = np.vstack(features), np.array(targets), np.array(events)
    means, scales = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    rows = (rows - means) / scales
    weight = 1.0 / np.bincount(group)[group]
    weight *= len(weight) / weight.sum()
    predicted = np.zeros(len(target))
    for train, test in GroupKFold(FOLDS).split(rows, target, group):
        predicted[test] = Ridge(RIDGE).fit(rows[train], target[train], sample_weight=weight[train]).predict(rows[test])
    large = [g for g in set(group.tolist()) if (group == g).sum() > 20]
    within = float(np.mean([np.corrcoef(predicted[group == g], target[group == g])[0, 1] for g in large]))
    fitted = Ridge(RIDGE).fit(rows, target, sample_weight=weight)
    model = RelevanceModel(
        intercept=round(float(fitted.intercept_), 6),
        typical=round(float(target.mean()), 6),
        weights=dict(zip(FEATURES, fitted.coef_.round(6).tolist(), strict=True)),
        means=dict(zip(FEATURES, means.round(6).tolist(), strict=True)),
        scales=dict(zip(FEATURES, scales.round(6).tolist(), strict=True)),
        fitted_on=f"split dev, track search, {len(features)} events, {len(target)} sentences",
    )
    codec.write_atomic(out or MODEL_FILE, codec.to_json(model, indent=1) + "\n")
    console.result(f"{model.fitted_on}; correlation within held-out events {within:.3f} ({FOLDS} folds)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
