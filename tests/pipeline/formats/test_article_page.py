"""The article's page in a browser, as its readers meet it: with a mouse, with keys, on a phone, without scripts, on paper."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from data.types import Article, Fact, Heading, Page, Passage, Section, Sentence, Source
from pipeline.formats.html import to_html
from tests.browser import Tab, browsing, needs_browser
from tests.pipeline.formats.test_formats import HOSTILE, disagreement, make

pytestmark = needs_browser

SCREENS = {"desktop": (1280, 900), "phone": (390, 844)}
WORDS = "Water stood in the lower streets until noon, and the bridge stayed shut for two days. "
CLAIM = "The dam held."
LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2


def sample() -> tuple[Article, list[Page]]:
    """Long enough to scroll, with what is wide by nature: a long word, a long address, a long label."""
    before, after = "\n".join([WORDS * 6] * 4), "\n".join([WORDS * 6] * 4)
    text = f"{before}\nNobody was hurt. {CLAIM} It was built in 1931.\n{after}"
    pages = [
        Page(f"https://www.bbc.co.uk/news/{'a-very-long-path-' * 12}", "Flood at the weir", text, "search", "2031-03-16",
             retrieved_at="2031-04-01T08:00:00+00:00"),
        Page("https://town.example/report", LONG, f"{WORDS}\nThe mayor thanked the helpers.\n{WORDS}", "search"),
        Page("https://town.example/copy", "Copy", text, "search", drop_reason="duplicate", duplicate_of=0),
        Page("https://town.example/login", "Members", "", "search", drop_reason="login"),
    ]  # fmt: skip
    start = text.index("Nobody")
    end = text.index(" It was built")
    passages = (
        Passage(0, start, end, text[start:end]),
        Passage(1, len(WORDS) + 1, len(WORDS) + 31, pages[1].text[len(WORDS) + 1 :][:30]),
    )
    sources = tuple(
        Source(p, pages[p.page].url, pages[p.page].title, pages[p.page].published, pages[p.page].retrieved_at) for p in passages
    )
    a, b = (source.id for source in sources)
    filler = tuple(Sentence(WORDS.strip(), (b,)) for _ in range(8))
    sections = tuple(Section(Heading(f"Part {n}" if n < 4 else LONG), (filler, filler)) for n in range(1, 5))
    lead = Section(
        Heading(""), ((Sentence(CLAIM, (a,)), Sentence("Thanks were given.", (b, a)), Sentence("It rained.", (), True)),)
    )
    infobox = (Fact("Location", LONG, (b,)), Fact(LONG, "Weir", (a,)))
    return Article("7", f"Flood at the weir of {LONG}", lead, sections, infobox, sources), pages


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "article.html"
    path.write_text(to_html(*sample()), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browsing(tmp_path_factory.mktemp("browser") / "profile") as tab:
        yield tab


def width_fits(tab: Tab) -> bool:
    return bool(tab.value("document.scrollingElement.scrollWidth <= innerWidth"))


SHOWN = """(() => {
  const panel = document.getElementById("panel"), mark = panel.querySelector("mark.same") || panel.querySelector("mark");
  const seen = (e) => { const b = e.getClientRects()[0];
    return document.elementFromPoint(b.left + b.width / 2, b.top + b.height / 2) === e; };
  const claim = document.querySelector(".s.active").getClientRects()[0], sheet = panel.getBoundingClientRect();
  return { open: !panel.hidden, mark: mark.textContent, markSeen: seen(mark), focus: document.activeElement.id,
    meta: panel.querySelector("[data-part=meta]").textContent,
    claimSeen: claim.top >= 0 && (claim.bottom <= sheet.top || claim.right <= sheet.left) };
})()"""


@pytest.mark.parametrize("screen", SCREENS)
def test_a_click_shows_the_evidence(tab: Tab, address: str, screen: str) -> None:
    tab.screen(*SCREENS[screen])
    tab.open(address)
    assert width_fits(tab)
    tab.click("#cite-1")
    shown = tab.value(SHOWN)
    assert shown["open"] and shown["mark"] == CLAIM and shown["markSeen"] and shown["claimSeen"]
    assert "bbc.co.uk · published 16 March 2031 · retrieved 1 April 2031 · Generally reliable" in shown["meta"]
    assert width_fits(tab)
    tab.click("[data-part=next]")
    assert tab.value("document.querySelector('.s.active').firstChild.textContent") == "Thanks were given."
    tab.click("[data-part=close]")
    assert tab.value("document.getElementById('panel').hidden")


def test_the_panel_begins_below_the_infobox(tab: Tab, tmp_path: Path) -> None:
    article, pages = sample()
    path = tmp_path / "article.html"
    path.write_text(to_html(replace(article, title="Flood", infobox=article.infobox[:1]), pages), encoding="utf-8")
    tab.screen(1280, 1400)
    tab.open(path.as_uri())
    tab.click("#cite-1")
    boxes = """(() => ["#panel", ".infobox"].map((one) => document.querySelector(one).getBoundingClientRect())
      .map((box) => [box.top, box.bottom]))()"""
    (top, bottom), (_, infobox_bottom) = tab.value(boxes)
    assert infobox_bottom < 700 and infobox_bottom < top < infobox_bottom + 30 and bottom == 1400
    tab.screen(1280, 500)
    tab.open(path.as_uri())
    tab.click("#cite-1")
    (top, _), (_, infobox_bottom) = tab.value(boxes)
    assert top == min(250, infobox_bottom + 12)  # half of the window is the panel's


@pytest.mark.parametrize("screen", SCREENS)
def test_keys_alone_open_and_close_it(tab: Tab, address: str, screen: str) -> None:
    tab.screen(*SCREENS[screen])
    tab.open(address)
    for _ in range(40):
        tab.press("Tab")
        if tab.value("document.activeElement.id") == "cite-1":
            break
    tab.press("Enter")
    shown = tab.value(SHOWN)
    assert shown["open"] and shown["mark"] == CLAIM and shown["focus"] == "panel"
    tab.press("Tab")
    assert tab.value("document.activeElement.closest('#panel') !== null")  # its buttons come next
    tab.press("Escape")
    assert tab.value("document.getElementById('panel').hidden") and tab.value("document.activeElement.id") == "cite-1"


@pytest.mark.parametrize("screen", SCREENS)
def test_sources_are_reached_without_scripts(tab: Tab, address: str, screen: str) -> None:
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.screen(*SCREENS[screen])
        tab.open(address)
        tab.click("#cite-1")
        top, height = tab.value("[document.getElementById('source-1').getBoundingClientRect().top, innerHeight]")
        assert tab.value("location.hash") == "#source-1" and 0 <= top < height and width_fits(tab)
        assert tab.value("document.getElementById('panel').hidden")
    finally:
        tab.call("Emulation.setScriptExecutionDisabled", value=False)


def test_nothing_is_asked_for_and_nothing_refused(tab: Tab, address: str) -> None:
    tab.screen(*SCREENS["desktop"])
    tab.open(address)
    tab.click("#cite-1")
    assert tab.requested == [address] and tab.complaints == []


def test_hostile_words_and_addresses_stay_words(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(to_html(*make(title=f"T {HOSTILE}", hostile=HOSTILE)), encoding="utf-8")
    tab.screen(*SCREENS["phone"])
    tab.open(path.as_uri())
    tab.click("#cite-4")  # its page's address is a script
    assert tab.value("document.querySelectorAll('.panel a').length") == 0 and tab.value(SHOWN)["mark"] == "Two tugs came."
    tab.click("[data-part=next]")
    assert tab.value("document.querySelector('.panel a').rel") == "nofollow noopener noreferrer"
    assert tab.requested == [path.as_uri()] and tab.complaints == [] and width_fits(tab)


@pytest.mark.parametrize("screen", SCREENS)
def test_what_sources_disagree_on_fits_and_leads_to_its_evidence(tab: Tab, tmp_path: Path, screen: str) -> None:
    from pypdf import PdfReader

    path = tmp_path / "article.html"
    path.write_text(to_html(*make(), disagreements=[disagreement(LONG)]), encoding="utf-8")
    tab.screen(*SCREENS[screen])
    tab.open(path.as_uri())
    assert width_fits(tab)
    tab.click("section[aria-labelledby=disagreements] a[href='#source-2']")
    assert tab.value("location.hash") == "#source-2" and tab.complaints == [] and tab.requested == [path.as_uri()]
    printed = "".join("".join(page.extract_text() for page in PdfReader(io.BytesIO(tab.pdf())).pages).split())
    assert "Sourcesdisagree" in printed and "12February2023to13February2023" in printed
    assert "<https://idle.example/%3Cb%3E>" in printed, "on paper, with its address"


def pixels(tab: Tab) -> dict[tuple[int, ...], int]:
    """Colours on the screen and how often they occur."""
    from PIL import Image

    image = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
    return {colour: n for n, colour in image.getcolors(image.width * image.height)}  # type: ignore[union-attr,misc]


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize(
    ("dark", "paper", "mark"), [(False, (255, 255, 255), (253, 240, 168)), (True, (16, 20, 24), (79, 66, 6))]
)
def test_screenshot(tab: Tab, address: str, screen: str, dark: bool, paper: tuple[int, ...], mark: tuple[int, ...]) -> None:
    """In light and dark the page is mostly paper, and what is cited stands out from it."""
    tab.screen(*SCREENS[screen], dark=dark)
    tab.open(address)
    before = pixels(tab)
    tab.click("#cite-1")
    after = pixels(tab)
    assert before[paper] > sum(before.values()) / 2 and before.get(mark, 0) == 0
    assert after[mark] > 1000


def test_on_paper(tab: Tab, address: str) -> None:
    from pypdf import PdfReader

    tab.screen(*SCREENS["desktop"], dark=True)
    tab.open(address)
    tab.click("#cite-1")  # what was open on the screen is not on paper
    printed = "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(tab.pdf())).pages)
    text = "".join(printed.split())
    assert "<https://www.bbc.co.uk/news/a-very-long-path-" in text and "<https://town.example/report>" in text
    assert "Generallyreliable" in text and "retrieved1April2031" in text
    assert "Membersonly" not in text and "Behindalogin(1)Members(town.example)" in text  # folded on the screen
    assert "Openthepage" not in text and "Source1of2" not in text
    tab.screen(*SCREENS["desktop"], paper=True)
    style = tab.value(
        "(() => { const at = (s) => getComputedStyle(document.querySelector(s)); return [at('#panel').display,"
        "at('.contents').display, at('.refs').verticalAlign !== 'baseline', at('body').backgroundColor]; })()"
    )
    assert style == ["none", "none", True, "rgb(255, 255, 255)"]
