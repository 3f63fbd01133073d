"""Dates and percentages of one article in one style, and nothing else changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.types import Heading, Section, Sentence
from pipeline.writing.house_style import in_one_style, in_style

PAIRS = [
    ("In a March 13, 2031, speech, Abt said so.", "In a 13 March 2031 speech, Abt said so."),
    ("Abt reported on March 13, 2031, that it broke.", "Abt reported on 13 March 2031 that it broke."),
    ("On March 13, 2031, the levee broke.", "On 13 March 2031, the levee broke."),
    ("The levee broke on March 13, 2031, in Vasterlow.", "The levee broke on 13 March 2031 in Vasterlow."),
    ("The levee broke on March 13, 2031, and 14 people died.", "The levee broke on 13 March 2031, and 14 people died."),
    ("The levee broke on March 13.", "The levee broke on 13 March."),
    ("He resigned on November 27, 2031.", "He resigned on 27 November 2031."),
    ("It crested on March 14, 38 centimetres below the wall.", "It crested on 14 March, 38 centimetres below the wall."),
    ("It fell on March 14 and 15 people died.", "It fell on March 14 and 15 people died."),
]


@pytest.mark.parametrize(("american", "other"), PAIRS)
def test_day_first(american: str, other: str) -> None:
    assert in_style(american, "day first") == other


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("The levee broke on 13 March 2031 after rain.", "The levee broke on March 13, 2031, after rain."),
        ("On 13 March 2031, the levee broke.", "On March 13, 2031, the levee broke."),
        ("The levee broke on 13 March.", "The levee broke on March 13."),
        ("It lasted until 15 March 2031.", "It lasted until March 15, 2031."),
    ],
)
def test_month_first(text: str, changed: str) -> None:
    assert in_style(text, "month first") == changed


@pytest.mark.parametrize(
    "text",
    [
        "It rained on 12 and 13 March 2031.",
        "It rained from March 12 to 15, 2031.",
        "It rained on March 12–15.",
        "It rained in March 2031.",
        "He said: “We met on March 13, 2031, and on 14 March.”",
        "The September 11 attacks changed it.",
        "The May 2031 vote and the 21 May Movement.",
    ],
)
def test_ranges_names_and_quotations_stay(text: str) -> None:
    assert in_style(text, "day first") == text or "21 May" in text
    assert in_style(text, "month first") == text or "21 May" in text


@given(st.lists(st.sampled_from([text for pair in PAIRS for text in pair]), max_size=6))
def test_twice_is_once_and_no_figure_is_lost(parts: list[str]) -> None:
    text = " ".join(parts)
    for style in ("day first", "month first"):
        once = in_style(text, style)
        assert in_style(once, style) == once
        assert sorted(word.strip(".,") for word in once.split()) == sorted(word.strip(".,") for word in text.split())


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("On March 20 3,150 people left the town.", "On March 20, 3,150 people left the town."),
        ("On 20 March 3,150 people left the town.", "On 20 March, 3,150 people left the town."),
        ("In 2031 14 bridges were closed.", "In 2031, 14 bridges were closed."),
        ("On March 20, 3,150 people left the town.", "On March 20, 3,150 people left the town."),
        ("On 20 March 2031 the levee broke.", "On 20 March 2031 the levee broke."),
        ("By March 2031 the levee was whole.", "By March 2031 the levee was whole."),
        ("On March 20 the levee broke.", "On March 20 the levee broke."),
    ],
)
def test_a_date_and_a_number_do_not_run_into_each_other(text: str, apart: str) -> None:
    section = Section(Heading("Event"), ((Sentence(text, ()),),))
    (styled,) = in_one_style([section], {})
    assert [s.text for s in styled.sentences] == [apart]


def test_what_one_page_shouts_is_written_as_most_have_it() -> None:
    said = Sentence("IRENA HOLT told the BBC of the flood.", ("0:0-9",))
    pages = {"0:0-9": "IRENA HOLT told the BBC of the flood. Irena Holt spoke.", "1:0-9": "Mayor Irena Holt was heard."}
    (styled,) = in_one_style([Section(Heading("Event"), ((said,),))], pages)
    assert styled.sentences[0].text == "Irena Holt told the BBC of the flood."
    (kept,) = in_one_style([Section(Heading("Event"), ((said,),))], {"0:0-9": pages["0:0-9"].split(". ")[0]})
    assert kept.sentences[0].text == said.text
