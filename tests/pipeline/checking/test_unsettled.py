"""Statements that differ from their page in who, whether, or how much; and true ones in other words."""

from __future__ import annotations

import pytest

from pipeline.checking.page_days import with_page_days
from pipeline.checking.unsettled import unsettled

PAGE = (
    "The council of Lenzburgh rejected the plan by 14 to 9 on Monday. Mayor Ada Brint accused Otto Kell of hiding the report. "
    "A boy of six and his mother were taken to hospital; six of the passengers were hurt. Prosecutors said that the driver is "
    "not a suspect. Water levels rose after the dam was opened. The bridge was allegedly built without a permit."
)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("The council of Lenzburgh admitted the plan by 14 to 9.", "admitted"),
        ("The council rejected the plan by 15 to 9.", "15"),
        ("Otto Kell accused Ada Brint of hiding the report.", "the other way round"),
        ("A girl of six and her mother were taken to hospital.", "girl"),
        ("All of the passengers were hurt.", "all"),
        ("The driver was charged by prosecutors.", "charged"),
        ("Prosecutors said that the driver is a suspect.", "denies"),
        ("Water levels fell after the dam was opened.", "fell"),
        ("Water levels rose after the dam was closed.", "closed"),
        ("Nobody was hurt of the passengers.", "nobody"),
        ("The bridge was built without a permit.", "allegedly"),
        ("Most of the passengers were hurt.", "most"),
    ],
)
def test_what_likeness_cannot_settle_is_seen(statement: str, told: str) -> None:
    assert told in unsettled(statement, PAGE)


@pytest.mark.parametrize(
    "statement",
    [
        "On Monday the council of Lenzburgh rejected the plan, 14 to 9.",
        "Otto Kell was accused of hiding the report by mayor Ada Brint.",
        "Ada Brint accused Otto Kell of having hidden the report.",
        "A boy, 6, and his mother went to hospital.",
        "Six passengers were hurt.",
        "The driver is not a suspect, prosecutors said.",
        "Water levels rose when the dam was opened.",
        "The bridge is said to have been built without a permit, allegedly.",
    ],
)
def test_true_statements_in_other_words_are_settled(statement: str) -> None:
    assert unsettled(statement, PAGE) == ""


def test_numbers_may_be_elsewhere_on_the_page() -> None:
    assert "2031" in unsettled("The plan was rejected in 2031 by the council.", PAGE)
    assert unsettled("The plan was rejected in 2031 by the council.", PAGE, "Council rejects plan 2031-05-04") == ""
    assert unsettled("The plan was rejected.", "") == ""


def test_a_weekday_is_the_day_that_the_writer_took() -> None:
    text = "It broke on Thursday.\nHe came back yesterday. They meet on Thursday, 9 May 2031. It will open on Friday."
    assert with_page_days(text, "2031-05-04") == (  # a Sunday
        "It broke on Thursday [1 May 2031].\nHe came back yesterday [3 May 2031]. They meet on Thursday, 9 May 2031. "
        "It will open on Friday."
    )
    assert with_page_days(text, "") == text and with_page_days("No day.", "2031-05-04") == "No day."
