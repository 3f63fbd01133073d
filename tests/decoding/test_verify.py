"""The accept rule against exact distributions: all texts of three tokens over eight ids, enumerated."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.stats import chi2

from data.errors import StageError
from decoding.api import SamplingParams
from decoding.backend import FULL, SkipSet, StepBackend, Wants
from decoding.backends.rows import TorchRows
from decoding.drafters.drafter import Draft, Request
from decoding.drafters.plain import NoDrafter
from decoding.sampling import Sampler
from decoding.speculative import decode
from decoding.verify import Accepted, accept
from tests.grids import rest_slow
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
LEAST_P = 1e-3 / (2 * len(WARPERS))  # Bonferroni


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
        prefixes = [(*PROMPT, *answer) for answer in itertools.product(range(V), repeat=length)]
        rows = [expected_next(model.logits_after(prefix).numpy(), prefix, sampling) for prefix in prefixes]
        joint = (joint[:, None] * np.array(rows)).ravel()
    return joint


def is_drawn_from(counts: NDArray[np.int64], joint: NDArray[np.float64]) -> bool:
    """By a chi-square test, in which cells where fewer than 5 are expected count as one, and by the total variation distance,
    which may be half more than its mean for a true sampler (normal approximation)."""
    n = counts.sum()
    if counts[joint == 0].any():
        return False  # an impossible text
    rare = joint * n < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(joint[~rare], joint[rare].sum()) * n
    cells = wanted > 0
    statistic = float(((observed - wanted)[cells] ** 2 / wanted[cells]).sum())
    distance = float(np.abs(counts / n - joint).sum())
    usual = float(np.sqrt(2 * joint * (1 - joint) / (math.pi * n)).sum())
    return float(chi2.sf(statistic, cells.sum() - 1)) > LEAST_P and distance < 1.5 * usual


# --- drafts -----------------------------------------------------------------------------------------------------------


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


class Plain(NoDrafter):
    def __init__(self, model: ToyBackend, sampling: SamplingParams) -> None:
        """As the drafters below."""

    def with_seed(self, seed: int) -> None:
        pass


class Skipping:
    """Drafts one or two tokens from the model with sub-layers left out; how they are picked is the subclass's."""

    name = "skipping"
    wants = Wants()
    max_tokens = 6

    def __init__(self, model: ToyBackend, sampling: SamplingParams) -> None:
        self._model, self._sampling = model, sampling

    def with_seed(self, seed: int) -> None:
        """Random numbers of its own: no other seed of a text gives them."""
        self._own = random.Random(f"draft {seed}")
        self.sampler = Sampler(replace(self._sampling, seed=seed), len(PROMPT))

    def start(self, request: Request, backend: StepBackend) -> None:
        pass

    def observe(self, draft: Draft, new: Sequence[int], rows: Any) -> None:
        pass

    def logits(self, text: Sequence[int]) -> torch.Tensor:
        return self._model.logits_after(text, DRAFT_PLAN)


class Coupled(Skipping):
    """Each guess is made with the random number that the verifier will use."""

    def propose(self, text: Sequence[int], room: int) -> Draft:
        prefix = list(text)
        for _ in range(min(room, self._own.choice((1, 2)))):
            prefix.append(self.sampler.choose(prefix, self.logits(prefix)))
        return Draft(tuple(prefix[len(text) :]), "coupled")


class Tree(Skipping):
    """The two best after the pending token, and the two best after the better of them."""

    def propose(self, text: Sequence[int], room: int) -> Draft:
        first = self.logits(text).topk(2).indices.tolist()
        second = self.logits([*text, first[0]]).topk(2).indices.tolist()
        return Draft((*first, *second)[:room], "tree", (-1, -1, 0, 0)[:room])


def accept_all(draft: Draft, rows: TorchRows, text: Sequence[int], sampler: Sampler) -> Accepted:
    """Wrong: lets every draft through."""
    last = sampler.choose([*text, *draft.tokens], rows.logits[len(draft)])
    return Accepted((*draft.tokens, last), tuple(range(len(draft))))


def draws(drafter: type[Plain | Skipping], model: ToyBackend, sampling: SamplingParams, n: int) -> NDArray[np.int64]:
    """How often each text occurred in `n` texts with seeds 0..n-1: (V ** HORIZON,)."""
    counts = np.zeros((V,) * HORIZON, dtype=np.int64)
    made: Any = drafter(model, sampling)
    for seed in range(n):
        taken: list[int] = []

        def take(token: int, taken: list[int] = taken) -> bool:
            taken.append(token)
            return len(taken) < HORIZON

        made.with_seed(seed)
        decode(model, made, PROMPT, Sampler(replace(sampling, seed=seed), len(PROMPT)), take)
        counts[tuple(taken)] += 1
    return counts.ravel()


# --- distributions ----------------------------------------------------------------------------------------------------


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("name", "n"),
    rest_slow([*itertools.product(WARPERS, (1_000, 20_000))], keep=[("all", 1_000)]),  # which combines the others
)
def test_texts_have_the_model_s_own_distribution(name: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain draws against the exact distribution; guesses against plain draws of the same seeds."""
    model, sampling = RememberingModel(), WARPERS[name]
    joint = expected_joint(model, sampling)
    assert joint.sum() == pytest.approx(1)
    assert is_drawn_from(draws(Plain, model, sampling, n), joint)
    plain = draws(Plain, model, sampling, n // 10)
    for guesser in (Coupled, Tree):
        assert draws(guesser, model, sampling, n // 10).tolist() == plain.tolist()
    monkeypatch.setattr("decoding.speculative.accept", accept_all)
    assert not is_drawn_from(draws(Coupled, model, sampling, 500), joint), "what is wrong is found out"


# --- single rounds ----------------------------------------------------------------------------------------------------


def rows_saying(*tokens: int, vocab: int = 10) -> TorchRows:
    """Row i prefers tokens[i]."""
    return TorchRows(torch.nn.functional.one_hot(torch.tensor(tokens), vocab).double())


@pytest.mark.parametrize(
    ("tokens", "parents", "said", "expected", "path"),
    [
        ((), None, (4,), (4,), ()),
        ((4, 5), None, (4, 5, 6), (4, 5, 6), (0, 1)),
        ((4, 5), None, (4, 9, 6), (4, 9), (0,)),
        ((4, 5), None, (9, 5, 6), (9,), ()),
        ((4, 5), (-1, -1), (5, 9, 6), (5, 6), (1,)),
        ((4, 4, 5, 5), (-1, -1, 1, 0), (4, 5, 9, 9, 7), (4, 5, 7), (0, 3)),  # of equal siblings the first, and its children
        ((4, 5, 6, 7), (-1, 0, 0, 2), (4, 6, 9, 7, 8), (4, 6, 7, 8), (0, 2, 3)),
    ],
)
def test_one_round_of_guesses(
    tokens: tuple[int, ...],
    parents: tuple[int, ...] | None,
    said: tuple[int, ...],
    expected: tuple[int, ...],
    path: tuple[int, ...],
) -> None:
    for temperature in (0.0, 1e-4):  # a draw so cold is a choice that does not look at the random number
        sampler = Sampler(SamplingParams(temperature=temperature), 2)
        assert accept(Draft(tokens, "", parents), rows_saying(*said), [1, 2], sampler) == Accepted(expected, path)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_not_numbers_are_an_error(temperature: float) -> None:
    logits = torch.zeros(2, 4)
    logits[0, 2] = torch.nan
    sampler = Sampler(SamplingParams(temperature=temperature), 1)
    with pytest.raises(StageError, match="NaN"):
        accept(Draft((1,), ""), TorchRows(logits), [0], sampler)
