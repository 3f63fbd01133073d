"""Which pages are drawn, and what is kept of them; the browser itself is tested in `reading/test_rendering.py`."""

from __future__ import annotations

import pytest

from data.errors import UserError
from data.pages.cleaning import Extracted
from pipeline.reading.documents import Document
from pipeline.reading.seen.chromium import Undrawn
from pipeline.reading.seen.rendering import Painted
from pipeline.web import painting
from pipeline.web.fetched import Fetched
from pipeline.web.painting import Painter, check_render

PAGE = Fetched("https://a.example/", "https://a.example/", content_type="text/html", etag="1", body=b"<html><p>x</p></html>")
PDF = Fetched("https://a.example/b", "https://a.example/b", content_type="application/pdf", body=b"%PDF-1.4 x")
GONE = Fetched("https://a.example/c", "https://a.example/c", drop_reason="http_4xx")


@pytest.fixture(autouse=True)
def browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(painting, "find_browser", lambda: "/usr/bin/some-browser")
    monkeypatch.setattr(painting, "paint", lambda body, **_: Painted(b"<p>painted</p>", 1))


def test_every_page_of_html_is_drawn_in_its_order() -> None:
    drawn = list(Painter("always", print).drawn([(4, PAGE), (2, PDF), (7, GONE)]))
    assert [n for n, _ in drawn] == [4, 2, 7] and [one.flags for _, one in drawn] == [("painted",), (), ()]
    assert drawn[0][1].body == b"<p>painted</p>" and drawn[0][1].etag == "" and drawn[1][1] is PDF and drawn[2][1] is GONE
    again = Painter("always", print).draw(drawn[0][1])
    assert again is drawn[0][1], "what is painted is not drawn again"


@pytest.mark.parametrize(
    ("text", "reason", "wanted"), [("", "js_required", True), ("few words", None, True), ("word " * 200, None, False)]
)
def test_auto_draws_what_gave_no_main_text(text: str, reason: str | None, wanted: bool) -> None:
    read = Document(Extracted(url=PAGE.url, title="", text=text, origin="url", drop_reason=reason))  # type: ignore[arg-type]
    assert Painter("auto", print).is_wanted(PAGE, read) is wanted
    assert not Painter("never", print).is_wanted(PAGE, read) and not Painter("auto", print).is_wanted(PDF, read)


def test_a_page_that_cannot_be_drawn_stays_as_it_was_fetched_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(body: bytes, **_: object) -> Painted:
        raise Undrawn("it was not drawn in 45 s")

    monkeypatch.setattr(painting, "paint", late)
    told: list[str] = []
    assert Painter("always", told.append).draw(PAGE) is PAGE
    assert told == ["not drawn: https://a.example/: it was not drawn in 45 s"]


def test_without_a_browser_only_always_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(painting, "find_browser", lambda: None)
    with pytest.raises(UserError, match=r"needs Chromium.*apt install chromium"):
        check_render("always")
    check_render("auto")
    check_render("never")
    assert Painter("auto", print).draw(PAGE) is PAGE
