"""Infobox rows read off the evidence: `Label: value` lines that pages print of themselves, each with its citation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from data.types import Fact
from pipeline.evidence import Evidence
from pipeline.retrieval import terms

_ROW = re.compile(r"^\W{0,2}([A-Z][A-Za-z’' ]{2,24}?)\s*[:|]\s*(\S.{1,78}?)\s*\|?$")
_NO_LABEL = frozenset(
    [
        "by",
        "photo",
        "image",
        "credit",
        "source",
        "sources",
        "read",
        "updated",
        "published",
        "posted",
        "tags",
        "tag",
        "share",
        "follow",
        "related",
        "category",
        "categories",
        "email",
        "phone",
        "tel",
        "fax",
        "note",
        "notes",
        "comments",
        "comment",
        "author",
        "editor",
        "contact",
        "copyright",
        "website",
        "url",
        "http",
        "https",
        "price",
        "watch",
        "video",
        "more",
        "see",
        "home",
        "date",
        "about",
        "warning",
        "tip",
        "example",
        "media",
    ]
)
MAX_ROWS = 8


def facts_from_rows(evidence: Evidence, pages: Sequence[int]) -> tuple[Fact, ...]:
    """At most eight rows, first value of a label wins, from the given pages (those that the article cites), in page order."""
    wanted = set(pages)
    found: dict[str, Fact] = {}
    for passage in evidence.passages:
        if passage.page not in wanted:
            continue
        for line in passage.text.split("\n"):
            match = _ROW.match(line.strip())
            if not match:
                continue
            label, value = " ".join(match.group(1).split()), " ".join(match.group(2).split())
            words = label.lower().split()
            if len(words) > 3 or any(word in _NO_LABEL for word in words) or "://" in value or not terms(value):
                continue
            found.setdefault(label.lower(), Fact(label=label, value=value, cites=(passage.id,)))
    return tuple(list(found.values())[:MAX_ROWS])
