"""Thirty events whose flow is killed at random, again and again, or whose server is: they end as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flows.job import Job
from flows.wiring.prepared import prepare
from tests.prefect_installation import FlowProcess, brought_up, free_port, wait_until
from tests.toy_events import make_events, results

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
N_EVENTS = 30


def test_thirty_events_with_random_kills(tmp_path: Path, flow_process: Callable[..., FlowProcess]) -> None:
    """Also scored, which a kill may hit as well."""
    from flows.run_scores import evaluate

    toys = make_events(tmp_path / "toys", N_EVENTS)
    flow_process("system=extractive", f"data={toys}", "runner=threads:2").kill_at_random(4, most=40)
    job = Job(system="extractive", data=str(toys), out=tmp_path / "undisturbed")
    assert evaluate(prepare(job)).generated.count("written") == N_EVENTS
    expected, found = results(tmp_path / "undisturbed"), results(tmp_path / "disturbed")
    assert found.keys() == expected.keys() and len(expected) > 5 * N_EVENTS
    assert [name for name in expected if found[name] != expected[name]] == []


def test_server_killed_in_the_middle(tmp_path: Path) -> None:
    """Events are written and scored without it, the process ends by itself and says so; with a server again all is done."""
    home, port, toys = tmp_path / "home", free_port(), make_events(tmp_path / "toys", N_EVENTS)
    parameters = ("system=extractive", f"data={toys}", "runner=threads:2")
    with brought_up(home, port, code=1) as here:
        env = here.env | {"PREFECT_API_REQUEST_TIMEOUT": "10"}
        job = FlowProcess(env, tmp_path / "run", tmp_path / "run.log", *parameters)
        with job.start() as process:
            wait_until(lambda: len(job.stages()) >= 10, "some stages")
            here.kill("server start")
            assert process.wait(400) == 1
    told = job.log.read_text(errors="replace")
    assert "is gone and does not know how this run ended; all of it lies in" in told
    assert "Traceback" not in told
    assert len(list(job.out.glob("events/*/article.json"))) == N_EVENTS
    assert (job.out / "submission.json").is_file() and (job.out / "report.html").is_file()
    before = job.stages()
    with brought_up(home, port):
        assert job.finish() == 0
    assert job.stages() == before
