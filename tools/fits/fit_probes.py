"""Fit linear probes of `qwen-1.5b` (`decoding.probes`) to its own notes and rewordings, labelled by reading.

    python -m tools.fits.fit_probes --data wikigenbench/data --data wiki-live-challenge/data

`note_labels.jsonl.xz` has what it noted of pages of development events, with the id of the passage: right, partly, wrong.
`saying_labels.jsonl.xz` has how it said sentences of these pages, with the first 12 hexadecimal digits of the sentence's
SHA-256: same, part (it lost something), wrong. Neither holds a text of a page: these are found again in the benchmark folders.
`rewordings.jsonl.xz` has more of the second kind, of open text. Prints the area under the ROC curve over held-out events,
beside that of the model's "Yes", and writes decoding/probes/probes.json. Ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data import codec
from data.errors import UserError
from flows.showing import console

if TYPE_CHECKING:
    import numpy as np

    from data.snapshot import Snapshot
    from decoding.api import Message
    from decoding.local import LocalGenerator
    from decoding.probes.probe import Probe
    from pipeline.evidence import Evidence

NOTES_FILE = Path(__file__).with_name("note_labels.jsonl.xz")
SAYINGS_FILE = Path(__file__).with_name("saying_labels.jsonl.xz")
REWORDINGS_FILE = Path(__file__).with_name("rewordings.jsonl.xz")
MODEL = "qwen-1.5b"
FOLDS = 8
TOKENS, SEED = 1_000, 0
"""Of the vocabulary, drawn once: what a direction of the hidden state is read by."""
COMPONENTS, INVERSE_PENALTY = 20, 0.01
"""Principal components of these logits, and what the regression on them pays. Of 20 to 120 components the fewest are best."""
AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is asked of the model, whether yes is right, and the event that it belongs to."""

    messages: tuple[Message, ...]
    is_right: bool
    event: str


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fits.fit_probes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", metavar="DIR", action="append", required=True, help="benchmark folder; may be given again")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: decoding/probes/probes.json")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: fit(arguments.data, arguments.out))


def fit(folders: Sequence[str], out: Path | None) -> int:
    from data.locate import locate
    from data.settings import ModelSettings, Settings
    from data.snapshot import Snapshot
    from decoding.local import LocalGenerator
    from decoding.models.registry import KNOWN
    from decoding.probes.probe import PROBES_FILE, ProbeFile
    from flows.wiring import models
    from pipeline.noting.verifying import STATES
    from pipeline.writing.saying import SAYS_THE_SAME

    settings, snapshots = Settings(), [Snapshot(locate(folder)) for folder in folders]
    generator = models.build_generator("ours", ModelSettings(name=MODEL), settings.decoding)
    if not isinstance(generator, LocalGenerator):
        raise UserError(f"{MODEL} must be decoded here to be probed")
    asked: dict[str, list[Asked]] = {STATES: [], SAYS_THE_SAME: list(_rewordings(generator))}
    for event, evidence, sentences in evidence_of(snapshots, {*_by_event(NOTES_FILE), *_by_event(SAYINGS_FILE)}):
        asked[STATES] += _notes(event, evidence, generator)
        asked[SAYS_THE_SAME] += _sayings(event, sentences, generator)
    probes: dict[str, Probe] = {}
    for name, questions in asked.items():
        if len({one.event for one in questions}) < FOLDS:
            raise UserError(
                f"{', '.join(folders)} hold too few events with labels for {name!r}; give their folders with --data"
            )
        probes[name] = _fitted(name, questions, generator)
    known = ProbeFile({KNOWN[MODEL].sha256: probes})
    codec.write_atomic(out or PROBES_FILE, codec.to_json(known) + "\n")
    return 0


def _fitted(name: str, questions: Sequence[Asked], generator: LocalGenerator) -> Probe:
    import numpy as np
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GroupKFold, cross_val_predict

    from decoding.probes.probe import Probe

    tokens = sorted(random.Random(SEED).sample(range(generator.n_tokens), TOKENS))
    yes, no = generator.first_tokens(("Yes", "No"))
    rows = _logits(name, questions, [yes, no, *tokens], generator)
    word, logits = rows[:, 0] - rows[:, 1], rows[:, 2:]
    logits = logits - logits.mean(axis=1, keepdims=True)
    right = np.array([one.is_right for one in questions])
    events = np.array([one.event for one in questions])
    held_out = cross_val_predict(_regression(), logits, right, groups=events, cv=GroupKFold(FOLDS), method="decision_function")
    kept = max(1, len(right) // 2)
    best, likeliest = np.argsort(-held_out)[:kept], np.argsort(-word)[:kept]
    about = (
        f"{len(questions)} answers on {len(set(events))} events, {right.mean():.2f} right; over held-out events AUROC "
        f"{roc_auc_score(right, held_out):.3f}, by the model's word {roc_auc_score(right, word):.3f}; of the better half "
        f"{right[best].mean():.2f} right, by its word {right[likeliest].mean():.2f}"
    )
    console.result(f"{name}: {about}")
    weights, bias = _direction(_regression().fit(logits, right), logits)
    # On the word's own scale, so that a bar means the same for a model that nobody has probed.
    scale = float(word.std() / held_out.std())
    bias = scale * bias + float(word.mean() - scale * held_out.mean())
    return Probe(tuple(tokens), tuple(float(f"{scale * w:.5g}") for w in weights), round(bias, 5), about)


def _regression() -> Any:
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(PCA(COMPONENTS, whiten=True, random_state=SEED), LogisticRegression(C=INVERSE_PENALTY, max_iter=2_000))


def _direction(fitted: Any, rows: np.ndarray) -> tuple[np.ndarray, float]:
    """All of it is linear: its value at 0, and what each of the D columns of `rows`, shape (n, D), adds, shape (D,)."""
    import numpy as np

    at_zero = float(fitted.decision_function(np.zeros((1, rows.shape[1])))[0])
    components, spread = fitted[0].components_, np.sqrt(fitted[0].explained_variance_)
    return np.asarray((fitted[1].coef_[0] / spread) @ components), at_zero


def _logits(name: str, questions: Sequence[Asked], tokens: Sequence[int], generator: LocalGenerator) -> np.ndarray:
    """Shape (len(questions), len(tokens))."""
    import numpy as np

    found = []
    starts = range(0, len(questions), AT_ONCE)
    for at in console.tracked(f"asking {name}", starts, len(starts), str):
        found += generator.next_logits([one.messages for one in questions[at : at + AT_ONCE]], tokens)
    return np.array(found)


def evidence_of(snapshots: Sequence[Snapshot], wanted: Collection[str]) -> Iterator[tuple[str, Evidence, Mapping[str, str]]]:
    """Each event that is wanted, with its evidence, and its offered sentences by digest."""
    from data.errors import NoEvidence
    from data.settings import Settings
    from flows.wiring import models
    from flows.wiring.page_sources import build_collect
    from pipeline.evidence import Evidence
    from pipeline.planning.planner import pooled
    from tools.fits.fit_usable import digest

    settings, encoder = Settings(), models.build_encoder()
    for snapshot in snapshots:
        collect = build_collect(snapshot, settings)
        ids = [event_id for event_id in snapshot.ids("search") if event_id in wanted]
        for event_id in console.tracked(f"reading {snapshot.root}", ids, len(ids), str):
            event = snapshot.event(event_id)
            evidence = Evidence.unlapped(event, collect(event), settings.retrieval)
            try:
                sentences = {digest(one.text): one.text for one in pooled(evidence, encoder).pool.offered}
            except NoEvidence:
                sentences = {}
            yield event_id, evidence, sentences


def _by_event(path: Path) -> Mapping[str, Sequence[Mapping[str, str]]]:
    found: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for line in codec.lines_of(path):
        row = json.loads(line)
        found[row["event"]].append(row)
    return found


def _notes(event: str, evidence: Evidence, generator: LocalGenerator) -> Iterator[Asked]:
    from pipeline.noting.material import shown_title
    from pipeline.noting.verifying import Claimed, asks_whether_stated

    passages = {passage.id: passage for passage in evidence.passages}
    for row in _by_event(NOTES_FILE).get(event, ()):
        if passage := passages.get(row["passage"]):
            claimed = Claimed(row["note"], passage.text, shown_title(evidence.pages[passage.page]))
            yield Asked(asks_whether_stated(claimed, generator.neutralise), row["label"] == "right", event)


def _sayings(event: str, sentences: Mapping[str, str], generator: LocalGenerator) -> Iterator[Asked]:
    for row in _by_event(SAYINGS_FILE).get(event, ()):
        if sentence := sentences.get(row["sentence"]):
            yield _said(sentence, row, event, generator)


def _rewordings(generator: LocalGenerator) -> Iterator[Asked]:
    for line in codec.lines_of(REWORDINGS_FILE):
        row = json.loads(line)
        yield _said(row["note"], row, hashlib.sha256(row["note"].encode()).hexdigest()[:12], generator)


def _said(sentence: str, row: Mapping[str, str], event: str, generator: LocalGenerator) -> Asked:
    from pipeline.writing import prompts

    shown = [prompts.quotable(text, generator.neutralise) for text in (sentence, row["said"])]
    return Asked(prompts.says_the_same(*shown), row["label"] == "same", event)


if __name__ == "__main__":
    sys.exit(main())
