"""How threads wait is said once, and never against the environment."""

from __future__ import annotations

import os

import pytest

from decoding.waiting import SPIN_COUNT, spin_briefly

NAMES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


@pytest.mark.parametrize(
    ("told", "then"),
    [
        ({}, {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": str(SPIN_COUNT)}),
        ({"OMP_WAIT_POLICY": "active"}, {"OMP_WAIT_POLICY": "active"}),
        ({"GOMP_SPINCOUNT": "7"}, {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "7"}),
    ],
)
def test_environment(told: dict[str, str], then: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, told.get(name, ""))  # so that it is put back
        if name not in told:
            del os.environ[name]
    spin_briefly()
    assert {name: os.environ[name] for name in NAMES if name in os.environ} == then
