"""rescored.json: that scores were computed here from the articles, when, by which code and from which data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmark.checkout import commit
from benchmark.submissions.folder import RECORD_SCHEMA, RESCORED, SUBMISSION, Record, evidence_pages, pages_digest
from benchmark.submissions.submitted import Submission
from data import codec
from data.errors import StageError
from data.gold import load_gold
from data.snapshot import Snapshot
from data.types import Page

MOST_TOLD = 20
"""Differences that rescored.json names; all are printed."""


def write_record(folder: Path, made: Submission, data: str, differences: Sequence[str] = ()) -> Record:
    """Beside the submission.json that lies in `folder`. `data` is as `data_sha256` gives it."""
    record = Record(
        schema=RECORD_SCHEMA,
        rescored_at=datetime.now(UTC).isoformat(timespec="seconds"),
        version=made.environment.get("wikigenben", ""),
        commit=commit(),
        data_sha256=data,
        submission_sha256=codec.sha256_bytes((folder / SUBMISSION).read_bytes()),
        n_differences=len(differences),
        differences=tuple(differences[:MOST_TOLD]),
    )
    codec.write_atomic(folder / RESCORED, codec.to_json(record, indent=1) + "\n")
    return record


def data_sha256(snapshot: Snapshot, pages: Mapping[str, Sequence[Page]]) -> str:
    """Of the human articles and the cleaned pages of these events: the same hash means the same data."""
    lines = []
    for event_id in sorted(pages):
        try:
            reference = codec.sha256(codec.to_json(load_gold(snapshot, event_id)))
        except StageError:  # unreadable, so unscored
            reference = ""
        lines.append(f"{event_id} {reference} {pages_digest(evidence_pages(pages[event_id], None))}\n")
    return codec.sha256("".join(lines))
