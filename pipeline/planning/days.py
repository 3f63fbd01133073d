"""Temporal order: which day a statement speaks of."""

from __future__ import annotations

from datetime import date, timedelta

AHEAD = timedelta(days=60)
"""How far ahead of its page a day without a year may lie: an announcement. All others are looked back on."""


def full_day(day: str, published: str) -> str:
    """`--03-12`, as `standing_alone.day_of` reads "12 March", in the last year in which it lies before the day of its page or
    soon after; as it is where that day is unknown, and every other day as it is."""
    if not day.startswith("--") or len(day) != len("--03-12"):
        return day
    try:
        of_page = date.fromisoformat(published[:10])
    except ValueError:
        return day
    found = [told for year in (-1, 0, 1) if (told := _date(of_page.year + year, day)) is not None and told - AHEAD <= of_page]
    return max(found).isoformat() if found else day


def _date(year: int, day: str) -> date | None:
    try:
        return date(year, int(day[2:4]), int(day[5:7]))
    except ValueError:  # 29 February
        return None
