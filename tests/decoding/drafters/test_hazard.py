"""Hazards: what is fitted from logged rounds, and the logging."""

from __future__ import annotations

from random import Random

import pytest

from data import codec
from data.errors import UserError
from decoding.api import SamplingParams
from decoding.backend import SkipSet
from decoding.drafters.copy import CopyDrafter
from decoding.drafters.hazard import Hazard, Logged, RoundLog, fit_hazard
from decoding.drafters.lengths import Fixed
from decoding.drafters.skip import SkipDrafter
from tests.decoding.drafters.equality import run


def simulated(n: int, *, seed: int = 0) -> list[RoundLog]:
    """Overconfident drafts: a token of confidence p is accepted with chance p squared."""
    random = Random(seed)
    logs = []
    for _ in range(n):
        probabilities = tuple(random.random() for _ in range(4))
        accepted = next((i for i, p in enumerate(probabilities) if random.random() >= p * p), 4)
        logs.append(RoundLog("section", "skip", 4, accepted, probabilities))
    return logs


def test_only_tokens_up_to_the_first_rejected_count() -> None:
    """Behind it nothing is known: sure tokens there must not look as if they were rejected."""
    logs = [RoundLog("other", "skip", 3, 0, (0.2, 0.9, 0.9))] * 50 + [RoundLog("other", "skip", 1, 1, (0.9,))] * 50
    fitted = fit_hazard(logs)
    assert fitted(0.9) > 0.95 and fitted(0.2) < 0.05


def test_hazard_is_stored_as_json() -> None:
    fitted = fit_hazard(simulated(200))
    assert codec.from_json(Hazard, codec.to_json(fitted), where="test") == fitted


def test_a_fit_needs_probabilities() -> None:
    with pytest.raises(UserError, match="0 logged rounds"):
        fit_hazard([RoundLog("other", "copy:prompt", 3, 1, match_length=4, origin="prompt")] * 100)


def test_drafts_without_probabilities_are_logged_too() -> None:
    logs: list[RoundLog] = []
    run(Logged(CopyDrafter(), logs.append), [1, 2, 3, 4] * 4, order=1, sampling=SamplingParams(max_new_tokens=100))
    assert logs and all(log.source == f"copy:{log.origin}" and not log.probabilities for log in logs)
    assert all((log.match_length or 0) >= 2 for log in logs)
    unread: list[RoundLog] = []
    run(Logged(SkipDrafter(SkipSet((1,)), Fixed(3), sampling="coupled"), unread.append), [1, 2, 3])
    assert unread and all(log.probabilities for log in unread), "a greedy chain knows its probabilities anyway"
