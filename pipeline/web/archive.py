"""What the Wayback Machine holds of a page that is gone.

Its availability service is asked (https://archive.org/help/wayback_api.php), then the unmodified capture (`id_` after the
timestamp). The capture's address is built here from the timestamp; the address in the answer is not used.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from urllib.parse import urlencode

from data.types import Strict


@dataclass(frozen=True, slots=True)
class Archive(Strict):
    """Where the services are; `delay_s` between two requests to one of them."""

    availability: str = "https://archive.org"
    captures: str = "https://web.archive.org"
    delay_s: float = 1.0

    def question(self, url: str, as_of: str = "") -> str:
        """The address that asks for the capture nearest to the day `as_of` (YYYY-MM-DD), or to now."""
        timestamp = {"timestamp": as_of.replace("-", "")} if as_of else {}
        return f"{self.availability}/wayback/available?{urlencode({'url': url} | timestamp)}"

    def capture(self, body: bytes, url: str, as_of: str = "") -> Capture | None:
        """The answer's capture, if there is one of a whole page, made not after `as_of`."""
        try:
            closest = json.loads(body)["archived_snapshots"]["closest"]
            timestamp, is_there = str(closest["timestamp"]), closest["available"] is True and str(closest["status"]) == "200"
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        found = re.fullmatch(r"(\d{4})(\d\d)(\d\d)\d{6}", timestamp, re.ASCII)
        if not found or not is_there:
            return None
        day = "-".join(found.groups())
        if as_of and day > as_of:
            return None
        root = f"{self.captures}/web/{timestamp}"
        return Capture(asked=f"{root}id_/{url}", shown=f"{root}/{url}", day=day)


@dataclass(frozen=True, slots=True)
class Capture(Strict):
    """`asked` is the unmodified body's address, `shown` the one for readers, `day` when it was made (YYYY-MM-DD)."""

    asked: str
    shown: str
    day: str
