"""Distributions of the texts of a toy model, exactly, and draws from it that are fast enough for many texts."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import chi2

from decoding.api import SamplingParams
from decoding.backend import FULL, SkipSet
from decoding.sampling import Sampler
from tests.toy_backend import ToyBackend

V, HORIZON = 8, 3
PROMPT = (2, 6, 1)
DRAFT_PLAN = SkipSet((1, 2, 3, 4), (1, 2, 3, 4))
LIMIT = 2 * HORIZON
"""Texts end at HORIZON by their reader, so that drafts may reach beyond it."""
WARPERS = {
    "temperature": SamplingParams(max_new_tokens=LIMIT, temperature=0.7),
    "top_k": SamplingParams(max_new_tokens=LIMIT, temperature=1.3, top_k=5),
    "top_p": SamplingParams(max_new_tokens=LIMIT, temperature=1.1, top_p=0.85),
    "all": SamplingParams(max_new_tokens=LIMIT, temperature=0.9, top_k=6, top_p=0.95, repetition_penalty=1.3),
}
STEPS_PAY = 400
"""Choices after the same prefix that take as long as finding where its choice changes."""
N_TESTS = 2 * len(WARPERS)
LEAST_P = 1e-3 / N_TESTS  # Bonferroni


# --- the truth, by other code -----------------------------------------------------------------------------------------


def expected_next(logits: NDArray[np.float64], prefix: Sequence[int], sampling: SamplingParams) -> NDArray[np.float64]:
    """What the next token's distribution should be, token by token."""
    scores = {
        token: (x / sampling.repetition_penalty if x > 0 else x * sampling.repetition_penalty) if token in prefix else x
        for token, x in enumerate(logits.tolist())
    }
    best_first = sorted(scores, key=lambda token: -scores[token])[: sampling.top_k or None]
    weights = {token: math.exp(scores[token] / sampling.temperature) for token in best_first}
    whole = sum(weights.values())
    kept: dict[int, float] = {}
    for token in best_first:
        if sum(kept.values()) >= sampling.top_p * whole:
            break
        kept[token] = weights[token]
    return np.array([kept.get(token, 0.0) / sum(kept.values()) for token in range(V)])


def expected_joint(model: ToyBackend, sampling: SamplingParams) -> NDArray[np.float64]:
    """(V ** HORIZON,): the probability of each text, texts in lexical order."""
    joint = np.ones(1)
    for length in range(HORIZON):
        rows = []
        for answer in itertools.product(range(V), repeat=length):
            prefix = (*PROMPT, *answer)
            rows.append(expected_next(model.logits_after(prefix).numpy(), prefix, sampling))
        joint = (joint[:, None] * np.array(rows)).ravel()
    return joint


def p_value(counts: NDArray[np.int64], joint: NDArray[np.float64]) -> float:
    """Chi-square; cells where fewer than 5 are expected count as one. 0 if an impossible text occurred."""
    if counts[joint == 0].any():
        return 0.0
    expected = joint * counts.sum()
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    cells = wanted > 0
    statistic = float(((observed - wanted)[cells] ** 2 / wanted[cells]).sum())
    return float(chi2.sf(statistic, cells.sum() - 1))


def variation(counts: NDArray[np.int64], joint: NDArray[np.float64]) -> tuple[float, float]:
    """Total variation distance of the counts from `joint`, and its mean for a true sampler (normal approximation)."""
    n = counts.sum()
    found = float(np.abs(counts / n - joint).sum()) / 2
    return found, float(np.sqrt(2 * joint * (1 - joint) / (math.pi * n)).sum()) / 2


# --- fast enough for many texts ---------------------------------------------------------------------------------------


class RememberingModel(ToyBackend):
    """Eight ids; each row of logits is made once."""

    def __init__(self) -> None:
        super().__init__(vocab_size=V, order=3, sharpness=1.5, noise=3.0, seed=1)
        self._rows: dict[object, torch.Tensor] = {}

    def logits_after(self, prefix: Sequence[int], plan: SkipSet = FULL) -> torch.Tensor:
        key = (tuple(prefix[-3:]), plan)
        if key not in self._rows:
            self._rows[key] = super().logits_after(prefix, plan)
        return self._rows[key]


class RememberingSampler(Sampler):
    """Choices and distributions as `Sampler` makes them, each distribution made once for all texts."""

    def __init__(self, sampling: SamplingParams, known: dict[tuple[int, ...], Any]) -> None:
        super().__init__(sampling, len(PROMPT))
        self._known = known

    def distribution(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        key = (*prefix, -1)
        if key not in self._known:
            self._known[key] = super().distribution(prefix, logits)
        return self._known[key]

    def choose(self, prefix: Sequence[int], logits: torch.Tensor) -> int:
        """Where along [0, 1) the choice changes is found with `Sampler.choose` itself, by bisection."""
        key, asked = tuple(prefix), (*prefix, -2)
        if key not in self._known:
            self._known[asked] = self._known.get(asked, 0) + 1
            if self._known[asked] < STEPS_PAY:
                return super().choose(prefix, logits)
            self._known[key] = self._steps(prefix, logits)
        ends, tokens = self._known[key]
        return tokens[bisect_right(ends, self.number(prefix))]

    def _steps(self, prefix: Sequence[int], logits: torch.Tensor) -> tuple[list[float], list[int]]:
        chooser = _Given(self.sampling, len(PROMPT))

        def at(number: float) -> int:
            chooser.given = number
            return chooser.choose(prefix, logits)

        ends: list[float] = []
        tokens = [at(0.0)]
        last = at(1 - 2**-53)
        while tokens[-1] != last:
            low, high = ends[-1] if ends else 0.0, 1 - 2**-53
            for _ in range(45):
                middle = (low + high) / 2
                low, high = (middle, high) if at(middle) == tokens[-1] else (low, middle)
            ends.append(high)
            tokens.append(at(high))
        return ends, tokens


class _Given(Sampler):
    given = 0.0

    def number(self, prefix: Sequence[int]) -> float:
        return self.given
