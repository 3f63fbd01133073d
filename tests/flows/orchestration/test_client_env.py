"""How commands in the folder of `wikigenben up` find its server: lines of `.env` that are taken back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flows.orchestration.client_env import told_to_clients

API = "http://127.0.0.1:4299/api"


@pytest.mark.parametrize("content", [None, b"KEY=secret\n", b"KEY=secret", b"\xff=1\r\nB='2'\n\n", b"# PREFECT_API_URL=x\n"])
def test_the_lines_are_taken_back_and_what_is_in_the_file_stays(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / ".env"
    if content is not None:
        path.write_bytes(content)
        path.chmod(0o600)
    with told_to_clients(tmp_path, API) as told:
        lines = path.read_bytes()
        assert told and lines.startswith(content or b"") and f"\nPREFECT_API_URL={API}\n".encode() in lines
        assert content is None or path.stat().st_mode & 0o777 == 0o600
    if content is None:
        assert not path.exists()
    else:
        assert path.read_bytes() == content.removesuffix(b"\n") + b"\n"


@pytest.mark.parametrize("line", ["PREFECT_API_URL=http://other:4200/api", "export PREFECT_API_URL = 'http://other:4200/api'"])
def test_another_server_that_somebody_chose_stays(tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".env").write_text(line + "\n")
    with told_to_clients(tmp_path, API) as told:
        assert not told and (tmp_path / ".env").read_text() == line + "\n"
    assert "names another Prefect server (http://other:4200/api)" in capsys.readouterr().err


def test_lines_of_one_that_was_killed_are_replaced_and_those_of_another_stay(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("A=1\n")
    killed, later = told_to_clients(tmp_path, API), told_to_clients(tmp_path, API.replace("4299", "4300"))
    assert killed.__enter__() and later.__enter__()
    assert path.read_text().count("PREFECT_API_URL") == 1 and ":4300/" in path.read_text()
    killed.__exit__(None, None, None)
    assert ":4300/" in path.read_text()
    later.__exit__(None, None, None)
    assert path.read_text() == "A=1\n"


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".env").mkdir()
    with told_to_clients(tmp_path, API) as told:
        assert not told
    assert f"commands need PREFECT_API_URL={API}" in capsys.readouterr().err


@pytest.mark.slow
def test_prefect_reads_it(tmp_path: Path) -> None:
    """In a process of its own: the settings of this one are made already."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    asks = "from prefect.settings import get_current_settings; print(get_current_settings().api.url)"
    with told_to_clients(tmp_path, API):
        done = subprocess.run(
            [sys.executable, "-c", asks], cwd=tmp_path, env=env | {"PREFECT_HOME": str(tmp_path)}, capture_output=True,
            text=True, check=True,
        )  # fmt: skip
    assert done.stdout.strip() == API
