"""Sentence ordering: a section's statements as paragraphs, each a run that belongs together; a story by its time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.choosing.statements import Pool
from pipeline.planning.days import full_day

STORIES = frozenset(("Plot", "Premise", "Synopsis", "Story"))


PARAGRAPH = 4


def paragraphs(pool: Pool, group: Sequence[int], *, tells_story: bool = False) -> list[list[int]]:
    """Statements of one page's neighbourhood together; paragraphs by their first day, undated ones where their page's order
    puts them, those of a story by how far into their pages they stand; at most PARAGRAPH statements each."""
    runs: list[list[int]] = []
    for i in sorted(group, key=lambda i: (pool.offered[i].candidate.page, pool.offered[i].candidate.index)):
        last = runs[-1] if runs else []
        here = pool.offered[i].candidate
        if (
            last
            and pool.offered[last[-1]].candidate.page == here.page
            and here.index - pool.offered[last[-1]].candidate.index <= 3
        ):
            last.append(i)
        else:
            runs.append([i])
    runs = _linked(pool, runs)  # else half of the paragraphs were single sentences
    if tells_story:
        far = _how_far(pool)
        runs.sort(key=lambda run: float(np.mean([far[i] for i in run])))
    else:
        runs.sort(key=lambda run: (_when(pool, run), -float(max(pool.relevance[i] for i in run))))
    paragraphs: list[list[int]] = []
    for run in runs:
        if paragraphs and len(paragraphs[-1]) + len(run) <= PARAGRAPH:
            paragraphs[-1] += run
        else:
            n = -(-len(run) // PARAGRAPH)  # equal parts: no paragraph of one sentence at the end
            size = -(-len(run) // n)
            paragraphs += [run[at : at + size] for at in range(0, len(run), size)]
    return paragraphs


def _linked(pool: Pool, runs: list[list[int]]) -> list[list[int]]:
    """Single statements join the run that they are most like, if they are like any."""
    long = [run for run in runs if len(run) > 1]
    for run in runs:
        if len(run) > 1:
            continue
        near = max(long, key=lambda other: float(max(pool.vectors[run[0]] @ pool.vectors[j] for j in other)), default=None)
        if (
            near is not None
            and len(near) < PARAGRAPH
            and max(float(pool.vectors[run[0]] @ pool.vectors[j]) for j in near) > 0.6
        ):
            near.append(run[0])
        else:
            long.append(run)
    return long


def _how_far(pool: Pool) -> list[float]:
    """For each statement how far into what its page has of statements it stands, from 0 to 1: whoever retells a story goes
    along with it."""
    ends: dict[int, int] = {}
    for one in pool.offered:
        ends[one.candidate.page] = max(ends.get(one.candidate.page, 1), one.candidate.end)
    return [one.candidate.start / ends[one.candidate.page] for one in pool.offered]


def _when(pool: Pool, run: Sequence[int]) -> str:
    """The run's first dated day as it sorts; without one the day before its page was published, as "then the bells rang" on a
    page of 20 March; runs of no day come first: they describe."""
    days = [full_day(day, pool.offered[i].published) for i in run if (day := pool.offered[i].day)]
    full = [day for day in days if not day.startswith("-")]
    published = [day for i in run if (day := pool.offered[i].published)]
    return min(full, default="") or min(days, default="") or min(published, default="")
