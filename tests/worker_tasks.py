"""What the tests of runners let worker processes do: importable there, which test modules are not."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def deadly(event_id: str, folder: str) -> str:
    """Leaves a line for each time that it began; one event kills its process."""
    with (Path(folder) / event_id).open("a") as began:
        began.write(f"{os.getpid()}\n")
    if event_id == "3":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.2)
    return f"wrote {event_id}"


def stored(event_id: str) -> str:
    return f"stored {event_id} from {Path.cwd()}"


def threads(event_id: str) -> str:
    return os.environ.get("OMP_NUM_THREADS", "")
