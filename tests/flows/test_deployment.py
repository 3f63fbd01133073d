"""The deployment as a user meets it: a Prefect server of its own, a worker process, the commands of the README."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flows._cli_alias import ALIASES

ROOT = Path(__file__).resolve().parents[2]
PREFECT = Path(sys.executable).with_name("prefect")


def test_settings_of_the_project_are_known_to_prefect(monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that Prefect renamed would be ignored without a word."""
    import tomllib

    monkeypatch.chdir(ROOT)
    for name in [name for name in os.environ if name.startswith("PREFECT_")]:
        monkeypatch.delenv(name)
    from prefect.settings import Settings

    in_force = Settings().model_dump(mode="json")

    def check(wanted: dict[str, Any], found: dict[str, Any], where: str) -> None:
        for key, value in wanted.items():
            assert key in found, f"prefect.toml: there is no {where}{key}"
            if isinstance(value, dict):
                check(value, found[key], f"{where}{key}.")
            elif where != "logging.":
                assert found[key] == value, f"prefect.toml: {where}{key}"

    check(tomllib.loads((ROOT / "prefect.toml").read_text(encoding="utf-8")), in_force, "")
    assert set(in_force["logging"]["extra_loggers"]) == {"benchmark", "data", "decoding", "eval", "pipeline"}
    assert in_force["plugins"]["enabled"]


@dataclass(frozen=True)
class Installation:
    """A running server and the environment in which commands find it."""

    env: dict[str, str]
    home: Path

    def prefect(self, *words: str, timeout: float = 120) -> str:
        done = subprocess.run(
            [str(PREFECT), *words], cwd=ROOT, env=self.env, capture_output=True, text=True, timeout=timeout, check=False
        )
        assert done.returncode == 0, f"prefect {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def api(self, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            f"{self.env['PREFECT_API_URL']}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    home = tmp_path_factory.mktemp("prefect")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "WIKIGEN_"))}
    env |= {
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_RESULTS_LOCAL_STORAGE_PATH": str(home / "stages"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "WIKIGEN_RUNS": str(home / "runs"),
        "PWD": str(ROOT),  # prefect.yaml reads it; a shell sets it, `subprocess` does not
    }
    log = home / "server.log"
    command = [str(PREFECT), "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with log.open("w") as stream:
        server = subprocess.Popen(command, cwd=ROOT, env=env, stdout=stream, stderr=stream, start_new_session=True)
    try:
        here = Installation(env, home)
        deadline = time.monotonic() + 180
        while True:
            assert server.poll() is None and time.monotonic() < deadline, log.read_text()
            try:
                here.api("/health")
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.3)
        yield here
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@pytest.mark.timeout(300)
def test_deployment_runs_by_its_full_and_by_its_short_name(installation: Installation) -> None:
    installation.prefect("work-pool", "create", "wiki-gen-local", "--type", "process")
    installation.prefect("deploy", "--all")
    deployment = installation.api("/deployments/name/wiki-gen/wiki-gen")
    assert deployment["pull_steps"] in (None, [])
    assert deployment["job_variables"]["working_dir"] == str(ROOT)
    assert deployment["parameter_openapi_schema"]["properties"]["limit"]["default"] is None

    (short,) = ALIASES
    for name, limit in (("wiki-gen/wiki-gen", "limit=2"), (short, "limit=1")):
        installation.prefect("deployment", "run", name, "-p", limit)
        installation.prefect("worker", "start", "--pool", "wiki-gen-local", "--type", "process", "--run-once", timeout=240)
    done: list[dict[str, Any]] = installation.api("/flow_runs/filter", {"sort": "EXPECTED_START_TIME_ASC"})

    assert [run["state"]["type"] for run in done] == ["COMPLETED", "COMPLETED"], [run["state"] for run in done]
    assert [run["parameters"]["limit"] for run in done] == [2, 1]
    assert [run["name"] for run in done] == ["extractive on sample, 2 events", "extractive on sample, 1 event"]
    run = installation.home / "runs" / "extractive-sample-search"
    for event_id in ("9000001", "9000002"):
        assert (run / "events" / event_id / "article.json").is_file()
        assert (run / "articles" / f"{event_id}.html").is_file()
    submitted = json.loads((run / "submission.json").read_text(encoding="utf-8"))
    assert submitted["data"]["n_events"] == 1  # of the second run, which found the article of the first
    artifacts = {artifact["key"]: artifact for artifact in installation.api("/artifacts/filter", {})}
    assert set(artifacts) == {"wiki-gen-progress", "wiki-gen-scores", "wiki-gen-article"}
    assert artifacts["wiki-gen-progress"]["data"] == 100.0
    assert "cite_recall" in artifacts["wiki-gen-scores"]["data"]
    assert artifacts["wiki-gen-article"]["data"].startswith("# 2031 Tolvane flood")
