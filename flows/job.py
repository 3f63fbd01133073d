"""The request as one value: it comes from flags, from Prefect parameters or from a test, and goes to `flows.wiring`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from data.settings import Settings

SYSTEMS = ("lead", "bm25", "extractive", "rr", "prr", "rprr", "ours", "closed_book")
MODEL_SYSTEMS = frozenset({"rr", "prr", "rprr", "ours", "closed_book"})


@dataclass(frozen=True, slots=True)
class Job:
    """`data`, `split` and `out` of None mean the defaults described in `--help`."""

    system: str
    settings: Settings = field(default_factory=Settings)
    data: str | None = None
    split: str | None = None
    events: tuple[str, ...] = ()
    limit: int | None = None
    out: Path | None = None
    retry_failed: bool = False
