"""The day that a place in a page's text belongs to: a live page is written over days, and each of its entries has its own."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache

from data.types import Page

KEPT_TEXTS = 256
_ENTRY = re.compile(
    r"^(\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November|December) \d{4}), "
    r"\d\d:\d\d(?: UTC)?(?=: |$)",
    re.M,
)
"""How `pipeline.reading` heads the entries of a live page."""
LEAST_ENTRIES = 2


def day_at(page: Page, at: int) -> str | None:
    """The day (YYYY-MM-DD) on which the text at an offset was written: of its entry on a live page, else of the page."""
    days = [day for start, day in _entries(page.text) if start <= at]
    return days[-1] if days else page.published


@lru_cache(maxsize=KEPT_TEXTS)
def _entries(text: str) -> tuple[tuple[int, str], ...]:
    found = []
    for match in _ENTRY.finditer(text):
        try:
            found.append((match.start(), datetime.strptime(match[1], "%d %B %Y").date().isoformat()))
        except ValueError:  # 31 June
            continue
    return tuple(found) if len(found) >= LEAST_ENTRIES else ()
