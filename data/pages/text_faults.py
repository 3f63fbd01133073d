"""Texts that are no content, each told by words or counts that a reader can check: too short, a list of links, a copy of a
wiki, the same words over and over. What is told of other texts is empty.
"""

from __future__ import annotations

import re

from data.pages.blocks import any_of, count_read, count_unspaced, count_words, is_headline
from data.types import DropReason

MIN_CHARS_UNSPACED = 200
"""In scripts without blanks between words."""

_TEXT_MARK = any_of("text_marks")
_EDIT_HEADING = re.compile(r"\[ ?edit(?: source)? ?\]", re.I)


def repeated(text: str) -> str:
    """What to say of a text that says a few words over and over; empty for others."""
    words = text.lower().split()
    different = len(set(words))
    return f"{different} different words among {len(words):,}" if len(words) >= 500 and different < 0.02 * len(words) else ""


def too_short(text: str, media: str, min_words: int) -> str:
    """How much there is, where that is too little; scripts without blanks between words are counted in characters."""
    unspaced = count_unspaced(text)
    if unspaced * 2 >= len(text.replace(" ", "").replace("\n", "")) > 0:
        return f"{unspaced} characters" if unspaced < MIN_CHARS_UNSPACED else ""
    n = count_read(text) if media == "html" else count_words(text)
    return f"{n} words" if n < min_words else ""


def without_content(text: str, is_front: bool, short: str, min_words: int) -> tuple[DropReason, str]:
    """Too little is left: because the page only links on, or because its text was never loaded. `is_front`: of a site."""
    lines = [line for line in text.split("\n") if line]
    n_words = len(text.split())
    if n_words < 2 * min_words:
        return "too_short", short
    detail = f"{short} of content among {n_words:,} words of menus and links"
    links = sum(len(line.split()) for line in lines if 5 <= len(line.split()) <= 20)
    # lines of 5 to 20 words are headlines that link on; shorter ones are menus, which every page has
    return ("index_page" if is_front or links > 0.5 * n_words else "too_short"), detail


def only_headlines(text: str) -> str:
    """What remains is a list of headlines, each of another page."""
    lines = text.split("\n")
    headlines = sum(len(line.split()) for line in lines if is_headline(line))
    total = len(text.split())
    return f"{headlines} of {total} words are headlines" if headlines > 0.6 * total else ""


def marks_of_a_wiki(text: str) -> str:
    """What only copies of a wiki say: that they are, or links to edit their sections."""
    if found := _TEXT_MARK.search(text):
        return f"says {found.group()[:80]!r}"
    edits = len(_EDIT_HEADING.findall(text))
    return f"{edits} headings with an [edit] link" if edits >= 3 else ""


def is_bare(text: str) -> bool:
    """Lower-cased without punctuation, as the benchmark's cited pages are: measured, whatever the page's origin."""
    sample = text[:10_000]
    words = sample.count(" ") + sample.count("\n") + 1
    if words < 50:
        return False
    upper, lower = sum(map(str.isupper, sample)), sum(map(str.islower, sample))
    stops = sum(map(sample.count, ".!?,;"))
    # a capital in 200 letters, a stop in 100 words: prose has several times as many, the cited pages of the benchmark none
    return lower > 0.5 * (len(sample) - words) and upper < 0.005 * lower and stops * 100 < words
