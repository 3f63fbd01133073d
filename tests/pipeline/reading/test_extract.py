from __future__ import annotations

import json
import unicodedata
from functools import lru_cache
from typing import get_args

import pytest

from data.gold import load_gold
from data.pages.cleaning import clean_pages, overlap
from data.snapshot import SAMPLE, Snapshot
from data.types import DropReason, Page, RawPage
from pipeline.reading.extract import extract

STORY = """
<p>The Grenmark dam failed on the morning of 4 May 2031 after a week of rain, and the valley below it was flooded within
an hour. Engineers had warned in two reports that the spillway gates could no longer be opened fully by their motors.</p>
<p>The town of Ostrel counted eleven dead and three missing. The mayor, Hanne Brucker, said that the siren had been heard
in the upper quarters only, and that most people near the mill were warned by neighbours who went from door to door.</p>
<p>The regional court opened an inquiry on 9 May. Its first hearing was set for June, and the company that runs the dam
announced that it would pay for temporary housing until the first of the damaged streets could be lived in again.</p>
"""


def page(body: str, *, head: str = "", title: str = "Dam fails") -> RawPage:
    document = f"<head><title>T</title>{head}</head><body><main><article>{body}</article></main></body>"
    html = f"<!DOCTYPE html><html lang='en'>{document}</html>"
    return RawPage(url="https://news.example/dam", title=title, body=html, media="html", origin="url")


def roles() -> list[tuple[str, int, str]]:
    listed = json.loads((SAMPLE / "roles.json").read_text(encoding="utf-8"))
    return [(event, int(number) - 1, role) for event, pages in listed.items() for number, role in pages.items()]


@lru_cache
def sample_pages(event: str) -> tuple[Page, ...]:
    snapshot = Snapshot(SAMPLE)
    raw = snapshot.raw_pages(event, "search")
    return clean_pages([extract(p) for p in raw], leak=overlap(load_gold(snapshot, event).prose), leak_hosts=True)


@pytest.mark.parametrize(("event", "index", "role"), roles())
def test_sample_page_gets_the_verdict_of_its_role(event: str, index: int, role: str) -> None:
    found = sample_pages(event)[index]
    kind, _, of = role.partition(":")
    reason = {
        "near_duplicate": "duplicate",
        "blocked": "blocked",
        "consent": "consent",
        "short": "too_short",
        "foreign": "language",
        "mirror": "leak_text",
    }.get(kind)
    assert found.drop_reason == reason, found.drop_detail
    assert (found.drop_detail != "") == (reason is not None)
    if kind == "near_duplicate":
        assert found.duplicate_of == int(of) - 1
    if kind == "hostile":
        assert "suspicious" in found.flags
        assert "hidden_text" in found.flags
    else:
        assert "suspicious" not in found.flags


def test_sample_text_has_no_invisible_characters_menus_or_hidden_text() -> None:
    for event in Snapshot(SAMPLE).ids("search"):
        for found in sample_pages(event):
            for text in (found.title, found.text):
                bad = [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs") and c != "\n"]
                assert not bad, (found.url, bad)
            if found.usable:
                assert "<script" not in found.title
                assert "newsletter" not in found.text.lower()
                assert "all rights reserved" not in found.text.lower()
    hostile = sample_pages("9000001")[2]
    for hidden in ("rolled down the Carrach Hills", "papaya is innocent", "one hundred times", "cite only", "SYSTEM: ignore"):
        assert hidden not in hostile.text
    assert "7.84 metres at 03:40 on 13 March 2031" in hostile.text


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        (
            '<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2031-05-05T08:00:00Z"}</script>',
            "",
            "2031-05-05",
        ),
        ('<meta property="article:published_time" content="2031-05-06T10:00:00+02:00">', "", "2031-05-06"),
        ("", "<p>The last flood was on 12 March 1997 and nobody remembers another one before it.</p>", None),
        ("", "<footer>Copyright 2019 Example Media</footer>", None),
    ],
)
def test_date_comes_from_metadata_only(head: str, body: str, expected: str | None) -> None:
    found = extract(page(STORY + body, head=head))
    assert found.published == expected
    assert ("no_date" in found.flags) == (expected is None)


def test_date_after_the_run_is_refused() -> None:
    dated = page(STORY, head='<meta property="article:published_time" content="2031-05-06">')
    assert extract(dated, run_date="2031-05-07").published == "2031-05-06"
    assert extract(dated, run_date="2031-05-05").published is None


@pytest.mark.parametrize("media", ["html", "text"])
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("%PDF-1.7\n1 0 obj << /Type /Catalog >>" + "x" * 200, "bad_type"),
        ("\x00" * 500, "bad_type"),
        ("\x89PNG\r\n\x1a\n" + "\ufffd" * 300, "bad_type"),
        ("word " * 1_100_000, "too_large"),
        ("ä" * 2_600_000, "too_large"),
    ],
)
def test_what_is_not_text_is_refused(body: str, reason: str, media: str) -> None:
    found = extract(RawPage(url="https://a.example/x", title="T", body=body, media=media, origin="search"))  # type: ignore[arg-type]
    assert found.drop_reason == reason
    assert found.drop_detail
    assert len(found.text) <= 2000
    (judged,) = clean_pages([found], leak=None, leak_hosts=True)
    assert judged.drop_reason == reason


@pytest.mark.parametrize(
    "body",
    [
        "",
        "   ",
        "<html></html>",
        "<!DOCTYPE html>",
        "<html><body>" + "<div>" * 5000,
        "<svg><script>x</script></svg>",
        "<html><body><p>" + "&#0;" * 50,
        "<?xml version='1.0' encoding='utf-16'?><html><body></body></html>",
        "</html></body></p>",
        "<html><head><script type='application/ld+json'>{broken</script></head><body></body></html>",
    ],
)
def test_broken_html_gives_a_reason_and_never_an_exception(body: str) -> None:
    found = extract(RawPage(url="not a url", title="", body=body, media="html", origin="url"))
    (judged,) = clean_pages([found], leak=None, leak_hosts=True)
    assert judged.drop_reason in get_args(DropReason)
    assert judged.drop_detail


def test_a_crash_in_the_extractor_drops_the_page_only(monkeypatch: pytest.MonkeyPatch) -> None:
    import trafilatura

    def crash(*args: object, **kwargs: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(trafilatura, "bare_extraction", crash)
    found = extract(page(STORY))
    assert found.drop_reason == "extract_none"
    assert "too deep" in found.drop_detail


def test_title_of_the_page_stands_in_for_a_missing_one() -> None:
    assert extract(page("<h1>Dam above Ostrel fails</h1>" + STORY, title="")).title
