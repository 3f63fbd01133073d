"""Skip decoding: what is forced is drafted, whatever the inner drafter would say, and nothing of it counts as its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from decoding.api import DecodeStats, SamplingParams
from decoding.backend import SkipSet
from decoding.drafters.copy import CopyAcceptance, CopyDrafter
from decoding.drafters.drafter import Drafter, Request
from decoding.drafters.forced import LONGEST, ForcedDrafter
from decoding.drafters.lengths import Fixed
from decoding.drafters.lookup import CopySpec, PromptLookup
from decoding.drafters.mix import MixDrafter
from decoding.drafters.plain import NoDrafter
from decoding.drafters.recycle import RecycleDrafter
from decoding.drafters.skip import SkipDrafter
from decoding.drafters.swift import SwiftDrafter
from decoding.sampling import ForcingRule, Sampler
from decoding.speculative import decode
from tests.decoding.drafters.equality import Watched
from tests.toy_backend import COSTS, ToyBackend

GREEDY = SamplingParams(max_new_tokens=90)
PROMPT = [1, 2, 9, 4, 1, 2]
PLAN = SkipSet((1, 2), (3,))


class Phrases:
    """A rule after which each token of `openers` begins a fixed phrase of `length` tokens; elsewhere all is free."""

    def __init__(self, openers: Sequence[int] = (3, 8), length: int = 9) -> None:
        self._openers, self._length = openers, length

    def forced(self, prefix: Sequence[int], room: int) -> Sequence[int]:
        for back in range(1, min(self._length, len(prefix) - len(PROMPT)) + 1):
            if prefix[-back] in self._openers and not any(t in self._openers for t in prefix[len(prefix) - back + 1 :]):
                phrase = [10 + (prefix[-back] + i) % 6 for i in range(self._length)]
                return phrase[back - 1 :][:room]
        return ()

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        forced = self.forced(prefix, 1)
        if not forced:
            return logits
        only = torch.full_like(logits, -math.inf)
        only[forced[0]] = logits[forced[0]]
        return only


class Counting:
    """Every token but the first is forced: the one before it plus one."""

    def forced(self, prefix: Sequence[int], room: int) -> Sequence[int]:
        return [(prefix[-1] + 1 + i) % 16 for i in range(min(room, 150))] if len(prefix) > len(PROMPT) else ()

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        forced = self.forced(prefix, 1)
        return logits.where(torch.arange(16) == forced[0], -math.inf) if forced else logits


def answer(
    drafter: Drafter, sampling: SamplingParams = GREEDY, *, rule: ForcingRule | None = None, end_at: int | None = None
) -> tuple[list[int], DecodeStats]:
    ids: list[int] = []

    def take(token: int) -> bool:
        ids.append(token)
        return len(ids) != end_at and len(ids) < sampling.max_new_tokens

    backend = ToyBackend(16, order=2)
    sampler = Sampler(sampling, len(PROMPT), [rule or Phrases()])
    return ids, decode(backend, Watched(drafter), PROMPT, sampler, take)


def inner_drafters() -> list[Drafter]:
    skip = SkipDrafter(PLAN, Fixed(3))
    return [
        NoDrafter(),
        CopyDrafter(costs=COSTS),
        RecycleDrafter(seeded=False, persist=True),
        RecycleDrafter(),
        skip,
        SkipDrafter(PLAN, Fixed(3), costs=COSTS),
        SwiftDrafter(),
        PromptLookup(),
        CopySpec(),
        MixDrafter(CopyDrafter(), RecycleDrafter(), SkipDrafter(PLAN, Fixed(4)), COSTS),
    ]


@pytest.mark.parametrize("at", range(len(inner_drafters())))
def test_the_text_is_that_of_plain_decoding(at: int) -> None:
    forced = ForcedDrafter(inner_drafters()[at])
    for sampling in (GREEDY, replace(GREEDY, temperature=0.9, seed=5)):
        expected, plain = answer(NoDrafter(), sampling)
        assert len(expected) == 90
        for end_at in (*range(1, 30, 3), None):
            ids, stats = answer(forced, sampling, end_at=end_at)
            assert ids == expected[:end_at]
        assert (stats.n_verify or 0) < (plain.n_verify or 0)
        for limit in (1, 2, 5, 11, 24):
            assert answer(forced, replace(sampling, max_new_tokens=limit))[0] == expected[:limit]


def test_forced_tokens_are_one_draft_and_all_accepted() -> None:
    _, stats = answer(ForcedDrafter(NoDrafter()))
    assert stats.speculation is not None
    (source,) = stats.speculation.by_source
    assert source.source == "forced" and source.num_draft_tokens == source.num_accepted_tokens > 20


def test_much_that_is_forced_takes_several_passes_of_bounded_size() -> None:
    sampling = replace(GREEDY, max_new_tokens=400)
    expected, _ = answer(NoDrafter(), sampling, rule=Counting())
    forced = ForcedDrafter(NoDrafter())
    ids, stats = answer(forced, sampling, rule=Counting())
    assert forced.max_tokens == LONGEST
    assert ids == expected and stats.n_verify == math.ceil(399 / (LONGEST + 1))


def test_the_inner_drafters_counts_are_about_its_own_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where everything behind the first tokens is forced, copies that the rule made come true teach nothing."""
    copy = CopyDrafter(costs=COSTS)
    counted: list[float] = []
    monkeypatch.setattr(CopyAcceptance, "add", lambda self, length, origin, share, accepted: counted.append(share))
    answer(ForcedDrafter(copy), rule=Counting())
    assert sum(counted) <= 2
    answer(copy, rule=Counting())
    assert sum(counted) > 20


def test_what_was_forced_is_copied_later() -> None:
    """The inner drafter reads the whole text when it is asked next, forced parts included."""
    backend = ToyBackend(16)
    drafter = ForcedDrafter(CopyDrafter(min_match=2))
    sampler = Sampler(GREEDY, len(PROMPT), [Phrases(length=6)])
    drafter.start(Request(PROMPT, backend.prefill(PROMPT, capacity=99), sampler), backend)
    text = [*PROMPT, 3]
    draft = drafter.propose(text, 80)
    assert draft.source == "forced" and draft.tokens == (13, 14, 15, 10, 11, 12)
    drafter.observe(draft, [*draft.tokens, 5], backend.step([3, *draft.tokens]))
    text += [*draft.tokens, 5, 14, 15]
    copied = drafter.propose(text, 3)
    assert (copied.source, copied.tokens) == ("copy:output", (10, 11, 12))
