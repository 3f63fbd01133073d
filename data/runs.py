"""The run folder: what is done, what failed, and how to go on.

    runs/demo/  run.json  environment.json  failures.jsonl  scores.jsonl  submission.json  report.html  plots/*.svg
                events/<id>/{evidence/,pages.jsonl,outline.json,drafts/*.json,sections/NN.json,article.json,stats.json,failure.json}
                wikigenbench/<id>.json

A stage is done when its file exists; files appear whole (`codec.write_atomic`). So resuming is running the same command
again, and killing a run loses at most the stage in flight.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from data import codec
from data.decoding_counts import Usage
from data.errors import StageError, UserError
from data.markup import is_invalid
from data.settings import EvidenceFrom
from data.stage_types import ARTICLE, DRAFTS, Stage, StageTime
from data.types import Article, Page, Sentence, Strict

T = TypeVar("T")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
EVIDENCE = "evidence"
"""Where an event whose pages came from the web keeps how (`pipeline.web.bundle`)."""
NO_PAGES = "null"
"""The one line of pages.jsonl for an event that has no page. An empty file is one that was cut off."""


@dataclass(frozen=True, slots=True)
class EventFailure(Strict):
    """Why an event has no article. `kind` is the exception's name; the traceback is for bugs, empty for known causes."""

    event_id: str
    stage: str
    kind: str
    message: str
    traceback: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Footprint(Strict):
    """The writing process when an event was done: its id, the memory it then held (MiB), and the time (seconds since 1970)."""

    pid: int
    resident_mib: float
    at: float


def footprint() -> Footprint | None:
    """Of this process now; None where the system does not say what it holds (Linux does, in proc_pid_statm(5))."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return Footprint(os.getpid(), round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1), round(time.time(), 3))


@dataclass(frozen=True, slots=True)
class EventStats(Strict):
    """What writing one event took. Timings are not part of the article, so that its bytes can be reproduced.

    `seconds` and `stages` are of the command that finished the event; `stages` are those it made, in the order in which they
    were done. `usage` is of all its drafts, and None without a model.
    """

    event_id: str
    seconds: float
    n_pages: int
    n_usable: int
    usage: Usage | None = None
    stages: tuple[StageTime, ...] = ()
    footprint: Footprint | None = None

    @classmethod
    def upgraded(cls, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """From before `usage` had its present form."""
        return {**plain, "usage": plain["usage"] and Usage.upgraded(plain["usage"])}


@dataclass(frozen=True)
class EventFolder:
    path: Path

    @property
    def event_id(self) -> str:
        return self.path.name

    def file(self, stage: Stage[Any]) -> Path:
        """Where `once` keeps the stage."""
        return self.path / f"{stage.name}.json"

    def once(self, stage: Stage[T], make: Callable[[], T]) -> T:
        path = self.file(stage)
        if path.exists():
            try:
                value = codec.read(stage.kind, path)
                if isinstance(value, Article):
                    own_article(value, self.event_id, path)
                return value
            except UserError as error:  # someone else's edit: this event's trouble, not the run's
                raise StageError(stage.name, str(error)) from None
        value = make()
        codec.write_atomic(path, codec.to_json(value, indent=1) + "\n")
        return value

    def said(self, name: str, sentences: tuple[Sentence, ...]) -> None: ...

    def pages(self, make: Callable[[], tuple[Page, ...]]) -> tuple[Page, ...]:
        """The event's pages, kept and dropped, one JSON line each, or the line NO_PAGES. Raises UserError for a file that was
        cut off or edited: an empty one is, and no event without pages."""
        path = self.path / "pages.jsonl"
        if not path.exists():
            pages = make()
            codec.write_atomic(path, "".join(codec.to_json(page) + "\n" for page in pages) or f"{NO_PAGES}\n")
            return pages
        lines = _bytes_of(path).splitlines()  # of bytes: text would also be cut at U+0085 and U+2028, which pages hold
        if not lines:
            raise UserError(
                f"{path} is empty, so it was cut off (no pages at all are one line, {NO_PAGES}); delete the file and run the "
                "command again to make it anew"
            )
        if lines == [NO_PAGES.encode()]:
            return ()
        return tuple(codec.from_json(Page, line, where=f"{path}:{n}") for n, line in enumerate(lines, 1))

    def stored_pages(self) -> tuple[Page, ...] | None:
        return self.pages(tuple) if (self.path / "pages.jsonl").exists() else None

    def article(self) -> Article | None:
        """Raises UserError when the file is not the readable article of this event."""
        path = self.file(ARTICLE)
        return own_article(codec.read(Article, path), self.event_id, path) if path.exists() else None

    def usage(self) -> Usage | None:
        """Summed over the stored drafts, so that a resumed event counts answers from before it was killed."""
        paths = sorted((self.path / DRAFTS).glob("*.json"))
        return Usage.total([_usage_in(path) for path in paths]) if paths else None

    def write_stats(self, stats: EventStats) -> None:
        codec.write_atomic(self.path / "stats.json", codec.to_json(stats, indent=1) + "\n")

    def stats(self) -> EventStats | None:
        path = self.path / "stats.json"
        return codec.read(EventStats, path) if path.exists() else None

    def fail(self, failure: EventFailure) -> None:
        codec.write_atomic(self.path / "failure.json", codec.to_json(failure, indent=1) + "\n")

    def failure(self) -> EventFailure | None:
        path = self.path / "failure.json"
        return codec.read(EventFailure, path) if path.exists() else None

    def clear_failure(self) -> None:
        path = self.path / "failure.json"
        if path.exists():
            self._forget(path)

    def clear(self, *, keep_pages: bool = False) -> None:
        """Forget the event: its stages, its failure. Used by `--retry-failed`. With `keep_pages` those that it has stay, with
        their bundle, unless none of them can be used."""
        kept = {"pages.jsonl", EVIDENCE} if keep_pages and any(page.usable for page in self.stored_pages() or ()) else set()
        for path in [path for path in self.path.iterdir() if path.name not in kept] if kept else [self.path]:
            self._forget(path)

    def _forget(self, path: Path) -> None:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def own_article(article: Article, event_id: str, path: Path) -> Article:
    """The article that a file of this event holds. Raises UserError for one of another event, and one whose citations name
    sources that it does not have: nobody's scores would be right."""
    known = {source.id for source in article.sources}
    cites = (cite for section in article.all_sections for sentence in section.sentences for cite in sentence.cites)
    if article.event_id != event_id:
        why = f"is the article of event {article.event_id!r}, not of {event_id!r}"
    elif (foreign := next((cite for cite in cites if cite not in known and not is_invalid(cite)), None)) is not None:
        why = f"cites {foreign!r}, which is not among its sources"
    else:
        return article
    raise UserError(f"{path} {why}; delete the file and run the command again to make it anew")


def _bytes_of(path: Path) -> bytes:
    try:
        return codec.plain_bytes(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; remove it and run the command again to make it anew") from None


def _usage_in(path: Path) -> Usage:
    """Of a stored draft of any system (`pipeline.writing.drafting.Draft` and `ComposedDraft`)."""
    draft = json.loads(codec.plain_bytes(path))
    return codec.from_json(Usage, json.dumps(draft.get("usage", draft)), where=str(path))


class RunFolder:
    """One run. `identity` holds the request (settings, model, versions); a folder holds articles of one identity only."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, path: Path, identity: Mapping[str, str]) -> RunFolder:
        """Start a run, or resume the one that lies there. A run of another identity is refused, naming what differs."""
        if _URL.match(str(path)):
            raise UserError(f"--out {path} is a URL; a run lies in a folder of this machine")
        run, stored = cls(path), _identity_in(path)
        if stored is None:
            codec.write_atomic(run.path / "run.json", json.dumps(dict(sorted(identity.items())), indent=1) + "\n")
        elif stored != dict(identity):
            keys = sorted(k for k in stored.keys() | identity.keys() if stored.get(k) != identity.get(k))
            differing = "; ".join(f"{k}: {stored.get(k)!r} there, {identity.get(k)!r} now" for k in keys)
            raise UserError(f"{path} holds a run made otherwise ({differing}); choose another --out or repeat its settings")
        return run

    def identity(self) -> dict[str, str] | None:
        path = self.path / "run.json"
        if not path.exists():
            return None
        try:
            value = json.loads(codec.plain_bytes(path))
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}; choose another --out") from None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path} is not JSON ({error}); choose another --out") from None
        if not isinstance(value, dict):
            raise UserError(f"{path} holds a {type(value).__name__}, not a run's identity; choose another --out")
        return {str(k): str(v) for k, v in value.items()}

    def event(self, event_id: str) -> EventFolder:
        return EventFolder(self.path / "events" / event_id)

    def event_folders(self) -> Iterator[EventFolder]:
        events = self.path / "events"
        for path in sorted(events.iterdir()) if events.is_dir() else []:
            if path.is_dir():
                yield EventFolder(path)

    def failures(self) -> list[EventFailure]:
        return [failure for folder in self.event_folders() if (failure := folder.failure()) is not None]

    def write_failures(self) -> None:
        """failures.jsonl gathers the events' failure files; it is a summary, they are the truth."""
        lines = "".join(codec.to_json(failure) + "\n" for failure in self.failures())
        codec.write_atomic(self.path / "failures.jsonl", lines)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Held while a command works on the run: two writers would only repeat each other's work."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.path / ".lock")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout:  # before its parent, OSError
            raise UserError(f"another command is working on {self.path}; wait for it or choose another --out") from None
        except OSError as error:
            raise UserError(f"cannot write to {self.path}: {error.strerror}; choose another --out") from None
        try:
            yield
        finally:
            lock.release()


def _identity_in(path: Path) -> dict[str, str] | None:
    """Of the run in a local folder; None where one can be begun."""
    try:
        stored = RunFolder(path).identity()
        if stored is None and path.exists():
            if not path.is_dir():
                raise UserError(f"{path} is a file; choose another --out")
            if not all(codec.is_temporary(found) for found in path.iterdir()):
                raise UserError(f"{path} is not empty and not a run folder; choose another --out")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; choose another --out") from None
    return stored


def default_run_path(system: str, split: str, track: str, source: EvidenceFrom = "recorded") -> Path:
    name = f"{system}-{split}-{track}" + ("" if source == "recorded" else f"-{source}")
    return Path(os.environ.get("WIKIGEN_RUNS", "runs")) / name
