"""The report of a check as an editor uses it in a browser: filter, marks, the list to paste, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.checking.report import Change, CheckReport, CitedPage, Finding, Verdict
from pipeline.formats.check_html import check_html
from pipeline.formats.check_wikitext import listed
from tests.browser import Tab, browsing, needs_browser

LONG = "https://archive.example/very/long/address/without/any/place/to/break/" + "x" * 160
PASSAGE = (
    "Rain fell for nine days in the valley. The dam of Larrow broke in the night of 3 May 2031. The mayor, Ana Bray, said that "
    "the siren had been heard in the upper quarters only. An inquiry was opened on 9 May."
)
TOLD: tuple[tuple[str, str, Verdict, str], ...] = (
    (
        "",
        "The dam of Larrow broke in the night of 3 May 2031.",
        "supported",
        "The dam of Larrow broke in the night of 3 May 2031.",
    ),
    ("", "Ninety people were killed by the water.", "unsupported", ""),
    ("Course", "An inquiry was opened on 9 May.", "supported", "An inquiry was opened on 9 May."),
    ("Course", "The siren was heard in all quarters.", "doubtful", ""),
    ("Course", "The railway was closed.", "gone", ""),
    ("Aftermath", "The director left the country.", "unread", ""),
    ("Aftermath", "A second dam was built in 2040.", "older", ""),
    ("Aftermath", "The king came to see it.", "broken", ""),
    ("Aftermath", "Nobody was blamed for what had happened.", "uncited", ""),
    ("Aftermath", "Le barrage a été reconstruit.", "foreign", ""),
    ("Infobox", "deaths: 14", "unsupported", ""),
    ("Table in “Aftermath”", "Sall: 9 deaths, damage 14 million", "doubtful", ""),
)


def report() -> CheckReport:
    findings = []
    for section, text, verdict, sentence in TOLD:
        page = CitedPage(LONG if verdict == "gone" else "https://news.example/dam", "The dam breaks", "2031-05-04", "", "p. 5")
        cited = () if verdict == "uncited" else (page,)
        language = "French" if verdict == "foreign" else ""
        findings.append(
            Finding(text, section, verdict, 0.5, PASSAGE if sentence or verdict == "doubtful" else "", cited, sentence=sentence,
                    language=language)
        )  # fmt: skip
    changes = (Change("Ninety people were killed by the water.", "supported", "unsupported"),)
    return CheckReport("Larrow dam", "wikitext", "lexical", tuple(findings), 9, 7, "2031-05-12", "2031-05-09", changes)


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    folder = tmp_path_factory.mktemp("check")
    told = report()
    (folder / "report.html").write_text(check_html(told, listed("", told)), encoding="utf-8")
    with browsing(folder / "profile") as tab:
        tab.screen(1280, 900)
        tab.open((folder / "report.html").as_uri())
        yield tab


SEEN = "[...document.querySelectorAll('.finding')].filter(one => one.getClientRects().length)"
SEEN += ".map(one => one.className.split(' ')[1])"
HEADINGS = "[...document.querySelectorAll('.part h2')].filter(one => one.getClientRects().length).map(one => one.textContent)"


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_filter(tab: Tab, width: int) -> None:
    tab.screen(width, 844)
    tab.click("label:has(#show-all)")
    assert tab.value(SEEN) == [verdict for _, _, verdict, _ in TOLD]
    assert tab.value(HEADINGS) == ["Introduction", "Course", "Aftermath", "Infobox", "Table in “Aftermath”"]
    tab.click("label:has(#show-unsupported)")
    assert tab.value(SEEN) == ["unsupported", "unsupported"]
    assert tab.value(HEADINGS) == ["Introduction", "Infobox"]  # no heading stands above nothing
    tab.click("label:has(#show-look)")
    assert "supported" not in tab.value(SEEN) and len(tab.value(SEEN)) == len(TOLD) - 2
    tab.click("label:has(#show-all)")


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_screen_and_nothing_is_loaded(tab: Tab, width: int) -> None:
    tab.screen(width, 844)
    assert tab.value("document.documentElement.scrollWidth") <= width
    assert tab.value("[...document.querySelectorAll('.finding a')].every(a => a.getBoundingClientRect().right <= innerWidth)")
    assert tab.requested == [tab.value("location.href")] and tab.complaints == []


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_a_finger_can_meet_each_choice(tab: Tab, width: int) -> None:
    tab.screen(width, 844)
    heights = tab.value("[...document.querySelectorAll('.choice label')].map(one => one.getBoundingClientRect().height)")
    assert len(heights) == 11 and min(heights) >= 24  # WCAG 2.2, 2.5.8: 24 pixels


@needs_browser
def test_the_supporting_sentence_is_marked_and_what_stands_around_it_folded(tab: Tab) -> None:
    tab.screen(1280, 900)
    mark = "document.querySelector('#statement-1 mark')"
    assert tab.value(f"{mark}.textContent") == TOLD[0][1]
    assert tab.value(f"getComputedStyle({mark}).backgroundColor") not in ("rgba(0, 0, 0, 0)", "rgb(255, 255, 255)")
    assert not tab.value("document.querySelector('#statement-1 details').open")
    tab.click("#statement-1 summary")
    assert tab.value("document.querySelector('#statement-1 details').open")
    assert "Rain fell for nine days" in tab.value("document.querySelector('#statement-1 details').innerText")


@needs_browser
def test_a_link_to_a_statement_that_is_filtered_out_shows_it(tab: Tab) -> None:
    tab.screen(1280, 900)
    tab.click("label:has(#show-doubtful)")
    assert tab.value(SEEN) == ["doubtful", "doubtful"]
    tab.click("#statement-4 .quote a")  # the same passage again: a link leads to it
    assert tab.value("location.hash") == "#statement-1"
    assert tab.value(SEEN) == ["supported", "doubtful", "doubtful"] and "Introduction" in tab.value(HEADINGS)
    tab.value("location.hash = ''")
    tab.click("label:has(#show-all)")


@needs_browser
def test_no_date_is_cut_at_the_end_of_a_line(tab: Tab) -> None:
    tab.screen(390, 844)
    assert tab.value("[...document.querySelectorAll('.day')].every(one => one.getClientRects().length === 1)")


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_list_to_paste(tab: Tab, width: int) -> None:
    tab.screen(width, 844)
    if not tab.value("document.querySelector('.paste').open"):
        tab.click(".paste summary")
    area = "document.querySelector('.paste textarea')"
    written = tab.value(f"{area}.value")
    assert written.startswith("== Citations to look at: Larrow dam ==") and written == listed("", report())
    assert (
        "* Ninety people were killed by the water. [https://news.example/dam]{{failed verification|date=May 2031}}" in written
    )
    assert "=== Infobox ===\n* deaths: 14 [https://news.example/dam]{{failed verification|date=May 2031}}" in written
    tab.value(f"{area}.select()")
    assert tab.value(f"{area}.selectionEnd - {area}.selectionStart") == len(written)
    assert tab.value(f"{area}.getBoundingClientRect().right") <= width


def test_the_page_is_well_formed() -> None:
    from lxml import html as lxml_html

    tree = lxml_html.document_fromstring(check_html(report(), "a list"))
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids)) and len(tree.xpath("//section[contains(@class, 'finding')]")) == len(TOLD)
