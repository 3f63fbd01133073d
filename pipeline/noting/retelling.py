"""The page that retells a story, and its passages in their order.

Of a film, an episode or a novel the pages nearest to the card say what it is; what happens in it stands far from that, told
whole by a page or two. Notes of many reviews make a plot of many beginnings: one page's account, read from its first passage to
its last, has one order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from data.sentences import split_sentences
from data.types import Passage
from decoding.api import Encoder
from pipeline.evidence import Evidence
from pipeline.notes import AboutPages
from pipeline.noting.material import readable
from pipeline.planning.kinds import Kind
from pipeline.planning.paragraphs import STORIES

LEAST_SENTENCES, LEAST_SHARE = 10, 0.6
"""Sentences of the story in a row that a page must have, and the share of them that must tell it: a review retells in parts."""
MOST_WORDS = 1_000
"""Words of the account that are read."""
OTHER_PARTS = ("Cast", "Characters", "Themes", "Production", "Development", "Release", "Reception", "Background")
"""Headings that a sentence may rather belong under."""


def retelling(evidence: Evidence, about: AboutPages, kind: Kind, filer: Encoder) -> tuple[Passage, ...]:
    """The passages of the page that tells most of the story; none where the kind has no story, or no page tells it."""
    if not any(section.heading in STORIES for section in kind.sections):
        return ()
    headings = sorted({*OTHER_PARTS, *(section.heading for section in kind.sections)})
    story = np.array([heading in STORIES for heading in headings])
    targets = filer.encode(headings)
    best: tuple[float, list[Passage]] = (0.0, [])
    for verdict in about.pages:
        # A page that opens with a story's villain is about the story; its title names it.
        if verdict.verdict == "other" or (verdict.verdict == "mention" and verdict.named < 1.0):
            continue
        page = evidence.pages[verdict.page]
        passages = [p for p in evidence.passages if p.page == verdict.page and readable(p, page) is not None]
        told = [_told(p.text, filer, targets, story) for p in passages]
        dense, start, end = _densest([float((t - LEAST_SHARE).sum()) for t in told])
        value = dense * max(verdict.likeness, 0.0)
        if value > best[0] and sum(int(t.sum()) for t in told[start:end]) >= LEAST_SENTENCES:
            # A passage may end where the story begins, and says who is meant by the first "he".
            start -= bool(start and told[start - 1].any())
            best = (value, passages[start:end])
    return tuple(_up_to(best[1], MOST_WORDS))


def _densest(gains: Sequence[float]) -> tuple[float, int, int]:
    """The greatest sum of gains in a row, and where it begins and ends."""
    best, sum_here, start = (0.0, 0, 0), 0.0, 0
    for n, gain in enumerate(gains):
        if sum_here <= 0:
            sum_here, start = 0.0, n
        sum_here += gain
        best = max(best, (sum_here, start, n + 1), key=lambda one: one[0])
    return best


def _told(text: str, filer: Encoder, targets: np.ndarray, story: np.ndarray) -> np.ndarray:
    """Which sentences stand under a heading of the story, 1 or 0, shape (n,)."""
    vectors = filer.encode(split_sentences(text) or [text])
    return np.asarray(story[(vectors @ targets.T).argmax(axis=1)], dtype=float)


def _up_to(passages: Sequence[Passage], words: int) -> list[Passage]:
    taken: list[Passage] = []
    used = 0
    for passage in passages:
        used += len(passage.text.split())
        if taken and used > words:
            break
        taken.append(passage)
    return taken
