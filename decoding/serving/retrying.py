"""How long a server is waited for, which refusals are asked about again, and how soon."""

from __future__ import annotations

import email.utils
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from data.errors import StageError

if TYPE_CHECKING:
    pass


RETRIED_STATUSES = frozenset((429, 500, 502, 503, 504))


BACKOFF_S = 0.5


BACKOFF_CAP_S = 20.0


_RETRY_AFTER_CAP_S = 60.0


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds to wait: for a connection, for the next bytes, and for one text in all, retries included.

    An answer that is not streamed arrives at once at its end, so `read_s` must cover writing the whole text.
    """

    connect_s: float = 10.0
    read_s: float = 300.0
    total_s: float = 900.0


class _NotListed(StageError):
    """The server has no `/models`."""


class _Refused(StageError):
    """The server does not do what was asked (status 400, 422 or 501), and would not if it was asked again.

    Its name is private, so that an event that fails by it is filed under `StageError`.
    """


def retry_after(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110, section 10.2.3), between 0 and 60; None if it says nothing."""
    if value is None:
        return None
    value = value.strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value):
        seconds = float(value)
    else:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(seconds, 0.0), _RETRY_AFTER_CAP_S)
