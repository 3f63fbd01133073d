"""Events an hour by number of workers: where they stop growing, and which resource ends it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flows.orchestration.runners import RunnerSpec
from tools.speed.usage import Use

GROWTH = 1.1
"""Times the events an hour of fewer workers: less than this is taken for no growth."""
BUSY = 0.9
"""Of all cores, or of a model that writes one text at a time: more cannot be had of it."""
ONE_CORE = 0.8
"""Of a core, used by a process that can use one alone."""
OWN = 0.75
"""Of what the machine computed: below it the figures are those of other programs."""
SCARCE = 0.05
"""Of the machine's memory left for more."""


@dataclass(frozen=True, slots=True)
class Row:
    """The measurements of one runner. `use` is of the time between the first and the last event done; `model_busy` the
    share of that time in which a model server that says so computed; `why_not` replaces all that could not be measured."""

    runner: RunnerSpec
    an_hour: float = math.nan
    cpu_s_an_event: float = math.nan
    until_first_s: float = math.nan
    seconds: float = math.nan
    n_failed: int = 0
    use: Use | None = None
    model_busy: float | None = None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    cores: int
    memory_mib: float


def stops_growing(rates: Mapping[int, float]) -> int | None:
    """The number of workers after which more of them add less than a tenth; None when the last still add."""
    counts = sorted(rates)
    for fewer, more in itertools.pairwise(counts):
        if rates[more] < GROWTH * rates[fewer]:
            return fewer
    return None


def limit(row: Row, machine: Machine) -> str:
    """The resource that was used up, with its figure; empty where none was."""
    use = row.use
    if row.model_busy is not None and row.model_busy >= BUSY:
        return f"the one model that all share: it computed {row.model_busy:.0%} of the time"
    if use is None:
        return ""
    of_all = use.machine_s / (machine.cores * use.seconds)
    if of_all >= BUSY and use.own_s >= OWN * use.machine_s:
        return f"the cores: {of_all:.0%} of {machine.cores} busy"
    if of_all >= BUSY:
        return (
            f"the cores, which other programs keep busy: of {of_all:.0%} this run had {use.own_s / use.machine_s:.0%}; "
            "measure again when they are idle"
        )
    if use.free_mib < SCARCE * machine.memory_mib:
        return f"memory: {use.free_mib:.0f} MiB of {machine.memory_mib:.0f} left"
    if use.server_s >= ONE_CORE * use.seconds:
        return f"the Prefect server: {use.server_s / use.seconds:.2f} of the one core that it can use"
    if use.flow_s >= ONE_CORE * use.seconds:
        return f"the flow's process: {use.flow_s / use.seconds:.2f} cores, where Python runs one thread at a time"
    return ""


def conclusions(rows: Sequence[Row], machine: Machine) -> list[str]:
    """A sentence for each kind of runner, and one for each that could not be measured."""
    told = []
    for kind in dict.fromkeys(row.runner.kind for row in rows):
        of_kind = {row.runner.workers: row for row in rows if row.runner.kind == kind and not row.why_not}
        if of_kind:
            told.append(_conclusion(kind, of_kind, machine))
    return told + [f"{row.runner} was not measured: {row.why_not}" for row in rows if row.why_not]


def _conclusion(kind: str, by_workers: Mapping[int, Row], machine: Machine) -> str:
    counts = sorted(by_workers)
    at = stops_growing({n: row.an_hour for n, row in by_workers.items()})
    if at is None:
        last = limit(by_workers[counts[-1]], machine)
        used_up = f"; used up there: {last}" if last else "; nothing was used up there"
        grows = "" if len(counts) == 1 else "still grows, "
        return f"{kind}: {grows}{counts[-1]} worker{'' if counts[-1] == 1 else 's'} at most were measured{used_up}"
    more = counts[counts.index(at) + 1]
    why = limit(by_workers[more], machine) or "none of cores, memory, server and model was used up: it waits for something else"
    return f"{kind}: stops growing at {at} worker{'' if at == 1 else 's'}. With {more} the limit is {why}"
