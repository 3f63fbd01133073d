"""When a host may be asked: one request at a time, far enough apart, not after it failed, and only while the run has time."""

from __future__ import annotations

import random
import re
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol

from data.types import DropReason
from pipeline.web.addresses import Refused

FAILURES = 3
"""In a row, each after its retries: from then on a host is not asked again."""


class Clock(Protocol):
    def monotonic(self) -> float:
        """Seconds since some moment."""

    def sleep(self, seconds: float) -> None: ...

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""


class SystemClock:
    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def now(self) -> datetime:
        return datetime.now(UTC)


class Budget:
    """What a run may spend: pages, and seconds from its first page on."""

    def __init__(self, max_pages: int, total_s: float, clock: Clock) -> None:
        self._max_pages = max_pages
        self._total_s = total_s
        self._clock = clock
        self._taken = 0
        self._ends: float | None = None
        self._lock = threading.Lock()

    def take_page(self) -> None:
        """Raises Refused when no page is left."""
        with self._lock:
            if self._ends is None:
                self._ends = self._clock.monotonic() + self._total_s
            if self._taken >= self._max_pages:
                raise Refused("budget", f"the run's {self._max_pages} pages are asked for")
            self._taken += 1

    def left_s(self) -> float:
        return self._total_s if self._ends is None else self._ends - self._clock.monotonic()

    def check(self, wait_s: float = 0.0) -> None:
        """Raises Refused when the run ends within `wait_s`."""
        if self.left_s() <= wait_s:
            raise Refused("budget", f"the run's {self._total_s:g} s do not suffice")


class Host:
    """When a host was last asked, and who asks it now: whichever run does."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ended = float("-inf")
        self.paused_until = float("-inf")


class Hosts:
    """What runs side by side in one process share: none asks a host that another has just asked, and all of them together ask
    `at_once` hosts at a time."""

    def __init__(self, at_once: int) -> None:
        self.slots = threading.BoundedSemaphore(at_once)
        self._hosts: defaultdict[str, Host] = defaultdict(Host)
        self._lock = threading.Lock()

    def host(self, name: str) -> Host:
        with self._lock:
            return self._hosts[name]


class Turn:
    """What one run knows of one host. Its methods are called by who has the turn."""

    def __init__(self, host: Host, clock: Clock, delay_s: float) -> None:
        self.delay_s = delay_s
        self.closed: Refused | None = None
        self.host = host
        self._clock = clock
        self._failures = 0

    def wait_s(self) -> float:
        """From now to the next request."""
        now = self._clock.monotonic()
        return max(0.0, self.host.paused_until - now, self.host.ended + self.delay_s - now)

    def end(self) -> None:
        self.host.ended = self._clock.monotonic()

    def pause(self, seconds: float) -> None:
        self.host.paused_until = max(self.host.paused_until, self._clock.monotonic() + seconds)

    def close(self, reason: DropReason, detail: str) -> None:
        """The host is not asked again in this run."""
        self.closed = Refused(reason, f"the host is not asked any more: {detail}")

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self, reason: DropReason, detail: str) -> None:
        self._failures += 1
        if self._failures >= FAILURES:
            self.close(reason, f"{self._failures} failures in a row, the last: {detail}")


class Pacing:
    """`at_once` requests at a time over all hosts; to one host one at a time, `min_delay_s` from end to start.

    `hosts` is shared with other runs on the same clock, whose `at_once` then holds for all of them. Each run gives up hosts on
    its own: a host down for one may be up for the next.
    """

    def __init__(self, *, at_once: int, min_delay_s: float, budget: Budget, clock: Clock, hosts: Hosts | None = None) -> None:
        self._hosts = hosts or Hosts(at_once)
        self._min_delay_s = min_delay_s
        self._budget = budget
        self._clock = clock
        self._turns: dict[str, Turn] = {}
        self._lock = threading.Lock()

    def slow_down(self, host: str, delay_s: float) -> None:
        """A host's own wish for a longer delay."""
        turn = self._turn(host)
        turn.delay_s = max(turn.delay_s, delay_s)

    @contextmanager
    def turn(self, host: str) -> Iterator[Turn]:
        """Waits for the host, then for a free slot: who waits for a host takes no slot. Raises Refused."""
        turn = self._turn(host)
        with turn.host.lock:
            if turn.closed:
                raise Refused(turn.closed.reason, turn.closed.detail)
            wait = turn.wait_s()
            self._budget.check(wait)
            if wait > 0:
                self._clock.sleep(wait)
            with self._hosts.slots:
                self._budget.check()
                try:
                    yield turn
                finally:
                    turn.end()

    def _turn(self, host: str) -> Turn:
        with self._lock:
            if host not in self._turns:
                self._turns[host] = Turn(self._hosts.host(host), self._clock, self._min_delay_s)
            return self._turns[host]


def retry_after(value: str, now: datetime) -> float | None:
    """Seconds to wait by a Retry-After header in either form (RFC 9110, 10.2.3), at least 0; None if it says nothing."""
    value = value.strip()
    if re.fullmatch(r"[0-9]+", value):
        return float(value[:12])
    try:
        moment = parsedate_to_datetime(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, (moment - now).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def backoff(attempt: int, chance: random.Random, first_s: float) -> float:
    """Full jitter: between 0 and `first_s` times 1, 2, 4 ... seconds, for attempts counted from 0."""
    return chance.uniform(0.0, first_s * 2**attempt)
