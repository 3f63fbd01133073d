"""Infobox rows read off the evidence: `Label: value` lines that pages print of themselves, each with its citation.

Only labels that infoboxes are known to have are read; pages print many other things before a colon.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from data.types import Fact
from pipeline.evidence import Evidence
from pipeline.retrieval import terms

_ROW = re.compile(r"^\W{0,2}([A-Z][A-Za-z’' ]{2,24}?)\s*[:|]\s*([^\s|][^|]{1,78}?)\s*\|?$")
MAX_ROWS = 8


@lru_cache(maxsize=1)
def _labels() -> frozenset[str]:
    return frozenset((Path(__file__).parent / "infobox_labels.txt").read_text(encoding="utf-8").split("\n"))


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
            if label.lower() not in _labels() or "://" in value or not terms(value):
                continue
            found.setdefault(label.lower(), Fact(label=label, value=value, cites=(passage.id,)))
    return tuple(list(found.values())[:MAX_ROWS])
