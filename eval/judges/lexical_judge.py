"""A quick judge by words alone: a logistic regression over word overlap, with vetoes for contradicted details.

Its coefficients, threshold and own accuracy lie in `lexical_judge.json`, made by `python -m eval.fitting.fit_lexical`. It needs
no model, and a millisecond or two for a pair of texts it has not seen. It cannot see what words do not show: exchanged
roles in a paraphrase, a contradiction in other words, a number or name that belongs to something else in the same passage.
A clause without names and numbers that is added to a supported sentence often passes, too. The card has the rates.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from data import codec
from data.errors import UserError
from data.types import Strict
from eval.judges.features import FEATURES, VERSION, Evidence, analyse_claim, features, gather
from eval.judges.judge import JudgeKind, Pair

MODEL_FILE = Path(__file__).with_name("lexical_judge.json")

VETOED = 0.25
"""A vetoed pair keeps this share of its score: always below the threshold, still in order."""


REPEATED = 0.95
"""The least score of a claim that says what a sentence of its evidence says, in other forms at most."""


@dataclass(frozen=True, slots=True)
class Coefficient(Strict):
    """One feature's part in the sum: coefficient * (value - mean) / scale."""

    feature: str
    mean: float
    scale: float
    coefficient: float


@dataclass(frozen=True, slots=True)
class AcceptRate(Strict):
    """How often claims changed in one way, or given other evidence, were still accepted. Unjudged ones were not."""

    edit: str
    n: int
    accepted: float
    n_unjudged: int = 0


@dataclass(frozen=True, slots=True)
class Card(Strict):
    """The judge's own accuracy on the WiCE development part, supported claims against the rest (nested cross-validation by
    claim), and what it accepts of edited evidence sentences. The features were designed on this part, too: expect a few points
    less on unseen claims. `auroc_length` is the trivial baseline: claim length alone."""

    n_claims: int
    n_supported: int
    auroc: float
    auroc_low: float
    auroc_high: float
    auroc_partially: float
    auroc_not: float
    auroc_length: float
    balanced_accuracy: float
    f1: float
    stress: tuple[AcceptRate, ...] = ()


@dataclass(frozen=True, slots=True)
class LexicalModel(Strict):
    """`idf` weighs the stems that are common in evidence; any other stem weighs 1."""

    version: str
    threshold: float
    intercept: float
    coefficients: tuple[Coefficient, ...]
    idf: dict[str, float]
    card: Card


def digest_of(model: Strict) -> str:
    """Of a fitted model without its card, which changes no score."""
    fitted = codec.to_plain(model)
    del fitted["card"]
    return codec.sha256(json.dumps(fitted))[:12]


class LexicalJudge:
    """`score` is deterministic and independent of everything but the pair. A claim that shares no content word scores 0."""

    kind: JudgeKind = "lexical"
    name = "lexical"

    def __init__(self, path: Path = MODEL_FILE) -> None:
        self.model = codec.read(LexicalModel, path)
        names = tuple(c.feature for c in self.model.coefficients)
        if self.model.version != VERSION or names != FEATURES or self.model.threshold <= VETOED:
            raise UserError(
                f"{path} was fitted for other features ({self.model.version}, this code has {VERSION}); "
                f"fit it again: python -m eval.fitting.fit_lexical --wice DIR --out {path}"
            )

    @property
    def threshold(self) -> float:
        return self.model.threshold

    @cached_property
    def revision(self) -> str:
        from eval.judges.vetoes import RULES

        return f"{VERSION}-{RULES}-{digest_of(self.model)}"

    @cached_property
    def fitted(self) -> str:
        """Of the regression alone: what `probability` depends on."""
        return f"{VERSION}-{digest_of(self.model)}"

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        return [self.judge(pair)[0] for pair in pairs]

    def judge(self, pair: Pair) -> tuple[float, str | None]:
        """Score in [0, 1] and the veto that lowered it, if one did."""
        from eval.judges.vetoes import examine  # stems its word lists: loaded on use

        claim = analyse_claim(pair.claim)
        assert claim.text == pair.claim, "the claim must be judged whole"
        if not claim.stem_set:
            return 0.0, None
        evidence = gather(claim, pair.premises, self.weight)
        if not evidence.units:
            return 0.0, None
        probability = self.probability(evidence)
        found = examine(evidence)
        if found.reason:
            return probability * (self.threshold if found.weak else VETOED), found.reason
        return (max(probability, REPEATED) if found.repeats else probability), None

    def probability(self, evidence: Evidence) -> float:
        """By the words alone, without vetoes."""
        values = features(evidence)
        parts = (c.coefficient * (x - c.mean) / c.scale for c, x in zip(self.model.coefficients, values, strict=True))
        return 1 / (1 + math.exp(-(self.model.intercept + math.fsum(parts))))

    def weight(self, stem: str) -> float:
        return self.model.idf.get(stem, 1.0)
