"""Check a submission: its folder, or submission.json alone.

    python -m benchmark.validate FOLDER
    python -m benchmark.validate FOLDER --data wikigenbench/data
    python -m benchmark.validate runs/extractive-sample-search

Every reason for refusing is printed. Means and intervals are recomputed from the rows of the events, and the list of events is
compared with the published one, or with the folder named by --data. Scores are recomputed from the articles by
`wikigenben rescore`. Exit code: 0 valid, 2 not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import UserError

if TYPE_CHECKING:
    from benchmark.submissions.folder import Checked
    from benchmark.submissions.submitted import Submission
    from data.snapshot import Snapshot


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben validate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("submission", type=Path, nargs="+", help="submission folder, submission.json, or a run folder")
    parser.add_argument("--data", metavar="DIR", help="benchmark folder (or: sample) whose events must all be listed")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout: the problems of each file")
    arguments = parser.parse_args(argv)
    try:
        snapshot = _snapshot(arguments.data)
    except UserError as error:
        sys.stderr.write(f"wikigenben: {error}\n")
        return error.exit_code
    checked = {str(path): checked_at(path, snapshot) for path in map(_meant, arguments.submission)}
    for name, found in checked.items():
        for note in found.notes:
            sys.stderr.write(_one_line(f"{name}: note: {note}") + "\n")
    if arguments.json:
        sys.stdout.write(json.dumps({name: found.problems for name, found in checked.items()}) + "\n")
    else:
        for name, found in checked.items():
            lines = [f"{name}: {problem}" for problem in found.problems] or [f"{name}: valid"]
            sys.stdout.write("".join(_one_line(line) + "\n" for line in lines))
    return 2 if any(found.problems for found in checked.values()) else 0


def checked_at(path: Path, snapshot: Snapshot | None = None) -> Checked:
    """Everything that is wrong with a submission and its list of events; with a snapshot, against what that holds."""
    from benchmark.submissions import folder

    found = folder.check(path)
    if found.submission is None:
        return found
    return replace(found, problems=(*found.problems, *list_problems(found.submission, snapshot)))


def list_problems(made: Submission, snapshot: Snapshot | None) -> list[str]:
    """Whether the events are those of the split that is claimed."""
    from benchmark.splits import published_ids, split_ids
    from benchmark.submissions.submission_faults import some

    data, track = made.data, made.system.evidence_track
    if track not in ("search", "cited", "both") or data.split not in ("sample", "dev", "test", "full"):
        return [f"data.split is {data.split!r} on track {track!r}; known: sample, dev, test, full on search, cited, both"]
    if snapshot is None:
        published = published_ids(data.benchmark, data.split, track)
        if published == data.ids_sha256:
            return []
        of = f"split {data.split!r} of {data.benchmark!r} on track {track!r}"
        if published is None:
            return [f"no list of events is published for {of}; name the data that was written from with --data DIR"]
        return [
            f"data.ids_sha256 is {data.ids_sha256} over {data.n_events} events, and the list published for {of} has "
            f"{published}; evaluate the whole split (without --limit and --events), or name another snapshot with --data DIR"
        ]
    try:
        expected = set(split_ids(snapshot, track, data.split))  # type: ignore[arg-type]
    except UserError as error:
        return [f"data.split is {data.split!r}: {error}"]
    listed = {event.id for event in made.events}
    of = f"the {len(expected)} events of split {data.split!r} on track {track!r} in {snapshot.root}"
    problems = []
    if missing := sorted(expected - listed):
        problems.append(f"it lacks {len(missing)} of {of}: {some(missing)}; an event without an article is listed as failed")
    if foreign := sorted(listed - expected):
        problems.append(f"it lists {len(foreign)} that are not among {of}: {some(foreign)}")
    return problems


def _snapshot(data: str | None) -> Snapshot | None:
    if data is None:
        return None
    from data.locate import locate
    from data.snapshot import Snapshot

    return Snapshot(locate(data))


def _meant(path: Path) -> Path:
    """A run folder stands for its submission.json; other folders are submission folders."""
    return path / "submission.json" if (path / "run.json").exists() else path


def _one_line(text: str) -> str:
    """A submission's words reach the terminal: without control characters they cannot rewrite it."""
    return "".join(c if c.isprintable() else " " for c in text)


if __name__ == "__main__":
    sys.exit(main())
