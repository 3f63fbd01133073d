"""When a host may be asked, by a clock that the tests move."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from pipeline.web.addresses import Refused
from pipeline.web.pacing import Budget, Pacing, SystemClock, retry_after
from tests.web_server import QuickClock

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        (" 120 ", 120.0),
        ("9" * 400, 999999999999.0),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30.0),
        ("Sunday, 01-Mar-26 12:00:30 GMT", 30.0),
        ("Sun Mar  1 12:00:30 2026", 30.0),
        ("Sun, 01 Mar 2026 13:00:30 +0100", 30.0),
        ("Sat, 28 Feb 2026 12:00:00 GMT", 0.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - NOW).total_seconds()),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("٧", None),
        ("Sun, 99 Foo 2026 99:99:99 GMT", None),
        ("Sun, 01 Mar 99999999999 12:00:00 GMT", None),
    ],
)
def test_retry_after_in_both_forms(value: str, seconds: float | None) -> None:
    assert retry_after(value, NOW) == seconds


def pacing(clock: QuickClock, *, total_s: float = 600, min_delay_s: float = 1.0, at_once: int = 8) -> tuple[Pacing, Budget]:
    budget = Budget(10, total_s, clock)
    return Pacing(at_once=at_once, min_delay_s=min_delay_s, budget=budget, clock=clock), budget


def test_a_host_is_left_alone_between_requests_and_others_are_not() -> None:
    clock = QuickClock()
    paced, _ = pacing(clock)
    for host in ("a.org", "b.org", "a.org", "a.org", "b.org"):
        with paced.turn(host):
            pass
    assert clock.slept == [1.0, 1.0]  # b.org was free again by then


def test_three_failures_in_a_row_close_a_host() -> None:
    paced, _ = pacing(QuickClock())
    for failed in (True, True, False, True, True):
        with paced.turn("a.org") as turn:
            turn.failed("timeout", "slow") if failed else turn.succeeded()
    with paced.turn("a.org") as turn:
        turn.failed("unreachable", "refused")
    with pytest.raises(Refused, match="3 failures in a row, the last: refused") as refused, paced.turn("a.org"):
        pass
    assert refused.value.reason == "unreachable"
    with paced.turn("b.org"):
        pass


def test_a_budget_is_pages_and_time() -> None:
    clock = QuickClock()
    paced, budget = pacing(clock, total_s=100)
    clock.sleep(1000)  # the run begins with its first page
    for _ in range(10):
        budget.take_page()
    with pytest.raises(Refused, match="10 pages"):
        budget.take_page()
    assert budget.left_s() == 100
    clock.sleep(99.5)
    with paced.turn("a.org"):
        pass
    slept = list(clock.slept)
    with pytest.raises(Refused, match="budget"), paced.turn("a.org"):
        pass
    assert clock.slept == slept  # it does not wait for what it cannot do


def test_the_systems_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, slept = SystemClock(), []
    monkeypatch.setattr(time, "sleep", slept.append)
    clock.sleep(0.01)
    assert slept == [0.01]
    assert time.monotonic() <= clock.monotonic() <= time.monotonic()
    assert clock.now().utcoffset() is not None
