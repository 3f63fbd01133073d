"""The commit that results are marked with."""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchmark.checkout import commit


def git(place: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", str(place), *identity, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_checkout_an_edit_and_a_package_inside_another_repository(tmp_path: Path) -> None:
    assert commit(tmp_path / "nowhere") == ""
    git(tmp_path, "init", "-q")
    assert commit(tmp_path) == ""  # nothing is committed yet
    (tmp_path / "a.py").write_text("1\n", encoding="utf-8")
    git(tmp_path, "add", "a.py")
    git(tmp_path, "commit", "-q", "-m", "one")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert commit(tmp_path) == head
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "new").write_text("untracked", encoding="utf-8")
    assert commit(tmp_path) == head and commit(tmp_path / "runs") == ""
    (tmp_path / "a.py").write_text("2\n", encoding="utf-8")
    assert commit(tmp_path) == f"{head}+changed"
