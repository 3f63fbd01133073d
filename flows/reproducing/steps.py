"""Commands that are run once for the same inputs: what `flows.reproducing.reproduce` is made of.

A step is a command of this package. It is done when a stamp says that it ended well with the same words, the same code and the
same inputs, and what it wrote is still as it was.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from data import codec
from data.errors import UserError
from data.types import Strict

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("data", "decoding", "pipeline", "eval", "benchmark", "flows")
NO_INPUT = frozenset({"created", "environment"})
"""Of a submission.json: they change when nothing else does."""


@dataclass(frozen=True, slots=True)
class Step:
    """`group` is the system that it belongs to: after a step that failed, the rest of its group is left out. `accepted` are the
    exit codes that count as done. `reads` are files and folders whose content decides whether it must run again, `writes`
    those that it leaves behind."""

    group: str
    name: str
    words: tuple[str, ...]
    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    module: str = "flows.cli"
    accepted: tuple[int, ...] = (0,)

    @property
    def command(self) -> str:
        """As a person would type it."""
        program = ["wikigenben"] if self.module == "flows.cli" else ["python", "-m", self.module]
        return shlex.join([*program, *self.words])


@dataclass(frozen=True, slots=True)
class Stamp(Strict):
    """A step that ended well: `wrote` has the hash of each file that it left."""

    command: str
    key: str
    code: int
    seconds: float
    wrote: dict[str, str]


@dataclass(frozen=True, slots=True)
class Ended:
    """`code` is None where the step was not run, because it is done or a step before it failed."""

    step: Step
    code: int | None
    stood: bool = False

    @property
    def ok(self) -> bool:
        return self.stood or self.code in self.step.accepted


Execute = Callable[[Step, Path], int]
"""Runs the step's command, its output going to the file, and gives its exit code."""


def in_a_process(step: Step, log: Path) -> int:
    """A process of its own: whatever happens in it, the next system starts afresh, with all memory free."""
    with log.open("w", encoding="utf-8") as stream:
        return subprocess.run([sys.executable, "-m", step.module, *step.words], stdout=stream, check=False).returncode


class Steps:
    """Steps with their stamps in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def stands(self, step: Step) -> bool:
        stamp = self._stamp(step)
        return stamp is not None and stamp.key == _key(step) and stamp.wrote == _written(step)

    def run(self, steps: Sequence[Step], execute: Execute, say: Callable[[str], None]) -> list[Ended]:
        """All steps in order. One that fails ends its group, and nothing else."""
        ended: list[Ended] = []
        broken: set[str] = set()
        for n, step in enumerate(steps, 1):
            place = f"[{n}/{len(steps)}] {_named(step)}"
            if step.group in broken:
                say(f"{place}: left out, for the step before it failed")
                ended.append(Ended(step, None))
                continue
            if self.stands(step):
                say(f"{place}: stands")
                ended.append(Ended(step, None, stood=True))
                continue
            say(f"{place}: {step.command}")
            ended.append(Ended(step, self._run(step, execute)))
            if not ended[-1].ok:
                say(f"{place}: failed with exit code {ended[-1].code}; its output is in {self.log(step)}")
                broken.add(step.group)
        return ended

    def log(self, step: Step) -> Path:
        return self._path(step).with_suffix(".log")

    def _run(self, step: Step, execute: Execute) -> int:
        key, began = _key(step), time.perf_counter()
        self._path(step).unlink(missing_ok=True)
        self._folder.mkdir(parents=True, exist_ok=True)
        code = execute(step, self.log(step))
        if code in step.accepted:
            stamp = Stamp(step.command, key, code, round(time.perf_counter() - began, 1), _written(step))
            codec.write_atomic(self._path(step), codec.to_json(stamp, indent=1) + "\n")
        return code

    def _stamp(self, step: Step) -> Stamp | None:
        try:
            return codec.read(Stamp, self._path(step))
        except (FileNotFoundError, UserError):  # a damaged stamp says nothing, so the step is run
            return None

    def _path(self, step: Step) -> Path:
        return self._folder / f"{_named(step).replace(': ', '.').replace(' ', '-')}.json"


def _named(step: Step) -> str:
    return f"{step.group}: {step.name}" if step.group else step.name


def _key(step: Step) -> str:
    """Of all that the step depends on."""
    return codec.sha256("\n".join((step.module, *step.words, code_sha256(), *(content(path) for path in step.reads))))


def _written(step: Step) -> dict[str, str]:
    return {str(path): content(path) for path in step.writes}


def content(path: Path) -> str:
    """A hash of a file, of a submission.json without times, or of the names, sizes and times of a folder's files."""
    if path.is_dir():
        files = sorted((str(f.relative_to(path)), f.stat()) for f in path.rglob("*") if f.is_file())
        return codec.sha256("".join(f"{name} {stat.st_size} {stat.st_mtime_ns}\n" for name, stat in files))
    if not path.is_file():
        return "missing"
    if path.name != "submission.json":
        return codec.sha256_bytes(path.read_bytes())
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        told = {name: value for name, value in plain.items() if name not in NO_INPUT}
        told["system"] = {name: value for name, value in plain["system"].items() if name != "commit"}
    except (ValueError, KeyError, AttributeError, TypeError):  # the command that reads it will say so
        return codec.sha256_bytes(path.read_bytes())
    return codec.sha256(json.dumps(told, sort_keys=True))


@cache
def code_sha256() -> str:
    """Of this package's code and its tables: with other code nothing counts as done."""
    kinds = {".py", ".toml", ".json", ".txt", ".html", ".css", ".js", ".jinja"}
    files = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.suffix in kinds)
    digests = (codec.sha256_bytes(path.read_bytes()) for path in files if path.is_file())
    return codec.sha256("\n".join(f"{path.relative_to(ROOT)} {digest}" for path, digest in zip(files, digests, strict=True)))
