"""Layer-skip chains: the text is that of plain decoding under every policy and plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from decoding.api import SamplingParams
from decoding.backend import FULL, SkipSet
from decoding.backends.rows import TorchRows
from decoding.drafters.drafter import Draft, Request
from decoding.drafters.hazard import Hazard
from decoding.drafters.lengths import Expected, Fixed, LengthPolicy, Threshold
from decoding.drafters.plain import NoDrafter
from decoding.drafters.skip import SkipDrafter
from decoding.sampling import Sampler
from decoding.speculative import decode
from tests.decoding.drafters.equality import check_equals_plain, run
from tests.grids import rest_slow
from tests.toy_backend import COSTS, ToyBackend

PLAN = SkipSet((1, 3, 5), (2, 4))
POLICIES: dict[str, LengthPolicy] = {
    "fixed": Fixed(4),
    "threshold": Threshold(0.4, 6),
    "expected": Expected(Hazard((0.0, 1.0), (0.3, 1.0), (0.9,)), COSTS, COSTS.c(PLAN, 8), 6),
}
SAMPLED = SamplingParams(max_new_tokens=60, temperature=0.8, top_p=0.9, repetition_penalty=1.2, seed=5)


@pytest.mark.parametrize("policy", POLICIES)
def test_text_equals_plain_decoding(policy: str) -> None:
    assert check_equals_plain(SkipDrafter(PLAN, POLICIES[policy], name=policy), n_prompts=2) > 0


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("top_k", rest_slow([0, 5], keep=[5]))
def test_sampled_text_equals_plain_decoding(policy: str, top_k: int) -> None:
    accepted = 0
    for seed in range(2):
        sampling = replace(SAMPLED, seed=seed, top_k=top_k)
        expected, _ = run(NoDrafter(), [3, 1, 4], sampling=sampling, seed=seed)
        ids, stats = run(SkipDrafter(PLAN, POLICIES[policy]), [3, 1, 4], sampling=sampling, seed=seed)
        assert ids == expected
        accepted += stats.n_accepted or 0
    assert accepted > 0


def test_confidences_of_a_sampled_draft_are_its_probabilities() -> None:
    backend = ToyBackend(16, order=2)
    prefill = backend.prefill([1, 2, 3], capacity=64)
    sampler = Sampler(SAMPLED, 3)
    drafter = SkipDrafter(PLAN, Threshold(0.0, 3))
    drafter.start(Request([1, 2, 3], prefill, sampler), backend)
    text = [1, 2, 3, 7]
    draft = drafter.propose(text, 3)
    assert len(draft) == 3
    for i, token in enumerate(draft.tokens):
        prefix = [*text, *draft.tokens[:i]]
        logits = backend.logits_after(prefix, PLAN)
        assert token == sampler.choose(prefix, logits)
        assert drafter.confidences[i] == pytest.approx(float(sampler.distribution(prefix, logits)[token]))


def test_router_chooses_by_request() -> None:
    seen: list[Request] = []

    def route(request: Request) -> SkipSet:
        seen.append(request)
        assert request.prefill.vector is not None and len(request.prefill.vector) == 8
        return PLAN if request.prompt[0] == 1 else FULL

    drafter = SkipDrafter(route, Fixed(3), name="knn_ssd")
    assert drafter.wants.vector and not SkipDrafter(PLAN, Fixed(3)).wants.vector
    _, stats = run(drafter, [1, 2])
    assert len(seen) == 1 and stats.n_drafted and drafter.plan == PLAN
    assert stats.speculation is not None and stats.speculation.by_source[0].source == "knn_ssd"
    _, stats = run(drafter, [2, 1])
    assert stats.n_drafted == 0 and not drafter.plan


class Metered(SkipDrafter):
    """Adds up the cost of all rounds."""

    spent = 0.0

    def propose(self, text: Sequence[int], room: int) -> Draft:
        draft = super().propose(text, room)
        self.spent += COSTS.v(1 + len(draft)) + len(draft) * COSTS.c(PLAN, 8)
        return draft


def test_guard_limits_what_a_plan_that_does_not_pay_costs() -> None:
    """Each draft of 4 costs about 3 units and hardly ever gives a token."""
    spent = {}
    for costs in (None, COSTS):
        drafter = Metered(PLAN, Fixed(4), costs=costs)
        sampler = Sampler(SamplingParams(max_new_tokens=200), 3)
        stats = decode(ToyBackend(200, noise=1000.0), drafter, [1, 2, 3], sampler, lambda token: True)
        assert stats.speculation is not None and stats.speculation.num_emitted_tokens == 199
        assert stats.speculation.num_drafts > 4
        spent[costs] = drafter.spent
    assert spent[None] > 2 * 199
    assert spent[COSTS] < 1.02 * 199 + 4


class Overflowing(ToyBackend):
    """Under a plan its logits are NaN."""

    def step(self, ids: Sequence[int], *, plan: SkipSet = FULL, **kwargs: object) -> TorchRows:
        rows = super().step(ids, plan=plan, **kwargs)  # type: ignore[arg-type]
        return TorchRows(torch.full_like(rows.logits, float("nan"))) if plan else rows


def test_a_skipped_model_that_overflows_costs_time_only() -> None:
    prompt, params = [1, 2, 3], replace(SAMPLED, max_new_tokens=30)
    expected, _ = run(NoDrafter(), prompt, sampling=params)
    ids: list[int] = []
    drafter = SkipDrafter(PLAN, Fixed(3))
    backend = Overflowing(16, order=2)
    decode(backend, drafter, prompt, Sampler(params, 3), lambda t: not ids.append(t))
    assert ids == expected
