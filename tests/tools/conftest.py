from __future__ import annotations

from tests.benchmark.conftest import judge_without_network, sample_run
from tests.flows.conftest import prefect_api

__all__ = ["judge_without_network", "prefect_api", "sample_run"]
