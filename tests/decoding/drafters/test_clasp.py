"""CLaSp: plain text whatever is left out, sets that are chosen anew in time, and weights that follow the length of the text."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from decoding.api import SamplingParams
from decoding.backend import Budget, PartCosts
from decoding.drafters.clasp import ClaspDrafter, ClaspSettings
from decoding.drafters.lengths import Fixed
from decoding.drafters.mix import MixDrafter
from decoding.drafters.plain import NoDrafter
from decoding.sampling import Sampler
from decoding.speculative import decode
from tests.decoding.drafters.equality import Watched, check_equals_plain, run
from tests.toy_backend import COSTS, ToyBackend

PARTS = PartCosts(mlp=0.06, attention_fixed=0.05, attention_per_token=0.0, search=2.0)
OFTEN = ClaspSettings(every=5)
SAMPLED = SamplingParams(max_new_tokens=60, temperature=0.8, top_p=0.9, repetition_penalty=1.2)


def clasp(settings: ClaspSettings = OFTEN, parts: PartCosts = PARTS) -> ClaspDrafter:
    return ClaspDrafter(parts, COSTS, 8, policy=Fixed(3), settings=settings)


def test_text_equals_plain_decoding() -> None:
    assert check_equals_plain(clasp(), n_prompts=2) > 0


def test_text_equals_plain_decoding_in_the_mix() -> None:
    cheap = replace(PARTS, search=0.1)
    fast = replace(COSTS, fixed=0.02, attention=0.01, mlp=0.01)
    drafter = ClaspDrafter(cheap, fast, 8, policy=Fixed(3), settings=OFTEN)
    assert check_equals_plain(MixDrafter(None, None, drafter, fast, name="clasp"), n_prompts=2) > 0


def test_sampled_text_equals_plain_decoding() -> None:
    drafter, accepted = clasp(), 0
    for seed in range(6):
        sampling = replace(SAMPLED, seed=seed)
        ids, stats = run(drafter, [3, 1, 4], sampling=sampling, seed=seed)
        assert ids == run(NoDrafter(), [3, 1, 4], sampling=sampling, seed=seed)[0]
        accepted += stats.n_accepted or 0
    assert accepted > 0


def written(drafter: ClaspDrafter, n_prompt: int = 3, n_new: int = 80) -> ToyBackend:
    backend = ToyBackend(16)
    prompt = list(range(3)) * (n_prompt // 3)
    decode(backend, Watched(drafter), prompt, Sampler(SamplingParams(max_new_tokens=n_new), len(prompt)), lambda token: True)
    return backend


@pytest.mark.parametrize("every", [7, 30])
def test_sets_are_chosen_anew_in_time(every: int) -> None:
    places = [n for n, _ in written(clasp(ClaspSettings(every=every))).searches]
    gaps = [b - a for a, b in pairwise(places)]
    assert places[0] == 3 and gaps and all(every <= gap < every + 4 for gap in gaps)  # a round gives up to four tokens


def test_the_longer_the_text_the_more_attention_weighs() -> None:
    growing = PartCosts(mlp=0.05, attention_fixed=0.05, attention_per_token=0.001, search=2.0)
    budgets = [written(clasp(parts=growing), n_prompt, 8).searches[0][1] for n_prompt in (3, 51, 99, 999)]
    assert budgets == [Budget(1, 1, 5), Budget(2, 1, 7), Budget(3, 1, 10), Budget(5, 1, 14)]
    assert written(clasp(parts=replace(growing, attention_fixed=0.01)), 3, 8).searches[0][1] == Budget(1, 4, 12)


def test_a_share_of_the_cost_is_saved() -> None:
    drafter = clasp()
    written(drafter)
    whole = COSTS.fixed + 8 * 0.11
    cost = drafter.step_cost(COSTS, 8)
    assert cost == pytest.approx(whole - 6 * 0.11 * 5 / 12)  # of twelve sub-layers five, as near to 0.4 as it gets
    assert drafter.entry_cost(list(range(500))) == 2.0 and drafter.entry_cost([1] * 5) == 0.0


def test_a_model_of_two_layers_is_left_whole() -> None:
    drafter = ClaspDrafter(PARTS, COSTS, 2, policy=Fixed(3))
    backend = ToyBackend(16, n_layers=2)
    for whole in (drafter, MixDrafter(None, None, drafter, COSTS)):
        decode(backend, Watched(whole), [1, 2], Sampler(SamplingParams(20), 2), lambda token: True)
    assert drafter.step_cost(COSTS, 2) is None and not backend.searches
