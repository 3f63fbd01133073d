from __future__ import annotations

import pytest

from data.pages.dated import day_at
from data.types import Page

TEXT = """Dam above Ostrel fails
4 May 2031, 06:10: Update
The dam failed on Sunday.
5 May 2031, 14:05 UTC
Soldiers came yesterday.
31 June 2031, 10:00
No such day."""


def page(text: str) -> Page:
    return Page("https://news.example/live", "Dam", text, "url", published="2031-05-03")


@pytest.mark.parametrize(
    ("words", "day"),
    [("Dam above", "2031-05-03"), ("The dam", "2031-05-04"), ("Soldiers", "2031-05-05"), ("No such", "2031-05-05")],
)
def test_an_entry_has_its_own_day(words: str, day: str) -> None:
    assert day_at(page(TEXT), TEXT.index(words)) == day


def test_one_time_in_a_text_is_no_live_page() -> None:
    text = "4 May 2031, 06:10\nThe dam failed."
    assert day_at(page(text), len(text) - 2) == "2031-05-03"
    assert day_at(page("In a sentence of 4 May 2031, 06:10: nothing.\nOr of 5 May 2031, 07:10: two."), 60) == "2031-05-03"
