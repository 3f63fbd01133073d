"""A small event with hand-made pages, whose passages are one page each: what the tests of the writers work on."""

from __future__ import annotations

from data.settings import RetrievalSettings
from data.types import Event, Page
from pipeline.evidence import Evidence

EVENT = Event("42", "2031 Tolvane flood")

REPORT = (
    "The Tolvane flood struck the town of Vasterlow in Orvenia on 16 March 2031. The levee at Lower Quay broke at 03:40. "
    "Fourteen people died and 212 houses were destroyed. Mayor Irena Holt said the warning came too late."
)
RESPONSE = (
    "Marrund Province opened nine shelters for 4,300 residents of Vasterlow. Soldiers filled sandbags along the Tolvane. "
    "Governor Pavel Drost asked the Orvenian government for 48 million crowns."
)
INQUIRY = (
    "The Faltmark Commission published its report on 25 November 2031. It found that the levee at Lower Quay had not been "
    "inspected since 2019. Engineer Tomas Lind testified that the gauge at Harrow Bridge failed."
)
WEATHER = (
    "Heavy rain fell on the Tolvane basin for six days before the flood. The gauge at Harrow Bridge measured 7.2 metres. "
    "Irena Holt and the Faltmark Commission spoke of the wettest March on record."
)
BLOCKED = "Access denied. Enable JavaScript and cookies to continue to this page of the news site, please."


def page(name: str, title: str, text: str, **more: object) -> Page:
    return Page(url=f"https://{name}.example/flood", title=title, text=text, origin="search", **more)  # type: ignore[arg-type]


PAGES = (
    page("ledger", "Fourteen dead in Vasterlow", REPORT, published="2031-03-16"),
    page("province", "Marrund Province: situation report", RESPONSE),
    page("blocked", "Just a moment", BLOCKED, drop_reason="blocked"),
    page("review", "What the Faltmark Commission found", INQUIRY),
    page("weather", "Six days of rain", WEATHER),
)
RETRIEVAL = RetrievalSettings(passage_words=120, top_k=8)
LEDGER, PROVINCE, REVIEW, RAIN = (f"{n}:0-{len(PAGES[n].text)}" for n in (0, 1, 3, 4))


def evidence(settings: RetrievalSettings = RETRIEVAL) -> Evidence:
    return Evidence.cut(EVENT, PAGES, settings)
