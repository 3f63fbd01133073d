"""The leak filter's view of the human article: a page is compared with it, and nothing of it goes any further."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from benchmark.submissions.submitted import EvidenceFilter
from data.gold import load_gold
from data.pages.cleaning import LEAK_DROP, LeakCheck, overlap
from data.runs import RunFolder
from data.snapshot import Snapshot
from data.types import Event


def leak_checks(snapshot: Snapshot) -> Callable[[Event], LeakCheck]:
    """For an event, a function that says how much of the human article a page holds, and the other way round."""
    return lambda event: overlap(load_gold(snapshot, event.id).raw)


def filter_used(run: RunFolder, event_ids: Iterable[str], *, on: bool) -> EvidenceFilter:
    """What the leak filter took from the pages that the run has stored."""
    pages = [page for event_id in event_ids for page in run.event(event_id).stored_pages() or ()]
    dropped = sum(page.drop_reason in ("leak_host", "leak_text") for page in pages)
    return EvidenceFilter("on" if on else "off", LEAK_DROP if on else None, dropped)
