"""`python -m decoding.calibrate --distil`: bridges trained on a model's own answers, and which prompts each is for.

Answers are written once by plain decoding and kept, as are the states of each training: a command that was stopped goes on.
Short and long paths are trained on the same prompts, their speeds measured on held-out events, and each cluster of prompts is
routed to the faster; where one path is the faster everywhere, it ships alone and no prompt's vector is needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data import codec
from data.errors import StageError, UserError
from data.types import Strict
from decoding.api import SamplingParams
from decoding.backend import BridgedSet, Wants
from decoding.drafters.hazard import Hazard, Logged, RoundLog, fit_hazard
from decoding.drafters.lengths import Expected, Fixed, LengthPolicy, Threshold
from decoding.drafters.plain import NoDrafter
from decoding.drafters.skip import SkipDrafter
from decoding.knn.anchors import cluster
from decoding.knn.artefact import Identity
from decoding.knn.bridge_files import FILE, Bridges, Made
from decoding.knn.bridge_routing import LONGEST, SURE
from decoding.knn.bridge_training import Recipe, Text, train
from decoding.knn.kept_stages import STAGES, Stages, prompt_key
from decoding.knn.prompt_vectors import unit
from decoding.local import LocalGenerator
from decoding.sampling import Sampler
from decoding.speculative import decode

if TYPE_CHECKING:
    from decoding.backend import CostTable, Prefill
    from decoding.backends.bridges import Bridge
    from decoding.backends.lowbit import LowBitBackend
    from decoding.knn.prompt_files import PromptRow
    from decoding.models.loading import LoadedModel

Say = Callable[[str], None]

HELD_OUT = 5
"""One event in so many is held out, at least one."""
MOST_MEASURED = 24
"""Held-out prompts on which speeds are measured."""
COPYING = 7
"""Attention sub-layers of the long path: those that look most at what followed the same token before."""
SHORTER = 4
PATHS = ("short", "long")
MIN_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Settings:
    """`names`: which of PATHS to train; `paths` are theirs, where the answers are not to say."""

    recipe: Recipe
    max_prompts: int = 300
    max_new_tokens: int = 96
    names: tuple[str, ...] = PATHS
    paths: tuple[tuple[str, tuple[str, ...]], ...] = ()
    command: str = ""


@dataclass(frozen=True, slots=True)
class Answered(Strict):
    """A prompt with the model's greedy answer and the prompt's vector."""

    id: str
    group: str
    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    vector: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Speed(Strict):
    """What a bridge does on one held-out prompt: tokens after the first, and their cost in full steps."""

    bridge: str
    id: str
    n_tokens: int
    cost: float
    drafted: int
    accepted: int


def distil(
    loaded: LoadedModel, backend: LowBitBackend, rows: Sequence[PromptRow], out: Path, settings: Settings, say: Say
) -> Bridges:
    """Train, measure and write `out / FILE` with a report. The caller holds `loaded.lock`.

    Raises UserError: fewer than two events, no answers, or a disk that refuses.
    """
    stages = Stages(out / STAGES / f"distil-{loaded.fingerprint[:12]}-{settings.max_new_tokens}")
    chosen = sorted(rows, key=lambda row: codec.sha256(row.id))[: settings.max_prompts or None]
    answered = _answers(loaded, backend, chosen, settings, stages, say)
    groups = sorted({one.group for one in answered}, key=codec.sha256)
    if len(groups) < 2:
        raise UserError("all prompts are of one event, so that none can be held out; give prompts of several events")
    held = set(groups[: max(1, len(groups) // HELD_OUT)])
    learnt, unseen = [a for a in answered if a.group not in held], [a for a in answered if a.group in held][:MOST_MEASURED]
    texts = [Text(one.prompt, one.answer) for one in learnt]
    paths = settings.paths or tuple(one for one in _paths(backend, texts, say) if one[0] in settings.names)
    costs = backend.costs()
    trained: list[Bridge] = []
    hazards: dict[str, Hazard] = {}
    speeds: list[Speed] = []
    plans: dict[str, BridgedSet] = {}
    for name, path in paths:
        say(f"{name}: {', '.join(path)}")
        key = codec.sha256(repr((path, settings.recipe, [one.id for one in learnt])))[:16]
        checkpoint = out / STAGES / f"bridge-{key}.safetensors"
        bridge = train(backend, texts, path, settings.recipe, name=name, checkpoint=checkpoint, report=say)
        plan = plans[name] = backend.take_bridge(bridge)
        logs = [log for one in unseen for log in _rounds(backend, plan, one, Fixed(LONGEST))[0]]
        policy: LengthPolicy = Threshold(SURE, LONGEST)
        if len(logs) >= MIN_ROUNDS:
            hazards[name] = fit_hazard(logs)
            policy = Expected(hazards[name], costs, plan_cost=plan.step_cost, max_tokens=LONGEST)
        speeds += [_speed(backend, plan, name, one, policy, costs) for one in unseen]
        trained.append(bridge)
        say(f"{name}: {_line(speeds, name)}, c {plan.step_cost:.3f}")
    anchors, routes = _routes(answered, speeds, [bridge.name for bridge in trained])
    made = Made(
        settings.command, time.strftime("%Y-%m-%d"), settings.recipe.seed, settings.recipe.steps, len(texts), tuple(groups)
    )
    used = [bridge for bridge in trained if bridge.name in routes]
    bridges = Bridges(
        Identity.of(loaded), made, tuple(used), {k: v for k, v in hazards.items() if k in routes}, anchors, routes
    )
    bridges.save(out / FILE)
    codec.write_atomic(out / "bridges.md", _report(bridges, speeds, plans, answered, held))
    return bridges


def _answers(
    loaded: LoadedModel, backend: LowBitBackend, rows: Sequence[PromptRow], settings: Settings, stages: Stages, say: Say
) -> list[Answered]:
    generator = LocalGenerator(loaded)
    found: list[Answered] = []
    for n, row in enumerate(rows, 1):
        prompt = tuple(generator.prompt_ids(row.messages))

        def make(row: PromptRow = row, prompt: tuple[int, ...] = prompt) -> Answered:
            return _answered(loaded, backend, row, prompt, settings.max_new_tokens)

        try:
            found.append(stages.once(f"answers/{prompt_key(row.id, prompt)}", Answered, make))
        except StageError as error:
            say(f"{row.id} is left out: {error}")
        if n % 25 == 0 or n == len(rows):
            say(f"answers {n}/{len(rows)}")
    if not any(len(one.answer) > 1 for one in found):
        raise UserError(f"{loaded.name} could answer none of the {len(rows)} prompts; give it other ones")
    return [one for one in found if len(one.answer) > 1]


class _Watching(NoDrafter):
    wants = Wants(vector=True)


def _answered(loaded: LoadedModel, backend: LowBitBackend, row: PromptRow, prompt: tuple[int, ...], limit: int) -> Answered:
    room = min(limit, backend.info.context_tokens - len(prompt) - LONGEST - 2)
    if room < 2:
        raise StageError("calibrate", f"the prompt has {len(prompt)} tokens of the context's {backend.info.context_tokens}")
    answer: list[int] = []
    vectors: list[tuple[float, ...]] = []

    def take(token: int) -> bool:
        answer.append(token)
        return token not in loaded.eos_ids and len(answer) < room

    def look(prefill: Prefill) -> None:
        assert prefill.vector is not None  # wanted
        vectors.append(tuple(round(float(x), 5) for x in prefill.vector))

    sampler = Sampler(SamplingParams(max_new_tokens=room), len(prompt))
    decode(backend, _Watching(), prompt, sampler, take, on_prefill=look)
    return Answered(row.id, row.group, prompt, tuple(answer), vectors[0])


def _rounds(backend: LowBitBackend, plan: BridgedSet, one: Answered, policy: LengthPolicy) -> tuple[list[RoundLog], list[int]]:
    """The verified drafts of a text, and the tokens that each pass gave."""
    logs: list[RoundLog] = []
    given: list[int] = []
    left = iter(range(len(one.answer) - 1, -1, -1))
    sampler = Sampler(SamplingParams(max_new_tokens=len(one.answer)), len(one.prompt))
    drafter = Logged(SkipDrafter(plan, policy), logs.append)
    decode(backend, drafter, one.prompt, sampler, lambda token: next(left) > 0, on_round=given.append)
    return logs, given


def _speed(backend: LowBitBackend, plan: BridgedSet, name: str, one: Answered, policy: LengthPolicy, costs: CostTable) -> Speed:
    """By the table, so that a slow moment of the machine counts for nothing; without the last round, which no drafter sees."""
    logs, given = _rounds(backend, plan, one, policy)
    drafted = [log.drafted for log in logs]
    n_plain = max(0, len(given) - 2 - len(drafted))
    cost = sum(n * plan.step_cost + costs.v(1 + n) for n in drafted) + n_plain
    accepted = sum(log.accepted for log in logs)
    return Speed(name, one.id, accepted + len(drafted) + n_plain, cost, sum(drafted), accepted)


def _ratio(speeds: Sequence[Speed]) -> float:
    cost = sum(one.cost for one in speeds)
    return sum(one.n_tokens for one in speeds) / cost if cost else 1.0


def _line(speeds: Sequence[Speed], name: str) -> str:
    mine = [one for one in speeds if one.bridge == name]
    drafted = sum(one.drafted for one in mine)
    rate = sum(one.accepted for one in mine) / drafted if drafted else 0.0
    speed = f"{_ratio(mine):.2f} tokens for each full step's time, {rate:.0%} of drafted tokens accepted"
    return f"{speed}, {len(mine)} held-out prompts"


def _routes(answered: Sequence[Answered], speeds: Sequence[Speed], names: Sequence[str]) -> tuple[Any, tuple[str, ...]]:
    """Anchors (A, D) of length 1, and the bridge of each: that of a cluster, where its held-out prompts are faster with it
    than with the best bridge for all."""
    import numpy as np

    vectors = unit(np.array([one.vector for one in answered], dtype=np.float32))
    best = max(names, key=lambda name: _ratio([one for one in speeds if one.bridge == name]))
    clusters = cluster(vectors)
    of = dict(zip((one.id for one in answered), clusters.of.tolist(), strict=True))
    routes = []
    for k in range(clusters.k):
        mine = {name: [one for one in speeds if one.bridge == name and of[one.id] == k] for name in names}
        enough = len(mine[best]) >= 4
        routes.append(max(names, key=lambda name: (_ratio(mine[name]), name == best)) if enough else best)
    return clusters.centroids, tuple(routes)


def _paths(backend: LowBitBackend, texts: Sequence[Text], say: Say) -> tuple[tuple[str, tuple[str, ...]], ...]:
    from decoding.knn.copying_layers import copying

    say("looking for the attention sub-layers that copy")
    order = copying(backend, texts)
    last = backend.info.n_layers - 1

    def path(first: int, n: int) -> tuple[str, ...]:
        kept = sorted(i for i in [i for i in order if first <= i < last][:n])
        begin = [f"{part} {i}" for i in range(min(first, last)) for part in ("attention", "mlp")]
        middle = [step for i in kept for step in ("map", f"attention {i}")]
        return (*begin, *middle, "map", f"attention {last}", f"mlp {last}", "map")

    return ("short", path(1, SHORTER)), ("long", path(2, COPYING))


def _report(
    bridges: Bridges, speeds: Sequence[Speed], plans: dict[str, BridgedSet], answered: Sequence[Answered], held: set[str]
) -> str:
    by_id: dict[str, list[Speed]] = {}
    for one in speeds:
        by_id.setdefault(one.id, []).append(one)
    best = [max(of, key=lambda s: _ratio([s])) for of in by_id.values()]
    lines = [
        f"# Bridges of {bridges.identity.model}",
        "",
        f"{bridges.made.n_texts} answers, {bridges.made.steps} steps, seed {bridges.made.seed}; {len(held)} events held out, "
        f"{len(by_id)} of their prompts measured. Speeds are tokens for each full step's time; plain decoding has 1.",
        "",
        "| bridge | sub-layers kept | c | speed | drafted tokens accepted |",
        "|---|---|---|---|---|",
    ]
    for name, plan in plans.items():
        mine = [one for one in speeds if one.bridge == name]
        drafted, accepted = sum(one.drafted for one in mine), sum(one.accepted for one in mine)
        kept = 2 * bridges.identity.n_layers - plan.n_skipped
        lines.append(f"| {name} | {kept} | {plan.step_cost:.3f} | {_ratio(mine):.2f} | {accepted / max(drafted, 1):.0%} |")
    used = sorted(set(bridges.routes))
    verdict = f"all prompts use {used[0]}" if len(used) == 1 else f"prompts are routed among {', '.join(used)}"
    lines += [
        "",
        f"Routing: {len(bridges.routes)} anchors of {len(answered)} prompts; {verdict}. The best bridge of each held-out "
        f"prompt, which no router knows, would give {_ratio(best):.2f}.",
    ]
    return "\n".join(lines) + "\n"
