"""The deployment as a user meets it: `wikigenben up`, with a server and a worker of its own, and the commands of the README."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.job import Job
from flows.orchestration._cli_alias import ALIASES
from flows.run_events import generate
from flows.wiring.prepared import prepare
from tests.flows.told import article_times
from tests.prefect_installation import ROOT, Installation, brought_up, free_port, wait_until
from tests.toy_events import make_events, results


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


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    with brought_up(tmp_path / "prefect", free_port()) as here:
        yield here


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_deployment_runs_by_both_its_names_and_goes_on_after_kill_9(installation: Installation, tmp_path: Path) -> None:
    """By its whole name until it is killed, then by its short one.

    Slow: a server with a new database, a worker and a process for each flow run take 36 CPU s. In the default run the flow
    has the tests' own server (`test_wiki_gen`).
    """
    address = installation.env["PREFECT_API_URL"].removesuffix("/api")
    assert f"dashboard: {address}\n" in installation.said
    assert "prefect deployment run wiki-gen/wiki-gen -p limit=2 --watch" in installation.said
    deployment = installation.api("/deployments/name/wiki-gen/wiki-gen")
    assert deployment["pull_steps"] in (None, [])
    assert deployment["job_variables"]["working_dir"] == str(ROOT)

    n, run = 8, tmp_path / "run"
    toys = make_events(tmp_path / "toys", n)
    asked = ("-p", f"data={toys}", "-p", f"out={run}", "-p", "system=bm25")
    installation.prefect("deployment", "run", "wiki-gen/wiki-gen", *asked)
    wait_until(lambda: len(article_times(run)) >= 2, "two articles")
    installation.kill("prefect.engine")
    wait_until(lambda: installation.states() == ["CRASHED"], "the worker says that its run crashed")
    done = article_times(run)
    assert 2 <= len(done) < n

    (short,) = ALIASES
    installation.prefect("deployment", "run", short, *asked, "--watch", timeout=300)
    assert installation.states() == ["CRASHED", "COMPLETED"]
    assert done.items() <= article_times(run).items()
    job = Job(system="bm25", data=str(toys), out=tmp_path / "undisturbed")
    assert generate(prepare(job)).count("written") == n
    expected = {name: content for name, content in results(tmp_path / "undisturbed").items() if name != "index.html"}
    assert expected.items() <= results(run).items()
    check_shown(installation, run, n)


def check_shown(installation: Installation, run: Path, n_events: int) -> None:
    names = {r["name"] for r in installation.api("/flow_runs/filter", {})}
    assert f"bm25 on {run.parent / 'toys'}, all events" in names
    artifacts = {artifact["key"]: artifact for artifact in installation.api("/artifacts/latest/filter", {})}
    shown = {f"wiki-gen-article-{7000000 + n}" for n in range(1, n_events + 1)}
    assert artifacts.keys() == shown | {"wiki-gen-progress", "wiki-gen-scores", "wiki-gen-submission", "wiki-gen-report"}
    assert artifacts["wiki-gen-progress"]["data"] == 100.0
    assert "quality" in artifacts["wiki-gen-scores"]["data"]
    assert artifacts["wiki-gen-article-7000001"]["data"].startswith("# 2031 ")
    assert (run / "submission.json").as_uri() in artifacts["wiki-gen-submission"]["data"]
    assert str(run / "report.html") in artifacts["wiki-gen-report"]["data"]
