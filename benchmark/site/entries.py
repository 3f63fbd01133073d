"""Submission folders as the leaderboard reads them. Their content is anybody's: it is checked as a whole before any is used."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmark.comparing.agents import GROUP
from benchmark.submissions import folder as submitted
from benchmark.submissions.folder import JudgedSentence, Record
from benchmark.submissions.submission import Submission
from data.errors import UserError
from data.markup import reread
from data.scores import EventScores
from data.types import Article


@dataclass(frozen=True)
class Entry:
    """A valid submission. `slug` names its pages: safe in any file system and address, and no other entry has it."""

    folder: Path
    slug: str
    submission: Submission

    @cached_property
    def rows(self) -> dict[str, EventScores]:
        return {event.id: event for event in self.submission.events}

    @property
    def has_text(self) -> bool:
        return submitted.has_articles(self.folder)

    @cached_property
    def record(self) -> Record | None:
        """When and from which data it was scored again, where it says so."""
        return submitted.read_record(self.folder)

    def article(self, event_id: str) -> tuple[Article | None, str]:
        """The article as it was scored, or None and why it cannot be shown."""
        row = self.rows[event_id]
        if row.status != "ok":
            return None, f"{row.status}: {row.reason or 'no reason is given'}"
        if not submitted.has_articles(self.folder):
            return None, "The submission holds no articles, as where rights in the evidence forbid their text."
        try:
            return reread(submitted.read_article(self.folder, row)), ""
        except UserError as error:  # changed since the folder was checked
            return None, str(error)

    def judged(self, event_id: str) -> tuple[JudgedSentence, ...]:
        """What the judge said of the article's sentences; nothing where the submission does not say."""
        return submitted.read_results(self.folder, event_id)


@dataclass(frozen=True, slots=True)
class Refused:
    """A folder that is not ranked, and why. `system` is "" where submission.json cannot be read."""

    folder: str
    system: str
    reasons: tuple[str, ...]


def read_all(folder: Path, *, skip: Path | None = None) -> tuple[list[Entry], list[Refused]]:
    """Every folder in `folder`, by name; `skip` is the site itself. Raises UserError when there is none."""
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder; name the one that holds the submission folders")
    children = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    groups = group_folders(folder, skip=skip)
    wanted = [path for path in children if path not in groups and (skip is None or path.resolve() != skip.resolve())]
    found = [_read_one(path) for path in wanted]
    if not found and not groups:
        raise UserError(f"{folder} holds no submission folder; put at least one NAME/submission.json there")
    return [e for e in found if isinstance(e, Entry)], [e for e in found if isinstance(e, Refused)]


def group_folders(folder: Path, *, skip: Path | None = None) -> list[Path]:
    """`folder` and those in it that hold a group of submissions (`comparing.agents`), and no submission of their own."""
    children = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    places = [path for path in (folder, *children) if skip is None or path.resolve() != skip.resolve()]
    return [
        path
        for path in places
        if not path.is_symlink() and (path / GROUP).is_file() and not (path / submitted.SUBMISSION).exists()
    ]


def safe_name(text: str, unique: str) -> str:
    """A file name of lower-case letters, digits and hyphens for `text`; different `unique` strings give different names."""
    words = re.sub(r"[^a-z0-9]+", "-", text[:400].lower())[:40].strip("-")
    return f"{words or 'x'}-{hashlib.sha256(unique.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def event_ids(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """(benchmark, event id) of all that any entry lists."""
    return sorted({(entry.submission.data.benchmark, event_id) for entry in entries for event_id in entry.rows})


def _read_one(folder: Path) -> Entry | Refused:
    """Whatever a folder holds, it is no reason to leave the others out."""
    if folder.is_symlink():
        return Refused(folder.name, "", ("it is a link",))
    try:
        checked = submitted.check(folder)
    except Exception as error:  # a fault of the checker's, that this folder has found
        reason = f"it could not be checked ({type(error).__name__}): {str(error)[:200] or 'no more is known'}"
        return Refused(folder.name, "", _local((reason,), folder))
    read = checked.submission
    if checked.problems or read is None:
        return Refused(folder.name, "" if read is None else read.system.name, _local(checked.problems, folder))
    return Entry(folder, safe_name(read.system.name, folder.name), read)


def _local(lines: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Without the path of the folder: where it lies on the machine that builds the site is nobody's business."""
    return tuple(line.replace(f"{folder}/", "") for line in lines)


__all__ = ["Entry", "JudgedSentence", "Refused", "event_ids", "read_all", "safe_name"]
