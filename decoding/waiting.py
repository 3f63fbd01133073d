"""How torch's threads wait for each other, which has to be said before torch is loaded."""

from __future__ import annotations

import os

SPIN_COUNT = 20_000
"""Turns of libgomp's waiting loop, about half a millisecond, after which a thread sleeps.

Threads that only sleep (0) took 1.3 times as long for the demo on two quiet cores: a product of the small model is over before
a sleeping thread is awake. Threads that spin as long as libgomp lets them took several times as long beside a busy process:
the one spins for as long as the other has no core."""


def spin_briefly() -> None:
    """Set what OpenMP reads when it is loaded, unless the environment says how threads wait."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "passive"  # of every OpenMP; libgomp is told more exactly
        os.environ.setdefault("GOMP_SPINCOUNT", str(SPIN_COUNT))
