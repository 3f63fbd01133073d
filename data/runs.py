"""The run folder: what is done, what failed, and how to go on.

    runs/demo/  run.json  environment.json  failures.jsonl  scores.jsonl  submission.json  report.html  plots/*.svg
                events/<id>/{pages.jsonl,outline.json,drafts/*.json,sections/NN.json,article.json,stats.json,failure.json}
                wikigenbench/<id>.json

A stage is done when its file exists; files appear whole (`codec.write_atomic`). So resuming is running the same command
again, and killing a run loses at most the stage in flight.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from data import codec
from data.errors import StageError, UserError
from data.types import Article, Page, Strict

T = TypeVar("T")


class Stages(Protocol):
    """Where a writer leaves its intermediate values. Every system asks for its stages through this, in order."""

    def once(self, name: str, kind: type[T], make: Callable[[], T]) -> T:
        """The stored value of the stage, or `make()`, stored. `name` is a relative path such as `sections/02`."""
        ...


class Unstored:
    """Stages that keep nothing: for tests and one-off calls."""

    def once(self, name: str, kind: type[T], make: Callable[[], T]) -> T:
        return make()


@dataclass(frozen=True, slots=True)
class StageTime(Strict):
    """Wall seconds of making one stage, without those of stages made inside it. `stage` is its name, such as `sections/02`."""

    stage: str
    seconds: float


class StageClock:
    """Times the stages of one event, which are made one after the other or inside each other, never side by side."""

    def __init__(self) -> None:
        self.times: list[StageTime] = []
        self._inside = [0.0]  # for each stage that is being made, the outermost first: seconds of the stages inside it

    def timing(self, name: str, make: Callable[[], T]) -> Callable[[], T]:
        """`make`, adding to `times` when it is called, also when it raises."""

        def timed() -> T:
            began = time.perf_counter()
            self._inside.append(0.0)
            try:
                return make()
            finally:
                took = time.perf_counter() - began
                self.times.append(StageTime(name, round(took - self._inside.pop(), 3)))
                self._inside[-1] += took

        return timed


@dataclass(frozen=True, slots=True)
class TimedStages:
    """Other stages, with the time of each that has to be made; one that is found stored leaves none."""

    stages: Stages
    clock: StageClock

    def once(self, name: str, kind: type[T], make: Callable[[], T]) -> T:
        return self.stages.once(name, kind, self.clock.timing(name, make))


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
class DrafterUsage(Strict):
    """What one drafter guessed (`skip`, `copy:prompt`, ...) while a text was decoded, and how many of its tokens stood."""

    drafter: str
    n_drafts: int
    n_drafted: int
    n_accepted: int


@dataclass(frozen=True, slots=True)
class Usage(Strict):
    """What a language model was asked for one event, over all its drafts: calls, tokens in and out, seconds generating.

    Of the calls that say so (a local model's): how often the whole model was run after reading a prompt, how many tokens had
    been guessed for it, and how many of those stood. Of those with a contrast: how often it was run besides for the sequence
    without evidence, and the seconds of that, which are part of all seconds.
    """

    n_calls: int
    n_prompt_tokens: int
    n_new_tokens: int
    generate_s: float
    n_verify: int | None = None
    n_drafted: int | None = None
    n_accepted: int | None = None
    n_contrast: int | None = None
    contrast_s: float | None = None
    by_drafter: tuple[DrafterUsage, ...] = ()


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


@dataclass(frozen=True)
class EventFolder:
    path: Path

    @property
    def event_id(self) -> str:
        return self.path.name

    def once(self, name: str, kind: type[T], make: Callable[[], T]) -> T:
        path = self.path / f"{name}.json"
        if path.exists():
            try:
                return codec.read(kind, path)
            except UserError as error:  # someone else's edit: this event's trouble, not the run's
                raise StageError(name, str(error)) from None
        value = make()
        codec.write_atomic(path, codec.to_json(value, indent=1) + "\n")
        return value

    def pages(self, make: Callable[[], tuple[Page, ...]]) -> tuple[Page, ...]:
        """The event's pages, kept and dropped, one JSON line each."""
        path = self.path / "pages.jsonl"
        if not path.exists():
            pages = make()
            codec.write_atomic(path, "".join(codec.to_json(page) + "\n" for page in pages))
            return pages
        lines = path.read_bytes().splitlines()  # of bytes: text would also be cut at U+0085 and U+2028, which pages hold
        return tuple(codec.from_json(Page, line, where=f"{path}:{n}") for n, line in enumerate(lines, 1))

    def stored_pages(self) -> tuple[Page, ...] | None:
        return self.pages(tuple) if (self.path / "pages.jsonl").exists() else None

    def article(self) -> Article | None:
        path = self.path / "article.json"
        return codec.read(Article, path) if path.exists() else None

    def usage(self) -> Usage | None:
        """Summed over the stored drafts, so that a resumed event counts what was asked before it was killed."""
        drafts = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((self.path / "drafts").glob("*.json"))]
        if not drafts:
            return None
        contrast_s = [float(d["contrast_s"]) for d in drafts if d.get("contrast_s") is not None]
        return Usage(
            n_calls=len(drafts),
            n_prompt_tokens=sum(int(d["n_prompt_tokens"]) for d in drafts),
            n_new_tokens=sum(int(d["n_new_tokens"]) for d in drafts),
            generate_s=round(sum(float(d["seconds"]) for d in drafts), 3),
            n_verify=_known_sum(drafts, "n_verify"),
            n_drafted=_known_sum(drafts, "n_drafted"),
            n_accepted=_known_sum(drafts, "n_accepted"),
            n_contrast=_known_sum(drafts, "n_contrast"),
            contrast_s=round(sum(contrast_s), 3) if contrast_s else None,
            by_drafter=total_by_drafter(
                codec.from_plain(DrafterUsage, used, where=f"{self.path}/drafts")
                for draft in drafts
                for used in draft.get("by_drafter", ())
            ),
        )

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
        (self.path / "failure.json").unlink(missing_ok=True)

    def clear(self) -> None:
        """Forget the event: its stages, its failure. Used by `--retry-failed`."""
        shutil.rmtree(self.path, ignore_errors=True)


def total_by_drafter(parts: Iterable[DrafterUsage]) -> tuple[DrafterUsage, ...]:
    """One value for each drafter, in alphabetical order."""
    sums: dict[str, list[int]] = {}
    for part in parts:
        of = sums.setdefault(part.drafter, [0, 0, 0])
        for i, n in enumerate((part.n_drafts, part.n_drafted, part.n_accepted)):
            of[i] += n
    return tuple(DrafterUsage(drafter, *of) for drafter, of in sorted(sums.items()))


def _known_sum(drafts: Iterable[Mapping[str, object]], key: str) -> int | None:
    known = [value for draft in drafts if isinstance(value := draft.get(key), int)]
    return sum(known) if known else None


class RunFolder:
    """One run. `identity` says what was asked (settings, model, versions); a folder holds articles of one identity only."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, path: Path, identity: Mapping[str, str]) -> RunFolder:
        """Start a run, or resume the one that lies there. A run of another identity is refused, naming what differs."""
        run = cls(path)
        try:
            stored = run.identity()
            if stored is None and path.exists():
                if not path.is_dir():
                    raise UserError(f"{path} is a file; choose another --out")
                if not all(codec.is_temporary(found) for found in path.iterdir()):
                    raise UserError(f"{path} is not empty and not a run folder; choose another --out")
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}; choose another --out") from None
        if stored is None:
            codec.write_atomic(path / "run.json", json.dumps(dict(sorted(identity.items())), indent=1) + "\n")
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
            value = json.loads(path.read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
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

    def write_lines(self, name: str, values: Iterable[object]) -> None:
        codec.write_atomic(self.path / name, "".join(codec.to_json(value) + "\n" for value in values))

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


def default_run_path(system: str, split: str, track: str) -> Path:
    return Path(os.environ.get("WIKIGEN_RUNS", "runs")) / f"{system}-{split}-{track}"
