"""A Prefect server for the tests of flows and tasks: one for all of them, as starting it takes long. It ends with
them: an idle one still asks its database every second."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import stand_in_reader
from tests.prefect_installation import FlowProcess

UNUSED_SERVICES = ("SCHEDULER", "LATE_RUNS", "PAUSE_EXPIRATIONS", "CANCELLATION_CLEANUP", "FOREMAN", "TRIGGERS", "REPOSSESSOR")
"""Of the server: each looks at the database every few seconds, for what no test here has."""


@pytest.fixture(autouse=True, scope="module")
def judge_without_network() -> Iterator[None]:
    with stand_in_reader():
        yield


def make_tables() -> None:
    """As the server's models describe them: the hundred steps that lead there from its first release take it twelve seconds."""
    import sqlalchemy
    from prefect.server.database.orm_models import Base
    from prefect.settings import PREFECT_SERVER_DATABASE_CONNECTION_URL
    from sqlalchemy.schema import CreateIndex, CreateTable

    engine = sqlalchemy.create_engine(str(PREFECT_SERVER_DATABASE_CONNECTION_URL.value()).replace("+aiosqlite", ""))
    with engine.begin() as connection:
        for table in Base.metadata.sorted_tables:
            connection.execute(CreateTable(table))
            for index in table.indexes:
                connection.execute(CreateIndex(index, if_not_exists=True))  # some are named twice
    engine.dispose()


@pytest.fixture(scope="package")
def prefect_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A server of its own, and a results folder of its own: the harness isolates the database only, so without it a result
    stored by yesterday's tests would be found today. The heartbeat costs every flow a second and cannot be seen here."""
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import (
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        PREFECT_RESULTS_LOCAL_STORAGE_PATH,
        temporary_settings,
    )
    from prefect.testing.utilities import prefect_test_harness

    changed: dict[Any, Any] = {
        PREFECT_RESULTS_LOCAL_STORAGE_PATH: tmp_path_factory.mktemp("results"),
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
    }
    start = SubprocessASGIServer.start

    def start_on_tables(server: SubprocessASGIServer, timeout: int | None = None) -> None:
        make_tables()
        start(server, timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SubprocessASGIServer, "start", start_on_tables)
        patch.setenv("PREFECT_SERVER_DATABASE_MIGRATE_ON_START", "false")
        for service in UNUSED_SERVICES:
            patch.setenv(f"PREFECT_SERVER_SERVICES_{service}_ENABLED", "false")
        patch.setenv("DO_NOT_TRACK", "1")
        patch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
        patch.setenv("PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW", "ignore")  # some tests call tasks outside a flow
        with prefect_test_harness(server_startup_timeout=180), temporary_settings(changed):
            yield


@pytest.fixture
def flow_env(prefect_api: None, tmp_path: Path) -> dict[str, str]:
    """In which a process finds the tests' server, and stored steps of this test alone."""
    from prefect.settings import PREFECT_API_URL

    env = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    return env | {
        "PREFECT_API_URL": PREFECT_API_URL.value() or "",
        "PREFECT_RESULTS_LOCAL_STORAGE_PATH": str(tmp_path / "stages"),
    }


@pytest.fixture
def flow_process(flow_env: dict[str, str], tmp_path: Path) -> Callable[..., FlowProcess]:
    """Of the flow, with these parameters, into tmp_path/disturbed."""
    return lambda *parameters: FlowProcess(flow_env, tmp_path / "disturbed", tmp_path / "disturbed.log", *parameters)
