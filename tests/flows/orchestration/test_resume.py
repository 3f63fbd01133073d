"""A run that was killed goes on: what is done is not done again, and the result is that of a run nobody disturbed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from data import codec
from data.runs import RunFolder
from tests.killed_run import EVENT, Moment, run_child

SYSTEMS = ("extractive", "bm25")
RESULTS = (f"events/{EVENT}/article.json", f"wikigenbench/{EVENT}.json")


def files(out: Path) -> dict[str, Path]:
    """All that lies in a run, except the lock and what a killed write left."""
    found = {str(path.relative_to(out)): path for path in sorted(out.rglob("*")) if path.is_file()}
    return {name: path for name, path in found.items() if path.name != ".lock" and not codec.is_temporary(path)}


def stages(out: Path) -> dict[str, int]:
    """Finished stages and when they were written."""
    return {n: p.stat().st_mtime_ns for n, p in files(out).items() if n.startswith("events/") and p.name != "failure.json"}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """For each system, every file of a run that nobody disturbed."""
    made = {}
    for system in SYSTEMS:
        out = tmp_path_factory.mktemp("undisturbed") / system
        assert run_child(system, out) == (0, ["written"])
        made[system] = {name: path.read_bytes() for name, path in files(out).items()}
        assert set(RESULTS) <= made[system].keys()
    return made


def check_resumed(system: str, out: Path, expected: dict[str, bytes]) -> None:
    """Run again after a kill; nothing is repeated, nothing is missing, all that can be read is as if never disturbed."""
    finished = stages(out)
    code, statuses = run_child(system, out)
    assert code == 0 and statuses in (["written"], ["reused"])
    assert statuses == ["reused" if RESULTS[0] in finished else "written"]
    assert {name: time for name, time in stages(out).items() if name in finished} == finished
    now = files(out)
    # stats.json holds seconds, and is missing after a kill between it and the article
    assert now.keys() | {f"events/{EVENT}/stats.json"} == expected.keys()
    same = [name for name in now if not name.endswith("stats.json")]
    assert [name for name in same if now[name].read_bytes() != expected[name]] == []


@pytest.mark.parametrize(
    ("system", "moment"), [("bm25", "half_written"), pytest.param("extractive", "after", marks=pytest.mark.slow)]
)
def test_killed_at_every_write_in_turn(
    system: str, moment: Moment, tmp_path: Path, undisturbed: dict[str, dict[str, bytes]]
) -> None:
    expected = undisturbed[system]
    for n in range(1, 100):
        out = tmp_path / str(n)
        code, statuses = run_child(system, out, moment, n)
        if code == 0:  # fewer than n writes: the run came to its end
            assert statuses == ["written"]
            break
        assert (code, statuses) == (-signal.SIGKILL, [])
        assert len(list(out.rglob("*.tmp"))) == (moment == "half_written")
        assert len(files(out)) == (n if moment == "after" else n - 1)
        check_resumed(system, out, expected)
    assert n == len(expected) + 1


def test_killed_between_writing_and_renaming(tmp_path: Path, undisturbed: dict[str, dict[str, bytes]]) -> None:
    """The temporary file of article.json is whole, and still no result."""
    for n in range(1, len(undisturbed["bm25"]) + 1):
        out = tmp_path / str(n)
        assert run_child("bm25", out, "before_rename", n)[0] == -signal.SIGKILL
        (left,) = out.rglob("*.tmp")
        if left.name.startswith(".article.json."):
            assert left.read_bytes() == undisturbed["bm25"][RESULTS[0]]
            assert RunFolder(out).event(EVENT).article() is None
            check_resumed("bm25", out, undisturbed["bm25"])
            return
    pytest.fail("article.json was never written")


def test_killed_twice_then_left_alone(tmp_path: Path, undisturbed: dict[str, dict[str, bytes]]) -> None:
    out = tmp_path / "run"
    assert run_child("extractive", out, "after", 5)[0] == -signal.SIGKILL
    before = stages(out)
    assert run_child("extractive", out, "half_written", 3)[0] == -signal.SIGKILL
    assert before.items() <= stages(out).items()
    check_resumed("extractive", out, undisturbed["extractive"])
    last = stages(out)
    assert run_child("extractive", out) == (0, ["reused"])
    assert stages(out) == last
