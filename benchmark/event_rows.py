"""One row an event in a JSON-lines file, under a signature of what the rows depend on: known rows are not computed again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from data import codec
from data.errors import UserError


class _OfEvent(Protocol):
    @property
    def id(self) -> str: ...


Row = TypeVar("Row", bound=_OfEvent)


def read_rows(kind: type[Row], path: Path, signed: str) -> dict[str, Row]:
    """By event id; none when there is no file, or one with another signature. Raises UserError for a damaged file."""
    if not path.exists():
        return {}
    try:
        lines = path.read_bytes().splitlines()
        head = json.loads(lines[0]) if lines else None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; remove it and run the command again to make it anew") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}); delete the file and run the command again to make it anew") from None
    if not isinstance(head, dict) or head.get("signature") != signed:
        return {}
    rows = (codec.from_json(kind, line, where=f"{path}:{n}") for n, line in enumerate(lines[1:], 2))
    return {row.id: row for row in rows}


def write_rows(path: Path, signed: str, rows: Mapping[str, Row]) -> None:
    """In id order, whatever order they were computed in."""
    head = json.dumps({"signature": signed}, ensure_ascii=False)
    codec.write_atomic(path, "\n".join([head, *(codec.to_json(rows[event_id]) for event_id in sorted(rows))]) + "\n")
