"""How torch's threads wait for each other, which has to be said before torch is loaded."""

from __future__ import annotations

import os

SPIN_COUNT = 1_000
"""Turns of libgomp's waiting loop, some tens of microseconds, after which a thread sleeps. libgomp itself takes as many where
there are more threads than cores, and 300,000 elsewhere, not knowing of other processes: beside a busy one a thread then spins
for as long as the other has no core. With 20,000 two demos at once on two cores took five times as long as with 1,000; threads
that sleep at once (0) took 1.2 times as long for one demo."""


def spin_briefly() -> None:
    """Set what OpenMP reads when it is loaded, unless the environment says how threads wait."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "passive"  # of every OpenMP; libgomp has a finer setting
        os.environ.setdefault("GOMP_SPINCOUNT", str(SPIN_COUNT))
