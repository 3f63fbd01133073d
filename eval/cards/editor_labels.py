"""Which of two articles an editor would rather take, and which of four is better ordered: how far scores agree.

The labels are in `editor_choices.json`: articles by topic, system and the SHA-256 of their text, no text. The reader was a
large language model that had the human article at hand and did not see which systems the articles were of. A score agrees
with a choice where it is higher for the article that was chosen; equal scores count half. Pairs without a choice say nothing
of a score's order and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from data import codec
from data.errors import UserError
from data.types import Strict

LABELS = Path(__file__).with_name("editor_choices.json")
CLEAR, SLIGHT, NEITHER = 2, 1, 0
"""How much the reader preferred an article: sent the other one back; would take either; could use neither or both alike."""

Half = Literal["first", "second"]
Values = Mapping[str, float | None]
Score = Callable[[Values], float | None]
"""None where it says nothing of the article: its pairs are left out."""


@dataclass(frozen=True, slots=True)
class Written(Strict):
    """An article: `sha256` is of the `text` of its file."""

    topic: str
    system: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Choice(Strict):
    """`margin` is 0 where neither was taken, else `chosen` is the one that was. `first_shown` says which the reader saw as
    the first. `again` is what the same reader said of both in exchanged order: `chosen`, `other`, `equal`, or nothing where
    the pair was read once. `half`: a change of a formula may be chosen on the `first`, and the `second` is then looked at
    once."""

    chosen: Written
    other: Written
    margin: int
    first_shown: Literal["chosen", "other"]
    why: str
    half: Half
    again: Literal["chosen", "other", "equal", ""] = ""


@dataclass(frozen=True, slots=True)
class Choices(Strict):
    """`orders`: articles of one topic each, the best ordered first."""

    reader: str
    choices: tuple[Choice, ...]
    orders: tuple[tuple[Written, ...], ...]

    @property
    def articles(self) -> tuple[Written, ...]:
        """Each once, by topic."""
        pairs = [one for choice in self.choices for one in (choice.chosen, choice.other)]
        found = {one.sha256: one for one in (*pairs, *(one for order in self.orders for one in order))}
        return tuple(sorted(found.values(), key=lambda one: (one.topic, one.system)))


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of `n` comparisons, `agreed` are in the score's order as in the reader's; ties of the score count half. `within` is the
    Wilson interval of the share at 95%."""

    agreed: float
    n: int

    @property
    def share(self) -> float:
        return self.agreed / self.n if self.n else math.nan

    @property
    def within(self) -> tuple[float, float]:
        if not self.n:
            return 0.0, 1.0
        z, n, p = 1.96, self.n, self.share
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, middle - half), min(1.0, middle + half)


def read_choices(path: Path = LABELS) -> Choices:
    """Raises UserError for a file of another form."""
    found = codec.read(Choices, path)
    for choice in found.choices:
        if choice.margin not in (CLEAR, SLIGHT, NEITHER) or choice.chosen.topic != choice.other.topic:
            raise UserError(f"{path}: margin is 2, 1 or 0, and both articles are of one topic; not so in {choice}")
    for order in found.orders:
        if len({one.topic for one in order}) != 1 or len(order) < 2:
            raise UserError(f"{path}: an order is of two or more articles of one topic; not so in {order}")
    return found


def agreement(choices: Sequence[Choice], scores: Mapping[str, Values], score: Score, *, margin: int = SLIGHT) -> Agreement:
    """Of the choices by at least `margin` between articles that `scores` has, by the hash of the text."""
    return _agreement([(one.chosen, one.other) for one in choices if one.margin >= max(margin, SLIGHT)], scores, score)


def order_agreement(orders: Sequence[Sequence[Written]], scores: Mapping[str, Values], score: Score) -> Agreement:
    """Of all pairs within an order. Kendall's tau is 2 x share - 1."""
    pairs = [(better, worse) for order in orders for n, better in enumerate(order) for worse in order[n + 1 :]]
    return _agreement(pairs, scores, score)


def _agreement(pairs: Sequence[tuple[Written, Written]], scores: Mapping[str, Values], score: Score) -> Agreement:
    agreed, n = 0.0, 0
    for better, worse in pairs:
        if better.sha256 not in scores or worse.sha256 not in scores:
            continue
        high, low = score(scores[better.sha256]), score(scores[worse.sha256])
        if high is None or low is None:
            continue
        n += 1
        agreed += 1.0 if high > low else 0.5 if high == low else 0.0
    return Agreement(agreed, n)
