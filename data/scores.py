"""What scoring produces: values per event, estimates per system, and the leaderboard submission.

Proportions lie in [0, 1]; percent exists only in printed tables. `None` is *unscored* (the metric could not be computed)
and is never averaged as 0; a failed event is 0 wherever 0 is worst and is never dropped from n.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from data.types import Strict

EventStatus = Literal["ok", "failed", "empty"]


@dataclass(frozen=True, slots=True)
class EventScores:
    """The score row of one event, in scores.jsonl, in a submission and on the leaderboard, by metric.

    `article_sha256` is of article.json; empty when there is none, and so is `title`. Not `Strict`: submissions of later
    versions may say more of an event.
    """

    id: str
    status: EventStatus
    article_sha256: str
    words: int
    scores: dict[str, float | None]
    reason: str = ""
    title: str = ""

    def rounded(self, decimals: int) -> EventScores:
        return replace(self, scores={name: None if v is None else round(v, decimals) for name, v in self.scores.items()})


@dataclass(frozen=True, slots=True)
class Estimate(Strict):
    """Mean over events with a 95% percentile bootstrap interval. `n` counts scored events, failures included."""

    mean: float
    low: float
    high: float
    n: int
    n_failed: int
    n_unscored: int


@dataclass(frozen=True, slots=True)
class SystemScores(Strict):
    """`events` in id order; `estimates` by metric name; `signature` says how every number was made."""

    system: str
    track: str
    split: str
    signature: str
    estimates: dict[str, Estimate]
    events: tuple[EventScores, ...]
    notes: tuple[str, ...] = field(default=())
