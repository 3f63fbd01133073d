"""`wikigenben prompts`: the prompts of saying (`pipeline.writing.saying`), for calibrating and measuring the decoder.

Sentences of each event's pages that pass the gate stand for notes, in random order: no model is needed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmark import splits
from data import codec
from data.errors import StageError, UserError
from data.locate import locate
from data.settings import Settings
from data.snapshot import Snapshot
from decoding.knn.prompt_files import PromptRow
from flows.showing import console
from flows.wiring import models
from flows.wiring.page_sources import build_collect
from pipeline.evidence import Evidence
from pipeline.planning.planner import pooled
from pipeline.writing.prompts import say

WORDS = (6, 40)
SEED = 3


@dataclass(frozen=True, slots=True)
class Export:
    """Prompts of which events, and at most how many of one event."""

    data: str | None = None
    split: splits.Split | None = None
    limit: int | None = None
    each: int = 60


def export(request: Export, out: Path) -> tuple[PromptRow, ...]:
    """Write the prompts, one JSON line each; events without usable evidence are reported and left out.

    Raises UserError: no event of that split has any.
    """
    snapshot = Snapshot(locate(request.data))
    split = request.split or ("sample" if snapshot.is_sample else "dev")
    ids = splits.choose(snapshot, "search", split, limit=request.limit)
    rng = random.Random(SEED)
    rows: list[PromptRow] = []
    for event_id in console.tracked("prompts", ids, len(ids), str):
        try:
            rows += _of_event(snapshot, event_id, request.each, rng)
        except StageError as error:
            console.note(f"left out: {event_id}: {error}")
    if not rows:
        raise UserError("no prompt could be made of these events; try more of them with --limit")
    codec.write_atomic(out, "".join(codec.to_json(row) + "\n" for row in rows))
    console.result(f"{len(rows)} prompts of {len({row.event for row in rows})} events -> {out}")
    return tuple(rows)


def _of_event(snapshot: Snapshot, event_id: str, most: int, rng: random.Random) -> Iterator[PromptRow]:
    event, settings = snapshot.event(event_id), Settings()
    evidence = Evidence.unlapped(event, build_collect(snapshot, settings)(event), settings.retrieval)
    facts = [one.text for one in pooled(evidence, models.build_encoder()).pool.offered]
    facts = [fact for fact in facts if WORDS[0] <= len(fact.split()) <= WORDS[1]]
    rng.shuffle(facts)
    for n, fact in enumerate(facts[:most]):
        yield PromptRow(f"{event_id}/say/{n:03}", say(fact), task="say", event=event_id)
