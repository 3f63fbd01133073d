"""Fit the embedded judge again, and say how good it is.

    python -m eval.fit_judge --wice DIR --out eval/embedded_judge.json [--data DIR]

`--wice` is a folder with `oracle_chunks_claim_dev.jsonl` of WiCE (Kamoi et al. 2023); its test part is never used.
`--data` is a benchmark snapshot: verbatim sentences of its search pages are then edited to see what the judge accepts, on
the development third only (events whose sha256(id) starts with 0-4). Same input, same file: every fold and edit is seeded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from data import codec
from data.errors import UserError, WikigenError
from data.passages import cut_passages
from data.sentences import split_sentences
from data.snapshot import Snapshot
from data.types import Page, Passage
from eval.citations import with_title
from eval.embedded_judge import VETOED, AcceptRate, Card, Coefficient, EmbeddedJudge, EmbeddedModel
from eval.judge import Pair
from eval.judge_features import (
    FEATURES,
    STOPWORDS,
    VERSION,
    Evidence,
    analyse_claim,
    analyse_premise,
    features,
    gather,
    veto,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

WICE_FILE = "oracle_chunks_claim_dev.jsonl"
MIN_DOCUMENTS = 20
"""Stems in the evidence of fewer claims than this weigh 1 and are not listed."""
STRENGTHS = (0.03, 0.1, 0.3, 1.0)
"""Inverse regularisation strengths to choose from: the smallest within TOLERANCE of the best AUROC."""
TOLERANCE = 0.002
FOLDS = 5
SEEDS = 5
DEVELOPMENT_THIRD = "01234"
PER_EVENT = 12
BAND = (0.30, 0.80, 0.01)
"""Thresholds to choose from: lowest, highest, step. All lie above what a veto leaves."""


class Row(NamedTuple):
    """One evidence chunk of a claim; the claim's score is the maximum over its rows, as in WiCE's own evaluation."""

    claim_id: str
    label: str
    pair: Pair


def read_wice(folder: Path) -> list[Row]:
    path = folder / WICE_FILE
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UserError(
            f"cannot read {path} ({error.strerror}); get it from github.com/ryokamoi/wice and name its folder"
        ) from None
    rows = []
    for line in lines:
        item = json.loads(line)
        rows.append(Row(item["meta"]["id"], item["label"], Pair(("\n".join(item["evidence"]),), item["claim"])))
    return rows


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
        vetoed=np.array([veto(e) is not None for e in evidence], dtype=np.int64),
        weight=1.0 / np.bincount(claim)[claim],
        labels=tuple(label[claim_id] for claim_id in number),
        claim_words=np.array([words[claim_id] for claim_id in number], dtype=np.float64),
    )


class Fitted(NamedTuple):
    mean: Floats
    scale: Floats
    coefficients: Floats
    intercept: float

    def scores(self, x: Floats, vetoed: Ints) -> Floats:
        import numpy as np

        probability = 1 / (1 + np.exp(-((x - self.mean) / self.scale @ self.coefficients + self.intercept)))
        return np.where(vetoed, VETOED * probability, probability)


def fit(sample: Sample, rows: NDArray[np.bool_], strength: float) -> Fitted:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(sample.x[rows])
    model = LogisticRegression(C=strength, class_weight="balanced", max_iter=1000, tol=1e-8)
    model.fit(scaler.transform(sample.x[rows]), sample.y[rows], sample_weight=sample.weight[rows])
    return Fitted(scaler.mean_, scaler.scale_, model.coef_[0], float(model.intercept_[0]))


def out_of_fold(sample: Sample, rows: NDArray[np.bool_], strength: float, seed: int) -> Floats:
    """Scores of the claims of `rows`, each by a model that saw none of its rows; claims outside `rows` are -inf."""
    import numpy as np

    fold = _folds(len(sample.labels), seed)[sample.claim]
    scores = np.full(len(sample.y), -np.inf)
    for k in range(FOLDS):
        held = rows & (fold == k)
        scores[held] = fit(sample, rows & (fold != k), strength).scores(sample.x[held], sample.vetoed[held])
    return sample.per_claim(scores)


def _folds(n: int, seed: int) -> Ints:
    import numpy as np

    folds = np.empty(n, dtype=np.int64)
    folds[np.random.default_rng(seed).permutation(n)] = np.arange(n) % FOLDS
    return folds


def choose(sample: Sample, rows: NDArray[np.bool_], seeds: Iterable[int]) -> tuple[float, float]:
    """Strength by cross-validated AUROC, threshold by cross-validated balanced accuracy, both averaged over seeds."""
    import numpy as np
    from sklearn.metrics import roc_auc_score

    inside = np.unique(sample.claim[rows])
    truth = sample.claim_y[inside]
    runs = {strength: [out_of_fold(sample, rows, strength, seed)[inside] for seed in seeds] for strength in STRENGTHS}
    auroc = {strength: np.mean([roc_auc_score(truth, s) for s in runs[strength]]) for strength in STRENGTHS}
    best = min(strength for strength in STRENGTHS if auroc[strength] >= max(auroc.values()) - TOLERANCE)
    low, high, step = BAND
    thresholds = [round(low + step * i, 4) for i in range(round((high - low) / step) + 1)]
    accuracy = [np.mean([balanced_accuracy(truth, s >= threshold) for s in runs[best]]) for threshold in thresholds]
    flat = [t for t, value in zip(thresholds, accuracy, strict=True) if value >= max(accuracy) - 1e-9]
    return best, flat[len(flat) // 2]


def balanced_accuracy(truth: Ints, accepted: NDArray[np.bool_]) -> float:
    return float((accepted[truth == 1].mean() + (~accepted[truth == 0]).mean()) / 2)


def nested_card(sample: Sample, seeds: int) -> Card:
    """Accuracy of the whole procedure: strength and threshold are chosen inside, on the other folds, every time."""
    import numpy as np
    from sklearn.metrics import roc_auc_score

    truth = sample.claim_y
    labels = np.array(sample.labels)
    aurocs, partially, nots, accuracies, pooled = [], [], [], [], np.zeros(len(truth))
    for seed in range(seeds):
        fold = _folds(len(truth), 1000 + seed)
        scores, accepted = np.zeros(len(truth)), np.zeros(len(truth), dtype=bool)
        for k in range(FOLDS):
            rows = fold[sample.claim] != k
            strength, threshold = choose(sample, rows, [seed])
            claim_scores = sample.per_claim(fit(sample, rows, strength).scores(sample.x, sample.vetoed))
            scores[fold == k] = claim_scores[fold == k]
            accepted[fold == k] = claim_scores[fold == k] >= threshold
        aurocs.append(roc_auc_score(truth, scores))
        some, none = labels != "not_supported", labels != "partially_supported"
        partially.append(roc_auc_score(truth[some], scores[some]))
        nots.append(roc_auc_score(truth[none], scores[none]))
        accuracies.append(balanced_accuracy(truth, accepted))
        pooled += scores / seeds
    low, high = _bootstrap(truth, pooled)
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
    )


def _bootstrap(truth: Ints, scores: Floats, resamples: int = 1000) -> tuple[float, float]:
    """95% percentile interval of the AUROC over claims."""
    import numpy as np
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    draws = (rng.integers(len(truth), size=len(truth)) for _ in range(resamples))
    values = [roc_auc_score(truth[d], scores[d]) for d in draws if 0 < truth[d].sum() < len(d)]
    return float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975))


def fit_model(rows: Sequence[Row], seeds: int = SEEDS) -> EmbeddedModel:
    """The model on all rows. Strength, threshold and card are averages over `seeds` ways to cut the folds."""
    import numpy as np

    idf = fit_idf(rows)
    sample = make_sample(rows, lambda stem: idf.get(stem, 1.0))
    everything = np.ones(len(sample.y), dtype=bool)
    strength, threshold = choose(sample, everything, range(seeds))
    fitted = fit(sample, everything, strength)
    columns = zip(FEATURES, fitted.mean, fitted.scale, fitted.coefficients, strict=True)
    return EmbeddedModel(
        version=VERSION,
        threshold=threshold,
        intercept=round(fitted.intercept, 4),
        coefficients=tuple(Coefficient(f, *(round(float(v), 4) for v in values)) for f, *values in columns),
        idf=idf,
        card=nested_card(sample, seeds),
    )


# What the judge accepts of sentences that lie verbatim in the evidence, after an edit or with other evidence.

_NAME = re.compile(r"[A-Z][\w'’-]+(?: (?:of |de |the |van |von )?[A-Z][\w'’-]+)*")
_AUXILIARY = re.compile(r"\b(?:is|was|were|are|has|have|had|will|can|could|would|should|may|might|did|does|do)\b")


class Quote(NamedTuple):
    """A sentence of a passage; `pages` and `passages` are those of its event."""

    event_id: str
    sentence: str
    passage: Passage
    pages: Sequence[Page]
    passages: Sequence[Passage]
    rng: random.Random

    def premise(self, passage: Passage | None = None) -> str:
        shown = passage or self.passage
        return with_title(self.pages[shown.page].title, shown.text)


def read_quotes(snapshot: Snapshot) -> Iterator[Quote]:
    """Up to 12 whole English sentences per event of the development third, from lines of running text."""
    for event_id in snapshot.ids("search"):
        if hashlib.sha256(event_id.encode()).hexdigest()[0] not in DEVELOPMENT_THIRD:
            continue
        pages = []
        for raw in snapshot.raw_pages(event_id, "search"):
            text = "\n".join(line for line in raw.body.split("\n") if len(line.split()) >= 8)
            if len(text.split()) >= 50 and _is_english(text):
                pages.append(Page(url=raw.url, title=raw.title, text=text, origin="search"))
        passages = cut_passages(pages)
        rng = random.Random(event_id)
        found = [(p, s) for p in passages for s in split_sentences(p.text) if _is_plain(s)]
        for passage, sentence in rng.sample(found, min(PER_EVENT, len(found))) if len(passages) >= 4 else ():
            yield Quote(event_id, sentence, passage, pages, passages, rng)


def _is_plain(sentence: str) -> bool:
    return 8 <= len(sentence.split()) <= 40 and sentence.endswith(".") and sentence[0].isupper() and _is_english(sentence)


def _is_english(text: str) -> bool:
    words = re.findall(r"[a-z]+", text.lower())
    return len(words) > 5 and sum(word in STOPWORDS for word in words) / len(words) >= 0.25


def change_number(sentence: str, rng: random.Random) -> str | None:
    """One number becomes another of like size: years move by 1-9, others by up to half."""
    found = list(re.finditer(r"\d+", sentence))
    if not found:
        return None
    one = rng.choice(found)
    value, is_year = int(one.group()), len(one.group()) == 4 and one.group()[0] in "12"
    steps = range(1, 10) if is_year else range(1, max(2, value // 2) + 1)
    present = {int(match.group()) for match in found}
    others = sorted({value + sign * step for step in rng.sample(steps, min(9, len(steps))) for sign in (1, -1)} - present)
    others = [other for other in others if other > 0]
    if not others:
        return None
    return f"{sentence[: one.start()]}{rng.choice(others)}{sentence[one.end() :]}"


def insert_not(sentence: str) -> str | None:
    match = _AUXILIARY.search(sentence)
    if match is None or analyse_claim(sentence).negated:
        return None
    return f"{sentence[: match.end()]} not{sentence[match.end() :]}"


def exchange_names(sentence: str, rng: random.Random) -> str | None:
    names = [m for m in _names(sentence) if sentence.count(m.group()) == 1]
    if len(names) < 2:
        return None
    a, b = sorted(rng.sample(names, 2), key=lambda match: match.start())
    return sentence[: a.start()] + b.group() + sentence[a.end() : b.start()] + a.group() + sentence[b.end() :]


def replace_name(sentence: str, page: str, rng: random.Random) -> str | None:
    names = _names(sentence)
    others = sorted({m.group() for m in _names(page) if len(m.group()) > 3 and m.group() not in sentence})
    if not names or not others:
        return None
    one = rng.choice(names)
    return sentence[: one.start()] + rng.choice(others) + sentence[one.end() :]


def _names(text: str) -> list[re.Match[str]]:
    """Runs of capitalised words inside a sentence."""
    found = (m for m in _NAME.finditer(text) if re.search(r"[\w,] $", text[max(0, m.start() - 2) : m.start()]))
    return [m for m in found if m.group().split()[0].lower() not in STOPWORDS]


def bare(text: str) -> str:
    """The form of the benchmark's cited pages."""
    return re.sub(r"[^\w\s]", "", text.lower())


def stress_pairs(quotes: Sequence[Quote]) -> dict[str, list[Pair]]:
    pairs: dict[str, list[Pair]] = defaultdict(list)
    for quote in quotes:
        here, sentence, rng = quote.premise(), quote.sentence, quote.rng
        pairs["verbatim"].append(Pair((here,), sentence))
        pairs["verbatim, premise bare"].append(Pair((bare(here),), sentence))
        edits = {
            "number changed": change_number(sentence, rng),
            '"not" inserted': insert_not(sentence),
            "two names exchanged": exchange_names(sentence, rng),
            "name replaced by another of the page": replace_name(sentence, quote.pages[quote.passage.page].text, rng),
        }
        for name, edited in edits.items():
            if edited is not None:
                pairs[name].append(Pair((here,), edited))
        others = [p for p in quote.passages if p != quote.passage and sentence not in p.text]
        if len(others) >= 5:
            five = [quote.premise(other) for other in rng.sample(others, 5)]
            uncited = split_sentences(rng.choice(others).text)[0]
            pairs["fused with an uncited sentence"].append(Pair((here,), f"{sentence[:-1]}, and {uncited}"))
            pairs["another passage of the event"].append(Pair((five[0],), sentence))
            pairs["five other passages together"].append(Pair(tuple(five), sentence))
            pairs["verbatim, with four others"].append(Pair((*five[:4], here), sentence))
        stranger = rng.choice(quotes)
        if stranger.event_id != quote.event_id:
            pairs["a passage of another event"].append(Pair((stranger.premise(),), sentence))
    return pairs


def stress(judge: EmbeddedJudge, quotes: Sequence[Quote]) -> tuple[AcceptRate, ...]:
    rates = []
    for edit, pairs in stress_pairs(quotes).items():
        accepted = sum(score >= judge.threshold for score in judge.score(pairs))
        rates.append(AcceptRate(edit, len(pairs), round(accepted / len(pairs), 4)))
    return tuple(rates)


def milliseconds_per_pair(judge: EmbeddedJudge, pairs: Sequence[Pair]) -> tuple[float, float]:
    """With texts never seen before, and once more with all of them in memory."""
    analyse_claim.cache_clear()
    analyse_premise.cache_clear()
    times = []
    for _ in range(2):
        start = time.perf_counter()
        judge.score(pairs)
        times.append(1000 * (time.perf_counter() - start) / len(pairs))
    return times[0], times[1]


def write_model(model: EmbeddedModel, path: Path) -> None:
    codec.write_atomic(path, codec.to_json(model, indent=1) + "\n")


def card_text(model: EmbeddedModel, ms: tuple[float, float]) -> str:
    card = model.card
    lines = [
        f"WiCE dev, {card.n_claims} claims ({card.n_supported} supported), nested cross-validation by claim, {SEEDS} seeds",
        f"AUROC {card.auroc:.3f} [{card.auroc_low:.3f}, {card.auroc_high:.3f}]; against partially supported "
        f"{card.auroc_partially:.3f}, not supported {card.auroc_not:.3f}; claim length alone {card.auroc_length:.3f}",
        f"balanced accuracy {card.balanced_accuracy:.3f}; threshold {model.threshold:g}; "
        f"{ms[0]:.2f} ms a pair, {ms[1]:.2f} ms once its texts are known",
        "",
        *(f"{c.feature:28s}{c.coefficient:+8.3f}" for c in model.coefficients),
    ]
    if card.stress:
        lines += ["", "accepted after an edit of a verbatim sentence:"]
        lines += [f"{rate.edit:40s}{rate.accepted:8.3f}  of {rate.n}" for rate in card.stress]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m eval.fit_judge", description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--wice", type=Path, required=True, help=f"folder that holds {WICE_FILE}")
    parser.add_argument("--out", type=Path, required=True, help="the model file to write")
    parser.add_argument("--data", type=Path, help="benchmark snapshot for the stress table; left out without it")
    args: Any = parser.parse_args(argv)
    try:
        rows = read_wice(args.wice)
        model = fit_model(rows)
        write_model(model, args.out)
        judge = EmbeddedJudge(args.out)
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
