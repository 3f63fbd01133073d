"""Named event lists. `dev` is for choosing settings, `test` for reporting; both are cut by a hash of the event id, so they do
not depend on which events a snapshot happens to hold. `full` is all of them; `sample` is what ships with the repository.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal

from data.errors import UserError
from data.snapshot import Snapshot
from data.types import Track

Split = Literal["sample", "dev", "test", "full"]
PUBLISHED = {
    ("sample", "sample"): ("42fa9f6a9f3681bf6f0997f670db2bd0ddee4765f7d07aec60ee94915af332a6",),
    ("wikigenbench", "full"): (
        "140cd15b5d6aab85a97bafd441d8479a7f5da8165aa76e95809b495b32226568",  # 235 events with reference and search pages
        "427e5f8b1be3334bf53f239fd70987fcbc59bcdb5d5c955955f2420837961bfe",  # 248 with a reference: track cited
    ),
    ("wikigenbench", "dev"): (
        "638a4f5e20922648c228f0bf05ad8ed647f8d9921f59f7125785b14e2c7b18d7",  # 73
        "4e58b77903ebce2cc56be74313586666eb71092239fe103b9274e651aaa360c0",  # 76: track cited
    ),
    ("wikigenbench", "test"): (
        "6286e1a33d69d748593493e80c1e6a023d0a00bfb0254116e3419c13cc0c8c73",  # 162
        "0b7402b8901cd1b5ab307705c28dadbb525c89fda2d427e01086dcd500cd558d",  # 172: track cited
    ),
    # part 2025_Mar_Nov of Wiki Live Challenge: 60 topics
    ("wiki-live-challenge", "full"): ("2148f733da8f5d1bd3a5d15d8d141e6e77309c8ccf4df418da281adf7de5dcaf",),
    ("wiki-live-challenge", "dev"): ("25fc5d68c14b2ce6a1926db8820c279a19be4c27a77a35923e4076f7597cf9d7",),
    ("wiki-live-challenge", "test"): ("554eb89b6fc8277a70243efec8712c434948531bfb31bbf6e83cfd7dc211205e",),
}
"""`ids_sha256` of whole splits, by benchmark and split: on the tracks search and both, then on cited where it has more events.
Another snapshot may hold other events; a list is then checked against the snapshot itself."""

DEV_DIGITS = "01234"
"""An event is in `dev` when sha256(id) starts with one of these: five sixteenths of the events."""


def in_dev(event_id: str) -> bool:
    return hashlib.sha256(event_id.encode()).hexdigest()[0] in DEV_DIGITS


def split_ids(snapshot: Snapshot, track: Track, split: Split) -> tuple[str, ...]:
    """Ids of the split that this snapshot holds on this track, in numeric order."""
    if split == "sample" and not snapshot.is_sample:
        raise UserError(f"--split sample is the bundled data; drop --data {snapshot.root}, or use --split full")
    ids = snapshot.ids(track)
    if split == "dev":
        return tuple(i for i in ids if in_dev(i))
    if split == "test":
        return tuple(i for i in ids if not in_dev(i))
    return ids


def choose(
    snapshot: Snapshot, track: Track, split: Split, *, events: Iterable[str] = (), limit: int | None = None
) -> tuple[str, ...]:
    """The events of a job: named ones, or those of a split, at most `limit`. Raises UserError when none is left."""
    if limit is not None and limit < 1:
        raise UserError(f"--limit {limit} leaves no event; use 1 or more")
    wanted = tuple(dict.fromkeys(events))
    if wanted:
        known = set(snapshot.ids(track))
        for event_id in wanted:
            if event_id not in snapshot.ids("cited"):
                snapshot.event(event_id)  # unknown: says which ids there are
            if event_id not in known:
                raise UserError(f"event {event_id} has no pages on the track {track!r} in {snapshot.root}; try --track cited")
        ids = wanted
    else:
        ids = split_ids(snapshot, track, split)
    if not ids:
        raise UserError(
            f"{snapshot.root} holds no event of split {split!r} on track {track!r}: {snapshot.inventory.describe()}"
        )
    return ids[:limit]


def ids_sha256(ids: Iterable[str]) -> str:
    """Identity of an event list, independent of order."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()


def published_ids(benchmark: str, split: str, track: str) -> str | None:
    """The hash of the whole split on a track, where it is known."""
    known = PUBLISHED.get((benchmark, split))
    return None if known is None else known[-1 if track == "cited" else 0]
