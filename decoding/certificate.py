"""Records of decoded texts: enough of each answer to check later, with the model alone, that it is what the model says.

A record is one line of JSON. `decoding.certify` reads them; `decoding.bench` and `recording` write them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from data import codec
from data.errors import UserError
from data.types import Strict
from decoding.api import DecodeStats, SamplingParams, StopReason

if TYPE_CHECKING:
    from decoding.local import Decode
    from decoding.models.loading import LoadedModel

RECORDS = "records.jsonl"

Rule = Literal["match", "rejection"]
"""How drafts were accepted (`decoding.verify`). Under `match` a sampled text is a function of its seed and can be recomputed;
under `rejection` only its distribution is fixed."""


@dataclass(frozen=True, slots=True)
class Record(Strict):
    """One answer. `answer` holds every token that the model gave, the end token included."""

    id: str
    method: str
    model: str
    fingerprint: str
    dtype: str
    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    sampling: SamplingParams
    stop: StopReason
    rule: Rule = "match"


def write_records(path: Path, records: Iterable[Record]) -> None:
    codec.write_atomic(path, "".join(codec.to_json(record) + "\n" for record in records))


def read_records(path: Path | str) -> tuple[Record, ...]:
    """Raises UserError, with file and line, for anything but a record, and for a file without any."""
    path = Path(path).expanduser()
    if path.is_dir():
        path = path / RECORDS
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror}; records are written by: python -m decoding.bench ... --out DIR"
        ) from None
    records = [codec.from_json(Record, line, where=f"{path}:{n}") for n, line in enumerate(lines, 1) if line.strip()]
    if not records:
        raise UserError(f"{path} holds no records; they are written by: python -m decoding.bench ... --out DIR")
    return tuple(records)


def stop_of(answer: Sequence[int], limit: int, eos_ids: frozenset[int]) -> StopReason:
    """Why an answer ended, by its tokens: `stop` when neither the end token nor the limit explains it."""
    if answer and answer[-1] in eos_ids:
        return "end"
    return "length" if len(answer) >= limit else "stop"


def recording(decode: Decode, loaded: LoadedModel, path: Path, *, method: str, rule: Rule = "match") -> Decode:
    """`decode`, with a record of each of its answers appended to `path`: hand it to `LocalGenerator` in place of `decode`.

    A text that fails leaves no record. Records are numbered on from those already in the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    written = len(path.read_bytes().splitlines()) if path.exists() else 0

    def recorded(prompt: Sequence[int], sampling: SamplingParams, take: Callable[[int], bool]) -> DecodeStats:
        nonlocal written  # the caller holds the model's lock, so answers come one by one
        answer: list[int] = []

        def keep(token: int) -> bool:
            answer.append(token)
            return take(token)

        stats = decode(prompt, sampling, keep)
        record = Record(
            id=f"{written + 1:06}",
            method=method,
            model=loaded.name,
            fingerprint=loaded.fingerprint,
            dtype=loaded.dtype,
            prompt=tuple(prompt),
            answer=tuple(answer),
            sampling=sampling,
            stop=stop_of(answer, sampling.max_new_tokens, loaded.eos_ids),
            rule=rule,
        )
        with path.open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(codec.to_json(record) + "\n")
        written += 1
        return stats

    return recorded
