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


def test_the_figure_of_a_single_early_report_decides_nothing() -> None:
    texts = ["47,318 spectators came.", "There were 47,318 spectators.", "At least 44,950 spectators came."]
    assert rows(*texts, lead=f"{LEAD} Others said 44,950.") == {"Attendance": "47,318"}


def test_a_page_that_addresses_a_model_fills_no_row() -> None:
    held = evidence("Referee: Ines Corvallan")
    pages = tuple(replace(page, flags=("suspicious",)) for page in held.pages)
    assert infobox_rows(held, [0], "") and not infobox_rows(replace(held, pages=pages), [0], "")


def test_a_value_of_another_kind_is_no_row() -> None:
    page = "Attendance: see below\nReferee: nobody in particular\nCause: heavy rain\nVenue: It was played where it always is."
    assert rows(page, lead="") == {"Cause": "heavy rain"}
