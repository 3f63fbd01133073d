from __future__ import annotations

from dataclasses import replace

import pytest

from benchmark.compare import differences
from benchmark.submission import Submission, part, problems
from data.errors import UserError
from tests.benchmark.submissions import ROWS, failed, ok, submit

OURS = submit(ROWS)


def test_differences_are_paired_by_event() -> None:
    other = submit([ok("1", 0.7, 0.3), failed("2"), ok("3", 0.5), ok("4", 0.9, 0.2)], system="other")
    found = differences(OURS, other)
    assert list(found) == ["recall", "errors"]
    # event 4 is unscored by one side; a failure counts as 0 on either
    assert found["recall"].n == 3 and found["recall"].mean == pytest.approx(((0.9 - 0.7) + (0.4 - 0) + (0 - 0.5)) / 3)
    assert found["errors"].n == 2 and found["errors"].mean == pytest.approx((-0.2 - 0.2) / 2)
    back = differences(other, OURS, ["recall"])
    assert list(back) == ["recall"] and back["recall"].mean == pytest.approx(-found["recall"].mean)
    assert back["recall"].low == pytest.approx(-found["recall"].high) and back["recall"].p == found["recall"].p


def test_order_of_events_in_the_files_does_not_matter() -> None:
    other = submit([ok("1", 0.7), ok("2", 0.2), ok("3", 0.5), ok("4", 0.9)], system="other")
    assert differences(OURS, replace(other, events=other.events[::-1])) == differences(OURS, other)


def test_a_system_equals_itself() -> None:
    found = differences(OURS, OURS)["recall"]
    assert (found.mean, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_metrics_that_one_side_lacks_are_left_out() -> None:
    other = submit([ok(str(n), 0.5) for n in range(1, 5)], system="other")
    assert "errors" not in other.scores and list(differences(OURS, other)) == ["recall"]
    with pytest.raises(UserError, match="no metric 'errors' in both; known: recall"):
        differences(OURS, other, ["recall", "errors"])


def test_no_pair_of_values_no_difference() -> None:
    a, b = submit([ok("1", 0.5), ok("2", None)]), submit([ok("1", None), ok("2", 0.5)])
    assert differences(a, b) == {}


def shortened() -> Submission:
    return submit(ROWS[:3], system="short")


def with_a_false_hash() -> Submission:
    short = shortened()
    return replace(short, data=replace(short.data, ids_sha256=OURS.data.ids_sha256))


@pytest.mark.parametrize("other", [shortened(), with_a_false_hash()])
def test_other_events_cannot_be_compared(other: Submission) -> None:
    with pytest.raises(UserError, match=r"ours has 4 events and short 3, and they are not the same; .*--split and --limit"):
        differences(OURS, other)
    with pytest.raises(UserError, match="short has 3 events and ours 4"):
        differences(other, OURS)


def test_other_metrics_cannot_be_compared() -> None:
    with pytest.raises(UserError, match="scored with different metrics; evaluate both again"):
        differences(OURS, submit(ROWS, signature="words:v2"))


def test_a_part_is_scored_from_its_own_events_and_is_valid() -> None:
    kept = part(OURS, "test", lambda event_id: event_id in {"1", "3"})
    assert problems(kept) == [] and kept.data.split == "test"
    assert kept.scores == submit([ROWS[0], ROWS[2]]).scores != OURS.scores
    with pytest.raises(UserError, match="no event of split 'dev'"):
        part(OURS, "dev", lambda event_id: False)
