"""Whether the right pages are taken for pages about the subject: `pipeline.noting.about` against labels of people.

    python -m tools.bench_about --data wlc/data --data wikigenbench/data --limit 12

Labels are in `tools/page_labels.csv`: the event, the page's address, and whether the page is mainly about the subject (y, n),
read off its title and first lines; pages of doubt have none. All events are of `dev`. The card is made from all pages of an
event, as in a run, and only the labelled pages are judged. Prints accuracy, and which pages were taken wrongly. Exit code: 0
measured, 2 wrong input.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from data.errors import UserError, WikigenError
from data.settings import load_settings

LABELS = Path(__file__).with_name("page_labels.csv")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench_about", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", action="append", required=True, type=Path, metavar="DIR", help="benchmark folder; repeatable")
    parser.add_argument("--model", default="qwen-1.5b")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N labelled events of each folder")
    asked = parser.parse_args(argv)
    try:
        right, wrong = measure(asked.data, asked.model, asked.limit)
    except WikigenError as error:
        sys.stderr.write(f"bench_about: {error}\n")
        return 2
    total = {truth: len(right[truth]) + len(wrong[truth]) for truth in "yn"}
    found = {truth: len(right[truth]) / max(total[truth], 1) for truth in "yn"}
    lines = [
        f"pages about the subject: {len(right['y'])} of {total['y']} taken as such; others: {len(right['n'])} of {total['n']}",
        f"accuracy {sum(map(len, right.values())) / sum(total.values()):.3f}, balanced {(found['y'] + found['n']) / 2:.3f}",
        *("not taken, though about it:", *wrong["y"], "taken, though not about it:", *wrong["n"]),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def measure(folders: Sequence[Path], model: str, limit: int | None) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Pages by their label, rightly and wrongly judged. Raises UserError where no folder has a labelled event."""
    from data.snapshot import Snapshot
    from flows.wiring import models
    from pipeline.evidence import Evidence, SnapshotEvidence
    from pipeline.noting.about import judge_pages
    from pipeline.noting.card import make_card

    labels: dict[str, dict[str, str]] = {}
    with LABELS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            labels.setdefault(row["event"], {})[row["url"]] = row["about"]
    settings = load_settings(None, [], model={"name": model})
    generator = models.build_generator("ours", settings.model, settings.decoding)
    encoder = models.build_encoder()
    right: dict[str, list[str]] = {"y": [], "n": []}
    wrong: dict[str, list[str]] = {"y": [], "n": []}
    for folder in folders:
        snapshot = Snapshot(folder)
        for event_id in [one for one in labels if one in snapshot.ids("search")][:limit]:
            event = snapshot.event(event_id)
            pages = SnapshotEvidence(snapshot, settings.evidence).collect(event)
            card = make_card(Evidence.unlapped(event, pages, settings.retrieval), generator, encoder)
            known = labels[event_id]
            few = [page if page.url in known else replace(page, drop_reason="duplicate") for page in pages]
            about = judge_pages(Evidence.unlapped(event, few, settings.retrieval), card, generator, encoder)
            sys.stderr.write(f"{event.title}: {card.text}\n")
            for one in about.pages:
                truth = known[pages[one.page].url]
                is_right = (one.verdict == "subject") == (truth == "y")
                told = f"  {event.title}: {pages[one.page].title[:80]} ({one.likeness:.2f}, {one.chance})"
                (right if is_right else wrong)[truth].append(told)
    if not any(right.values()) and not any(wrong.values()):
        raise UserError(f"none of {', '.join(map(str, folders))} has an event of {LABELS.name}")
    return right, wrong


if __name__ == "__main__":
    sys.exit(main())
