"""Temporal order: which day a statement speaks of."""

from __future__ import annotations

from datetime import date

HALF_A_YEAR = 183


def full_day(day: str, published: str) -> str:
    """`--03-12`, as `standing_alone.day_of` reads "12 March", with the year in which it lies nearest to the day of its page; as
    it is where that is unknown, and every other day as it is."""
    if not day.startswith("--") or len(day) != len("--03-12"):
        return day
    try:
        of_page = date.fromisoformat(published[:10])
    except ValueError:
        return day
    found = [near for year in (-1, 0, 1) if (near := _date(of_page.year + year, day)) is not None]
    nearest = min(found, key=lambda near: abs((near - of_page).days), default=None)
    return day if nearest is None or abs((nearest - of_page).days) > HALF_A_YEAR else nearest.isoformat()


def _date(year: int, day: str) -> date | None:
    try:
        return date(year, int(day[2:4]), int(day[5:7]))
    except ValueError:  # 29 February
        return None
