"""Usable pages -> passages: runs of whole sentences, with offsets, that retrieval finds and citations name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from data.sentences import Span, split_spans
from data.types import Page, Passage

_WORD = re.compile(r"\S+")


def cut_passages(pages: Sequence[Page], *, words: int = 120, overlap: int = 0) -> tuple[Passage, ...]:
    """Passages of about `words` words from every usable page, in page order.

    Sentences stay whole; one longer than twice the size is cut at a word. `overlap` repeats that many sentences at the
    start of the next passage. A passage never spans two pages.
    """
    if words < 10 or overlap < 0:
        raise ValueError(f"passages of {words} words with {overlap} sentences of overlap cannot be cut")
    return tuple(p for index, page in enumerate(pages) if page.usable for p in _cut_page(page.text, index, words, overlap))


def _cut_page(text: str, index: int, words: int, overlap: int) -> Iterator[Passage]:
    held: list[Span] = []
    held_words = 0
    fresh = False  # whether `held` has a sentence that no earlier passage has
    for span in sentence_spans(text, longest=2 * words):
        n = len(_WORD.findall(text, span.start, span.end))
        if held and fresh and held_words + n > words * 1.25:
            yield _passage(text, index, held)
            held = held[-overlap:] if overlap else []
            held_words = sum(len(_WORD.findall(text, s.start, s.end)) for s in held)
        held.append(span)
        held_words += n
        fresh = True
        if held_words >= words:
            yield _passage(text, index, held)
            held, fresh = (held[-overlap:] if overlap else []), False
            held_words = sum(len(_WORD.findall(text, s.start, s.end)) for s in held)
    if held and fresh:
        yield _passage(text, index, held)


def sentence_spans(text: str, *, longest: int = 60) -> list[Span]:
    """Sentences of a page; one of more than `longest` words (text without full stops) is cut into equal windows."""
    spans: list[Span] = []
    for span in split_spans(text):
        words = [(span.start + m.start(), span.start + m.end()) for m in _WORD.finditer(text[span.start : span.end])]
        if len(words) <= longest:
            spans.append(span)
            continue
        n_windows = -(-len(words) // longest)
        size = -(-len(words) // n_windows)
        for at in range(0, len(words), size):
            window = words[at : at + size]
            spans.append(Span(window[0][0], window[-1][1]))
    return spans


def _passage(text: str, index: int, spans: Sequence[Span]) -> Passage:
    start, end = spans[0].start, spans[-1].end
    return Passage(page=index, start=start, end=end, text=text[start:end])
