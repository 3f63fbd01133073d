"""Section assignment: under which heading a statement stands.

By what it means, by where encyclopedias put such a sentence (`decoding.filing`), and by words that belong under a heading
(cues.toml). A heading that too few statements fit is closed, and these are filed again.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from data.types import Heading
from decoding.api import Encoder
from pipeline.choosing.relevance import Scored
from pipeline.choosing.statements import Pool
from pipeline.planning.arranging import fits, fits_from
from pipeline.planning.headings import OfferedHeading
from pipeline.planning.kinds import Kind
from pipeline.planning.paragraphs import STORIES, paragraphs

CUES_FILE = Path(__file__).with_name("cues.toml")
LEAST_STATEMENTS = 2
"""Statements that a heading needs; a thin section joins the one that its statements fit next best."""
CUE = 0.12
"""What a word of a heading adds to a statement's fit; fits differ by 0.05 in the median, and vectors confuse cast and plot."""
GENERAL = frozenset(
    ("Background", "History", "Overview", "Summary", "Description", "Development", "Event", "Events", "Incident")
)
"""Headings under which anything may stand; without one a statement that has no heading's words would go under a wrong one."""
_ACCUSING = re.compile(
    r"\b(?:perpetrators?|suspects?|victims?|assailants?|shooters?|attackers?|gunm[ae]n|culprits?|offenders?|motives?|crimes?|"
    r"accused|defendants?|controvers(?:y|ies)|scandals?|criticisms?|fatalities|casualties|deaths|conspiracy|corruption|abuse|"
    r"misconduct|negligence|fraud)\b",
    re.I,
)


def filed_under(
    title: str,
    pool: Pool,
    scored: Scored,
    body: Sequence[int],
    offered: Sequence[OfferedHeading],
    encoders: tuple[Encoder, Encoder],
    most: int,
    kind: Kind,
) -> list[tuple[Heading, list[list[int]]]]:
    """Headings in reading order with their statements in paragraphs."""
    # A heading that accuses ("Perpetrator") needs statements that use its word: being alike is no evidence of guilt.
    headings = [h for h in offered if not _ACCUSING.search(h.heading) or _evidenced(h.heading, pool, body)] or list(offered)
    # "Fourteen people lost their lives" is no background of a flood, whatever its words are.
    general = {kind.main} if any(h.heading == kind.main for h in headings) else GENERAL
    if not any(h.heading in general for h in headings):
        headings.insert(0, OfferedHeading("Background", "history, what came before, the first, since, founded, origin", 0.0))
    # Words of the title tell nothing: half of what is said of a "Tour" has that word in it.
    bare = re.sub(r"\([^)]*\)|^\d{4}\b", "", title).strip()
    texts = [re.sub(re.escape(bare), " ", o.text, flags=re.I) if bare else o.text for o in pool.offered]
    cued = _cued(headings, texts)
    barred = _barred(headings, texts)
    cued &= ~barred
    # "Box office" over three sentences of the plot is worse than no heading, and so is a page's own subheading over what does
    # not name it: one article had 44 of 68 statements under a word that three of them used.
    usual = GENERAL | cues().words.keys() | {section.heading for section in kind.sections}
    needed = np.array([h.heading != kind.main and (h.heading in cues().needed or h.heading not in usual) for h in headings])
    open_ones = [k for k in range(len(headings)) if not needed[k] or cued[body, k].sum() >= LEAST_STATEMENTS] or list(
        range(len(headings))
    )
    # What a statement is about, and under which headings encyclopedias have such a one. How usual a heading is decides only
    # between headings that fit about as well.
    meaning, filer = encoders
    fit = fits(scored, meaning.encode([f"{h.heading}: {h.about}" for h in headings]))
    fit += fits_from(scored, filer.encode([o.text for o in pool.offered]) @ filer.encode([h.heading for h in headings]).T)
    fit += CUE * cued + 0.02 * np.array([h.prior for h in headings])
    fit[(~cued & needed) | barred] = -np.inf
    while True:
        groups: dict[int, list[int]] = {k: [] for k in open_ones}
        for i in body:
            groups[max(open_ones, key=lambda k: (fit[i, k], not needed[k], -k))].append(i)
        # The emptiest heading closes and its statements are filed again, until every open one has enough: closing all thin ones
        # at once would lose two that could have filled one.
        thin = [k for k in open_ones if len(groups[k]) < LEAST_STATEMENTS]
        if len(open_ones) == 1 or not (thin or len(open_ones) > most):
            break
        open_ones.remove(min(open_ones, key=lambda k: (len(groups[k]), headings[k].prior)))
    return [
        (Heading(headings[k].heading), paragraphs(pool, groups[k], tells_story=headings[k].heading in STORIES))
        for k in open_ones
        if groups[k]
    ]


@dataclass(frozen=True, slots=True)
class Cues:
    """Heading -> the words by which a statement belongs under it; `needed`: headings that are closed without them; `barred`:
    heading -> the words by which it does not."""

    words: Mapping[str, re.Pattern[str]]
    needed: frozenset[str]
    barred: Mapping[str, re.Pattern[str]]


@cache
def cues() -> Cues:
    read = tomllib.loads(CUES_FILE.read_text(encoding="utf-8"))

    def compiled(table: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
        return {name: re.compile(pattern, re.I) for name, pattern in table.items()}

    return Cues(compiled(read["cues"]), frozenset(read["needed"]), compiled(read["barred"]))


def _cued(headings: Sequence[OfferedHeading], texts: Sequence[str]) -> np.ndarray:
    """Which statements have words of which heading: bool, shape (n, k). A heading without a list has its own words."""
    return _found([cues().words.get(h.heading) or own_words(h.heading, texts) for h in headings], texts)


def _barred(headings: Sequence[OfferedHeading], texts: Sequence[str]) -> np.ndarray:
    """Which statements have words by which they do not belong under which heading: bool, shape (n, k)."""
    return _found([cues().barred.get(h.heading) for h in headings], texts)


def _found(patterns: Sequence[re.Pattern[str] | None], texts: Sequence[str]) -> np.ndarray:
    found = [[bool(p and p.search(text)) for p in patterns] for text in texts]
    return np.array(found, dtype=bool).reshape(len(texts), len(patterns))


def own_words(heading: str, texts: Sequence[str]) -> re.Pattern[str]:
    """The rarest stem of each part: not every match of a stadium is its "First evening match"."""
    stems = []
    for part in re.split(r" and |, ", heading):
        found = [rf"\b{re.escape(word[:7])}" for word in re.findall(r"[A-Za-z]{4,}", part)]
        stems += sorted(found, key=lambda stem: sum(bool(re.search(stem, text, re.I)) for text in texts))[:1]
    return re.compile("|".join(stems) or "(?!)", re.I)


def _evidenced(heading: str, pool: Pool, body: Sequence[int]) -> bool:
    """Whether at least two chosen statements use the heading's own word."""
    stems = [word.lower().rstrip("s")[:7] for word in _ACCUSING.findall(heading)]
    return sum(any(stem in pool.offered[i].text.lower() for stem in stems) for i in body) >= LEAST_STATEMENTS
