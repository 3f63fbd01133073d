"""Whether the right pages are taken for pages about the subject: `pipeline.noting.about` against labels of people.

    python -m tools.quality.bench_about --data wlc/data --data wikigenbench/data --limit 12

Labels are in `page_labels.csv` here: the event, the page's address, and whether the page is mainly about the subject (y, n),
read off its title and first lines; pages of doubt have none. All events are of `dev`. The card is made from all pages of an
event, as in a run, and only the labelled pages are judged. Prints accuracy, and which pages were taken wrongly. Exit code: 0
measured, 2 wrong input.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from data.errors import UserError, WikigenError
from data.settings import load_settings

LABELS = Path(__file__).with_name("page_labels.csv")


@dataclass(frozen=True, slots=True)
class JudgedPage:
    """A labelled page (`truth`: y, n) as `judge_pages` sees it; `named` is the share of
    the title's words that the page has."""

    event: str
    page: str
    truth: str
    verdict: str
    likeness: float
    named: float

    @property
    def is_right(self) -> bool:
        return (self.verdict == "subject") == (self.truth == "y")

    def __str__(self) -> str:
        return f"  {self.event}: {self.page} ({self.likeness:.2f}, {self.named:.2f})"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.quality.bench_about", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", action="append", required=True, type=Path, metavar="DIR", help="benchmark folder; repeatable")
    parser.add_argument("--model", default="qwen-1.5b")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N labelled events of each folder")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="also write a line of JSON for each page")
    asked = parser.parse_args(argv)
    try:
        pages = measure(asked.data, asked.model, asked.limit)
    except WikigenError as error:
        sys.stderr.write(f"bench_about: {error}\n")
        return 2
    if asked.rows:
        asked.rows.write_text("".join(json.dumps(asdict(page)) + "\n" for page in pages), encoding="utf-8")
    total = {truth: sum(page.truth == truth for page in pages) for truth in "yn"}
    right = {truth: sum(page.truth == truth and page.is_right for page in pages) for truth in "yn"}
    balanced = sum(right[truth] / max(total[truth], 1) for truth in "yn") / 2
    lines = [
        f"pages about the subject: {right['y']} of {total['y']} taken as such; others: {right['n']} of {total['n']}",
        f"accuracy {sum(right.values()) / len(pages):.3f}, balanced {balanced:.3f}",
        "not taken, though about it:",
        *(str(page) for page in pages if page.truth == "y" and not page.is_right),
        "taken, though not about it:",
        *(str(page) for page in pages if page.truth == "n" and not page.is_right),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def measure(folders: Sequence[Path], model: str, limit: int | None) -> list[JudgedPage]:
    """The labelled pages with their verdicts. Raises UserError where no folder has a labelled event."""
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
    judged: list[JudgedPage] = []
    for folder in folders:
        snapshot = Snapshot(folder)
        for event_id in [one for one in labels if one in snapshot.ids("search")][:limit]:
            event = snapshot.event(event_id)
            pages = SnapshotEvidence(snapshot, settings.evidence).collect(event)
            card = make_card(Evidence.unlapped(event, pages, settings.retrieval), generator, encoder)
            known = labels[event_id]
            few = [page if page.url in known else replace(page, drop_reason="duplicate") for page in pages]
            about = judge_pages(Evidence.unlapped(event, few, settings.retrieval), card, encoder)
            sys.stderr.write(f"{event.title}: {card.text}\n")
            judged += [
                JudgedPage(
                    event.title, pages[one.page].title[:80], known[pages[one.page].url], one.verdict, one.likeness, one.named
                )
                for one in about.pages
            ]
    if not judged:
        raise UserError(f"none of {', '.join(map(str, folders))} has an event of {LABELS.name}")
    return judged


if __name__ == "__main__":
    sys.exit(main())
