"""Whether a statement says, as done, of a day on which its pages were not yet written."""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from datetime import date

_MONTHS = [name.lower() for name in calendar.month_name if name]
_NAMES = "|".join(_MONTHS)
_DAY = re.compile(rf"\b(?:(\d{{1,2}})\s+({_NAMES})|({_NAMES})\s+(\d{{1,2}})),?\s+((?:19|20)\d\d)\b", re.IGNORECASE)
_PLANNED = re.compile(r"\b(?:will|would|scheduled|planned|due|expected|upcoming|until)\b", re.IGNORECASE)
_WHOLE = re.compile(r"\d{4}-\d\d-\d\d")


def tells_of_later_day(text: str, published: Sequence[str]) -> bool:
    """`published` are the days (YYYY-MM-DD) of all pages that it cites; with one unknown nothing is said."""
    days = [day for match in _DAY.finditer(text) if (day := _day(match)) is not None]
    if not days or not published or not all(_WHOLE.fullmatch(day) for day in published):
        return False
    return max(days).isoformat() > max(published) and not _PLANNED.search(text)


def _day(match: re.Match[str]) -> date | None:
    number, month = match[1] or match[4], match[2] or match[3]
    try:
        return date(int(match[5]), _MONTHS.index(month.lower()) + 1, int(number))
    except ValueError:
        return None
