import math
import random

import pytest

from eval.aggregate import PairedDifference, estimate, holm, paired

RNG = random.Random(11)
SCORES = [RNG.betavariate(2, 5) for _ in range(80)]


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1.0])
def test_constant_scores_have_an_interval_of_zero_width(value: float) -> None:
    found = estimate([value] * 7, name="m")
    assert found.low == found.mean == found.high == value


def test_the_interval_is_the_normal_one_for_many_events() -> None:
    found = estimate(SCORES, name="m")
    mean = sum(SCORES) / 80
    half = 1.96 * math.sqrt(sum((s - mean) ** 2 for s in SCORES) / 80 / 80)
    assert found.mean == pytest.approx(mean)
    assert found.low == pytest.approx(mean - half, abs=0.15 * half)
    assert found.high == pytest.approx(mean + half, abs=0.15 * half)
    assert found.n == 80


def test_unscored_events_leave_the_mean_alone_failures_lower_it_and_none_is_an_error() -> None:
    found = estimate([0.5, None, 0.5, 0.0], name="m", n_failed=1)
    assert (found.mean, found.n, found.n_failed, found.n_unscored) == (pytest.approx(1 / 3), 3, 1, 1)
    for values in ([], [None, None]):
        with pytest.raises(ValueError, match="entity_recall"):
            estimate(values, name="entity_recall")


def test_draws_depend_on_seed_and_name_only() -> None:
    first = estimate(SCORES, name="a", seed=1)
    estimate(SCORES, name="b", seed=1)
    assert estimate(SCORES, name="a", seed=1) == first
    assert estimate(SCORES, name="a", seed=2) != first != estimate(SCORES, name="b", seed=1)
    # the number of resamples need not fill whole blocks
    assert estimate(SCORES, name="a", resamples=1_234).low < estimate(SCORES, name="a", resamples=1).low


def test_a_constant_gain_is_certain_equal_systems_do_not_differ_and_few_events_have_the_exact_p() -> None:
    found = paired([s + 0.05 for s in SCORES], SCORES, seed=0)
    assert (found.low, found.high, found.p) == pytest.approx((0.05, 0.05, 1 / 10_001))
    same = paired(SCORES, SCORES, seed=0)
    assert (same.mean, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)
    # all of 5 differences have one sign: 2 of the 32 labellings are as extreme
    assert paired([0.1, 0.2, 0.3, 0.4, 0.5], [0.0] * 5, seed=0).p == pytest.approx(2 / 32, abs=0.01)


def test_the_sides_are_exchangeable() -> None:
    other = [RNG.betavariate(2, 5) for _ in SCORES]
    there, back = paired(SCORES, other, seed=4), paired(other, SCORES, seed=4)
    assert (there.mean, there.low, there.high) == pytest.approx((-back.mean, -back.high, -back.low), abs=1e-12)
    assert there.p == back.p


def test_only_events_that_both_scored_are_compared_and_the_sd_is_of_their_differences() -> None:
    found = paired([0.5, 0.7, None, 0.2, 0.7], [0.4, 0.4, 0.1, 0.3, None], resamples=100)
    assert (found.mean, found.sd, found.n) == (pytest.approx(0.1), pytest.approx(0.2), 3)
    alone, constant = paired([0.5], [0.1], resamples=100), paired([0.5, 0.6], [0.25, 0.35], resamples=100)
    assert alone.sd == 0.0 and alone.detectable is None
    assert constant.detectable is None or constant.detectable < 1e-12
    with pytest.raises(ValueError, match="share no scored event"):
        paired([None], [0.5], seed=0)
    with pytest.raises(ValueError):
        paired([0.5, 0.5], [0.5], seed=0)


def test_holm() -> None:
    # the example of Holm's procedure with four hypotheses: 4 * .005, 3 * .01, then monotone
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_what_a_sample_can_detect_is_found_four_times_in_five() -> None:
    """Simulated: samples with a true difference of exactly `detectable` are significant in about 80% of the cases."""
    import numpy as np

    generator = np.random.default_rng(5)
    n, sd = 60, 0.2
    power = PairedDifference(0.0, 0.0, 0.0, 1.0, n, sd).detectable
    assert power == pytest.approx(2.8016 * sd / n**0.5, rel=1e-4)
    draws = generator.normal(power, sd, size=(4000, n))
    t = draws.mean(axis=1) / (draws.std(axis=1, ddof=1) / n**0.5)
    assert 0.76 < (abs(t) > 1.98).mean() < 0.83
