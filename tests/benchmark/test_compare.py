from __future__ import annotations

from dataclasses import replace

import pytest

from benchmark.comparing.differences import differences, furthest_apart
from benchmark.splits import in_dev
from benchmark.submissions.submission import part
from benchmark.submissions.submission_faults import problems
from data.errors import UserError
from tests.benchmark.made_submissions import ROWS, failed, ok, submit

OURS = submit(ROWS)


OTHER = submit([ok("1", 0.7, 0.3), failed("2"), ok("3", 0.5), ok("4", 0.9, 0.2)], system="other")


def test_differences_are_paired_by_event() -> None:
    found = differences(OURS, OTHER)
    assert list(found) == ["recall", "errors"]
    # event 4 is unscored by one side; a failure counts as 0 on either
    assert found["recall"].n == 3 and found["recall"].mean == pytest.approx(((0.9 - 0.7) + (0.4 - 0) + (0 - 0.5)) / 3)
    assert found["errors"].n == 2 and found["errors"].mean == pytest.approx((-0.2 - 0.2) / 2)
    back = differences(OTHER, OURS, ["recall"])
    assert list(back) == ["recall"] and back["recall"].mean == pytest.approx(-found["recall"].mean)
    assert back["recall"].low == pytest.approx(-found["recall"].high) and back["recall"].p == found["recall"].p


def test_metrics_that_one_side_lacks_are_left_out() -> None:
    other = submit([ok(str(n), 0.5) for n in range(1, 5)], system="other")
    assert "errors" not in other.scores and list(differences(OURS, other)) == ["recall"]
    with pytest.raises(UserError, match="no metric 'errors' in both; known: recall"):
        differences(OURS, other, ["recall", "errors"])
    assert differences(submit([ok("1", 0.5), ok("2", None)]), submit([ok("1", None), ok("2", 0.5)])) == {}


def test_other_events_and_other_metrics_cannot_be_compared() -> None:
    short = submit(ROWS[:3], system="short")
    for other in (short, replace(short, data=replace(short.data, ids_sha256=OURS.data.ids_sha256))):
        with pytest.raises(UserError, match=r"ours has 4 events and short 3, and they are not the same; .*--split and --limit"):
            differences(OURS, other)
        with pytest.raises(UserError, match="short has 3 events and ours 4"):
            differences(other, OURS)
    with pytest.raises(UserError, match="scored with different metrics; evaluate both again"):
        differences(OURS, submit(ROWS, signature="words:v2"))


def test_a_part_is_scored_from_its_own_events_and_is_valid() -> None:
    kept = part(OURS, "dev", in_dev)
    assert problems(kept) == [] and kept.data.split == "dev"
    assert kept.scores == submit([row for row in ROWS if in_dev(row.id)]).scores != OURS.scores
    with pytest.raises(UserError, match="no event of split 'dev'"):
        part(OURS, "dev", lambda event_id: False)


def test_events_furthest_apart_come_first() -> None:
    found = furthest_apart(OURS, OTHER, ["recall", "errors"])
    assert [(one.event_id, pytest.approx(one.distance)) for one in found] == [("3", 0.5), ("2", 0.4), ("1", 0.2), ("4", 0.2)]
    assert found[0].values == {"recall": -0.5, "errors": None} and found[0].statuses == ("failed", "ok")
    assert found[1].statuses == ("ok", "failed")
    assert furthest_apart(OURS, OTHER, ["recall"], 1) == furthest_apart(OURS, OTHER, ["recall"])[:1]
    assert [one.event_id for one in furthest_apart(OURS, OTHER, ["recall"])] == ["3", "2", "1"]  # 4 is unscored by one side
    assert furthest_apart(OURS, OTHER) == ()  # neither has a headline metric
