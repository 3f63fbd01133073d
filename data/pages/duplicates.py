"""Pages that say the same: one of them is kept, and the others name it. How many sources say something is counted in these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from data.types import Page

DUPLICATE = 0.8
"""Jaccard index of 5-word shingles, or share of the shorter page's. Of 38,448 pairs of pages on one topic 3.6% reach it. A hash
of the whole page (simhash) is no substitute: it found different stories of one site 0.92 to 0.94 alike, whose shingles agree
to 0.5."""


@dataclass(frozen=True, slots=True)
class Print:
    """What two pages are compared by."""

    urls: frozenset[str]
    host: str
    folded: str
    n_words: int
    shingles: frozenset[tuple[str, ...]]


def clusters(pages: Sequence[Page]) -> tuple[int | None, ...]:
    """For each page the id of its cluster of pages that say the same: the index of the one that is kept, None if there is none.

    How many independent sources say something is the number of different ids, not of addresses.
    """
    return tuple(i if page.usable else page.duplicate_of for i, page in enumerate(pages))


def mark_duplicates(pages: Sequence[Page], prints: Mapping[int, Print]) -> tuple[Page, ...]:
    """Usable pages that say the same become one: the earliest dated of the nearly longest, else the longest.

    `prints`: of the usable pages, by place. A page that is contained in a longer one is never kept in its place,
    whatever its date: the rest would be lost. All are compared exactly, not by hashes: 60 pages are 1,770 pairs of sets.
    """
    told: dict[int, dict[int, str]] = {}  # longest page -> the pages that say the same, and why
    for i in sorted(prints, key=lambda i: (-prints[i].n_words, i)):
        # compared with the longest only: in a chain of small changes the last page may say something else than the first
        found = next(((first, why) for first in told if (why := _same(prints[first], prints[i]))), None)
        if found is None:
            told[i] = {i: ""}
        else:
            told[found[0]][i] = found[1]
    result = list(pages)
    for first, members in told.items():
        full = [i for i in members if prints[i].n_words >= DUPLICATE * prints[first].n_words]
        # lengths that differ by a few words are equal: then the search engine's order decides
        kept = min(
            full, key=lambda i: (pages[i].published or "9999", -round(10 * prints[i].n_words / prints[first].n_words), i)
        )
        for i, why in members.items():
            if i != kept:
                detail = f"of page {kept}, {why or members[kept]}"
                result[i] = replace(pages[i], drop_reason="duplicate", drop_detail=detail, duplicate_of=kept)
    return tuple(result)


_OWN_SHINGLES = 25
"""A page with more 5-word shingles of its own than this is not a copy of another page of its site: the rest is menus."""


def _same(a: Print, b: Print) -> str:
    """Why two pages count as one, "" if they do not."""
    if a.urls & b.urls:
        return "same address"
    if a.folded == b.folded:
        return "same text"
    fewer, more = sorted((len(a.shingles), len(b.shingles)))
    if not fewer:
        return ""
    shared = len(a.shingles & b.shingles)
    if a.host and a.host == b.host and fewer - shared > _OWN_SHINGLES:
        return ""
    if shared >= DUPLICATE * (fewer + more - shared):
        return f"5-word shingles agree to {shared / (fewer + more - shared):.2f}"
    if shared >= DUPLICATE * fewer and min(a.n_words, b.n_words) > 100:
        return f"{shared / fewer:.2f} of the shorter page's 5-word shingles are in the longer"
    return ""
