"""Whether memory grows from event to event: the arithmetic, and the report."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from data.runs import EventStats, Footprint, RunFolder, footprint
from tools.speed import bench_memory as memory
from tools.speed.bench_memory import Growth, Mark, Slope, growth_of


def growth(held: list[float], n_bytes: list[int] | None = None) -> Growth:
    sizes = n_bytes or [0] * len(held)
    return Growth(1, tuple(Mark(str(n), size, mib) for n, (size, mib) in enumerate(zip(sizes, held, strict=True))))


def slope(held: list[float]) -> Slope:
    found = growth(held).slope()
    assert found is not None
    return found


def run_of(path: Path, held: dict[int, list[float]]) -> RunFolder:
    """By process: what it held after each event. The n-th event of all has n lines of pages; later ones sort first by name."""
    run = RunFolder.open(path, {"system": "x"})
    n = 0
    for pid, values in held.items():
        for at, mib in enumerate(values):
            n += 1
            event = run.event(str(1000 - n))
            event.path.mkdir(parents=True)
            (event.path / "pages.jsonl").write_text("x" * 1023 * n + "\n", encoding="utf-8")
            event.write_stats(EventStats(event.event_id, 1.0, 1, 1, footprint=Footprint(pid, mib, float(at))))
    return run


def test_a_leak_has_a_narrow_interval_around_its_slope() -> None:
    found = slope([100.0 + 2 * n for n in range(60)])
    assert (found.per_100, found.low, found.high) == pytest.approx((200, 200, 200))
    assert found.grows


def test_a_leak_is_seen_under_noise() -> None:
    drawn = random.Random(1)
    found = slope([100.0 + 0.5 * n + drawn.gauss(0, 2) for n in range(200)])
    assert found.low < 50 < found.high and found.grows


def test_caches_that_are_full_after_the_first_half_are_no_growth() -> None:
    found = slope([100.0 + 2 * min(n, 49) for n in range(100)])
    assert (found.per_100, found.low, found.high) == (0, 0, 0)
    assert not found.grows


def test_one_large_event_is_no_growth_but_makes_it_uncertain() -> None:
    found = slope([300.0] * 80 + [360.0] * 20)
    assert found.per_100 > 0 and found.low < 0 and not found.grows


def test_too_few_events_tell_nothing() -> None:
    assert growth([1.0] * 23).slope() is None and growth([1.0] * 24).slope() == Slope(0, 0, 0)


def test_events_over_time_and_by_size() -> None:
    many = growth([float(n) for n in range(1, 101)], [n % 50 for n in range(100)])
    assert many.times()[:3] == [(1, 1.0), (10, 10.0), (20, 20.0)] and many.times()[-1] == (100, 100.0)
    assert [place for place, _ in many.largest()] == [50, 100, 49, 99, 48]
    assert growth([5.0, 7.0], [9, 1]).largest() == [(1, None), (2, 5.0)]
    assert growth([5.0]).times() == [(1, 5.0)]


def test_processes_are_told_apart_and_events_are_in_the_order_of_writing(tmp_path: Path) -> None:
    found = growth_of(run_of(tmp_path / "run", {7: [100.0, 200.0], 8: [5.0, 6.0, 7.0]}))
    assert [(g.pid, g.held) for g in found] == [(8, [5.0, 6.0, 7.0]), (7, [100.0, 200.0])]
    assert found[0].marks[-1] == Mark("995", 1023 * 5 + 1, 7.0)


def test_memory_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(tmp_path / "run", {8: [100.0 + 2 * n for n in range(30)], 9: [50.0]})
    assert memory.main([str(run.path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:5] == ["8", "30", "100", "158", "158"] and lines[1].endswith("+200.0 (+200.0 to +200.0): it grows")
    assert lines[2].split()[:5] == ["9", "1", "50", "50", "50"] and "24" in lines[2]
    at = lines.index("process 8 over time")
    assert lines[at + 1].split()[-1] == "30" and lines[at + 2].split()[-1] == "158"
    assert lines[lines.index("its largest events") + 2].split() == ["30", "970", "30", "156", "158"]


def test_a_run_that_says_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert memory.main([str(tmp_path / "nothing")]) == 2
    assert "no event of" in capsys.readouterr().err


def test_footprint_is_of_this_process() -> None:
    held = footprint()
    if held is None:
        pytest.skip("this system does not say what a process holds")
    ballast = bytearray(64 * 2**20)
    more = footprint()
    assert more is not None and held.pid == more.pid == os.getpid()
    assert 40 < more.resident_mib - held.resident_mib < 200, len(ballast)
