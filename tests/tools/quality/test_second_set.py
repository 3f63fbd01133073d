"""Every page of the second set is read, or refused for its true reason."""

from __future__ import annotations

from functools import cache

import pytest

from data.passages import cut_passages
from tools.quality import usable_pages
from tools.quality.second_set import WholePage, faults, whole_pages

PAGES = whole_pages()
read_once = cache(usable_pages.read_saved)


@pytest.mark.parametrize("saved", PAGES, ids=lambda saved: saved.name)
def test_a_page_gives_what_a_reader_finds_or_the_true_reason(saved: WholePage) -> None:
    page = read_once(saved)
    assert faults(saved, page) == []
    assert page.usable or page.drop_detail
    assert all(page.text[passage.start : passage.end] == passage.text for passage in cut_passages([page]))


def test_the_count(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usable_pages, "read_saved", read_once)
    usable_pages.main(["--second"])
    assert "34 of 34 right" in capsys.readouterr().out
