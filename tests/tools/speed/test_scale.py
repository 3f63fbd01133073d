"""What a machine carries: the arithmetic, the folders measured on, and the command."""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from data.snapshot import SAMPLE, Snapshot
from flows.orchestration.runners import parse_runner
from tests.servers import in_thread
from tools.speed import bench_scale as scale
from tools.speed.bench_scale import Measured, Simulated, model_seconds, repeated_sample, stub_events
from tools.speed.scaling import Machine, Row, conclusions, limit, stops_growing
from tools.speed.usage import Sample, Use, can_watch, descendants, use_between, watching

pytestmark = pytest.mark.slow  # a tool for those who work on this project, and seconds of measuring


@pytest.mark.parametrize(
    ("an_hour", "at"),
    [
        ({1: 100.0, 2: 190.0, 4: 200.0, 8: 390.0}, 2),
        ({1: 100.0, 2: 190.0, 4: 360.0}, None),
        ({2: 100.0, 1: 100.0}, 1),
        ({1: 1.0}, None),
    ],
)
def test_where_it_stops_growing(an_hour: dict[int, float], at: int | None) -> None:
    assert stops_growing(an_hour) == at


def test_simulated_events_last_by_their_id_and_an_hour_leaves_out_what_came_before_the_first() -> None:
    seconds = [Simulated(20.0).seconds(str(i)) for i in range(2000)]
    assert seconds == [Simulated(20.0).seconds(str(i)) for i in range(2000)]
    assert statistics.fmean(seconds) == pytest.approx(20, rel=0.05)
    assert 1.5 < statistics.quantiles(seconds, n=10)[-1] / statistics.median(seconds) < 2.5
    assert Measured(100.0, 9.0, (1000.0, 1010.0, 1020.0), 0).an_hour == pytest.approx(360)
    assert math.isnan(Measured(1.0, 1.0, (1000.0,), 0).an_hour)


def test_sample_repeated_and_stub_events_are_benchmark_folders(tmp_path: Path) -> None:
    snapshot, sample = Snapshot(repeated_sample(tmp_path, 7)), Snapshot(SAMPLE)
    ids = snapshot.ids("search")
    assert len(ids) == 7 and ids[0] == "9100001"
    first, again = snapshot.raw_pages(ids[0], "search"), snapshot.raw_pages(ids[5], "search")
    assert first == again == sample.raw_pages(sample.ids("search")[0], "search")
    stubs = Snapshot(stub_events(tmp_path / "stubs", 3))
    assert [stubs.event(i).title for i in stubs.ids("search")] == ["Event 1", "Event 2", "Event 3"]


MACHINE = Machine(cores=2, memory_mib=1000.0)


def row(runner: str, an_hour: float, *, model_busy: float | None = None, why_not: str = "", **used: float) -> Row:
    """Of ten seconds in which nothing but the named was used."""
    nothing = {"flow_s": 0.0, "workers_s": 0.0, "server_s": 0.0, "machine_s": 0.0, "held_mib": 100.0, "free_mib": 900.0}
    return Row(parse_runner(runner), an_hour, use=Use(10.0, **(nothing | used)), model_busy=model_busy, why_not=why_not)


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        (row("processes:2", 1, workers_s=16, flow_s=2, machine_s=19), "the cores: 95% of 2 busy"),
        (row("processes:2", 1, workers_s=5, machine_s=20), "other programs keep busy: of 100% this run had 25%"),
        (row("processes:2", 1, workers_s=5, machine_s=6, free_mib=20), "memory: 20 MiB of 1000 left"),
        (row("processes:2", 1, server_s=9, machine_s=12), "the Prefect server: 0.90 of the one core"),
        (row("threads:2", 1, flow_s=9.5, machine_s=12), "the flow's process: 0.95 cores"),
        (row("processes:2", 1, machine_s=20, model_busy=0.97), "the one model that all share: it computed 97%"),
        (row("processes:2", 1, workers_s=5, machine_s=6, model_busy=0.3), ""),
    ],
)
def test_limit_is_what_was_used_up(measured: Row, words: str) -> None:
    told = limit(measured, MACHINE)
    assert told.startswith(words) if "other" not in words else words in told
    assert bool(told) == bool(words)


def test_conclusions_name_where_it_stops_and_why() -> None:
    rows = [
        row("processes:1", 100, workers_s=9, machine_s=10),
        row("processes:2", 190, workers_s=18, machine_s=19),
        row("processes:4", 195, workers_s=19, machine_s=20),
        row("dask:2", 150, workers_s=10, machine_s=11),
        row("ray:2", math.nan, why_not="no ray"),
    ]
    assert conclusions(rows, MACHINE) == [
        "processes: stops growing at 2 workers. With 4 the limit is the cores: 100% of 2 busy",
        "dask: 2 workers at most were measured; nothing was used up there",
        "ray:2 was not measured: no ray",
    ]


def test_use_is_of_the_samples_around_a_stretch() -> None:
    samples = [Sample(float(at), at, 2.0 * at, 0.0, 3.0 * at, 10.0 * at, 1000.0 - at) for at in range(10)]
    assert use_between(samples, 2.5, 6.5) == Use(5.0, 5.0, 10.0, 0.0, 15.0, 70.0, 993.0)
    assert use_between(samples, 0, math.inf) == Use(9.0, 9.0, 18.0, 0.0, 27.0, 90.0, 991.0)
    assert use_between(samples[:1], 0, math.inf) is None


def test_watch_sees_a_process_that_ends_meanwhile() -> None:
    """And counts what was there before apart."""
    if not can_watch():
        pytest.skip("this system does not say what processes use")
    burn = "import sys, time\nwhile time.process_time() < {}: pass\nsys.stdout.write('x')\nsys.stdout.flush()\nsys.stdin.read()"
    words = [sys.executable, "-c", burn.format(0.3)]
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as before, watching() as samples:
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None and child.stdout.read(1) == b"x"
            assert {before.pid, child.pid} <= set(descendants())
            n = len(samples)
            while len(samples) == n:
                time.sleep(0.05)
            child.communicate()
        before.communicate(b"\n")
    use = use_between(samples, 0, math.inf)
    assert use is not None
    assert use.workers_s > 0.2 > use.server_s  # ticks of 10 ms
    assert use.held_mib > 5 and use.machine_s > 0


def test_model_server_says_how_long_it_computed() -> None:
    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b'{"decode_s": 2.5}' if self.path == "/metrics" else b"{}"
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
    with in_thread(server):
        address = f"http://127.0.0.1:{server.server_port}"
        assert model_seconds(f"server:x@{address}/v1") == 2.5
        assert model_seconds(f"server:x@{address}/other/v1") is None
    assert model_seconds(f"server:x@{address}/v1") is None
    assert model_seconds("") is model_seconds("hf:x") is None


@pytest.mark.parametrize("words", [["--runners", "processes:0"], ["--runners", "processes:1,,2"], ["--only", "nothing"]])
def test_bad_flags_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        scale.main(words)
    assert end.value.code == 2


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_three_are_measured(prefect_api: None, capsys: pytest.CaptureFixture[str]) -> None:
    runners = "processes:1,processes:2,dask:tcp://127.0.0.1:1"
    few = ["--simulated-workers", "4", "--simulated-events", "8", "--mean-s", "0.2", "--overhead-events", "5"]
    assert scale.main(["--system", "lead", "--runners", runners, "--events", "4", *few]) == 0
    told = capsys.readouterr().out
    assert "dask:tcp://127.0.0.1:1 was not measured: no dask cluster answers" in told
    for words in ("lead on the sample repeated, 4 events", "until", "processes:", "efficiency", "second run, all done"):
        assert words in told
