"""Accept rules against exact distributions: all texts of three tokens over eight ids, enumerated; and rules that are wrong."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from data.errors import StageError
from decoding.api import SamplingParams
from decoding.backend import StepBackend, Wants
from decoding.backends.rows import TorchRows
from decoding.drafters.drafter import Draft, Request
from decoding.drafters.plain import NoDrafter
from decoding.sampling import Sampler, invert
from decoding.speculative import decode
from decoding.verify import Accepted, accept
from tests.decoding.exact_distributions import (
    DRAFT_PLAN,
    HORIZON,
    LEAST_P,
    PROMPT,
    WARPERS,
    RememberingModel,
    RememberingSampler,
    V,
    expected_joint,
    p_value,
    variation,
)
from tests.grids import rest_slow
from tests.toy_backend import ToyBackend


class Plain(NoDrafter):
    def with_seed(self, seed: int) -> None:
        pass


class Skipping:
    """Drafts one or two tokens from the model with sub-layers left out; how they are picked is the subclass's."""

    name = "skipping"
    wants = Wants()
    max_tokens = 6

    def __init__(self, model: ToyBackend, sampling: SamplingParams, memory: Memory) -> None:
        self._model, self._sampling, self._memory = model, sampling, memory

    def with_seed(self, seed: int) -> None:
        """Random numbers of its own: no other seed of a text gives them."""
        self._own = random.Random(f"draft {seed}")
        self.sampler = RememberingSampler(replace(self._sampling, seed=seed), self._memory.draft)

    def start(self, request: Request, backend: StepBackend) -> None:
        pass

    def observe(self, draft: Draft, new: Sequence[int], rows: Any) -> None:
        pass

    def logits(self, text: Sequence[int]) -> torch.Tensor:
        return self._model.logits_after(text, DRAFT_PLAN)

    def q(self, text: Sequence[int]) -> torch.Tensor:
        return self.sampler.distribution(text, self.logits(text))


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


class Drawn(Skipping):
    """Draws from the draft model's distribution, for the rejection rule."""

    def propose(self, text: Sequence[int], room: int) -> Draft:
        prefix, proposal = list(text), []
        for _ in range(min(room, self._own.choice((1, 2)))):
            proposal.append(self.q(prefix))
            prefix.append(self.pick(prefix))
        return Draft(tuple(prefix[len(text) :]), "drawn", proposal=torch.stack(proposal))

    def pick(self, prefix: Sequence[int]) -> int:
        return int(invert(self.q(prefix), self._own.random()))


class Memory:
    """What is known of the model and of the draft model under one set of sampling parameters."""

    def __init__(self) -> None:
        self.target: dict[tuple[int, ...], Any] = {}
        self.draft: dict[tuple[int, ...], Any] = {}


@cache
def world(name: str) -> tuple[ToyBackend, SamplingParams, Memory]:
    """One for all tests with these sampling parameters: nothing in it depends on drafts or seeds."""
    return RememberingModel(), WARPERS[name], Memory()


def draws(drafter: Any, model: ToyBackend, sampling: SamplingParams, memory: Memory, n: int) -> NDArray[np.int64]:
    """How often each text occurred in `n` texts with seeds 0..n-1: (V ** HORIZON,)."""
    counts = np.zeros((V,) * HORIZON, dtype=np.int64)
    for seed in range(n):
        taken: list[int] = []

        def take(token: int, taken: list[int] = taken) -> bool:
            taken.append(token)
            return len(taken) < HORIZON

        drafter.with_seed(seed)
        decode(model, drafter, PROMPT, RememberingSampler(replace(sampling, seed=seed), memory.target), take)
        counts[tuple(taken)] += 1
    return counts.ravel()


# --- right rules ------------------------------------------------------------------------------------------------------


def judged(counts: NDArray[np.int64], joint: NDArray[np.float64]) -> tuple[float, float]:
    """p of the chi-square test, and the variation distance in units of a true sampler's."""
    found, usual = variation(counts, joint)
    return p_value(counts, joint), found / usual


def compare(name: str, n: int, n_same: int) -> Watched:
    """Plain draws and drawn drafts against the exact distribution; guesses against plain draws, text by text. Returns what was
    accepted of the drawn ones."""
    model, sampling, memory = world(name)
    joint = expected_joint(model, sampling)
    assert joint.sum() == pytest.approx(1)
    watched = Watched()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("decoding.speculative.accept", watched)
        for drafter in (Plain(), Drawn(model, sampling, memory)):
            p, distance = judged(draws(drafter, model, sampling, memory, n), joint)
            assert p > LEAST_P, (drafter.name, p)
            assert distance < 1.5, (drafter.name, distance)
    plain = draws(Plain(), model, sampling, memory, n_same)
    for guesser in (Coupled, Tree):
        assert draws(guesser(model, sampling, memory), model, sampling, memory, n_same).tolist() == plain.tolist()
    return watched


@pytest.mark.parametrize("name", rest_slow(WARPERS, keep=["all"]))  # which combines the others
def test_texts_have_the_model_s_own_distribution(name: str) -> None:
    """And drawn drafts are accepted as often as can be (Leviathan et al. 2023, theorem 3.5): 1 - TV(p, q), here within three
    standard errors."""
    n = 1_000
    watched = compare(name, n, 100)
    assert abs(watched.standard_errors) < 3
    assert watched.n_reached > n
    assert 0.2 < watched.n_accepted / watched.n_reached < 0.9


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", WARPERS)
def test_many_texts_have_the_model_s_own_distribution(name: str) -> None:
    compare(name, 200_000, 200_000)


# --- wrong rules ------------------------------------------------------------------------------------------------------


def rule_with(flaw: str) -> Callable[..., Accepted]:
    """The rejection rule written again, with one fault."""

    def rule(draft: Draft, rows: TorchRows, text: Sequence[int], sampler: Sampler, uniform: Callable[[], float]) -> Accepted:
        if draft.proposal is None:
            return accept(draft, rows, text, sampler, uniform)
        prefix = list(text)
        for at, token in enumerate(draft.tokens):
            p, q = sampler.distribution(prefix, rows.logits[at]), draft.proposal[at]
            number = sampler.number(prefix)
            look = number if flaw == "one number for both" else uniform()
            if flaw != "accepts everything" and look * float(q[token]) >= float(p[token]):
                residual = {"wrong sign": q - p, "replaced from p": p}.get(flaw, p - q).clamp(min=0)
                whole = torch.tensor(1.0) if flaw == "residual not renormalised" else residual.sum()
                chosen = min(int((residual.cumsum(-1) <= number * whole).sum()), V - 1)
                return Accepted((*draft.tokens[:at], chosen), tuple(range(at)))
            prefix.append(token)
        bonus = sampler.choose(prefix, rows.logits[len(draft)])
        if flaw == "bonus not warped":
            bonus = int(invert(rows.logits[len(draft)].softmax(-1), sampler.number(prefix)))
        return Accepted((*draft.tokens, bonus), tuple(range(len(draft))))

    return rule


class GreedyDrawn(Drawn):
    """Wrong: takes the most probable token and says that it was drawn."""

    def pick(self, prefix: Sequence[int]) -> int:
        return int(self.q(prefix).argmax())


class CoupledDrawn(Drawn):
    """Wrong: draws with the verifier's numbers and says that it did not."""

    def pick(self, prefix: Sequence[int]) -> int:
        return self.sampler.choose(prefix, self.logits(prefix))


FLAWS = (
    "accepts everything",
    "wrong sign",
    "replaced from p",
    "residual not renormalised",
    "bonus not warped",
    "one number for both",
)


@pytest.mark.parametrize("flaw", rest_slow(["none", *FLAWS], keep=["none", "replaced from p"]))
def test_a_wrong_rule_is_found_out(flaw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`none`: without its fault the rule passes, so that what is found out is the fault. The code under test is in none of
    these but what finds it out: one fault is looked for each time, all of them in the longer run."""
    monkeypatch.setattr("decoding.speculative.accept", rule_with(flaw))
    found = _judged_drawn(Drawn)
    assert (found[0] > LEAST_P and found[1] < 1.5) is (flaw == "none"), found


# as with the rules above, one of them each time
@pytest.mark.parametrize("drafter", rest_slow([GreedyDrawn, CoupledDrawn], keep=[GreedyDrawn]))
def test_a_wrong_proposal_is_found_out(drafter: type[Drawn]) -> None:
    p, distance = _judged_drawn(drafter)
    assert p < LEAST_P or distance > 1.5, (p, distance)


def _judged_drawn(drafter: type[Drawn]) -> tuple[float, float]:
    model, sampling, memory = world("top_k")
    counts = draws(drafter(model, sampling, memory), model, sampling, memory, 1_000)
    return judged(counts, expected_joint(model, sampling))


# --- how much is accepted ---------------------------------------------------------------------------------------------


class Watched:
    """A rule, and how much it accepts against 1 - TV(p, q) of each drafted token that was reached."""

    def __init__(self, rule: Callable[..., Accepted] = accept) -> None:
        self._rule = rule
        self.n_reached = self.n_accepted = 0
        self.expected = self.spread = 0.0

    def __call__(
        self, draft: Draft, rows: TorchRows, text: Sequence[int], sampler: Sampler, uniform: Callable[[], float]
    ) -> Accepted:
        accepted = self._rule(draft, rows, text, sampler, uniform)
        if draft.proposal is not None:
            for at in range(min(len(draft), len(accepted.tokens))):
                p = sampler.distribution([*text, *draft.tokens[:at]], rows.logits[at])
                chance = 1 - float((p - draft.proposal[at]).abs().sum()) / 2
                self.n_reached += 1
                self.n_accepted += at < len(accepted.path)
                self.expected += chance
                self.spread += chance * (1 - chance)
        return accepted

    @property
    def standard_errors(self) -> float:
        """By which acceptance exceeds its expectation."""
        return (self.n_accepted - self.expected) / math.sqrt(self.spread)


def test_a_rule_that_accepts_too_little_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Right in distribution, and wasteful: a tenth of what could be accepted is rejected."""

    def wasteful(
        draft: Draft, rows: TorchRows, text: Sequence[int], sampler: Sampler, uniform: Callable[[], float]
    ) -> Accepted:
        if draft.proposal is None:
            return accept(draft, rows, text, sampler, uniform)
        prefix = list(text)
        for at, token in enumerate(draft.tokens):
            p, q = sampler.distribution(prefix, rows.logits[at]), draft.proposal[at]
            if uniform() * float(q[token]) >= 0.9 * min(float(p[token]), float(q[token])):
                left = p - 0.9 * torch.minimum(p, q)
                return Accepted((*draft.tokens[:at], int(invert(left, sampler.number(prefix)))), tuple(range(at)))
            prefix.append(token)
        return Accepted((*draft.tokens, sampler.choose(prefix, rows.logits[len(draft)])), tuple(range(len(draft))))

    watched = Watched(wasteful)
    monkeypatch.setattr("decoding.speculative.accept", watched)
    p, distance = _judged_drawn(Drawn)
    assert p > LEAST_P and distance < 1.5
    assert watched.standard_errors < -3


def test_guesses_are_accepted_as_often_as_the_model_says_them() -> None:
    model, sampling, memory = world("top_k")
    rows = TorchRows(torch.stack([model.logits_after(PROMPT), model.logits_after((*PROMPT, 0))]))
    p = RememberingSampler(sampling, memory.target).distribution(PROMPT, rows.logits[0])
    for guess in range(V):
        accepted = 0
        for seed in range(400):
            asked = RememberingSampler(replace(sampling, seed=seed), memory.target)
            accepted += len(accept(Draft((guess,), "guess"), rows, PROMPT, asked, random.random).path)
        chance = float(p[guess])
        assert abs(accepted - 400 * chance) <= 3 * math.sqrt(400 * chance * (1 - chance)) + 1e-9


# --- single rounds ----------------------------------------------------------------------------------------------------


def rows_saying(*tokens: int, vocab: int = 10) -> TorchRows:
    """Row i prefers tokens[i]."""
    return TorchRows(torch.nn.functional.one_hot(torch.tensor(tokens), vocab).double())


GREEDY = SamplingParams()


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
def test_one_greedy_round(
    tokens: tuple[int, ...],
    parents: tuple[int, ...] | None,
    said: tuple[int, ...],
    expected: tuple[int, ...],
    path: tuple[int, ...],
) -> None:
    found = accept(Draft(tokens, "", parents), rows_saying(*said), [1, 2], Sampler(GREEDY, 2), random.random)
    assert found == Accepted(expected, path)


def test_greedy_drawn_drafts_are_accepted_where_the_model_says_the_same() -> None:
    proposal = torch.full((2, 10), 0.1, dtype=torch.float64)
    for said, expected in (((4, 5, 6), (4, 5, 6)), ((4, 9, 6), (4, 9)), ((9, 5, 6), (9,))):
        draft = Draft((4, 5), "", proposal=proposal)
        assert accept(draft, rows_saying(*said), [1, 2], Sampler(GREEDY, 2), lambda: 0.999).tokens == expected
    equals = TorchRows(torch.zeros(2, 10))
    assert accept(Draft((4,), "", proposal=proposal[:1]), equals, [1, 2], Sampler(GREEDY, 2), lambda: 0.0).tokens == (0,)


def test_equal_distributions_accept_everything() -> None:
    """Also where rounding leaves p a little below q, and with a proposal in another precision."""
    sampling = SamplingParams(temperature=0.7, seed=3)
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(0))
    sampler = Sampler(sampling, 2)
    q = torch.stack([sampler.distribution([1, 2], row) for row in logits[:2]])
    for proposal in (q, q.float(), q * (1 + 1e-15)):
        found = accept(Draft((4, 5), "", proposal=proposal), TorchRows(logits), [1, 2], sampler, lambda: 0.999999)
        assert found.path == (0, 1)


def test_a_drawn_token_that_the_model_never_says_is_replaced() -> None:
    logits = torch.tensor([[0.0, 0.0, -torch.inf], [0.0, 0.0, 0.0]])
    proposal = torch.tensor([[0.2, 0.2, 0.6]], dtype=torch.float64)
    for seed in range(50):
        sampler = Sampler(SamplingParams(temperature=1.0, seed=seed), 1)
        found = accept(Draft((2,), "", proposal=proposal), TorchRows(logits), [0], sampler, lambda: 0.0)
        assert found.path == ()
        assert found.tokens[0] in (0, 1)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("proposed", [False, True])
def test_logits_that_are_not_numbers_are_an_error(temperature: float, proposed: bool) -> None:
    logits = torch.zeros(2, 4)
    logits[0, 2] = torch.nan
    proposal = torch.full((1, 4), 0.25, dtype=torch.float64) if proposed else None
    with pytest.raises(StageError, match="NaN"):
        accept(
            Draft((1,), "", proposal=proposal),
            TorchRows(logits),
            [0],
            Sampler(SamplingParams(temperature=temperature), 1),
            lambda: 0.0,
        )
