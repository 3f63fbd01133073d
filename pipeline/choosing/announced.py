"""What a page announces for a day that is past by now, as other pages show: an article may not say that it will be."""

from __future__ import annotations

import re

from data.types import Page
from pipeline.choosing.standing_alone import FORTHCOMING, QUOTED, day_of

_AHEAD_OF_IT = re.compile(r"\bwill\b|\b(?:is|are) (?:set|slated|poised|scheduled|expected) to\b")
_ASIDE = re.compile(r", (?:which|who|after)\b|\bsince\b|\b\d{4}[’']s\b")
"""From here on a date is that of something else."""
_BEHIND_IT = re.compile(r"\b(?:was|were|won|began|took|\w+ed)\b")


def reported_day(text: str) -> str:
    """The full day (ISO) that a sentence reports as past; empty if none."""
    day = day_of(text)
    past = _BEHIND_IT.search(text) and not FORTHCOMING.search(text)
    return day if past and len(day) == 10 else ""


def is_overtaken(text: str, page: Page, known: str) -> bool:
    """Whether a sentence of the page announces something for a time before `known`, the newest day (ISO) that the pages know:
    "will air on 19 April".

    A day without a year is the next one after its page's day. If that is unknown, it is past in the five months up to `known`,
    where the page names that year.
    """
    bare = QUOTED.sub(" ", text)
    match = _AHEAD_OF_IT.search(bare)
    if not match or not known:
        return False
    opening = re.match(r"(?:On|In|From|By|At|Between) [^,]*,", bare[: match.start()])
    day = day_of(_ASIDE.split(bare[match.end() :])[0]) or (day_of(opening.group()) if opening else "")
    if not day.startswith("-"):
        return bool(day) and day < known[: len(day)]
    if page.published:
        year = int(page.published[:4]) + (day[2:] < page.published[5:][: len(day) - 2])
        return f"{year}{day[1:]}" < known[: len(day) + 3]
    if known[:4] not in f"{page.title} {page.text}":
        return False
    back = (int(known[5:7]) - int(day[2:4])) % 12
    return 0 < back <= 5 or (back == 0 and day[2:] < known[5:][: len(day) - 2])
