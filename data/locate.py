"""Which benchmark folder is meant when none, or only a name, is given."""

from __future__ import annotations

import os
from pathlib import Path

from data.download import installed_snapshot
from data.snapshot import SAMPLE


def locate(path: str | None) -> Path:
    """`--data`, else WIKIGEN_DATA, else what `python -m data.download` fetched, else the bundled sample."""
    chosen = path or os.environ.get("WIKIGEN_DATA")
    if chosen == "sample":
        return SAMPLE
    if chosen:
        return Path(chosen).expanduser()
    return installed_snapshot() or SAMPLE
