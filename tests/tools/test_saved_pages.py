"""Every page of six kinds is read, or refused for its true reason; each fact can be opened by a citation."""

from __future__ import annotations

import pytest

from data.cleaning import LIVE_MIN_WORDS, clean_pages
from data.passages import cut_passages
from data.types import Page
from pipeline.reading.documents import read_document
from tools.saved_pages import KINDS, SavedPage, all_pages

PAGES = all_pages()


def read(saved: SavedPage) -> Page:
    document = read_document(saved.body, url=saved.url, content_type=saved.content_type, origin="url", run_date="2031-07-01")
    (page,) = clean_pages([document.extracted], leak=None, leak_hosts=True, min_words=LIVE_MIN_WORDS)
    return page


def test_there_are_ten_of_each_kind() -> None:
    assert [sum(page.kind == kind for page in PAGES) for kind in KINDS] == [10] * 6
    assert len({(page.kind, page.name) for page in PAGES}) == 60


@pytest.mark.parametrize("saved", PAGES, ids=lambda saved: f"{saved.kind}: {saved.name}")
def test_a_page_gives_its_facts_or_the_true_reason(saved: SavedPage) -> None:
    page = read(saved)
    assert page.drop_reason == saved.reason, page.drop_detail
    assert page.usable or page.drop_detail
    if saved.reason is not None:
        return
    at = 0
    for fact in saved.facts:
        found = page.text.find(fact, at)
        assert found >= 0, f"{fact!r} is missing, or stands at another place, in {page.text[:3000]!r}"
        at = found
    assert not [words for words in saved.absent if words in page.text]
    passages = cut_passages([page])
    assert all(page.text[passage.start : passage.end] == passage.text for passage in passages)
    for fact in saved.facts:
        assert any(fact.strip() in passage.text for passage in passages)


def test_a_page_is_read_the_same_each_time() -> None:
    assert [read(saved) for saved in PAGES[:12]] == [read(saved) for saved in PAGES[:12]]
