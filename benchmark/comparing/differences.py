"""Two scored systems over the same events: how far they are apart, on the whole and event by event."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from data.errors import UserError
from eval.catalogue import HEADLINE

if TYPE_CHECKING:
    from benchmark.submissions.submitted import Submission
    from eval.aggregate import EventDifference, PairedDifference


def differences(a: Submission, b: Submission, metrics: Sequence[str] = ()) -> dict[str, PairedDifference]:
    """a - b for each metric that both have, over the events that both list. Raises UserError when they cannot be compared."""
    from eval.aggregate import paired

    if {event.id for event in a.events} != {event.id for event in b.events}:
        raise UserError(
            f"{a.system.name} has {len(a.events)} events and {b.system.name} {len(b.events)}, and they are not the same; "
            "evaluate both on the same --split and --limit"
        )
    if a.profile.signature != b.profile.signature:
        raise UserError("the two were scored with different metrics; evaluate both again with one version")
    common = [name for name in a.scores if name in b.scores]
    if unknown := [name for name in metrics if name not in common]:
        raise UserError(f"no metric {unknown[0]!r} in both; known: {', '.join(common)}")
    rows_b = {event.id: event.scores for event in b.events}
    found = {}
    for name in metrics or common:
        pairs = [(event.scores.get(name), rows_b[event.id].get(name)) for event in a.events]
        if any(x is not None and y is not None for x, y in pairs):
            found[name] = paired([x for x, _ in pairs], [y for _, y in pairs], a.profile.seed, name=name)
    return found


def furthest_apart(a: Submission, b: Submission, metrics: Sequence[str] = (), n: int = 10) -> tuple[EventDifference, ...]:
    """The `n` events on which two systems differ most, over the metrics named or else the headline; ties by id.

    Sizes are averaged as they are, so name metrics of one scale. An event that shares no scored metric is left out.
    """
    from eval.aggregate import EventDifference

    chosen = [name for name in metrics or HEADLINE if name in a.scores and name in b.scores]
    rows_b = {event.id: event for event in b.events}
    found = []
    for event in a.events:
        other = rows_b[event.id]
        pairs = {name: (event.scores.get(name), other.scores.get(name)) for name in chosen}
        values = {name: None if x is None or y is None else x - y for name, (x, y) in pairs.items()}
        sizes = [abs(value) for value in values.values() if value is not None]
        if sizes:
            found.append(EventDifference(event.id, (event.status, other.status), values, fmean(sizes)))
    return tuple(sorted(found, key=lambda one: (-one.distance, one.event_id))[:n])
