"""Days without a year."""

from __future__ import annotations

import pytest

from pipeline.planning.days import full_day


@pytest.mark.parametrize(
    ("day", "published", "full"),
    [
        ("--03-12", "2031-03-16T08:00:00Z", "2031-03-12"),
        ("--12-30", "2031-01-05", "2030-12-30"),
        ("--01-04", "2030-12-20", "2031-01-04"),
        ("--03-13", "2031-11-24", "2031-03-13"),
        ("--07-01", "2031-03-16", "2030-07-01"),
        ("--02-29", "2031-03-01", "--02-29"),
        ("--02-29", "2032-03-01", "2032-02-29"),
        ("--03-12", "", "--03-12"),
        ("--03-12", "last week", "--03-12"),
        ("2030-01-02", "2031-03-16", "2030-01-02"),
        ("2031-03", "2031-03-16", "2031-03"),
        ("--03", "2031-03-16", "--03"),
        ("", "2031-03-16", ""),
    ],
)
def test_a_day_without_a_year_lies_before_its_page_or_soon_after(day: str, published: str, full: str) -> None:
    assert full_day(day, published) == full
