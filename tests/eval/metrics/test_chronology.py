"""Days as sentences tell them, and whether they come in order."""

from __future__ import annotations

import pytest

from eval.metrics.chronology import Day, DayOrder, days_of, later, order_of_days


@pytest.mark.parametrize(
    ("sentence", "day"),
    [
        ("It sank on 3 May 2031.", Day(2031, 5, 3)),
        ("It sank on the 3rd of May, 2031.", Day(2031, 5, 3)),
        ("On May 3, 2031 it sank.", Day(2031, 5, 3)),
        ("Work began in May 2031.", Day(2031, 5)),
        ("It was raised in June.", Day(None, 6)),
        ("It has sailed since 1998.", Day(1998)),
        ("The crew of 1,500 may march.", None),
        ("Some 2000 people were aboard.", None),
    ],
)
def test_the_first_day_of_a_sentence(sentence: str, day: Day | None) -> None:
    assert list(days_of([sentence])) == ([] if day is None else [day])


def test_what_cannot_be_told_apart_is_neither_later_nor_earlier() -> None:
    assert later(Day(2031, 5, 3), Day(2031, 5, 2)) == 1 and later(Day(2030, 9), Day(2031)) == -1
    assert later(Day(2031), Day(2031, 5)) == later(Day(None, 5), Day(2031, 6)) == later(Day(2031, 5), Day(2031, 5, 9)) == 0


def test_order_is_asked_within_sections_and_between_them_and_not_of_the_lead() -> None:
    years = [f"It was so in {year}." for year in (1990, 1995, 2001, 2010, 2014)]
    assert order_of_days((), [years]) == DayOrder(1.0, None)
    assert order_of_days(years[::-1], []) == DayOrder(-1.0, None)
    assert order_of_days((), [years[3:], years[:3]]) == DayOrder(None, -1.0)
    assert order_of_days(years[3:], [years[:3]]) == DayOrder(None, None)
    assert order_of_days((), [years[:3], years[3:][::-1]]) == DayOrder(None, 1.0)
    assert order_of_days((), [years[:1], years[:1]]) == DayOrder(None, None)
