"""Find a model's layer sets and how to route prompts to them (KNN-SSD, arXiv 2505.16162).

    python -m decoding.calibrate --model hf:models/qwen3-4b --prompts prompts.jsonl
    python -m decoding.calibrate --model hf:models/qwen3-4b --prompts runs/ours-sample-search --tasks section --max-prompts 64
    python -m decoding.calibrate --model smollm2 --prompts say.jsonl --distil

The walk: each prompt is answered once by plain decoding, which gives its vector, too; the vectors of each task are clustered;
for each task, cluster and label a layer set is searched; what the sets do on held-out prompts decides which are kept; one
folder holds it all, with a report. With `--distil` no set is searched: a few sub-layers are kept, and maps in place of the
others are trained on the answers (`decoding.knn.distillation`). A command that was stopped goes on where it was
when it is run again.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from data import codec
from data.errors import StageError, UserError, WikigenError
from data.types import Strict
from decoding.api import Task
from decoding.models.registry import NAMES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from decoding.backend import StepBackend
    from decoding.drafters.hazard import Hazard
    from decoding.knn.artefact import Calibration, Plan
    from decoding.knn.draft_agreement import Logged
    from decoding.knn.kept_stages import Stages
    from decoding.knn.plans import SearchSettings, Split
    from decoding.knn.prompt_files import PromptRow
    from decoding.knn.trials import Trials
    from decoding.models.loading import LoadedModel

Say = Callable[[str], None]

PROG = "python -m decoding.calibrate"
HELD_OUT = 4
"""One event in so many is held out; of few events, enough to decide something if that leaves half of them."""

MIN_ROUNDS = 20
"""Of drafting: fewer say nothing about how sure a draft should be."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`max_prompts` is per task and 0 for all; `tasks` empty for all."""

    search: SearchSettings
    tasks: tuple[Task, ...] = ()
    max_prompts: int = 128
    max_new_tokens: int = 64
    command: str = PROG


@dataclass(frozen=True, slots=True)
class _Began(Strict):
    date: str


def calibrate(
    loaded: LoadedModel,
    backend: StepBackend,
    rows: Sequence[PromptRow],
    out: Path,
    settings: Settings,
    say: Say,
) -> Calibration:
    """Calibrate and write `out`, with measurements under `out/stages`. The caller holds `loaded.lock`.

    Raises UserError: no prompts of the tasks, none that the model can answer, or a disk that refuses.
    """
    from decoding.backend import CostTable
    from decoding.knn import artefact, calibration_report
    from decoding.knn.artefact import EVERYTHING
    from decoding.knn.kept_stages import STAGES, Stages
    from decoding.knn.plans import Planner
    from decoding.knn.trials import Trials
    from decoding.machine import signature, versions

    stages = Stages(out / STAGES / f"{loaded.fingerprint[:12]}-{settings.max_new_tokens}")
    now = time.strftime("%Y-%m-%d")
    began = stages.once("began", _Began, lambda: _Began(now))
    say(f"costs of a step on {signature(backend.info)}")
    costs = stages.once(f"costs-{codec.sha256(signature(backend.info))[:12]}", CostTable, backend.costs)
    splits = _splits(_answers(loaded, backend, _chosen(rows, settings), settings, stages, say), say)

    trials = Trials(backend, stages, costs)
    planner = Planner(trials, stages, settings.search, say)
    together = _together(splits)
    mixed = planner.search(EVERYTHING, together.calibration, groups=_by_label(together))
    found = [planner.task(task, split, start=[mixed]) for task, split in splits.items()]
    sets = [mixed, *(plan.found for plans in found for plan in plans.plans)]
    everywhere, others = planner.everywhere(together, list(splits), sets)
    plans = (*(plan for plans in found for plan in plans.plans), *others)
    meta = artefact.Meta(
        format=artefact.FORMAT,
        identity=artefact.Identity.of(loaded),
        versions=versions(),
        backend=backend.info.name,
        seed=settings.search.seed,
        objective=settings.search.objective,
        command=settings.command,
        date=began.date,
        calibration_ids=tuple(logged.id for logged in together.calibration),
        held_out_ids=tuple(logged.id for logged in together.held_out),
        groups=tuple(sorted({logged.group for logged in (*together.calibration, *together.held_out)})),
    )
    calibration = artefact.Calibration(meta, plans, tuple(f.routing for f in found), everywhere, {}, costs)
    say("how sure a draft is -> how often it is accepted")
    calibration = replace(calibration, stops=_stops(calibration, splits, trials))
    say(f"writing {out}")
    figures = calibration_report.measured(calibration, found, splits, trials)
    calibration_report.write(out, calibration, figures)
    calibration.save(out)
    return calibration


def _chosen(rows: Sequence[PromptRow], settings: Settings) -> list[PromptRow]:
    """At most `max_prompts` of each task, in an order that follows from their ids alone."""
    chosen: list[PromptRow] = []
    for task in settings.tasks or get_args(Task):
        of_task = sorted((row for row in rows if row.task == task), key=lambda row: codec.sha256(row.id))
        chosen += of_task[: settings.max_prompts or None]
    if not chosen:
        there = ", ".join(sorted({row.task for row in rows}))
        raise UserError(
            f"no prompts of the tasks {', '.join(settings.tasks)}; the files have {there}: choose --tasks among them"
        )
    return chosen


def _answers(
    loaded: LoadedModel, backend: StepBackend, rows: Sequence[PromptRow], settings: Settings, stages: Stages, say: Say
) -> list[Logged]:
    from decoding.knn.draft_agreement import Logged, log_answer
    from decoding.knn.kept_stages import prompt_key
    from decoding.local import LocalGenerator

    generator = LocalGenerator(loaded)
    answered: list[Logged] = []
    for n, row in enumerate(rows, 1):
        try:
            prompt = generator.prompt_ids(row.messages)
            found = stages.once(
                f"prompts/{prompt_key(row.id, prompt)}",
                Logged,
                lambda row=row, prompt=prompt: log_answer(backend, row, prompt, loaded.eos_ids, settings.max_new_tokens),  # type: ignore[misc]
            )
        except StageError as error:
            say(f"answers {n}/{len(rows)}: {row.id} is left out: {error}")
            continue
        # labels may be corrected in the file without the answer being written again
        answered.append(replace(found, task=row.task, topic=row.topic, label=row.label, group=row.group))
        say(f"answers {n}/{len(rows)}: {row.task} {row.id}, {len(prompt)} + {len(found.answer)} tokens")
    if not answered:
        raise UserError(
            f"{loaded.name} could answer none of the {len(rows)} prompts; the lines above say why: give shorter ones"
        )
    return answered


def _splits(answered: Sequence[Logged], say: Say) -> dict[Task, Split]:
    """By task: prompts to search with and prompts held out, whole events at a time, chosen by the events' names alone."""
    from decoding.knn.plans import MIN_HELD_OUT, Split

    groups = sorted({logged.group for logged in answered}, key=codec.sha256)
    held = set(groups[: max(len(groups) // HELD_OUT, min(MIN_HELD_OUT, len(groups) // 2))])
    splits: dict[Task, Split] = {}
    for task in get_args(Task):
        of_task = [logged for logged in answered if logged.task == task]
        seen = tuple(logged for logged in of_task if logged.group not in held)
        if seen:
            splits[task] = Split(seen, tuple(logged for logged in of_task if logged.group in held))
        elif of_task:
            say(f"{task}: left out, all of its {len(of_task)} prompts belong to events that are held out; give more")
    return splits


def _together(splits: dict[Task, Split]) -> Split:
    from decoding.knn.plans import Split

    parts = list(splits.values())
    return Split(tuple(p for s in parts for p in s.calibration), tuple(p for s in parts for p in s.held_out))


def _by_label(split: Split) -> NDArray[np.int64]:
    import numpy as np

    labels = sorted({logged.label for logged in split.calibration})
    return np.array([labels.index(logged.label) for logged in split.calibration])


def _stops(calibration: Calibration, splits: dict[Task, Split], trials: Trials) -> dict[str, Hazard]:
    """Fitted for each plan that drafts, on the prompts it is for, and for all prompts under the plans they are routed to."""
    import numpy as np

    from decoding.drafters.hazard import RoundLog, fit_hazard
    from decoding.knn.artefact import EVERYTHING
    from decoding.knn.router import Router

    logs: dict[str, list[RoundLog]] = {}
    router = Router(calibration)

    def add(name: str, logged: Logged, plan: Plan) -> None:
        if plan.skip:
            logs.setdefault(name, []).extend(trials.rounds(logged, plan.skip))

    for task, split in splits.items():
        own = calibration.plan(task)
        for logged in split.calibration:
            routed = router.choose(task, np.array(logged.vector, dtype=np.float32))
            add(task, logged, own)
            add(EVERYTHING, logged, routed)
            if routed.name != task:
                add(routed.name, logged, routed)
            if logged.label != task:
                label = calibration.plan(calibration.everywhere.plans[logged.label])
                add(label.name, logged, label)
    return {name: fit_hazard(found) for name, found in logs.items() if len(found) >= MIN_ROUNDS}


# --- command ----------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    words = sys.argv[1:] if argv is None else argv
    began = time.monotonic()

    def say(line: str) -> None:
        sys.stderr.write(f"[{time.monotonic() - began:7.1f} s] {line}\n")
        sys.stderr.flush()

    try:
        out = _run(arguments, shlex.join([*PROG.split(), *words]), say)
    except WikigenError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("stopped; run the same command again to go on\n")
        return 130
    sys.stdout.write(f"{out}\n{out / ('bridges.md' if arguments.distil else 'report.md')}\n")
    return 0


def _run(arguments: argparse.Namespace, command: str, say: Say) -> Path:
    from data.model_name import parse_model
    from data.runs import RunFolder
    from decoding.engine import backend_of
    from decoding.knn.artefact import calibration_folder
    from decoding.knn.kept_stages import STAGES
    from decoding.knn.plans import SearchSettings
    from decoding.knn.prompt_files import read_all
    from decoding.models.naming import load_named

    if not parse_model(arguments.model).is_local:
        raise UserError(f"{arguments.model} runs elsewhere, so its layers cannot be skipped; use --model hf:FOLDER_OR_ID")
    rows = read_all(arguments.prompts)  # before the model, which takes longer to load
    settings = Settings(
        search=SearchSettings(
            objective=arguments.objective,
            iterations=arguments.iterations,
            prompts=arguments.search_prompts,
            seed=arguments.seed,
            k=arguments.clusters,
        ),
        tasks=tuple(arguments.tasks),
        max_prompts=arguments.max_prompts,
        max_new_tokens=arguments.max_new_tokens,
        command=command,
    )
    chosen = _chosen(rows, settings)
    say(f"loading {arguments.model}")
    loaded = load_named(arguments.model, device=arguments.device, dtype=arguments.dtype)
    out: Path = arguments.out or calibration_folder(loaded)
    with RunFolder(out).locked(), loaded.lock:
        if not arguments.resume:
            shutil.rmtree(out / STAGES, ignore_errors=True)
        if arguments.distil:
            return _distil(loaded, chosen, out, arguments, command, say)
        calibrate(loaded, backend_of(loaded), rows, out, settings, say)
    return out


def _distil(
    loaded: LoadedModel, rows: Sequence[PromptRow], out: Path, arguments: argparse.Namespace, command: str, say: Say
) -> Path:
    from decoding.backends.lowbit import LowBitBackend
    from decoding.engine import backend_of
    from decoding.knn import distillation
    from decoding.knn.bridge_training import Recipe

    backend = backend_of(loaded)
    if not isinstance(backend, LowBitBackend):
        raise UserError(
            f"{loaded.name} runs on {backend.info.name}, and bridges on compiled low-bit steps alone; add --dtype int8 or "
            "int4, on the CPU (models of Llama's shape)"
        )
    recipe = Recipe(steps=arguments.steps, seed=arguments.seed)
    settings = distillation.Settings(
        recipe, max_new_tokens=arguments.max_new_tokens, max_prompts=0, command=command, names=tuple(arguments.paths)
    )
    distillation.distil(loaded, backend, rows, out, settings, say)
    return out


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROG, description="Find which sub-layers a model can leave out when it drafts, and how prompts are routed."
    )
    parser.add_argument("--model", required=True, metavar="NAME", help=NAMES)
    parser.add_argument(
        "--prompts",
        required=True,
        nargs="+",
        type=Path,
        metavar="FILE|RUN",
        help="JSONL of prompts, a Spec-Bench question file, or a run folder with prompts.jsonl; of events never to be scored",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: DIR that the decoder looks into for this model")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 (default: %(default)s)")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16 (default: %(default)s)")
    parser.add_argument("--tasks", nargs="+", default=(), choices=get_args(Task), help="default: all that have prompts")
    parser.add_argument("--max-prompts", type=_whole(0), default=128, help="of each task, 0 for all (default: %(default)s)")
    parser.add_argument("--max-new-tokens", type=_whole(2), default=64, help="of each answer (default: %(default)s)")
    parser.add_argument("--search-prompts", type=_whole(1), default=16, help="for each search (default: %(default)s)")
    parser.add_argument(
        "--iterations", type=_whole(0), default=64, help="Bayesian steps after greedy search (default: %(default)s)"
    )
    parser.add_argument(
        "--objective",
        choices=("cost", "wall"),
        default="cost",
        help="cost: teacher-forced acceptance over measured cost; wall: seconds of whole runs, as published (1000 iterations)",
    )
    parser.add_argument("--clusters", type=_whole(1), help="of each task; default: as many as the vectors show, 10 at most")
    parser.add_argument("--distil", action="store_true", help="train bridges for knn-ssd-distilled; no sets are searched")
    parser.add_argument(
        "--paths",
        nargs="+",
        default=("short", "long"),
        choices=("short", "long"),
        help="bridges that --distil trains (default: both)",
    )
    parser.add_argument("--steps", type=_whole(1), default=150, help="of training with --distil (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--resume", action=argparse.BooleanOptionalAction, default=True, help="go on from what --out holds (default), or anew"
    )
    return parser


def _whole(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is below {least}")
        return value

    number.__name__ = "whole number"
    return number


if __name__ == "__main__":
    sys.exit(main())
