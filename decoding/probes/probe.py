"""A linear probe of a model's last hidden state behind a question (Alain & Bengio, 2016).

Asked whether a passage says a note, a small model gives "Yes" and "No" nearly the same chance; what it has read shows better in
its hidden state, of which a logistic regression on a few hundred labelled answers finds the direction. Output layers are
linear: the state is read through the logits of a thousand tokens, less their mean, so that every backend can be probed. A
probe belongs to one file of weights and to the wording of its question (`tools.fits.fit_probes` makes it). Its log odds have
the mean and the spread of the "Yes" that it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from data import codec
from data.types import Strict

PROBES_FILE = Path(__file__).with_name("probes.json")
MOST_ODDS = 30.0
"""Log odds, either way, that a probe has at most."""


@dataclass(frozen=True, slots=True)
class Probe(Strict):
    """`tokens` are those whose logits are looked at, `weights` what each counts for; `about` says what it was fitted on."""

    tokens: tuple[int, ...]
    weights: tuple[float, ...]
    bias: float
    about: str

    def chance(self, logits: Sequence[float]) -> float:
        """That the answer is yes, from the logits of `tokens` in their order."""
        mean = sum(logits) / len(logits)
        odds = self.bias + sum(weight * (logit - mean) for weight, logit in zip(self.weights, logits, strict=True))
        return 1 / (1 + math.exp(-max(min(odds, MOST_ODDS), -MOST_ODDS)))


@dataclass(frozen=True, slots=True)
class ProbeFile(Strict):
    """Of each file of weights, by its SHA-256, the probes by the names of their questions."""

    models: Mapping[str, Mapping[str, Probe]]


def probe_of(weights_sha256: str, question: str) -> Probe | None:
    """None where the question is not one that this model was probed for."""
    return _known().models.get(weights_sha256, {}).get(question)


@cache
def probes_digest(weights_sha256: str) -> str:
    """Changes with what a model's probes say; empty for a model without any."""
    probes = _known().models.get(weights_sha256)
    return codec.sha256(codec.to_json(ProbeFile({weights_sha256: probes})))[:12] if probes else ""


@cache
def _known() -> ProbeFile:
    return codec.from_json(ProbeFile, PROBES_FILE.read_text(encoding="utf-8"), where=str(PROBES_FILE))
