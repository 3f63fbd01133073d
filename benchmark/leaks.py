"""The leak filter's view of the human article: a page is compared with it, and nothing of it goes any further."""

from __future__ import annotations

from collections.abc import Callable

from data.cleaning import LeakCheck, overlap
from data.gold import load_gold
from data.snapshot import Snapshot
from data.types import Event


def leak_checks(snapshot: Snapshot) -> Callable[[Event], LeakCheck]:
    """For an event, a function that says how much of the human article a page holds, and the other way round."""
    return lambda event: overlap(load_gold(snapshot, event.id).raw)
