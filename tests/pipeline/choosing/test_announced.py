"""Announcements for days that are past. All of them are invented."""

from __future__ import annotations

import pytest

from data.types import Page
from pipeline.choosing.announced import is_overtaken, reported_day

KNOWN = "2031-10-05"


@pytest.mark.parametrize(
    ("text", "published", "past"),
    [
        ("The memorial will be opened on 3 October 2031.", None, True),
        ("The memorial will be opened on 6 October 2031.", None, False),
        ("On 3 October 2031, the memorial will be opened.", None, True),
        ("The memorial was opened on 3 October 2031.", None, False),
        ("The memorial will be opened, after the flood of 2029.", None, False),
        ("The mayor said “it will be opened on 3 October 2031” in town.", None, False),
        ("The memorial will be opened on September 23.", "2031-09-01", True),
        ("The memorial will be opened on October 3.", "2031-09-01", True),
        ("The memorial will be opened on October 3.", "2031-10-04", False),  # of the year after
        ("The memorial will be opened on October 3.", None, True),
        ("The memorial will be opened on January 9.", None, False),
    ],
)
def test_an_announcement_is_past_before_the_newest_day(text: str, published: str | None, past: bool) -> None:
    page = Page(
        url="https://ledger.example/a", title="Flood of 2031", text="The dam broke.", origin="search", published=published
    )
    assert is_overtaken(text, page, KNOWN) is past
    assert not is_overtaken(text, page, "")


def test_a_page_that_does_not_name_the_year_may_speak_of_another() -> None:
    page = Page(url="https://ledger.example/a", title="Flood", text="The dam broke.", origin="search")
    assert not is_overtaken("The memorial will be opened on October 3.", page, KNOWN)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("The memorial was opened on 5 October 2031.", "2031-10-05"),
        ("The memorial was opened in October 2031.", ""),
        ("The memorial will be opened on 5 October 2031.", ""),
        ("The memorial was expected to open on 5 October 2031.", ""),
    ],
)
def test_only_what_is_past_reports_a_day(text: str, day: str) -> None:
    assert reported_day(text) == day
