"""The counts of one text are those of its rounds."""

from __future__ import annotations

import random

import pytest

from decoding.api import SamplingParams
from decoding.backend import CostTable, StepBackend
from decoding.drafters.drafter import NOTHING, Draft, Request
from decoding.drafters.plain import NoDrafter
from decoding.sampling import Sampler
from decoding.speculative import decode
from tests.toy_backend import ToyBackend


class Scripted(NoDrafter):
    """Each round drafts the text's true continuation up to a point, under a name of its own."""

    max_tokens = 4

    def __init__(self, truth: list[int]) -> None:
        self._truth = truth
        self.rounds: list[tuple[str, int, int]] = []  # source, drafted, of which right

    def start(self, request: Request, backend: StepBackend) -> None:
        self._rng = random.Random(1)
        self._n_prompt = len(request.prompt)

    def propose(self, text: list[int], room: int) -> Draft:  # type: ignore[override]
        source = self._rng.choice(["a", "b", "none"])
        if source == "none":
            self.rounds.append(("none", 0, 0))
            return NOTHING
        at = len(text) - self._n_prompt
        length = min(self._rng.randint(1, 4), room)
        right = self._rng.randint(0, length)
        tokens = [*self._truth[at : at + right], *[-1] * (length - right)]
        self.rounds.append((source, length, right))
        return Draft(tuple(tokens), source)


def test_passes_are_priced_by_the_table() -> None:
    model = ToyBackend()
    table = CostTable(0.01, ((1, 1.0), (2, 1.25), (4, 1.5)), 0.1, 0.0, 0.0, 64, "m")
    truth: list[int] = []
    sampler = Sampler(SamplingParams(max_new_tokens=21), 3)

    def take(token: int) -> bool:
        truth.append(token)
        return True

    plain = decode(model, NoDrafter(), [1, 2, 3], sampler, take, costs=table).speculation
    assert plain is not None and (plain.priced_tokens, plain.priced_cost) == (20, 20.0)
    drafter = Scripted(truth)
    drafted = decode(model, drafter, [1, 2, 3], sampler, lambda token: True, costs=table).speculation
    assert drafted is not None and drafted.priced_tokens == 20 and drafted.num_drafts
    own = [1, *(1 + n for _, n, _ in drafter.rounds)] if drafted.num_verify_steps > len(drafter.rounds) else None
    rows = own or [1 + n for _, n, _ in drafter.rounds]  # a last token without room for a draft is a plain pass
    assert drafted.priced_cost == pytest.approx(sum(table.v(n) for n in rows))
    unpriced = decode(model, NoDrafter(), [1, 2, 3], sampler, lambda token: True).speculation
    assert unpriced is not None and unpriced.estimated_gain is None and not unpriced.priced_tokens
