"""Layer sets for a task, its clusters, its labels: searched on some prompts, kept or dropped by what they do on others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from data import codec
from decoding.api import Task
from decoding.backend import FULL, SkipSet
from decoding.knn.anchors import MIN_CLUSTER, Clusters, cluster, k_means
from decoding.knn.artefact import EVERYTHING, GlobalRouting, Plan, TaskRouting
from decoding.knn.draft_agreement import Logged, acceptance_by_position
from decoding.knn.kept_stages import Stages, prompt_key
from decoding.knn.prompt_vectors import centred, nearest, unit
from decoding.knn.set_search import Found, search
from decoding.knn.trials import Drafted, Trials

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
"""Events: with fewer nothing is decided on them, however many prompts they have."""
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
    """Searches and decides. Sets that lie in `stages` are not searched again.

    Searching and choosing are apart: each scope (all prompts, a task, a cluster, a label) gets the best, on its own calibration
    prompts, of all sets that searches in its reach have found. A cluster's set that is merely the outcome of a luckier search
    is then its task's set as well, and is not mistaken for a gain from routing.
    """

    def __init__(self, trials: Trials, stages: Stages, settings: SearchSettings, say: Say) -> None:
        self._trials, self._stages, self._settings, self._say = trials, stages, settings, say

    def task(self, task: Task, split: Split, start: Sequence[SkipSet] = ()) -> TaskPlans:
        """Clusters of a task's prompts and a plan for each; those not better than the task's own are shared with it.

        `start`: sets that were found elsewhere, to search from and to choose among.
        """
        rows, mean = _vectors(split.calibration)
        clusters = cluster(centred(rows, mean), k=self._settings.k, seed=self._settings.seed)
        homes = _homes(split.held_out, mean, clusters)
        parts = [
            Split(
                tuple(logged for logged, home in zip(split.calibration, clusters.of) if home == i),
                tuple(logged for logged, home in zip(split.held_out, homes) if home == i),
            )
            for i in range(clusters.k)
        ]
        large = [i for i, part in enumerate(parts) if len(part.calibration) >= MIN_CLUSTER and clusters.k > 1]
        tried = [*start, self.search(task, split.calibration, groups=clusters.of, start=start)]
        tried += [self.search(f"{task}/{i}", parts[i].calibration, start=tried[:]) for i in large]
        own = self.best(task, split, tried)
        plans = {i: self.best(f"{task}/{i}", parts[i], tried) for i in large}
        used: list[str] = [task] * clusters.k
        if not self._constant_does(own, [own, *plans.values()], split.held_out):
            for i, plan in plans.items():
                if self._better(plan, own, parts[i].held_out):
                    used[i] = plan.name
        return TaskPlans(_routing(task, split, rows, mean, clusters, used), (own, *plans.values()), clusters)

    def everywhere(
        self, split: Split, tasks: Sequence[Task], tried: Sequence[SkipSet] = ()
    ) -> tuple[GlobalRouting, tuple[Plan, ...]]:
        """The original's anchors (clustered by cosine, too) and a plan for each label; labels that are tasks have theirs.

        `tried`: sets that were found elsewhere; the plan of all prompts is chosen among them and those of the labels.
        """
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
        plans: list[Plan] = []
        for label in labels:
            if label not in tasks:
                part = split.where(lambda logged, label=label: logged.label == label)  # type: ignore[misc]
                plans.append(self.best(named[label], part, [self.search(named[label], part.calibration)]))
        plans.append(self.best(EVERYTHING, split, [*tried, *(plan.found for plan in plans)]))
        return GlobalRouting(np.concatenate(anchors), tuple(of), named), tuple(plans)

    def best(self, name: str, split: Split, tried: Sequence[SkipSet]) -> Plan:
        """The plan of a scope: the fastest of the sets on its calibration prompts, looked at on those held out."""
        trials, prompts = self._trials, split.calibration
        sets = [skip for skip in dict.fromkeys(tried) if skip]
        scores = dict(zip(sets, trials.evaluate(prompts)(sets)))
        found = max(sets, key=lambda skip: scores[skip], default=FULL)
        drafted = Drafted(found, trials.best_policy(prompts, found))
        searched = trials.speed(prompts, drafted)
        held_out = trials.interval(split.held_out, drafted, self._settings.seed)
        speed = held_out.mean if held_out is not None and enough(split.held_out) else searched
        return Plan(
            name=name,
            skip=found if speed > 1 else FULL,
            found=found,
            policy=drafted.policy,
            acceptance=acceptance_by_position([a for p in prompts for a in trials.agreements(p, [found])] if found else []),
            n_search=len(prompts),
            searched=round(searched, 4),
            n_held_out=len(split.held_out),
            held_out=held_out,
        )

    def search(
        self,
        name: str,
        prompts: Sequence[Logged],
        *,
        groups: NDArray[np.int64] | None = None,
        start: Sequence[SkipSet] = (),
    ) -> SkipSet:
        """The best set found with a few of the prompts, taken from each of `groups` in turn."""
        return self._searched(name, _in_turn(prompts, groups)[: self._settings.prompts], start).plan

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
        if not enough(held_out) or plan.skip == own.skip:
            return False
        new, old = Drafted(plan.skip, plan.policy), Drafted(own.skip, own.policy)
        return self._trials.gain(held_out, new, old, self._settings.seed).low > 0

    def _constant_does(self, own: Plan, plans: Sequence[Plan], held_out: Sequence[Logged]) -> bool:
        if not enough(held_out):
            return True
        return mean_regret(speeds(self._trials, held_out, plans), [chosen(own)] * len(held_out)) < SMALL_REGRET


def speeds(trials: Trials, prompts: Sequence[Logged], plans: Sequence[Plan]) -> list[dict[str, float]]:
    """For each prompt the speed of each plan's set, used or not; drafting nothing is among them, under the name NO_DRAFTS."""
    drafted = {plan.name: Drafted(plan.found, plan.policy) for plan in plans}
    return [{NO_DRAFTS: 1.0} | {name: trials.speed([logged], one) for name, one in drafted.items()} for logged in prompts]


def enough(held_out: Sequence[Logged]) -> bool:
    """Whether anything can be decided on these prompts."""
    return len({logged.group for logged in held_out}) >= MIN_HELD_OUT


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


def _routing(task: Task, split: Split, rows: Vectors, mean: Vectors, clusters: Clusters, used: Sequence[str]) -> TaskRouting:
    unit_rows = centred(rows, mean)
    return TaskRouting(
        task=task,
        mean=mean,
        centroids=clusters.centroids,
        medoids=unit_rows[clusters.medoids],
        floor=_floor((unit_rows * clusters.centroids[clusters.of]).sum(axis=1)),
        plans=tuple(used),
        medoid_ids=tuple(split.calibration[int(i)].id for i in clusters.medoids),
        sizes=tuple(int((clusters.of == i).sum()) for i in range(clusters.k)),
    )


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
