"""Layer sets for a task, its clusters, its labels: searched on some prompts, kept or dropped by what they do on others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from data import codec
from decoding.api import Task
from decoding.backend import FULL, SkipSet
from decoding.knn.agreement import Logged, acceptance_by_position
from decoding.knn.anchors import MIN_CLUSTER, Clusters, cluster, k_means
from decoding.knn.artefact import EVERYTHING, GlobalRouting, Plan, TaskRouting
from decoding.knn.search import Found, search
from decoding.knn.stages import Stages, prompt_key
from decoding.knn.trials import Drafted, Trials
from decoding.knn.vectors import centred, nearest, unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from decoding.api import Vectors

Objective = Literal["cost", "wall"]
Say = Callable[[str], None]

NO_DRAFTS = "no drafting"

TICK_S = 10.0
"""Between two words about a long step."""

MIN_HELD_OUT = 3
"""Prompts: with fewer nothing is decided on them."""
SMALL_REGRET = 0.03
"""A constant set this close to the best set of each prompt leaves routing nothing to gain."""
_LOWEST = 2.0
_GLOBAL_CLUSTERS = 10
_GLOBAL_SEED = 42


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """`prompts`: how many each search uses; `k`: clusters of each task, None for as many as the vectors show."""

    objective: Objective = "cost"
    iterations: int = 64
    prompts: int = 16
    seed: int = 0
    k: int | None = None


@dataclass(frozen=True, slots=True)
class Split:
    """Prompts of one task, or of all, in two parts that share no event."""

    calibration: tuple[Logged, ...]
    held_out: tuple[Logged, ...]

    def where(self, keep: Callable[[Logged], bool]) -> Split:
        return Split(tuple(filter(keep, self.calibration)), tuple(filter(keep, self.held_out)))


@dataclass(frozen=True, slots=True, eq=False)
class TaskPlans:
    """`plans`: the task's first, then those of its clusters, those that no prompt is routed to among them."""

    routing: TaskRouting
    plans: tuple[Plan, ...]
    clusters: Clusters


class Planner:
    """Searches and decides. Sets that lie in `stages` are not searched again."""

    def __init__(self, trials: Trials, stages: Stages, settings: SearchSettings, say: Say) -> None:
        self._trials, self._stages, self._settings, self._say = trials, stages, settings, say

    def task(self, task: Task, split: Split) -> TaskPlans:
        """Clusters of a task's prompts and a plan for each; those not better than the task's own are shared with it."""
        seed = self._settings.seed
        rows, mean = _vectors(split.calibration)
        clusters = cluster(centred(rows, mean), k=self._settings.k, seed=seed)
        own = self.plan(task, split, groups=clusters.of)
        homes = _homes(split.held_out, mean, clusters)
        plans = [own]
        used: list[str] = []
        for i in range(clusters.k if clusters.k > 1 else 0):
            members = tuple(logged for logged, home in zip(split.calibration, clusters.of) if home == i)
            away = tuple(logged for logged, home in zip(split.held_out, homes) if home == i)
            if len(members) < MIN_CLUSTER:
                used.append(task)
                continue
            plan = self.plan(f"{task}/{i}", Split(members, away), start=[own.found])
            plans.append(plan)
            used.append(plan.name if self._better(plan, own, away) else task)
        used = used or [task] * clusters.k
        if self._constant_does(own, plans, split.held_out):
            used = [task] * clusters.k
        unit_rows = centred(rows, mean)
        own_cosines = (unit_rows * clusters.centroids[clusters.of]).sum(axis=1)
        routing = TaskRouting(
            task=task,
            mean=mean,
            centroids=clusters.centroids,
            medoids=unit_rows[clusters.medoids],
            floor=_floor(own_cosines),
            plans=tuple(used),
            medoid_ids=tuple(split.calibration[int(i)].id for i in clusters.medoids),
            sizes=tuple(int((clusters.of == i).sum()) for i in range(clusters.k)),
        )
        return TaskPlans(routing, tuple(plans), clusters)

    def everywhere(self, split: Split, tasks: Sequence[Task]) -> tuple[GlobalRouting, tuple[Plan, ...]]:
        """The original's anchors (clustered by cosine, too) and a plan for each label; labels that are tasks have theirs."""
        import numpy as np

        labels = sorted({logged.label for logged in split.calibration})
        anchors: list[Vectors] = []
        of: list[str] = []
        for label in labels:
            rows, _ = _vectors([logged for logged in split.calibration if logged.label == label])
            found = k_means(unit(rows), _GLOBAL_CLUSTERS, _GLOBAL_SEED)
            anchors.append(found.centroids)
            of += [label] * found.k
        named = {label: label if label in tasks else f"label:{label}" for label in labels}
        plans = [
            self.plan(named[label], split.where(lambda logged, label=label: logged.label == label))  # type: ignore[misc]
            for label in labels
            if label not in tasks
        ]
        numbers = np.array([labels.index(logged.label) for logged in split.calibration])
        plans.append(self.plan(EVERYTHING, split, groups=numbers))
        return GlobalRouting(np.concatenate(anchors), tuple(of), named), tuple(plans)

    def plan(self, name: str, split: Split, *, groups: NDArray[np.int64] | None = None, start: Sequence[SkipSet] = ()) -> Plan:
        """Search on some of the calibration prompts, taken from each of `groups` in turn, and look at the rest."""
        trials, seed = self._trials, self._settings.seed
        prompts = _in_turn(split.calibration, groups)[: self._settings.prompts]
        found = self._searched(name, prompts, start)
        policy = trials.best_policy(prompts, found.plan)
        drafted = Drafted(found.plan, policy)
        searched = trials.speed(prompts, drafted)
        held_out = trials.interval(split.held_out, drafted, seed)
        speed = held_out.mean if held_out is not None and len(split.held_out) >= MIN_HELD_OUT else searched
        return Plan(
            name=name,
            skip=found.plan if speed > 1 else FULL,
            found=found.plan,
            policy=policy,
            acceptance=acceptance_by_position(
                [a for p in prompts for a in trials.agreements(p, [found.plan])] if found.plan else []
            ),
            n_search=len(prompts),
            searched=round(searched, 4),
            n_held_out=len(split.held_out),
            held_out=held_out,
        )

    def _searched(self, name: str, prompts: Sequence[Logged], start: Sequence[SkipSet]) -> Found:
        settings, trials = self._settings, self._trials
        wall = settings.objective == "wall"
        last = time.monotonic()

        def tick(line: str) -> None:
            nonlocal last
            if time.monotonic() - last > TICK_S:
                last = time.monotonic()
                self._say(f"search {name}: {line}")

        scores = trials.evaluate_by_time(prompts) if wall else trials.evaluate(prompts, tick)
        n, best = 0, 0.0

        def told(plans: Sequence[SkipSet]) -> Sequence[float]:
            nonlocal n, best
            found = scores(plans)
            n, best = n + len(plans), max(best, *found)
            self._say(f"search {name}: {n} sets on {len(prompts)} prompts, best {best:.3f}")
            return found

        keys = [prompt_key(logged.id, logged.prompt) for logged in prompts]
        spec = codec.sha256(repr((settings.objective, settings.iterations, settings.seed, keys, trials.costs, tuple(start))))
        return self._stages.once(
            f"searches/{spec[:20]}",
            Found,
            lambda: search(
                told, trials.n_layers, iterations=settings.iterations, seed=settings.seed, start=start, greedy=not wall
            ),
        )

    def _better(self, plan: Plan, own: Plan, held_out: Sequence[Logged]) -> bool:
        """Whether a cluster's plan beats its task's on prompts that neither was searched with, by more than chance."""
        if len(held_out) < MIN_HELD_OUT or plan.skip == own.skip:
            return False
        new, old = Drafted(plan.skip, plan.policy), Drafted(own.skip, own.policy)
        return self._trials.gain(held_out, new, old, self._settings.seed).low > 0

    def _constant_does(self, own: Plan, plans: Sequence[Plan], held_out: Sequence[Logged]) -> bool:
        if len(held_out) < MIN_HELD_OUT:
            return True
        return mean_regret(speeds(self._trials, held_out, plans), [chosen(own)] * len(held_out)) < SMALL_REGRET


def speeds(trials: Trials, prompts: Sequence[Logged], plans: Sequence[Plan]) -> list[dict[str, float]]:
    """For each prompt the speed of each plan's set, used or not; drafting nothing is among them, under the name NO_DRAFTS."""
    drafted = {plan.name: Drafted(plan.found, plan.policy) for plan in plans}
    return [{NO_DRAFTS: 1.0} | {name: trials.speed([logged], one) for name, one in drafted.items()} for logged in prompts]


def chosen(plan: Plan) -> str:
    """The name in `speeds` of what a plan comes to."""
    return plan.name if plan.skip else NO_DRAFTS


def mean_regret(speeds: Sequence[dict[str, float]], names: Sequence[str]) -> float:
    """Mean over prompts of 1 - speed(chosen) / speed(best of the plans for that prompt)."""
    return sum(1 - row[name] / max(row.values()) for row, name in zip(speeds, names, strict=True)) / len(speeds)


def _vectors(prompts: Sequence[Logged]) -> tuple[Vectors, Vectors]:
    """(N, D) and their mean (D,), float32."""
    import numpy as np

    rows = np.array([logged.vector for logged in prompts], dtype=np.float32)
    return rows, rows.mean(axis=0)


def _homes(prompts: Sequence[Logged], mean: Vectors, clusters: Clusters) -> list[int]:
    if not prompts:
        return []
    rows, _ = _vectors(prompts)
    return [int(i) for i in nearest(centred(rows, mean), clusters.centroids)]


def _in_turn(prompts: Sequence[Logged], groups: NDArray[np.int64] | None) -> list[Logged]:
    """The first of each group, then the second of each, and so on."""
    if groups is None:
        return list(prompts)
    seen: dict[int, int] = {}
    order: list[tuple[int, int, Logged]] = []
    for logged, group in zip(prompts, groups.tolist(), strict=True):
        order.append((seen.get(group, 0), group, logged))
        seen[group] = seen.get(group, 0) + 1
    return [logged for _, _, logged in sorted(order, key=lambda item: item[:2])]


def _floor(cosines: NDArray[np.float32]) -> float:
    """Twice as far below the median of the cosines to the own centroid as their lowest are, and not below 0."""
    import numpy as np

    low, middle = np.percentile(cosines, [_LOWEST, 50])
    return round(max(0.0, float(2 * low - middle)), 4)
