"""A Prefect server for the tests of flows and tasks: one for the whole session, as starting it takes long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def prefect_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A server of its own, and a results folder of its own: the harness isolates the database only, so without it a result
    stored by yesterday's tests would be found today. The heartbeat costs every flow a second and cannot be seen here."""
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DO_NOT_TRACK", "1")
        patch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
        patch.setenv("PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW", "ignore")  # some tests call tasks outside a flow
        with prefect_test_harness(server_startup_timeout=180), temporary_settings(changed):
            yield
