"""A model's outline text -> headings; and the headings that the kind of article and its evidence suggest."""

from __future__ import annotations

import re
from collections.abc import Sequence

from data.types import Heading, Outline

_BULLET = re.compile(r"^\s*(?:[-*•#=]+|\(?\d{1,2}[.)]|[IVX]{1,4}\.|[A-Z]\.)\s*")
_NEVER = frozenset(
    [
        "references",
        "reference",
        "notes",
        "see",
        "also",
        "external",
        "links",
        "bibliography",
        "further",
        "reading",
        "sources",
        "footnotes",
        "gallery",
        "citations",
        "table",
        "of",
        "contents",
        "outline",
        "headings",
        "section",
        "headings",
    ]
) | {"see also", "external links", "further reading", "table of contents", "section headings"}
MAX_HEADING_WORDS = 10


def parse_outline(title: str, text: str, max_sections: int) -> Outline:
    """Headings of a model's answer, one a line; numbering, markers, repeats and reference sections are dropped.

    A line that reads as a sentence or is longer than ten words is no heading. The result may be empty.
    """
    found: dict[str, Heading] = {}
    for line in text.splitlines():
        heading = _BULLET.sub("", line.strip()).strip(" =*#_:\"'“”-–")
        heading = re.sub(r"\[\d+\]", "", heading).strip()
        words = heading.split()
        if not words or len(words) > MAX_HEADING_WORDS or heading.endswith((".", "!", "?", ",")) or not heading[0].isalnum():
            continue
        key = heading.lower()
        if key in _NEVER or key == title.lower() or key in ("lead", "introduction", "lead paragraph"):
            continue
        found.setdefault(key, Heading(heading))
    return Outline(title=title, headings=tuple(list(found.values())[:max_sections]))


def merge_outlines(title: str, first: Sequence[Heading], second: Sequence[Heading], max_sections: int) -> Outline:
    """`first`, then what of `second` it lacks, at most `max_sections`."""
    merged = {h.text.lower(): h for h in first}
    for heading in second:
        merged.setdefault(heading.text.lower(), heading)
    return Outline(title, tuple(list(merged.values())[:max_sections]))
