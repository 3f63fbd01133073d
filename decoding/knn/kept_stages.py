"""What a calibration has measured so far, on disk: a kill loses the prompt or the layer set in flight, no more.

    stages/<model>-<tokens>/  costs-<machine>.json  prompts/<key>.json  agreements/<key>.jsonl  timings/<key>.jsonl
                              searches/<key>.json

Every name contains what its content depends on (model and precision, answer length, prompt, settings), so a folder can be
used again with other settings: what still holds is found, the rest is measured. Searches ask for the same sets in the same
order each time, so a search that was killed passes stored results at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from data import codec
from data.errors import UserError
from data.types import Strict
from decoding.backend import SkipSet
from decoding.knn.draft_agreement import Agreement, Logged

STAGES = "stages"
"""The folder of working files in that of a calibration. Nobody who decodes reads it."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Timing(Strict):
    """One speculative run of a prompt, its prefill included."""

    seconds: float
    n_tokens: int


@dataclass(frozen=True, slots=True)
class _Agreed(Strict):
    plan: SkipSet
    found: Agreement


@dataclass(frozen=True, slots=True)
class _Timed(Strict):
    plan: SkipSet
    found: Timing


class Stages:
    """One folder of them. Its memory holds all that was read or measured, a few hundred bytes for each prompt and set."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._agreements: dict[str, dict[SkipSet, Agreement]] = {}
        self._timings: dict[str, dict[SkipSet, Timing]] = {}

    def once(self, name: str, kind: type[T], make: Callable[[], T]) -> T:
        """The stored value, or `make()`, stored."""
        return codec.once(kind, self._folder / f"{name}.json", make)

    def agreements(
        self, logged: Logged, plans: Sequence[SkipSet], measure: Callable[[Sequence[SkipSet]], Iterable[Agreement]]
    ) -> list[Agreement]:
        """One for each plan; `measure` is asked for those that are not stored and stored one by one."""
        key = prompt_key(logged.id, logged.prompt)
        path = self._folder / "agreements" / f"{key}.jsonl"
        if key not in self._agreements:
            self._agreements[key] = {line.plan: line.found for line in _lines(_Agreed, path)}
        known = self._agreements[key]
        if new := [plan for plan in dict.fromkeys(plans) if plan not in known]:
            for plan, found in zip(new, measure(new), strict=True):
                _append(path, _Agreed(plan, found))
                known[plan] = found
        return [known[plan] for plan in plans]

    def timing(self, logged: Logged, plan: SkipSet, measure: Callable[[], Timing]) -> Timing:
        key = prompt_key(logged.id, logged.prompt)
        path = self._folder / "timings" / f"{key}.jsonl"
        if key not in self._timings:
            self._timings[key] = {line.plan: line.found for line in _lines(_Timed, path)}
        known = self._timings[key]
        if plan not in known:
            found = measure()
            _append(path, _Timed(plan, found))
            known[plan] = found
        return known[plan]


def prompt_key(row_id: str, prompt: Sequence[int]) -> str:
    """A file name for a prompt: the same id with another text is another prompt."""
    return codec.sha256(f"{row_id} {' '.join(map(str, prompt))}")[:20]


def _lines(kind: type[T], path: Path) -> list[T]:
    if not path.exists():
        return []
    lines = path.read_bytes().splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        with path.open("r+b") as stream:  # killed while writing: that line never was
            stream.truncate(sum(map(len, lines[:-1])))
        lines.pop()
    return [codec.from_json(kind, line, where=f"{path}:{number}") for number, line in enumerate(lines, 1)]


def _append(path: Path, value: object) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(codec.to_json(value) + "\n")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; make room there or choose another --out") from None
