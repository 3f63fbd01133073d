"""Replayed rounds against real ones: the toy model's logits depend on the tokens alone, so they must be equal."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from data.errors import StageError
from decoding.api import Message
from decoding.backend import FULL, SkipSet
from decoding.drafters.lengths import Fixed, Threshold
from decoding.knn.draft_agreement import (
    POLICIES,
    Agreement,
    Logged,
    agreements,
    log_answer,
    replay,
)
from decoding.knn.kept_stages import Stages
from decoding.knn.prompt_files import PromptRow
from decoding.knn.trials import Drafted, Trials
from tests.toy_backend import COSTS, ToyBackend

PLANS = (SkipSet((1,), ()), SkipSet((1, 2), (3, 4)), SkipSet(tuple(range(1, 7)), tuple(range(1, 7))))
EOS = frozenset({5})


def _logged(backend: ToyBackend, seed: int, limit: int, eos: frozenset[int] = EOS) -> Logged:
    prompt = random.Random(seed).choices(range(32), k=12)
    return log_answer(backend, PromptRow(f"p{seed}", (Message("user", "u"),), "section"), prompt, eos, limit)


def test_an_answer_of_one_token_and_a_prompt_without_room() -> None:
    backend = ToyBackend()
    logged = _logged(backend, 1, limit=20, eos=frozenset(range(32)))
    assert len(logged.answer) == 1
    assert list(agreements(backend, logged, PLANS[:2])) == [Agreement("", ())] * 2
    assert replay(Agreement("", ()), Fixed(3), 20).drafted == ()
    prompt = [1] * (backend.info.context_tokens - 1)
    with pytest.raises(StageError, match="of the context's"):
        log_answer(backend, PromptRow("long", (Message("user", "u"),)), prompt, EOS, 5)


def test_rounds_by_hand() -> None:
    agreement = Agreement("110111", (0.9, 0.9, 0.9, 0.9, 0.1, 0.9))
    fixed = replay(agreement, Fixed(2), limit=100)
    assert (fixed.drafted, fixed.accepted, fixed.n_tokens) == ((2, 2), (2, 2), 6)
    unsure = replay(agreement, Threshold(0.5, 12), limit=100)  # the token below the threshold is still verified
    assert (unsure.drafted, unsure.accepted) == ((5, 2), (2, 2))
    capped = replay(agreement, Fixed(4), limit=7)  # 7 tokens in all: the last one is always the model's own
    assert capped.drafted == (4, 2) and capped.accepted == (2, 2)
    assert capped.cost(0.5, COSTS) == pytest.approx(6 * 0.5 + COSTS.v(5) + COSTS.v(3))


def test_speed_is_tokens_over_cost(tmp_path) -> None:  # type: ignore[no-untyped-def]
    backend = ToyBackend(noise=1.0)
    trials = Trials(backend, Stages(tmp_path), COSTS)
    prompts = [_logged(backend, seed, limit=30) for seed in range(4)]
    tokens, cost = 0, 0.0
    for logged in prompts:
        (agreement,) = agreements(backend, logged, [PLANS[0]])
        rounds = replay(agreement, Fixed(3), logged.limit)
        tokens += len(logged.answer) - 1
        cost += sum(n * COSTS.c(PLANS[0], 8) + COSTS.v(n + 1) for n in rounds.drafted)
    assert trials.speed(prompts, Drafted(PLANS[0], Threshold(0.0, 3))) == pytest.approx(tokens / cost)
    assert trials.speed(prompts, Drafted(FULL)) == 1.0
    best = trials.best_policy(prompts, PLANS[0])
    fastest = max(trials.speed(prompts, Drafted(PLANS[0], policy)) for policy in POLICIES)
    assert trials.speed(prompts, Drafted(PLANS[0], best)) == fastest == trials.evaluate(prompts)([PLANS[0]])[0]
    interval = trials.interval(prompts, Drafted(PLANS[0], best), seed=0)
    assert interval is not None and interval.low <= interval.mean <= interval.high
    assert trials.gain(prompts, Drafted(PLANS[0], best), Drafted(PLANS[0], best), seed=0).high == 0
    assert trials.interval([], Drafted(FULL), seed=0) is None
    of_one_event = [replace(logged, group="e") for logged in prompts]
    alone = trials.interval(of_one_event, Drafted(PLANS[0], best), seed=0)
    assert alone is not None and alone.low == alone.mean == alone.high  # one event: nothing to draw from


def test_timed_runs_are_scored_against_plain_ones(tmp_path) -> None:  # type: ignore[no-untyped-def]
    backend = ToyBackend()
    prompts = [_logged(backend, seed, limit=12) for seed in range(2)]
    first = Trials(backend, Stages(tmp_path), COSTS).evaluate_by_time(prompts)(PLANS[:2])
    assert len(first) == 2 and all(score > 0 for score in first)
    backend.prefill = None  # type: ignore[method-assign]  # stored: nothing is run again
    assert Trials(backend, Stages(tmp_path), COSTS).evaluate_by_time(prompts)(PLANS[:2]) == first
