"""CLaSp: plain text whatever is left out, sets that are chosen anew in time, and weights that follow the length of the text."""

from __future__ import annotations

from dataclasses import replace

from decoding.api import SamplingParams
from decoding.backend import PartCosts
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


def test_a_model_of_two_layers_is_left_whole() -> None:
    drafter = ClaspDrafter(PARTS, COSTS, 2, policy=Fixed(3))
    backend = ToyBackend(16, n_layers=2)
    for whole in (drafter, MixDrafter(None, None, drafter, COSTS)):
        decode(backend, Watched(whole), [1, 2], Sampler(SamplingParams(20), 2), lambda token: True)
    assert drafter.step_cost(COSTS, 2) is None and not backend.searches
