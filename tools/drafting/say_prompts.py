"""Prompts of saying (`pipeline.writing.saying`), for calibrating and measuring the decoder: one fact of a page each.

    python -m tools.drafting.say_prompts --out say.jsonl
    python -m tools.drafting.say_prompts --out say.jsonl --data wikigenbench/data --split dev

Sentences of each event's pages that pass the gate stand for notes, in random order: no model is needed.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flows.showing import console

if TYPE_CHECKING:
    from data.snapshot import Snapshot
    from decoding.knn.prompt_files import PromptRow

WORDS = (6, 40)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.drafting.say_prompts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--data", action="append", metavar="DIR", help="benchmark folder; default: the repository's sample")
    parser.add_argument("--split", default="dev", choices=("dev", "test"), help="of --data; the sample has none")
    parser.add_argument("--each", type=int, default=60, metavar="N", help="prompts of one event, at most")
    parser.add_argument("--events", type=int, metavar="N", help="of each folder, at most")
    parser.add_argument("--seed", type=int, default=3)
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    from benchmark import splits
    from data import codec
    from data.errors import UserError
    from data.locate import locate
    from data.snapshot import Snapshot

    rng = random.Random(arguments.seed)
    rows: list[PromptRow] = []
    for folder in arguments.data or ["data/sample"]:
        snapshot = Snapshot(locate(folder))
        split: splits.Split = "sample" if snapshot.is_sample else arguments.split
        for event_id in splits.choose(snapshot, "search", split, limit=arguments.events):
            rows += _of_event(snapshot, event_id, arguments.each, rng)
    if not rows:
        raise UserError("none of these events has a page that can be used; name other ones with --data and --split")
    codec.write_atomic(arguments.out, "".join(codec.to_json(row) + "\n" for row in rows))
    console.note(f"{len(rows)} prompts of {len({row.event for row in rows})} events in {arguments.out}")
    return 0


def _of_event(snapshot: Snapshot, event_id: str, most: int, rng: random.Random) -> Iterator[PromptRow]:
    from data.errors import StageError
    from data.settings import Settings
    from decoding.knn.prompt_files import PromptRow
    from flows.wiring import models
    from flows.wiring.page_sources import build_collect
    from pipeline.evidence import Evidence
    from pipeline.planning.filing import pooled
    from pipeline.writing.prompts import say

    event, settings = snapshot.event(event_id), Settings()
    try:
        evidence = Evidence.unlapped(event, build_collect(snapshot, settings)(event), settings.retrieval)
        facts = [one.text for one in pooled(evidence, models.build_encoder()).pool.offered]
    except StageError:
        return
    facts = [fact for fact in facts if WORDS[0] <= len(fact.split()) <= WORDS[1]]
    rng.shuffle(facts)
    for n, fact in enumerate(facts[:most]):
        yield PromptRow(f"{event_id}/say/{n:03}", say(fact), task="say", event=event_id)


if __name__ == "__main__":
    sys.exit(main())
