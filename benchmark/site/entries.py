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
from benchmark.submissions.ledger import Ledger, ScoredHere, read_ledger, results_digest
from benchmark.submissions.submitted import Submission
from data import codec
from data.errors import UserError
from data.markup import reread
from data.scores import EventScores
from data.types import Article


@dataclass(frozen=True)
class Entry:
    """A valid submission. `slug` names its pages: safe in any file system and address, and no other entry has it. What the
    submission says of its own scores is not what the site knows of them: that is `scored`."""

    folder: Path
    slug: str
    submission: Submission
    scored: ScoredHere | None = None
    """When this site computed the scores itself; None where it has only read them."""

    @cached_property
    def rows(self) -> dict[str, EventScores]:
        return {event.id: event for event in self.submission.events}

    @property
    def recomputed(self) -> bool:
        return self.scored is not None

    @property
    def only_says_so(self) -> bool:
        """It says of itself that it was scored again, and this site has not done it."""
        return self.scored is None and (self.submission.recomputed or self.record is not None)

    @cached_property
    def judged_here(self) -> bool:
        """Whether the verdicts on its sentences were computed with its scores, and are still those."""
        return self.scored is not None and bool(made := self.scored.results_sha256) and made == results_digest(self.folder)

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


def read_all(folder: Path, *, skip: Path | None = None, ledger: Ledger | None = None) -> tuple[list[Entry], list[Refused]]:
    """Every folder in `folder`, by name; `skip` is the site itself; `ledger` is by default that of `folder`. Raises UserError
    when there is none."""
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder; name the one that holds the submission folders")
    children = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    groups = group_folders(folder, skip=skip)
    wanted = [path for path in children if path not in groups and (skip is None or path.resolve() != skip.resolve())]
    known = ledger_for(folder) if ledger is None else ledger
    found = [_read_one(path, known) for path in wanted]
    if not found and not groups:
        raise UserError(f"{folder} holds no submission folder; put at least one NAME/submission.json there")
    entries, copies = _without_copies([e for e in found if isinstance(e, Entry)])
    return entries, [*(e for e in found if isinstance(e, Refused)), *copies]


def _without_copies(entries: Sequence[Entry]) -> tuple[list[Entry], list[Refused]]:
    """A submission that lies in several folders is ranked once: in the folder that was scored again here, else in the first."""
    kept: dict[str, Entry] = {}
    by_sha = [(codec.sha256_bytes((one.folder / submitted.SUBMISSION).read_bytes()), one) for one in entries]
    for sha, entry in by_sha:
        is_known = entry.scored is not None and Path(entry.scored.folder).name == entry.folder.name
        if sha not in kept or is_known:
            kept[sha] = entry
    copies = [(kept[sha], entry) for sha, entry in by_sha if kept[sha] is not entry]
    refused = [Refused(two.folder.name, two.submission.system.name, (f"the same as {one.folder.name}",)) for one, two in copies]
    return [entry for sha, entry in by_sha if kept[sha] is entry], refused


def ledger_for(folder: Path) -> Ledger:
    """Of the site that is made of `folder`; a group's own folder counts as a submission, so its ledger lies beside it."""
    is_group = (folder / GROUP).is_file() and not (folder / submitted.SUBMISSION).exists()
    return read_ledger(folder.parent if is_group else folder)


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


def _read_one(folder: Path, ledger: Ledger) -> Entry | Refused:
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
    return Entry(folder, safe_name(read.system.name, folder.name), read, ledger.of(folder))


def _local(lines: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Without the path of the folder: where it lies on the machine that builds the site is nobody's business."""
    return tuple(line.replace(f"{folder}/", "") for line in lines)


__all__ = ["Entry", "JudgedSentence", "Refused", "event_ids", "read_all", "safe_name"]
