"""robots.txt by RFC 9309: what a site lets programs read, and how slowly.

The standard library's parser is not used: it ignores `*` and `$`, takes the first match instead of the longest, loses rules
after a blank line and drops `Crawl-delay: 2.5`.
"""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from data.types import DropReason
from pipeline.web.addresses import Refused
from pipeline.web.pacing import Clock

if TYPE_CHECKING:
    from protego import Protego

MOST_BYTES = 500 * 1024
KEPT_S = 24 * 3600.0

Ask = Callable[[str], tuple[int, bytes]]
"""The address of a robots.txt -> status and first bytes, redirects followed. Raises Refused."""

_OWN_REASON: tuple[DropReason, ...] = ("dns", "ip_blocked", "unreachable", "timeout", "tls", "budget")
"""Failures that the page would meet as well; the others mean that the rules are not known."""


@dataclass(frozen=True, slots=True)
class Rules:
    """An origin's rules for one agent. `closed` says why nothing of it may be read."""

    agent: str
    closed: Refused | None = None
    parsed: Protego | None = field(default=None, repr=False)

    def check(self, url: str) -> None:
        """Raises Refused for what may not be read."""
        if self.closed:
            raise Refused(self.closed.reason, self.closed.detail)
        if self.parsed and not self.parsed.can_fetch(url, self.agent):
            raise Refused("robots", "robots.txt disallows it")

    @property
    def crawl_delay_s(self) -> float:
        delay = self.parsed.crawl_delay(self.agent) if self.parsed else None
        return delay if delay is not None and math.isfinite(delay) and delay > 0 else 0.0


def parse(body: bytes, agent: str) -> Rules:
    """The first 500 KiB are read, to the end of their last whole line."""
    from protego import Protego

    if len(body) >= MOST_BYTES:
        body = body[: body.rfind(b"\n", 0, MOST_BYTES) + 1]
    return Rules(agent, parsed=Protego.parse(body.decode("utf-8-sig", errors="replace")))


def by_status(status: int, body: bytes, agent: str) -> Rules:
    """RFC 9309, 2.3.1: a file that is not there allows everything, a server that is not well nothing."""
    if 200 <= status < 300:
        return parse(body, agent)
    if status >= 500:
        return Rules(agent, closed=Refused("robots", f"robots.txt answered with status {status}, which forbids everything"))
    return Rules(agent)


class Robots:
    """The rules of each origin, asked for once and kept for 24 hours. Threads may share it."""

    def __init__(self, agent: str, ask: Ask, clock: Clock) -> None:
        self._agent = agent
        self._ask = ask
        self._clock = clock
        self._known: dict[str, tuple[float, Rules]] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()

    def rules(self, origin: str) -> Rules:
        with self._lock:
            lock = self._locks[origin]
        with lock:
            known = self._known.get(origin)
            if known is None or self._clock.monotonic() - known[0] > KEPT_S:
                known = self._clock.monotonic(), self._asked(origin)
                self._known[origin] = known
            return known[1]

    def _asked(self, origin: str) -> Rules:
        try:
            return by_status(*self._ask(f"{origin}/robots.txt"), self._agent)
        except Refused as refused:
            if refused.reason == "too_many_redirects":
                return Rules(self._agent)  # RFC 9309, 2.3.1.2: as if there were no file
            said = "robots.txt did not answer" if refused.reason == "timeout" else "robots.txt"
            reason = refused.reason if refused.reason in _OWN_REASON else "robots"
            return Rules(self._agent, closed=Refused(reason, f"{said}: {refused.detail}"))
