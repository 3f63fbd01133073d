from __future__ import annotations

from tests.benchmark.conftest import judge_without_network, sample_run

__all__ = ["judge_without_network", "sample_run"]
