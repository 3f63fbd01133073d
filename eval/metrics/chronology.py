"""Are the days that an article tells of told in their order? This needs no facts in common with the human article."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = "|".join(_MONTHS)
_DAY = re.compile(
    rf"\b(?P<day1>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<month1>{_MONTH})\b(?:,? (?P<year1>\d{{4}})\b)?"
    rf"|\b(?P<month2>{_MONTH}) (?P<day2>\d\d?)(?:st|nd|rd|th)?\b(?:,? (?P<year2>\d{{4}})\b)?"
    rf"|\b(?P<month3>{_MONTH}),? (?P<year3>\d{{4}})\b"
    rf"|\bin (?P<month4>{_MONTH})\b(?!,? \d)"  # "may" and "march" are verbs elsewhere
    r"|\b(?:in|since|until|by|from|of|after|before|during) (?P<year4>1\d{3}|20\d\d)\b",  # "1,500 people" is no year
    re.I,
)

LEAST_PAIRS = 5
"""Pairs of days below which their order says nothing."""


class Day(NamedTuple):
    """As far as a sentence tells it: None where it does not."""

    year: int | None
    month: int | None = None
    day: int | None = None


def days_of(sentences: Iterable[str]) -> Iterator[Day]:
    """The first day of each sentence that tells of one; without a year it is of the last year told before it.

    >>> list(days_of(["It sank on 3 May 2031.", "It sails again.", "On June 4 it rose."]))
    [Day(year=2031, month=5, day=3), Day(year=2031, month=6, day=4)]
    """
    last: int | None = None
    for sentence in sentences:
        if (found := _DAY.search(sentence)) is None:
            continue
        said = found.groupdict()
        year, month, day = (
            next((said[name] for name in names if said[name]), None)
            for names in (("year1", "year2", "year3", "year4"), ("month1", "month2", "month3", "month4"), ("day1", "day2"))
        )
        last = int(year) if year else last
        yield Day(last, _MONTHS.index(month.lower()) + 1 if month else None, int(day) if day else None)


def later(one: Day, other: Day) -> int:
    """1 if `one` is later, -1 if earlier, 0 if they cannot be told apart. Days of unknown years are taken to be of one year."""
    for a, b in zip(one, other, strict=True):
        if a != b:
            return 0 if a is None or b is None else 1 if a > b else -1
    return 0


class DayOrder(NamedTuple):
    """Kendall's tau of days and places, over pairs of sentences: 1 in order, -1 backwards, 0 by chance. None with fewer than
    `LEAST_PAIRS` pairs of different days."""

    within: float | None
    """Of one section."""
    across: float | None
    """Of two sections."""


def order_of_days(lead: Sequence[str], sections: Iterable[Sequence[str]]) -> DayOrder:
    """A lead sums up what sections tell, so it is compared with none of them."""
    days = [list(days_of(sentences)) for sentences in (lead, *sections)]
    within = [later(day, before) for one in days for i, day in enumerate(one) for before in one[:i]]
    across = [later(day, before) for i, one in enumerate(days) for other in days[1:i] for day in one for before in other]
    return DayOrder(_tau(within), _tau(across))


def _tau(turns: Sequence[int]) -> float | None:
    known = [turn for turn in turns if turn]
    return sum(known) / len(known) if len(known) >= LEAST_PAIRS else None
