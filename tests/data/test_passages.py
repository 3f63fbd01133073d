from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.passages import cut_passages, sentence_spans
from data.types import Page

WORD = re.compile(r"\S+")
words = st.sampled_from(["The", "levee", "broke.", "River", "water", "rose.", "In", "2031,", "nobody", "Dr.", "slept!", "é[1]"])
paragraphs = st.lists(words, max_size=120).map(" ".join)
texts = st.lists(paragraphs, max_size=6).map("\n".join)
dropped = st.sampled_from([None, None, None, "blocked", "duplicate"])
pages = st.builds(lambda text, reason: Page("u", "t", text, "search", drop_reason=reason), texts, dropped)
some_pages = st.lists(pages, max_size=4).map(tuple)
sizes = st.integers(min_value=10, max_value=60)
overlaps = st.integers(min_value=0, max_value=3)


@given(some_pages, sizes, overlaps)
def test_passages_lie_in_their_page_and_cover_it(some_pages: tuple[Page, ...], words: int, overlap: int) -> None:
    passages = cut_passages(some_pages, words=words, overlap=overlap)
    for passage in passages:
        page = some_pages[passage.page]
        assert page.usable
        assert passage.text == page.text[passage.start : passage.end] == passage.text.strip() != ""
    for index, page in enumerate(some_pages):
        own = [p for p in passages if p.page == index]
        assert own == sorted(own, key=lambda p: (p.start, p.end))
        if page.usable:
            for word in WORD.finditer(page.text):
                assert any(p.start <= word.start() and word.end() <= p.end for p in own), word
        if not overlap:
            assert all(a.end <= b.start for a, b in pairwise(own))
            assert all(len(p.text.split()) <= 2 * words for p in own)
    assert len({p.id for p in passages}) == len(passages)
    assert [p.page for p in passages] == sorted(p.page for p in passages)


@given(texts, st.integers(min_value=1, max_value=30))
def test_sentences_are_bounded_and_cover_the_text(text: str, longest: int) -> None:
    spans = sentence_spans(text, longest=longest)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert " ".join(text[s.start : s.end] for s in spans).split() == text.split()
    assert all(len(text[s.start : s.end].split()) <= longest for s in spans)


def _page(text: str) -> Page:
    return Page("https://a.example/", "A", text, "search")


def test_text_without_full_stops_is_cut_at_words_and_an_overlap_repeats_sentences() -> None:
    text = " ".join(f"w{n}" for n in range(100))
    found = cut_passages([_page(text)], words=10)
    assert [len(p.text.split()) for p in found] == [20] * 5 and " ".join(p.text for p in found) == text
    text = " ".join(f"Sentence number {n} has exactly seven words." for n in range(6))
    found = cut_passages([_page(text)], words=14, overlap=1)
    assert [re.findall(r"number (\d)", p.text) for p in found] == [["0", "1"], ["1", "2"], ["2", "3"], ["3", "4"], ["4", "5"]]


@pytest.mark.parametrize(("words", "overlap"), [(9, 0), (0, 0), (-1, 0), (100, -1)])
def test_sizes_that_make_no_sense(words: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="cannot be cut"):
        cut_passages([], words=words, overlap=overlap)
