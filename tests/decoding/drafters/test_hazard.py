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
from decoding.drafters.lengths import Fixed, Threshold
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
    run(Logged(SkipDrafter(SkipSet((1,)), Fixed(3)), unread.append), [1, 2, 3])
    assert unread and all(log.probabilities for log in unread), "a greedy chain knows its probabilities anyway"


def test_fit_is_monotone_and_calibrated() -> None:
    fitted = fit_hazard(simulated(4000))
    grid = [fitted(i / 100) for i in range(101)]
    assert grid == sorted(grid) and grid[0] > 0 and grid[-1] < 1
    for confidence in (0.3, 0.5, 0.7, 0.9):
        assert fitted(confidence) == pytest.approx(confidence**2, abs=0.08)
    assert fitted.calibration_error is not None and fitted.calibration_error < 0.03
    assert fitted.n_tokens == sum(min(log.accepted + 1, 4) for log in simulated(4000))
    # the mean of p squared; no depth differs from another here
    assert all(chance == pytest.approx(1 / 3, abs=0.08) for chance in fitted.by_depth[:3])


def test_calibration_error_tells_a_map_that_does_not_carry_over() -> None:
    """Acceptance that has nothing to do with confidence in a few rounds: the fit follows noise, its own error says so."""
    random = Random(1)
    noise = [RoundLog("other", "skip", 1, random.randrange(2), (random.random(),)) for _ in range(40)]
    error = fit_hazard(noise).calibration_error
    good = fit_hazard(simulated(4000)).calibration_error
    assert error is not None and good is not None and error > 3 * good


def test_hazard_is_linear_between_its_points() -> None:
    hazard = Hazard((0.2, 0.6, 1.0), (0.1, 0.3, 0.9), (0.5, 0.4))
    assert hazard(0.0) == 0.1 and hazard(0.4) == pytest.approx(0.2) and hazard(0.8) == pytest.approx(0.6)
    assert hazard(1.0) == 0.9
    assert (hazard.next(0), hazard.next(1), hazard.next(7)) == (0.5, 0.4, 0.4)


def test_rounds_are_logged_as_they_were() -> None:
    logs: list[RoundLog] = []
    drafter = SkipDrafter(SkipSet((1, 2), (1,)), Threshold(0.3, 5))
    _, stats = run(Logged(drafter, logs.append), [1, 2, 3], sampling=SamplingParams(max_new_tokens=200))
    told = stats.speculation
    assert told is not None
    # the round that ended the text is not observed
    assert told.num_drafts - 1 <= len(logs) <= told.num_drafts
    assert all(log.source == "skip" and len(log.probabilities) == log.drafted >= log.accepted for log in logs)
    assert sum(log.accepted for log in logs) == pytest.approx(told.num_accepted_tokens, abs=5)
    assert 0 < fit_hazard(logs).n_tokens <= sum(log.drafted for log in logs)
