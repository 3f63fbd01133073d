"""Articles of another run of the same system that would come out the same here: those of events with the same pages.

A run without the leak filter differs from the run with it in a few events. Writing all of them again would take as long as
the first run and give the same bytes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from data.errors import StageError, UserError
from data.runs import EventFolder, RunFolder
from data.types import Page
from flows.showing import console
from flows.wiring.prepared import Prepared

PAGES_ONLY = frozenset({"leak_filter"})
"""Parts of a run's identity that change an article through its pages alone."""


def adopt(prepared: Prepared, source: Path) -> int:
    """Copy what `source` has of each event whose pages are the same, and say how many. Raises UserError for another system."""
    if prepared.is_live:
        raise UserError(f"--as-in {source} compares pages before they are fetched; drop it, or drop --evidence")
    other = RunFolder(source)
    theirs, ours = other.identity(), prepared.run.identity() or {}
    if theirs is None:
        raise UserError(f"--as-in {source} is no run folder; name one that wikigenben evaluate has made, or drop --as-in")
    unlike = {key for key in theirs.keys() | ours.keys() if theirs.get(key) != ours.get(key)}
    if not unlike <= PAGES_ONLY:
        differing = ", ".join(sorted(unlike))
        raise UserError(f"--as-in {source} was made otherwise ({differing}); drop --as-in, and all is written anew")
    with prepared.run.locked():
        adopted = [
            event_id
            for event_id in console.tracked("comparing pages", prepared.ids, len(prepared.ids), str)
            if _adopted(prepared, other.event(event_id), event_id)
        ]
    console.note(
        f"{len(adopted)} of {len(prepared.ids)} events have the same pages as in {source}; their articles are taken over"
    )
    return len(adopted)


def _adopted(prepared: Prepared, theirs: EventFolder, event_id: str) -> bool:
    ours = prepared.run.event(event_id)
    if ours.path.exists() or not _is_whole(theirs) or theirs.stored_pages() != _pages(prepared, event_id):
        return False
    half = prepared.run.path / f".{event_id}.half"  # a copy that breaks off must not look like an event
    shutil.rmtree(half, ignore_errors=True)
    shutil.copytree(theirs.path, half)
    ours.path.parent.mkdir(exist_ok=True)
    half.rename(ours.path)
    return True


def _is_whole(theirs: EventFolder) -> bool:
    """Whether there is an article with its pages. A damaged article is written here."""
    try:
        return theirs.article() is not None and theirs.stored_pages() is not None
    except UserError as error:
        console.note(f"event {theirs.event_id} is not taken over: {error}")
        return False


def _pages(prepared: Prepared, event_id: str) -> tuple[Page, ...] | None:
    try:
        return prepared.pages_to_score(prepared.snapshot.event(event_id))
    except StageError:  # the event fails here as well, and says so when its turn comes
        return None
