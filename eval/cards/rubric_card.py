"""Does a rubric judge see worse articles? The human article is set against three articles made from human ones:
its first half, itself with its sections in another order, and the article about another event.

A dimension on which one of them does not come out below the article that it was made to be worse than is withheld: its column
says nothing. Fluency and neutrality have no such article and stay untested.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from types import MappingProxyType
from typing import Literal

from data import codec
from data.errors import UserError
from data.gold import GoldArticle
from data.types import Strict
from eval.metrics.rubrics import RUBRICS, Part, RubricJudge, Text, reference_text

ORDERS: Mapping[str, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        "organisation": (("reference", "shuffled"),),
        "focus": (("reference", "wrong article"),),
        "coverage": (("reference", "truncated", "wrong article"), ("shuffled", "truncated")),
    }
)
"""By dimension, which means must fall, strictly. A wrong article may be as well organised as the right one."""
STAND_INS = ("reference", "truncated", "shuffled", "wrong article")
LEAST_SECTIONS = 3
"""Different sections with prose, so that there is another order."""

Shown = Literal["yes", "withheld", "untested"]
Rates = Mapping[str, Mapping[str, float | None]]
"""Of one event: 1 to 5 by stand-in and dimension."""


@dataclass(frozen=True, slots=True)
class DimensionCard(Strict):
    """`means` (1 to 5) of each stand-in over the `n` events on which all of them were rated."""

    dimension: str
    n: int
    means: dict[str, float]
    shown: Shown


@dataclass(frozen=True, slots=True)
class RubricCard(Strict):
    """`n_left_out` events have too few sections for another order."""

    judge: str
    data: str
    n_left_out: int
    dimensions: tuple[DimensionCard, ...]


def pairs_of(golds: Sequence[GoldArticle]) -> list[tuple[GoldArticle, GoldArticle]]:
    """Each event that has another order, with the next one, whose article is the wrong one for it.

    Raises UserError for fewer than two.
    """
    usable = [gold for gold in golds if len({part for part in reference_text(gold)[1:] if part.paragraphs}) >= LEAST_SECTIONS]
    if len(usable) < 2:
        raise UserError(
            f"{len(usable)} of {len(golds)} human articles have {LEAST_SECTIONS} sections, and 2 are needed; name another "
            "folder with --data, or more events"
        )
    return list(zip(usable, [*usable[1:], *usable[:1]], strict=True))


def rate(judge: RubricJudge, gold: GoldArticle, other: GoldArticle) -> Rates:
    made, reference = stand_ins(gold, other), reference_text(gold)
    return {name: judge.rate(gold.event_id, gold.title, text, reference) for name, text in made.items()}


def make_card(judge: RubricJudge, rates: Sequence[Rates], *, data: str, n_left_out: int) -> RubricCard:
    found = tuple(_dimension(dimension, rates) for dimension in RUBRICS)
    return RubricCard(f"{judge.name}@{judge.revision}", data, n_left_out, found)


def stand_ins(gold: GoldArticle, other: GoldArticle) -> dict[str, Text]:
    """The articles for one event, by name."""
    reference = reference_text(gold)
    texts = (reference, _first_half(reference), _shuffled(reference, gold.event_id), reference_text(other))
    return dict(zip(STAND_INS, texts, strict=True))


def _dimension(dimension: str, rates: Sequence[Rates]) -> DimensionCard:
    rows = [{name: found[dimension] for name, found in row.items()} for row in rates]
    known = [{name: rate for name, rate in row.items() if rate is not None} for row in rows]
    complete = [row for row in known if len(row) == len(STAND_INS)]
    means = {name: fmean(row[name] for row in complete) for name in STAND_INS} if complete else {}
    return DimensionCard(dimension, len(complete), means, verdict(dimension, means))


def verdict(dimension: str, means: Mapping[str, float]) -> Shown:
    """Equal means are no order. Without a mean nothing was tested."""
    if dimension not in ORDERS or not means:
        return "untested"
    falls = all(means[a] > means[b] for order in ORDERS[dimension] for a, b in pairwise(order))
    return "yes" if falls else "withheld"


def _first_half(text: Text) -> Text:
    left = sum(len(paragraph.split()) for part in text for paragraph in part.paragraphs) // 2
    kept = []
    for part in text:
        paragraphs = []
        for paragraph in part.paragraphs:
            words = paragraph.split()[: max(left, 0)]
            left -= len(paragraph.split())
            if words:
                paragraphs.append(" ".join(words))
        if paragraphs:
            kept.append(Part(part.heading, tuple(paragraphs)))
    return tuple(kept)


def _shuffled(text: Text, event_id: str) -> Text:
    """The lead stays, or it would read as the end of the section before it."""
    lead, sections = text[0], list(text[1:])
    order = random.Random(int(codec.sha256(event_id)[:8], 16))
    while tuple(sections) == text[1:]:
        order.shuffle(sections)
    return (lead, *sections)
