"""What a machine carries, and whether memory grows: the arithmetic, the folders measured on, and both commands."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import pytest

from data.runs import EventStats, Footprint, RunFolder, footprint
from data.snapshot import SAMPLE, Snapshot
from flows import memory, scale
from flows.memory import Growth, growth_of
from flows.scale import Measured, Simulated, repeated_sample, stops_growing, stub_events


def test_where_it_stops_growing() -> None:
    assert stops_growing({1: 100.0, 2: 190.0, 4: 200.0, 8: 390.0}) == 2
    assert stops_growing({1: 100.0, 2: 190.0, 4: 360.0}) is None
    assert stops_growing({2: 100.0, 1: 100.0}) == 1
    assert stops_growing({1: 100.0}) is None


def test_events_an_hour_leave_out_what_came_before_the_first() -> None:
    assert Measured(100.0, 9.0, (1000.0, 1010.0, 1020.0), 0).an_hour == pytest.approx(360)
    assert math.isnan(Measured(1.0, 1.0, (1000.0,), 0).an_hour)


def test_simulated_events_last_by_their_id_and_the_mean_on_average() -> None:
    system = Simulated(20.0)
    seconds = [system.seconds(str(i)) for i in range(2000)]
    assert seconds == [Simulated(20.0).seconds(str(i)) for i in range(2000)]
    assert statistics.fmean(seconds) == pytest.approx(20, rel=0.05)
    assert 1.5 < statistics.quantiles(seconds, n=10)[-1] / statistics.median(seconds) < 2.5


def test_sample_repeated_is_a_benchmark_folder(tmp_path: Path) -> None:
    snapshot, sample = Snapshot(repeated_sample(tmp_path, 7)), Snapshot(SAMPLE)
    ids = snapshot.ids("search")
    assert len(ids) == 7 and ids[0] == "9100001"
    first, again = snapshot.raw_pages(ids[0], "search"), snapshot.raw_pages(ids[5], "search")
    assert first == again == sample.raw_pages(sample.ids("search")[0], "search")


def test_stub_events_can_be_cited(tmp_path: Path) -> None:
    snapshot = Snapshot(stub_events(tmp_path / "stubs", 3))
    assert [snapshot.event(i).title for i in snapshot.ids("search")] == ["Event 1", "Event 2", "Event 3"]


@pytest.mark.parametrize("words", [["--workers", "1,0"], ["--workers", "1,,2"], ["--only", "nothing"]])
def test_bad_flags_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        scale.main(words)
    assert end.value.code == 2


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_three_are_measured(prefect_api: None, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--simulated-workers", "4", "--simulated-events", "8", "--mean-s", "0.2", "--overhead-events", "5"]
    assert scale.main(["--system", "lead", "--workers", "1,2", "--events", "4", *few]) == 0
    told = capsys.readouterr().out
    for words in ("lead on the sample repeated, 4 events", "efficiency", "second run, all done", "cores", "workers"):
        assert words in told


# ---- memory


def run_of(path: Path, held: dict[int, list[float]]) -> RunFolder:
    """By process: what it held after each event."""
    run = RunFolder.open(path, {"system": "x"})
    n = 0
    for pid, values in held.items():
        for at, mib in enumerate(values):
            n += 1
            event = run.event(str(n))
            event.path.mkdir(parents=True)
            event.write_stats(EventStats(str(n), 1.0, 1, 1, footprint=Footprint(pid, mib, float(at))))
    return run


def test_growth_is_told_apart_from_filling_caches(tmp_path: Path) -> None:
    filling = [100.0, 200.0] + [300.0] * 18
    leaking = [100.0 + 2 * n for n in range(30)]
    run = run_of(tmp_path / "run", {7: filling, 8: leaking, 9: [50.0]})
    assert growth_of(run) == (
        Growth(8, 30, 100.0, 158.0, 158.0, 200.0),
        Growth(7, 20, 100.0, 300.0, 300.0, 0.0),
        Growth(9, 1, 50.0, 50.0, 50.0, None),
    )


def test_memory_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(tmp_path / "run", {8: [100.0 + 2 * n for n in range(30)]})
    assert memory.main([str(run.path)]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["8", "30", "100", "158", "158", "+200.0"]
    assert memory.main([str(tmp_path / "nothing")]) == 2
    assert "no event of" in capsys.readouterr().err


def test_footprint_is_of_this_process() -> None:
    import os

    held = footprint()
    if held is None:
        pytest.skip("this system does not say what a process holds")
    ballast = bytearray(64 * 2**20)
    more = footprint()
    assert more is not None and held.pid == more.pid == os.getpid()
    assert 40 < more.resident_mib - held.resident_mib < 200, len(ballast)
