"""Every page of six kinds is read, or refused for its true reason; each fact can be opened by a citation."""

from __future__ import annotations

from functools import cache

import pytest

from data.passages import cut_passages
from tools.quality import usable_pages
from tools.quality.page_parts import KINDS, SavedPage
from tools.quality.saved_pages import all_pages
from tools.quality.usable_pages import fault

PAGES = all_pages()
read_once = cache(usable_pages.read_saved)


@pytest.mark.parametrize("saved", PAGES, ids=lambda saved: f"{saved.kind}: {saved.name}")
def test_a_page_gives_its_facts_or_the_true_reason(saved: SavedPage) -> None:
    page = read_once(saved)
    assert fault(saved, page) == ""
    assert page.usable or page.drop_detail
    passages = cut_passages([page])
    assert all(page.text[passage.start : passage.end] == passage.text for passage in passages)
    assert all(any(fact.strip() in passage.text for passage in passages) for fact in saved.facts)


def test_there_are_ten_of_each_kind_all_right_and_read_the_same_each_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [sum(page.kind == kind for page in PAGES) for kind in KINDS] == [10] * 6
    assert len({(page.kind, page.name) for page in PAGES}) == 60
    assert [usable_pages.read_saved(saved) for saved in PAGES[:60:5]] == [read_once(saved) for saved in PAGES[:60:5]]
    monkeypatch.setattr(usable_pages, "read_saved", read_once)
    usable_pages.main([])
    assert "60 of 60 right" in capsys.readouterr().out
