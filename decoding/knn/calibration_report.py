"""What a calibration is worth, in words and figures: report.md beside the artefact.

Everything but routing by topic is measured on held-out prompts. Speeds are replayed from teacher-forced agreement and the
cost table (`decoding.knn.draft_agreement`), so they leave out what a run adds; `decoding.bench` times whole runs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from data import codec
from decoding.api import Task
from decoding.knn.artefact import Calibration, Plan, TaskRouting
from decoding.knn.draft_agreement import Logged
from decoding.knn.plans import MIN_HELD_OUT, NO_DRAFTS, SMALL_REGRET, Split, TaskPlans, chosen, mean_regret, speeds
from decoding.knn.prompt_vectors import centred
from decoding.knn.router import NEIGHBOURS, Router
from decoding.knn.trials import Trials

if TYPE_CHECKING:
    from decoding.api import Vectors

REGRET_WANTED = 0.05
SHARE_WANTED = 0.005
_REPEATS = 200
WAYS = ("routed", "constant", "global", "none")
"""How a prompt gets its set: by its cluster, the task's for all, by the original's global index, or no drafting.

The original drafts whether it pays or not; the others draft nothing where it does not."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """`right`: share named rightly by the nearest neighbours, itself left out; `majority`: by always naming the commonest."""

    right: float
    majority: float
    n: int


@dataclass(frozen=True, slots=True)
class TaskFigures:
    """Regret and speed by way; both empty without held-out prompts."""

    task: Task
    n_calibration: int
    n_held_out: int
    n_events: int
    """Of the held-out prompts."""
    clusters: int
    silhouette: float | None
    topics: Accuracy | None
    """None where fewer than two topics are labelled."""
    best_sets: Accuracy | None
    """None where there is one set only."""
    routed_to_best: float | None
    regret: dict[str, float]
    speed: dict[str, float]


@dataclass(frozen=True, slots=True)
class Figures:
    tasks: tuple[TaskFigures, ...]
    route_s: dict[str, float]
    """Median seconds of one routing decision, by task."""
    global_route_s: float
    """The same over the anchors of all labels, which every prompt is compared with there."""
    prefill_s: dict[str, float]
    """Median seconds of reading a prompt, by task."""


def measured(calibration: Calibration, found: Sequence[TaskPlans], splits: dict[Task, Split], trials: Trials) -> Figures:
    tasks = tuple(_task(calibration, plans, splits[plans.routing.task], trials) for plans in found)
    router, everywhere = Router(calibration), Router(calibration, "global")
    first = tasks[0].task
    return Figures(
        tasks,
        {t.task: _route_seconds(router, t.task, splits[t.task].calibration) for t in tasks},
        _route_seconds(everywhere, first, splits[first].calibration),
        {t.task: median(logged.prefill_s for logged in splits[t.task].calibration) for t in tasks},
    )


def _task(calibration: Calibration, found: TaskPlans, split: Split, trials: Trials) -> TaskFigures:
    import numpy as np

    routing = found.routing
    rows = centred(np.array([logged.vector for logged in split.calibration], dtype=np.float32), routing.mean)
    topics = [logged.topic for logged in split.calibration]
    ranked = speeds(trials, split.calibration, found.plans) if len(found.plans) > 1 else []
    best = [max(row, key=lambda name: row[name]) for row in ranked]
    regret, speed, match = _ways(calibration, found, split.held_out, trials)
    return TaskFigures(
        task=routing.task,
        n_calibration=len(split.calibration),
        n_held_out=len(split.held_out),
        n_events=len({logged.group for logged in split.held_out}),
        clusters=len(routing.plans),
        silhouette=found.clusters.silhouette,
        topics=leave_one_out(rows, topics) if len(set(topics) - {""}) > 1 else None,
        best_sets=leave_one_out(rows, best) if best else None,
        routed_to_best=match,
        regret=regret,
        speed=speed,
    )


def _ways(
    calibration: Calibration, found: TaskPlans, held_out: Sequence[Logged], trials: Trials
) -> tuple[dict[str, float], dict[str, float], float | None]:
    """Regret and speed (a ratio of sums) of each way; how often routing names the prompt's best set."""
    import numpy as np

    if not held_out:
        return {}, {}, None
    task = found.routing.task
    routers = {"routed": Router(calibration), "global": Router(calibration, "global")}
    plans = {way: [r.choose(task, np.array(p.vector, dtype=np.float32)) for p in held_out] for way, r in routers.items()}
    names = {"routed": [chosen(plan) for plan in plans["routed"]], "global": [plan.name for plan in plans["global"]]}
    names |= {"constant": [chosen(calibration.plan(task))] * len(held_out), "none": [NO_DRAFTS] * len(held_out)}
    of_tasks = {name for r in calibration.tasks for name in (r.task, *(f"{r.task}/{i}" for i in range(len(r.plans))))}
    others = {plan.name for plan in calibration.plans} - of_tasks | set(names["global"]) - {plan.name for plan in found.plans}
    table = speeds(trials, held_out, [*found.plans, *(calibration.plan(name) for name in sorted(others))])
    regret = {way: mean_regret(table, names[way]) for way in WAYS}
    tokens = [len(logged.answer) - 1 for logged in held_out]
    took = {way: sum(n / row[name] for n, row, name in zip(tokens, table, names[way])) for way in WAYS}
    speed = {way: sum(tokens) / max(1e-9, took[way]) for way in WAYS}
    match = sum(row[name] == max(row.values()) for row, name in zip(table, names["routed"])) / len(table)
    return regret, speed, match


def leave_one_out(rows: Vectors, labels: Sequence[str]) -> Accuracy:
    """How well the nearest of the other unit rows (N, D) name a row's label: three vote, each with its cosine."""
    import numpy as np

    labelled = [i for i, label in enumerate(labels) if label]
    rows, names = rows[labelled], [labels[i] for i in labelled]
    majority = max(Counter(names).values()) / len(names)
    if len(names) < 2:
        return Accuracy(0.0, majority, len(names))
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -np.inf)
    right = 0
    for i, row in enumerate(cosines):
        votes: Counter[str] = Counter()
        for j in np.argsort(-row, kind="stable")[: min(NEIGHBOURS, len(names) - 1)]:
            votes[names[int(j)]] += max(0.0, float(row[int(j)]))  # type: ignore[assignment]  # weights, not counts
        right += votes.most_common(1)[0][0] == names[i]
    return Accuracy(right / len(names), majority, len(names))


def _route_seconds(router: Router, task: Task, prompts: Sequence[Logged]) -> float:
    import numpy as np

    vectors = [np.array(logged.vector, dtype=np.float32) for logged in prompts[:8]]
    seconds = []
    for i in range(_REPEATS):
        start = time.perf_counter()
        router.choose(task, vectors[i % len(vectors)])
        seconds.append(time.perf_counter() - start)
    return median(seconds)


# --- words ------------------------------------------------------------------------------------------------------------


def verdict(figures: TaskFigures, routing: TaskRouting, plan: Plan) -> str:
    """One plain sentence or two: whether skipping and routing pay for this task."""
    if figures.n_events < MIN_HELD_OUT:
        return (
            f"Too few events are held out to tell ({figures.n_events}, and {MIN_HELD_OUT} are needed): all prompts get the "
            "task's set. Give prompts of more events."
        )
    if not routing.routes:
        lost = figures.regret["constant"]
        why = f"the constant set's regret is {lost:.1%}" + (f", under {SMALL_REGRET:.0%}" if lost < SMALL_REGRET else "")
        if lost >= SMALL_REGRET:
            why += ", but no cluster's own set beat it by more than chance"
        if not plan.skip:
            best = plan.held_out.mean if plan.held_out else plan.searched
            return (
                f"**Layer skipping does not pay** here: the best set runs at {best:.2f} of plain decoding on other prompts, "
                f"so nothing is drafted by it. Routing does not pay either: {why}."
            )
        return f"**Routing does not pay**: {why}. All prompts get the task's set."
    routed, constant = figures.regret["routed"], figures.regret["constant"]
    if routed >= constant:
        return f"**Routing does not pay**: its regret is {routed:.1%}, that of the constant set {constant:.1%}."
    return f"Routing pays: its regret is {routed:.1%}, that of the constant set {constant:.1%}."


def markdown(calibration: Calibration, figures: Figures) -> str:
    meta = calibration.meta
    lines = [
        f"# Layer skipping for {meta.identity.model}",
        "",
        f"Fingerprint {meta.identity.fingerprint[:12]}, {meta.identity.dtype}, {meta.backend} backend, {meta.date}. "
        f"Objective: {meta.objective}. {len(meta.calibration_ids)} prompts to search with, {len(meta.held_out_ids)} held out; "
        "do not score or time texts on either (their ids are in meta.json).",
        "",
        f"    {meta.command}",
        "",
        "Speeds are tokens for each full step's time, plain decoding being 1.00: replayed from teacher-forced agreement and "
        f"the costs measured on {calibration.costs.machine}, behind {calibration.costs.context} tokens of context.",
        "",
        "## Does it pay?",
        "",
        *(f"- {t.task}: {verdict(t, _routing(calibration, t.task), calibration.plan(t.task))}" for t in figures.tasks),
        "",
        *_regret_table(figures),
        "",
        *_routing_table(figures),
        "",
        *_plan_table(calibration),
        "",
    ]
    return "\n".join(lines)


def _regret_table(figures: Figures) -> list[str]:
    lines = [
        "## Regret on held-out prompts",
        "",
        "Regret of a prompt is 1 - speed(chosen set) / speed(best set for it), the best being taken over all sets found and no "
        "drafting. Below, the mean. The best of several sets on one short answer is partly luck, so no router can reach 0.",
        "",
        "| task | held out | " + " | ".join(f"{way}: regret, speed" for way in WAYS) + f" | under {REGRET_WANTED:.0%} |",
        "|---|---|" + "---|" * (len(WAYS) + 1),
    ]
    for t in figures.tasks:
        cells = [f"{t.regret[way]:.1%}, {t.speed[way]:.2f}" if t.regret else "-" for way in WAYS]
        reached = ("yes" if t.regret["routed"] < REGRET_WANTED else "no") if t.regret else "-"
        lines.append(f"| {t.task} | {t.n_held_out} of {t.n_events} events | {' | '.join(cells)} | {reached} |")
    return lines


def _routing_table(figures: Figures) -> list[str]:
    def accuracy(found: Accuracy | None) -> str:
        return f"{found.right:.0%} ({found.majority:.0%})" if found else "-"

    def share(found: float | None) -> str:
        return "-" if found is None else f"{found:.0%}"

    lines = [
        "## Routing",
        "",
        "By topic and by best set: leave-one-out over the calibration prompts, in brackets what always naming the commonest "
        "would give. To the best set: held-out prompts. Time: median of one decision, and its share of a median prefill; a "
        f"task whose prompts share one set needs none. The global index takes {figures.global_route_s * 1e6:.0f} µs.",
        "",
        f"| task | prompts | clusters | silhouette | by topic | by best set | to the best set | µs | of prefill | under "
        f"{SHARE_WANTED:.1%} |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for t in figures.tasks:
        part = figures.route_s[t.task] / max(figures.prefill_s[t.task], 1e-9)
        lines.append(
            f"| {t.task} | {t.n_calibration} | {t.clusters} | {'-' if t.silhouette is None else f'{t.silhouette:.2f}'} "
            f"| {accuracy(t.topics)} | {accuracy(t.best_sets)} | {share(t.routed_to_best)} "
            f"| {figures.route_s[t.task] * 1e6:.0f} | {part:.3%} | {'yes' if part < SHARE_WANTED else 'no'} |"
        )
    return lines


def _plan_table(calibration: Calibration) -> list[str]:
    n = calibration.meta.identity.n_layers
    lines = [
        "## Layer sets",
        "",
        "Acceptance: of the first drafted token, and of the first four all together. The interval is the bootstrap's 5th to "
        "95th percentile over events.",
        "",
        "| set | used | attention out | MLP out | share out | stop below, at most | acceptance 1, 4 | searched | held out |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    used = {name for r in calibration.tasks for name in (r.task, *r.plans)} | {*calibration.everywhere.plans.values(), "all"}
    for plan in calibration.plans:
        state = "no drafting" if not plan.skip else "yes" if plan.name in used else "shares its task's"
        accepted = [f"{plan.acceptance[i]:.2f}" if len(plan.acceptance) > i else "-" for i in (0, 3)]
        interval = plan.held_out
        held = f"{interval.mean:.2f} ({interval.low:.2f} to {interval.high:.2f}, n {plan.n_held_out})" if interval else "-"
        lines.append(
            f"| {plan.name} | {state} | {_layers(plan.found.attention)} | {_layers(plan.found.mlp)} "
            f"| {plan.found.share(n):.0%} | {plan.policy.stop_prob:g}, {plan.policy.max_tokens} | {', '.join(accepted)} "
            f"| {plan.searched:.2f} (n {plan.n_search}) | {held} |"
        )
    return lines


def _layers(layers: Sequence[int]) -> str:
    return " ".join(map(str, layers)) or "none"


def _routing(calibration: Calibration, task: Task) -> TaskRouting:
    found = calibration.task(task)
    assert found is not None
    return found


def write(folder: Path, calibration: Calibration, figures: Figures) -> None:
    codec.write_atomic(folder / "report.md", markdown(calibration, figures))
