"""What a step costs on this machine: v(T) of a verification and c(plan) of a draft step (decoding note, section 1).

Measured in one go of about two seconds: all variants in turn, in shuffled order, medians of each, so that a slow moment of
the machine meets them all alike.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from statistics import median

from decoding.backend import FULL, Budget, ChoosingBackend, CostTable, PartCosts, SkipSet, StepBackend, can_skip
from decoding.machine import signature, synchronise

VERIFY_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
CHAIN = 4
"""Tokens of the draft chains that are timed; c is a chain's time over its length."""
MIN_ROUNDS, MAX_ROUNDS = 3, 40
_PROBE = 32


def measure_costs(backend: StepBackend, *, context: int = 512, budget_s: float = 2.0) -> CostTable:
    """Time the backend's steps behind `context` committed random tokens; the current sequence is lost.

    A context that the model has no room for, or whose prefill alone would take longer than the budget, is made shorter;
    the table says which one it holds for. Each variant is timed at least MIN_ROUNDS times, however long that takes. A
    verification includes the argmax of its rows being read back, a draft chain its tokens.
    """
    info = backend.info
    ids = _random_ids(info.vocab_size, info.context_tokens)
    sizes = [size for size in VERIFY_SIZES if size < info.context_tokens]
    n = _affordable(backend, ids, min(context, info.context_tokens - sizes[-1]), budget_s)
    backend.prefill(ids[:n], capacity=n + max(sizes[-1], CHAIN))
    plans = plans_to_time(info.n_layers) if can_skip(backend) else [FULL]
    calls: list[Callable[[], object]] = [lambda size=size: backend.step(ids[:size]).argmax() for size in sizes]  # type: ignore[misc]
    calls += [lambda plan=plan: backend.draft_chain(ids[0], plan=plan, max_tokens=CHAIN) for plan in plans]  # type: ignore[misc]
    seconds = _medians(calls, info.device, budget_s)
    unit = seconds[0]
    drafts = [time_s / CHAIN / unit for time_s in seconds[len(sizes) :]]
    fixed, attention, mlp = fit_plan_costs(plans, drafts, info.n_layers) if len(plans) > 1 else (drafts[0], 0.0, 0.0)
    return CostTable(
        unit_s=unit,
        verify=tuple(zip(sizes, rising([time_s / unit for time_s in seconds[: len(sizes)]]))),
        fixed=fixed,
        attention=attention,
        mlp=mlp,
        context=n,
        machine=signature(info),
    )


def measure_parts(backend: ChoosingBackend, *, budget: Budget) -> PartCosts:
    """Time attention behind a short and a longer text, and a search with this budget; the current sequence is lost."""
    table, info = backend.costs(), backend.info
    layers = tuple(range(info.n_layers))
    attention, nothing = SkipSet(mlp=layers), SkipSet(layers, layers)
    ids = _random_ids(info.vocab_size, info.context_tokens)
    short = max(1, table.context // 8)
    found, search = [], 0.0
    for n in (short, table.context):
        backend.forget()
        backend.prefill(ids[:n], capacity=n + max(CHAIN, budget.most) + 1)
        calls: list[Callable[[], object]] = [
            lambda plan=plan: backend.draft_chain(ids[0], plan=plan, max_tokens=CHAIN)  # type: ignore[misc]
            for plan in (attention, nothing)
        ]
        with_, without, search = _medians([*calls, lambda: backend.nearest_sets(ids[0], budget)], info.device, 0.5)
        found.append(max(0.0, with_ - without) / CHAIN / info.n_layers / table.unit_s)
    slope = max(0.0, found[1] - found[0]) / (table.context - short) if table.context > short else 0.0
    return PartCosts(table.mlp, max(0.0, found[1] - slope * table.context), slope, search / table.unit_s)


def plans_to_time(n_layers: int) -> list[SkipSet]:
    """Nothing, all attention, all MLPs, every second layer, and everything skipped."""
    layers = tuple(range(n_layers))
    plans = [FULL, SkipSet(attention=layers), SkipSet(mlp=layers), SkipSet(layers, layers)]
    return plans if n_layers == 1 else [*plans, SkipSet(layers[1::2], layers[1::2])]


def fit_plan_costs(plans: Sequence[SkipSet], costs: Sequence[float], n_layers: int) -> tuple[float, float, float]:
    """(fixed, attention, mlp) that explain the costs best; least squares of relative errors, none below zero."""
    import numpy as np
    from scipy.optimize import nnls

    rows = np.array([[1, n_layers - len(plan.attention), n_layers - len(plan.mlp)] for plan in plans], dtype=float)
    found = np.array(costs, dtype=float)
    fixed, attention, mlp = nnls(rows / found[:, None], np.ones(len(found)))[0].tolist()
    return fixed, attention, mlp


def rising(costs: Sequence[float]) -> list[float]:
    """v(T) without the noise that would make more rows cheaper than fewer: the nearest non-decreasing values (pool adjacent
    violators), none below v(1) = 1."""
    pools: list[tuple[float, int]] = []
    for cost in costs[1:]:
        pools.append((cost, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, n), (b, m) = pools[-2:]
            pools[-2:] = [((a * n + b * m) / (n + m), n + m)]
    return [1.0, *(max(1.0, mean) for mean, n in pools for _ in range(n))]


def _random_ids(vocab_size: int, n: int) -> list[int]:
    numbers = random.Random(0)
    return [numbers.randrange(vocab_size) for _ in range(min(n, 1 << 16))]


def _affordable(backend: StepBackend, ids: Sequence[int], n: int, budget_s: float) -> int:
    """The largest context up to `n` whose prefill takes about half the budget at most, by the time of a short one."""
    probe = min(_PROBE, n)
    for _ in range(2):  # the first call allocates and compiles
        backend.forget()
        began = time.perf_counter()
        backend.prefill(ids[:probe], capacity=n)
        synchronise(backend.info.device)
        took = time.perf_counter() - began
    return max(probe, min(n, int(probe * 0.5 * budget_s / took)))


def _medians(calls: Sequence[Callable[[], object]], device: str, budget_s: float) -> list[float]:
    """Median seconds of each call: rounds of all of them, in another order each time, until the budget is spent."""
    seconds: list[list[float]] = [[] for _ in calls]
    order = list(range(len(calls)))
    shuffle = random.Random(0).shuffle
    for call in calls:
        call()
    began = time.perf_counter()
    for n in range(MAX_ROUNDS):
        if n >= MIN_ROUNDS and time.perf_counter() - began > budget_s:
            break
        shuffle(order)
        for at in order:
            synchronise(device)
            start = time.perf_counter()
            calls[at]()
            synchronise(device)
            seconds[at].append(time.perf_counter() - start)
    return [median(times) for times in seconds]
