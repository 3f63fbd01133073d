"""Which commit this code is, when it runs from a checkout of its repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def commit(root: Path = ROOT) -> str:
    """The commit's hash, with "+changed" when tracked files differ from it; empty when `root` is no checkout of its own, such
    as an installed package, even inside another repository."""
    found = _git(root, "rev-parse", "--show-toplevel", "HEAD").split("\n")
    if len(found) < 2 or Path(found[0]).resolve() != root.resolve():
        return ""
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return found[1] + ("+changed" if changed else "")


def _git(root: Path, *words: str) -> str:
    """What git says, empty when it is not installed, refuses or takes too long."""
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(root), *words], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
