"""Prompt files: what to calibrate on, and what to measure speed with. No torch here.

Two formats, separated by each line itself. Ours is the JSON of `PromptRow`, one a line, with `prompt` (text) allowed in
place of `messages`. The other is that of Spec-Bench's `question.jsonl` (Xia et al. 2024): `question_id`, `category`, `turns`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data import codec
from data.errors import UserError
from data.types import Strict
from decoding.api import Message, Task

EXPORTED = "prompts.jsonl"
"""What a run folder calls the prompts it has exported."""

EXPORT = "wikigenben prompts --out FILE"


@dataclass(frozen=True, slots=True)
class PromptRow(Strict):
    """One text to be written."""

    id: str
    messages: tuple[Message, ...]
    task: Task = "other"
    topic: str = ""
    """A label such as `sport`, for reports and for global routing; empty if there is none."""
    event: str = ""
    """The event that the prompt belongs to: prompts of one event share evidence and are never split by a hold-out."""
    answer: str | None = None
    """What was written, if it is known."""
    sources: tuple[str, ...] = ()
    """As in `SamplingParams`: texts that the answer may repeat although the prompt does not show them."""
    follow_ups: tuple[str, ...] = ()
    """What the user says after each answer, in turn (Spec-Bench's second turns)."""

    @property
    def group(self) -> str:
        return self.event or self.id

    @property
    def label(self) -> str:
        """The domain that KNN-SSD's global routing would separate: a task, or the topic where the task says nothing."""
        return self.topic if self.task == "other" and self.topic else self.task


def read_prompts(path: Path | str) -> tuple[PromptRow, ...]:
    """The prompts of a file, or of a run folder that has exported them as `prompts.jsonl`.

    Raises UserError, with file and line: no such file, not JSON, an unknown key or task, an empty prompt, a repeated id.
    """
    path = Path(path).expanduser()
    if path.is_dir():
        path = _exported(path)
    try:
        lines = path.read_bytes().splitlines()  # of bytes: text would also be cut at U+2028, which prompts may hold
    except OSError as error:
        raise UserError(f"cannot read the prompts in {path}: {error.strerror}; make them with: {EXPORT}") from None
    rows: list[PromptRow] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = _row(line, where=f"{path}:{number}")
        if row.id in seen:
            raise UserError(f"{path}:{number}: the id {row.id!r} is that of line {seen[row.id]} too; give each prompt its own")
        seen[row.id] = number
        rows.append(row)
    if not rows:
        raise UserError(f"{path} holds no prompts; make some with: {EXPORT}")
    return tuple(rows)


def read_all(paths: Sequence[Path | str]) -> tuple[PromptRow, ...]:
    """The prompts of several files; ids must differ between them, too."""
    rows: dict[str, PromptRow] = {}
    for path in paths:
        for row in read_prompts(path):
            if row.id in rows:
                raise UserError(f"{path}: the id {row.id!r} is in another prompt file too; name each file once")
            rows[row.id] = row
    return tuple(rows.values())


def _exported(folder: Path) -> Path:
    if (folder / EXPORTED).is_file():
        return folder / EXPORTED
    what = "a run folder" if (folder / "run.json").is_file() else "a folder"
    raise UserError(
        f"{folder} is {what} without {EXPORTED}; write its prompts with: {EXPORT.replace('FILE', str(folder / EXPORTED))}"
    )


def _row(line: bytes, where: str) -> PromptRow:
    try:
        value = json.loads(line)
    except ValueError as error:  # UnicodeDecodeError among them
        raise UserError(f"{where}: not JSON ({error}); correct the line, or make the file anew with: {EXPORT}") from None
    if not isinstance(value, dict):
        raise UserError(f"{where}: a {type(value).__name__}, not an object with id, task and messages; correct the line")
    plain = _of_spec_bench(value, where) if "turns" in value else _of_text(value, where)
    row = _checked(plain, where)
    if not row.id:
        raise UserError(f"{where}: the id is empty; give each prompt its own")
    if not row.messages or not any(message.content.strip() for message in row.messages):
        raise UserError(f"{where}: the prompt {row.id!r} is empty; give it text or take the line out")
    return row


def _checked(plain: dict[str, Any], where: str) -> PromptRow:
    try:
        return codec.from_plain(PromptRow, plain, where=where)
    except UserError as error:
        raise UserError(f"{error}; correct the line, or make the file anew with: {EXPORT}") from None


def _of_text(value: dict[str, Any], where: str) -> dict[str, Any]:
    if "prompt" not in value:
        return value
    if "messages" in value:
        raise UserError(f"{where}: both prompt and messages; leave one out")
    rest = {key: item for key, item in value.items() if key != "prompt"}
    return rest | {"messages": [{"role": "user", "content": value["prompt"]}]}


def _of_spec_bench(value: dict[str, Any], where: str) -> dict[str, Any]:
    """`reference` and whatever else a question carries is left aside."""
    turns = value["turns"]
    if not isinstance(turns, list) or not turns or "question_id" not in value or "category" not in value:
        raise UserError(f"{where}: a Spec-Bench question needs question_id, category and a list of turns; correct the line")
    return {
        "id": str(value["question_id"]),
        "task": "other",
        "topic": value["category"],
        "messages": [{"role": "user", "content": turns[0]}],
        "follow_ups": turns[1:],
    }
