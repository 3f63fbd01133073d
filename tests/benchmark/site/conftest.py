"""Submissions that are valid but for what each breaks, and the site that is built from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmark.leaderboard import Built, build
from tests.benchmark.site.made_submissions import CHEAT, FIRST, IDS, OTHER_JUDGE, SECOND, THIRD, UNFILTERED, write


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three comparable systems, of which two tie; two under other conditions; one that claims more than its rows give."""
    into = tmp_path_factory.mktemp("submissions")
    for system in (FIRST, SECOND, THIRD, UNFILTERED, OTHER_JUDGE, CHEAT):
        write(into, system)
    path = into / "cheat" / "submission.json"
    claimed = json.loads(path.read_text(encoding="utf-8"))
    claimed["scores"]["quality"]["mean"] = 0.99
    path.write_text(json.dumps(claimed), encoding="utf-8")
    return into


@pytest.fixture(scope="module")
def site(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert build(folders, out) == Built(n_ranked=5, n_refused=1, n_files=2 + 3 * 5 + len(IDS) + 2)
    return out
