"""The wheel, used from an empty folder without a checkout, and what the console script says of itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from data.snapshot import SAMPLE
from tests.conftest import Command
from tests.flows.test_webapp import running
from tests.prefect_installation import brought_up, free_port

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_wheel_works_from_an_empty_folder(tmp_path: Path) -> None:
    """Its files alone, on this environment's packages: written, checked, ranked, and with the files of `up` inside."""
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([*build, str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("wikigenben-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "flows/orchestration/deployment/prefect.yaml",
        "flows/webapp/static/page.js",
        "decoding/smollm2/__init__.py",
    } <= names
    assert not any(name.startswith("tests/") for name in names)
    site, empty = tmp_path / "site", tmp_path / "empty"
    zipfile.ZipFile(wheel).extractall(site)
    empty.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(site), "WIKIGEN_CACHE": str(tmp_path / "cache"), "PYTHONSAFEPATH": "1"}
    environment.pop("WIKIGEN_RUNS", None)

    def run(*words: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "flows.cli", *words]
        done = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout

    assert str(site) in run_python(empty, environment, "import data; print(data.__file__)")
    pages = [f"--file={path}" for path in sorted((SAMPLE / "html" / "9000002").glob("*.html"))[:4]]
    run("write", "Halvenport mayoral election", *pages, "--system", "extractive", "--words", "200")
    run("check", "runs/write/halvenport-mayoral-election", "--judge", "lexical")
    run("evaluate", "--system", "lead", "--data", "sample", "--limit", "2", "--out", "runs/lead")
    run("submit", "runs/lead", "--out", "submissions/lead")
    run("leaderboard", "submissions", "--html", "site")
    assert (empty / "site" / "index.html").is_file()
    run("demo", "--out", "runs/demo")
    assert (empty / "runs" / "demo" / "submission.json").is_file()

    here = {name: environment[name] for name in ("PYTHONPATH", "PYTHONSAFEPATH", "WIKIGEN_CACHE")}
    with brought_up(tmp_path / "prefect", free_port(), cwd=empty, **here) as installation:
        asked = ("-p", "system=lead", "-p", "data=sample", "-p", "limit=1", "--watch")
        installation.prefect("deployment", "run", "wiki-gen/wiki-gen", *asked)
        assert installation.states() == ["COMPLETED"]
    (tmp_path / "web").mkdir()
    with running(tmp_path / "web", cwd=empty, **here) as page:
        uploaded = page.upload(*(SAMPLE / "html" / "9000002").glob("*.html"))
        _, told = page.ask("POST", "/api/runs", {"title": "Halvenport mayoral election", "files": uploaded, "words": 150})
        assert page.followed(f"/api/runs/{told['name']}/events")[-1]["status"] == "done"


def run_python(folder: Path, environment: dict[str, str], code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_another_folder_of_the_same_name_is_told(tmp_path: Path) -> None:
    """`data` and `eval` are names that other folders have as well."""
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "__init__.py").write_text("", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "flows.cli", "events"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and str(tmp_path / "eval") in done.stderr and "another folder" in done.stderr


def test_version_and_help_without_words(wikigenben: Command) -> None:
    assert wikigenben("--version").out.startswith("wikigenben 0.")
    helped = wikigenben()
    assert helped.code == 0 and "commands:" in helped.out and "doctor" in helped.out


def test_the_doctor_names_what_is_missing_and_how_to_get_it(wikigenben: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BRAVE_API_KEY", raising=False)
    monkeypatch.setenv("TAVILY_API_KEY", "x")
    found = wikigenben("doctor", "--json")
    assert found.code == 0, found.err
    told = found.json
    assert told["search: brave"]["mend"] == "export BRAVE_API_KEY=..." and told["search: tavily"]["state"] == "ok"
    assert told["torch"]["state"] == "ok" and "GiB free" in told["cache folder"]["said"]
    assert json.dumps(told).count("x") and "TAVILY_API_KEY is set" in told["search: tavily"]["said"]
    monkeypatch.setenv("WIKIGEN_RUNS", "/proc/nowhere")
    broken = wikigenben("doctor")
    assert broken.code == 1 and "missing: run folders" in broken.out and "export WIKIGEN_RUNS=FOLDER" in broken.out
