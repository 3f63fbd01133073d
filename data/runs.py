"""The run folder: what is done, what failed, and how to go on.

    runs/demo/  run.json  environment.json  failures.jsonl  scores.jsonl  submission.json  report.html  plots/*.svg
                events/<id>/{evidence/,pages.jsonl,outline.json,drafts/*.json,sections/NN.json,article.json,stats.json,failure.json}
                wikigenbench/<id>.json

A stage is done when its file exists; files appear whole (`codec.write_atomic`). So resuming is running the same command
again, and killing a run loses at most the stage in flight.

A run at a URL is worked on in a local copy (`data.remote`): each stage is carried there when it is stored, and what other code
leaves in the folder at the end of the command.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from data import codec
from data.decoding_counts import Usage
from data.errors import StageError, UserError
from data.markup import is_invalid
from data.remote import Carrier, Place, RunUrl
from data.settings import EvidenceFrom
from data.stage_types import ARTICLE, DRAFTS, Stage, StageTime
from data.types import Article, Page, Sentence, Strict

T = TypeVar("T")
EVIDENCE = "evidence"
"""Where an event whose pages came from the web keeps how (`pipeline.web.bundle`)."""
NO_PAGES = "null"
"""The one line of pages.jsonl for an event that has no page. An empty file is one that was cut off."""
CLEARING_S = 10.0
"""How long a process waits for another one that empties their copy of a run."""


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
    """`carrier` is that of a run at a URL, in whose copy `path` lies."""

    path: Path
    carrier: Carrier | None = field(default=None, repr=False)

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
        self._store(path, codec.to_json(value, indent=1) + "\n")
        return value

    def said(self, name: str, sentences: tuple[Sentence, ...]) -> None: ...

    def pages(self, make: Callable[[], tuple[Page, ...]]) -> tuple[Page, ...]:
        """The event's pages, kept and dropped, one JSON line each, or the line NO_PAGES. Raises UserError for a file that was
        cut off or edited: an empty one is, and no event without pages."""
        path = self.path / "pages.jsonl"
        if not path.exists():
            pages = make()
            if self.carrier is not None:
                self.carrier.push_changed(f"events/{self.event_id}")  # their bundle: where pages are, nobody asks for it
            self._store(path, "".join(codec.to_json(page) + "\n" for page in pages) or f"{NO_PAGES}\n")
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
        self._store(self.path / "stats.json", codec.to_json(stats, indent=1) + "\n")

    def stats(self) -> EventStats | None:
        path = self.path / "stats.json"
        return codec.read(EventStats, path) if path.exists() else None

    def fail(self, failure: EventFailure) -> None:
        self._store(self.path / "failure.json", codec.to_json(failure, indent=1) + "\n")

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
        if self.carrier is not None:
            self.carrier.delete(path)
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    def _store(self, path: Path, text: str) -> None:
        codec.write_atomic(path, text)
        if self.carrier is not None:
            self.carrier.push(path)


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

    def __init__(self, path: Path, carrier: Carrier | None = None) -> None:
        self.path = path
        self.carrier = carrier

    @classmethod
    def open(cls, place: Place, identity: Mapping[str, str]) -> RunFolder:
        """Start a run, or resume the one that lies there. A run of another identity is refused, naming what differs."""
        if isinstance(place, RunUrl):
            carrier = Carrier(place)
            run = cls(carrier.copy, carrier)
            stored = run._met(carrier)
        else:
            run, stored = cls(place), _identity_in(place)
        if stored is None:
            codec.write_atomic(run.path / "run.json", json.dumps(dict(sorted(identity.items())), indent=1) + "\n")
            if run.carrier is not None:
                run.carrier.push(run.path / "run.json")
        elif stored != dict(identity):
            keys = sorted(k for k in stored.keys() | identity.keys() if stored.get(k) != identity.get(k))
            differing = "; ".join(f"{k}: {stored.get(k)!r} there, {identity.get(k)!r} now" for k in keys)
            raise UserError(
                f"{run.where} holds a run made otherwise ({differing}); choose another --out or repeat its settings"
            )
        return run

    @classmethod
    def at(cls, place: Place, within: str = "") -> RunFolder:
        """A run to read from: the whole, or one of its files or folders. From a URL it is brought here first; while another
        command of this machine works on it, it is read as that has it. Raises UserError for a URL without a run."""
        if not isinstance(place, RunUrl):
            return cls(place)
        carrier = Carrier(place)
        run = cls(carrier.copy, carrier)
        with run._alone() as alone:
            if not alone:
                return run
            if run._met(carrier, alone=True) is None:
                raise UserError(f"there is no run at {place}; make one with: wikigenben evaluate --out {place} ...")
            if within:
                carrier.refresh(within)
            else:
                carrier.fetch()
        return run

    @property
    def where(self) -> str:
        """As a person names it: its path, or its URL."""
        return str(self.path if self.carrier is None else self.carrier.url)

    @property
    def url(self) -> str:
        """Empty for a local run."""
        return "" if self.carrier is None else str(self.carrier.url)

    @property
    def is_here(self) -> bool:
        """Whether all of it was brought here; not so in a process that others have asked for single events."""
        return self.carrier is None or self.carrier.fetched

    def named(self, name: str) -> str:
        """A file of it, likewise."""
        return str(self.path / name) if self.carrier is None else f"{self.carrier.url}/{name}"

    def _met(self, carrier: Carrier, *, alone: bool = False) -> dict[str, str] | None:
        """The identity of the run at the URL, which is in the copy then; None when nothing lies there. What the copy has of a
        run that was deleted there is deleted, which takes the lock unless it is held (`alone`)."""
        content = carrier.store.read("run.json")
        if content is None and carrier.store.listing().found:
            raise UserError(f"{carrier.url} is not empty and not a run folder; choose another --out")
        try:
            if not self._is_copy_of(content):
                with nullcontext(True) if alone else self._alone(CLEARING_S) as free:
                    if not free:
                        raise UserError(f"{carrier.url} was deleted while another command works on it; stop that first")
                    if not self._is_copy_of(content):  # another process may have seen to it
                        carrier.clear_copy()
                        if content is not None:
                            carrier.keep("run.json", content)
        except OSError as error:
            raise UserError(f"cannot use {self.path}: {error.strerror}; set WIKIGEN_RUNS to another folder") from None
        return self.identity()

    def _is_copy_of(self, identity: bytes | None) -> bool:
        """Whether the copy is of the run with this run.json, or of none if there is none."""
        path = self.path / "run.json"
        if path.exists():
            return identity is not None and path.read_bytes() == identity
        return identity is None and all(path.name.startswith(".") for path in self.path.glob("*"))

    def refresh(self, event_id: str) -> None:
        """Make the event what it is at the URL, where other processes may have worked on it. Nothing for a local run."""
        if self.carrier is not None:
            for name in _of_event(event_id):
                self.carrier.refresh(name)

    def push(self, event_id: str = "") -> None:
        """Carry the folder's new files, for one event or all, to the URL. Nothing for a local run."""
        if self.carrier is not None:
            for name in _of_event(event_id) if event_id else ("",):
                self.carrier.push_changed(name)

    def identity(self) -> dict[str, str] | None:
        path = self.path / "run.json"
        if not path.exists():
            return None
        try:
            value = json.loads(codec.plain_bytes(path))
        except OSError as error:
            raise UserError(f"cannot read {self.named(path.name)}: {error.strerror}; choose another --out") from None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{self.named(path.name)} is not JSON ({error}); choose another --out") from None
        if not isinstance(value, dict):
            raise UserError(
                f"{self.named(path.name)} holds a {type(value).__name__}, not a run's identity; choose another --out"
            )
        return {str(k): str(v) for k, v in value.items()}

    def event(self, event_id: str) -> EventFolder:
        return EventFolder(self.path / "events" / event_id, self.carrier)

    def event_folders(self) -> Iterator[EventFolder]:
        events = self.path / "events"
        for path in sorted(events.iterdir()) if events.is_dir() else []:
            if path.is_dir():
                yield EventFolder(path, self.carrier)

    def failures(self) -> list[EventFailure]:
        return [failure for folder in self.event_folders() if (failure := folder.failure()) is not None]

    def write_failures(self) -> None:
        """failures.jsonl gathers the events' failure files; it is a summary, they are the truth."""
        lines = "".join(codec.to_json(failure) + "\n" for failure in self.failures())
        codec.write_atomic(self.path / "failures.jsonl", lines)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Held while a command works on the run: two writers would only repeat each other's work.

        A run at a URL is brought here first, and what the command leaves in it is carried there, however it ends. Of commands
        on other machines the lock knows nothing.
        """
        with self._alone() as alone:
            if not alone:
                raise UserError(f"another command is working on {self.where}; wait for it or choose another --out")
            if self.carrier is None:
                yield
                return
            self.carrier.fetch()
            try:
                yield
            except BaseException:
                self.carrier.rescue()
                raise
            self.carrier.push_changed()

    @contextmanager
    def _alone(self, wait_s: float = 0) -> Iterator[bool]:
        """Whether no other command of this machine works on the run, or none does after a wait; then none will meanwhile."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.path / ".lock")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=wait_s)
        except Timeout:  # before its parent, OSError
            alone = False
        except OSError as error:
            way_out = "choose another --out" if self.carrier is None else "set WIKIGEN_RUNS to another folder"
            raise UserError(f"cannot write to {self.path}: {error.strerror}; {way_out}") from None
        else:
            alone = True
        try:
            yield alone
        finally:
            if alone:
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


def _of_event(event_id: str) -> tuple[str, str]:
    """What an event leaves in a run while it is written."""
    return f"events/{event_id}", f"wikigenbench/{event_id}.json"


def default_run_path(system: str, split: str, track: str, source: EvidenceFrom = "recorded") -> Path:
    name = f"{system}-{split}-{track}" + ("" if source == "recorded" else f"-{source}")
    return Path(os.environ.get("WIKIGEN_RUNS", "runs")) / name
