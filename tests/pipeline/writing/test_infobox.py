from __future__ import annotations

from dataclasses import replace

from data.settings import RetrievalSettings
from data.types import Event, Page
from pipeline.evidence import Evidence
from pipeline.writing.infobox import infobox_rows

LEAD = "The final was played on 21 May 2033 in front of 47,318 spectators, and 14 people were injured."


def evidence(*texts: str) -> Evidence:
    pages = [Page(url=f"https://{n}.example", title="t", text=text, origin="search") for n, text in enumerate(texts)]
    return Evidence.cut(Event("1", "Cup final"), pages, RetrievalSettings())


def rows(*texts: str, lead: str = LEAD, pages: list[int] | None = None) -> dict[str, str]:
    held = evidence(*texts)
    return {f.label: f.value for f in infobox_rows(held, list(range(len(texts))) if pages is None else pages, lead)}


def test_a_figure_counts_when_two_pages_agree_and_the_lead_says_it() -> None:
    one, two = "Some 47,318 spectators came on 21 May 2033 to see it.", "On 21 May 2033 there were 47,318 spectators."
    assert rows(one, two) == {"Date": "21 May 2033", "Attendance": "47,318"}
    assert rows(one, "Nobody counted them.") == {}
    assert rows(one, two, lead="The final was a good one.") == {}


def test_the_figure_of_a_single_early_report_decides_nothing() -> None:
    texts = ["47,318 spectators came.", "There were 47,318 spectators.", "At least 44,950 spectators came."]
    assert rows(*texts, lead=f"{LEAD} Others said 44,950.") == {"Attendance": "47,318"}


def test_rows_that_a_page_prints_are_read_when_infoboxes_know_the_label() -> None:
    page = "Referee: Ines Corvallan\n| Venue | Lanternfield Stadium |\nNote: read this\nWords: Lavender Moss\nReferee: Nobody"
    assert rows(page, lead="") == {"Referee": "Ines Corvallan", "Venue": "Lanternfield Stadium"}
    assert rows("Venue: https://x.example/a", "| a | Goals | b |", lead="") == {}


def test_only_the_pages_that_the_article_cites_are_read_and_each_row_cites_its_passage() -> None:
    held = evidence("Referee: Ines Corvallan", "Referee: Someone Else")
    (row,) = infobox_rows(held, [1], "")
    assert row.value == "Someone Else" and row.cites == (held.passages[1].id,)
    assert row.value in held.passages[1].text


def test_a_page_that_addresses_a_model_fills_no_row() -> None:
    held = evidence("Referee: Ines Corvallan")
    pages = tuple(replace(page, flags=("suspicious",)) for page in held.pages)
    assert infobox_rows(held, [0], "") and not infobox_rows(replace(held, pages=pages), [0], "")


def test_a_value_of_another_kind_is_no_row() -> None:
    page = "Attendance: see below\nReferee: nobody in particular\nCause: heavy rain\nVenue: It was played where it always is."
    assert rows(page, lead="") == {"Cause": "heavy rain"}


def test_the_date_of_what_came_of_it_is_not_the_date() -> None:
    texts = ["The mayor was sworn in on 21 June 2033.", "On 21 June 2033 she was sworn in."]
    assert rows(*texts, lead="The winner of the Cup final is sworn in on 21 June 2033.") == {}
    assert rows(*texts, lead="The mayor spoke on 21 June 2033.") == {}
    assert rows(*texts, lead="The Cup final was played on 21 June 2033.") == {"Date": "21 June 2033"}
