from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from data.runs import RunFolder
from tests.conftest import stand_in_reader


@pytest.fixture(autouse=True, scope="module")
def judge_without_network() -> Iterator[None]:
    with stand_in_reader():
        yield


@pytest.fixture(scope="session")
def sample_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    from tests.benchmark.sample_folder import scored_run

    return scored_run(tmp_path_factory.mktemp("scored") / "run")


@pytest.fixture(scope="session")
def made_folder(sample_run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.benchmark.sample_folder import make

    return make(sample_run, tmp_path_factory.mktemp("made") / "lead")


@pytest.fixture
def good(made_folder: Path, tmp_path: Path) -> Path:
    """A valid submission folder, to be broken."""
    shutil.copytree(made_folder, tmp_path / "lead")
    return tmp_path / "lead"
