"""What this site computed itself: a file beside the submission folders, never in one.

    submissions/scored-here.json      written by `wikigenben rescore` and `wikigenben agents`, read by `wikigenben leaderboard`
    submissions/NAME/                 what anybody may have sent in

A submission can say of itself that its scores were computed again, and bring a rescored.json that says when. Neither proves
anything, so the site believes this file alone: it names the submission.json files by their SHA-256.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchmark.submissions.folder import RESULTS, SUBMISSION, Record
from benchmark.submissions.submission import MOST_BYTES
from data import codec
from data.errors import UserError
from data.types import Strict

LEDGER = "scored-here.json"
SCHEMA = "wikigenben-scored-here/1"


@dataclass(frozen=True, slots=True)
class ScoredHere(Strict):
    """`results_sha256` is of the verdicts that were computed with the scores; empty where the folder holds none of ours."""

    folder: str
    rescored_at: str
    commit: str
    data_sha256: str
    results_sha256: str = ""


@dataclass(frozen=True, slots=True)
class Ledger(Strict):
    """By the SHA-256 of a submission.json."""

    schema: str = SCHEMA
    submissions: dict[str, ScoredHere] = field(default_factory=dict)

    def of(self, folder: Path) -> ScoredHere | None:
        """What is known of the submission.json that lies in `folder`, byte by byte."""
        return self.submissions.get(codec.sha256_bytes(codec.read_bounded(folder / SUBMISSION, MOST_BYTES)))


def read_ledger(holding: Path) -> Ledger:
    """Of the folder that holds submission folders; an empty one where there is none. Raises UserError for a damaged one."""
    path = holding / LEDGER
    if not path.is_file():
        return Ledger()
    found = codec.read(Ledger, path)
    if found.schema != SCHEMA:
        raise UserError(f"{path}: its schema is {found.schema!r}, not {SCHEMA!r}; restore it, or score the submissions again")
    return found


def note_scored(folder: Path, record: Record, *, holding: Path | None = None) -> None:
    """That the submission.json in `folder` was computed here, as `record` says. `holding` is the folder of the ledger, by
    default the one that holds `folder`."""
    place = folder.parent if holding is None else holding
    known = read_ledger(place).submissions
    name = folder.relative_to(place).as_posix() if folder.is_relative_to(place) else folder.name
    made = ScoredHere(name, record.rescored_at, record.commit, record.data_sha256, results_digest(folder))
    others = {sha256: one for sha256, one in known.items() if one.folder != name}
    ordered = sorted((others | {record.submission_sha256: made}).items(), key=lambda item: (item[1].folder, item[0]))
    codec.write_atomic(place / LEDGER, codec.to_json(Ledger(submissions=dict(ordered)), indent=1) + "\n")


def results_digest(folder: Path) -> str:
    """One hash for all files of verdicts, or "" where there are none."""
    files = sorted((folder / RESULTS).glob("*.json")) if not (folder / RESULTS).is_symlink() else []
    lines = [f"{path.name} {codec.sha256_bytes(path.read_bytes())}\n" for path in files if not path.is_symlink()]
    return codec.sha256("".join(lines)) if lines else ""
