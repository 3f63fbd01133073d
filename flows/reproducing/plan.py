"""A recipe -> steps -> a table: the walk of `wikigenben reproduce`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from data import codec
from data.errors import UserError
from data.locate import locate
from data.snapshot import Snapshot
from decoding.models.registry import DEFAULT_MODEL
from flows.reproducing import recipe, standings
from flows.reproducing.recipe import Bench, Calibration, Recipe, SystemRecipe
from flows.reproducing.steps import Ended, Execute, Step, Steps, in_a_process
from flows.showing import console

SUBMISSION = "submission.json"


@dataclass(frozen=True, slots=True)
class Target:
    """Where the submission of a system goes: `made` holds its text, `final` is ranked; they are one where the text is
    published. `whole` is False for a part of a split, which is no submission to the contest."""

    one: SystemRecipe
    run: Path
    made: Path
    final: Path
    whole: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """`remarks` are what no step does, and why. `submissions` is the folder that the site is made of."""

    recipe: Recipe
    out: Path
    targets: tuple[Target, ...]
    steps: tuple[Step, ...]
    remarks: tuple[str, ...]
    check: bool


def planned(
    path: Path, *, data: str | None = None, out: Path | None = None, limit: int | None = None, check: bool = False
) -> Plan:
    """Raises UserError for all that is wrong with the file or the data, before anything is written."""
    asked = recipe.read(path)
    if limit is not None:
        if limit < 1:
            raise UserError(f"--limit {limit} leaves no event; use 1 or more")
        asked = replace(asked, systems=tuple(replace(one, limit=limit) for one in asked.systems))
    snapshot = Snapshot(locate(data or asked.data or None))
    out = out or Path(os.environ.get("WIKIGEN_RUNS", "runs")) / f"reproduce-{path.stem}"
    submissions = Path(asked.submissions)
    targets = tuple(_target(one, out, submissions, check=check) for one in asked.systems)
    if check and (absent := [t for t in targets if not (submissions / t.one.name / SUBMISSION).is_file()]):
        name = absent[0].one.name
        raise UserError(f"--check: {submissions / name} holds no submission to compare with; make it by leaving out --check")
    steps = [
        *(_calibration(asked.calibrate, snapshot, out) if asked.calibrate else ()),
        *(step for target in targets for step in _system_steps(target, asked, snapshot, out)),
        *(_bench(asked.bench, asked.calibrate, snapshot, out) if asked.bench and not check else ()),
    ]
    if asked.leaderboard and not check:
        steps.append(_site(asked.leaderboard.site, targets, out))
    return Plan(asked, out, targets, tuple(steps), tuple(_remarks(targets, submissions)), check)


def tell(plan: Plan) -> None:
    """The plan on stdout: what would be run, and what is done already."""
    steps = Steps(plan.out / "steps")
    for step in plan.steps:
        state = "stands" if steps.stands(step) else "to do"
        console.result(f"{state:7} {step.group or '-':12} {step.name:22} {step.command}")
    for remark in plan.remarks:
        console.result(f"note: {remark}")


def carry_out(plan: Plan, *, as_json: bool = False, execute: Execute = in_a_process) -> int:
    """Run what is not done yet, then print the table. 0, or 1 when a step failed or a check found a difference."""
    steps = Steps(plan.out / "steps")
    n_standing = sum(steps.stands(step) for step in plan.steps)
    console.note(f"{len(plan.steps)} steps, {n_standing} of them done; runs, logs and stamps: {plan.out}")
    for remark in plan.remarks:
        console.note(f"note: {remark}")
    for target in plan.targets:
        codec.write_atomic(_about(plan.out, target), codec.to_json(target.one.about, indent=1) + "\n")
    ended = steps.run(plan.steps, execute, console.note)
    failed = [one for one in ended if not one.ok and one.code is not None]
    ready = [t for t in plan.targets if (t.final / SUBMISSION).is_file() and _is_done(t, ended)]
    unlike = list(_unlike(plan, ready)) if plan.check else []
    standings.report(
        {t.one.name: t.final / SUBMISSION for t in ready},
        plan.recipe.baseline,
        failed=[
            f"{one.step.group or 'all'}: {one.step.name}: exit code {one.code}, see {steps.log(one.step)}" for one in failed
        ],
        unlike=unlike if plan.check else None,
        site=_site_page(plan) if not plan.check else None,
        as_json=as_json,
    )
    return 1 if failed or unlike else 0


def _target(one: SystemRecipe, out: Path, submissions: Path, *, check: bool) -> Target:
    whole = one.limit is None
    final = out / "check" / one.name if check else submissions / one.name if whole else out / "part" / one.name
    return Target(one, out / "runs" / one.name, final if one.text else out / "made" / one.name, final, whole)


def _remarks(targets: tuple[Target, ...], submissions: Path) -> Iterator[str]:
    for target in targets:
        one = target.one
        if "closed_book" in one.variants and not one.remembers:
            yield f"{one.name}: no closed book, for it writes nothing that is not in the evidence"
        if not target.whole:
            yield f"{one.name}: the first {one.limit} events are no submission, so nothing is written to {submissions}"


def _system_steps(target: Target, asked: Recipe, snapshot: Snapshot, out: Path) -> Iterator[Step]:
    """Write and score, its variants, and the submission of that."""
    one, data = target.one, str(snapshot.root)
    pages = (snapshot.root / "wiki", snapshot.root / "google")

    def scored(name: str, run: Path, *words: str) -> Step:
        return Step(
            one.name,
            name,
            ("evaluate", *words, "--data", data, "--out", str(run)),
            reads=pages,
            writes=(run / SUBMISSION,),
            accepted=(0, 1),  # 1: some events failed; they are scored 0 and listed
        )

    calibration = _calibrated(one, asked.calibrate, out)
    yield scored("write and score", target.run, *_system(one), *calibration)
    variants = []
    if "leak_filter_off" in one.variants:
        run = target.run.with_name(f"{one.name}.leak_filter_off")
        yield scored(
            "without leak filter",
            run,
            *_system(one),
            *calibration,
            "--set",
            "evidence.leak_filter=false",
            "--as-in",
            str(target.run),
            "--no-floors",
        )
        variants.append(("leak_filter_off", run))
    if "closed_book" in one.variants and one.remembers:
        run = target.run.with_name(f"{one.name}.closed_book")
        yield scored("closed book", run, *_closed_book(one), *calibration, "--no-floors")
        variants.append(("closed_book", run))
    reads = (target.run / SUBMISSION, *(run / SUBMISSION for _, run in variants), _about(out, target))
    judging = [word for given in _of(one, "evaluation", "model") for word in ("--set", given)]
    told = [word for name, run in variants for word in ("--variant", f"{name}={run}")]
    # rescore replaces the submission.json that submit wrote, where both are one folder
    left = target.made / ("evidence.json" if one.text else SUBMISSION)
    yield Step(
        one.name,
        "submit",
        (
            "submit",
            str(target.run),
            "--out",
            str(target.made),
            "--replace",
            "--about",
            str(_about(out, target)),
            *told,
            *judging,
        ),
        reads=reads,
        writes=(left,),
    )
    rescored = ("--write",) if one.text else ("--strip", str(target.final), "--replace")
    yield Step(
        one.name,
        "score again",
        ("rescore", str(target.made), "--data", data, *rescored, *judging),
        reads=(*reads, *pages),
        writes=(target.final / SUBMISSION, target.final / "rescored.json"),
    )
    if target.whole:
        yield Step(
            one.name, "validate", ("validate", str(target.final), "--data", data), reads=(*reads, target.final / SUBMISSION)
        )


def _system(one: SystemRecipe) -> list[str]:
    words = ["--system", one.runs, "--track", one.track]
    given = (("--model", one.model), ("--decoding", one.decoding), ("--split", one.split))
    words += [word for flag, value in given if value for word in (flag, str(value))]
    words += ["--limit", str(one.limit)] if one.limit is not None else []
    return words + [word for assignment in one.assignments for word in ("--set", assignment)]


def _closed_book(one: SystemRecipe) -> list[str]:
    """The same model, without evidence."""
    return _system(replace(one, system="closed_book"))


def _of(one: SystemRecipe, *sections: str) -> list[str]:
    return [given for given in one.assignments if given.partition(".")[0] in sections]


def _about(out: Path, target: Target) -> Path:
    return out / "about" / f"{target.one.name}.json"


def _folder_of(model: str) -> str:
    """A model as the decoder's own commands name it."""
    return model.removeprefix("hf:")


def _prompts(split: str, limit: int | None, snapshot: Snapshot, out: Path) -> Step:
    path = out / f"prompts-{split}.jsonl"
    part = () if limit is None else ("--limit", str(limit))
    words = ("prompts", "--split", split, "--data", str(snapshot.root), "--out", str(path), *part)
    return Step(
        "decoder", f"prompts of {split}", words, reads=(snapshot.root / "wiki", snapshot.root / "google"), writes=(path,)
    )


def _calibration(asked: Calibration, snapshot: Snapshot, out: Path) -> Iterator[Step]:
    prompts = _prompts(asked.split, asked.limit, snapshot, out)
    yield prompts
    most = () if asked.max_prompts is None else ("--max-prompts", str(asked.max_prompts))
    where = out / "calibration"
    words = ("--model", _folder_of(asked.model), "--prompts", str(prompts.writes[0]), "--out", str(where), *most)
    yield Step("decoder", "calibrate", words, reads=prompts.writes, writes=(where / "meta.json",), module="decoding.calibrate")


def _calibrated(one: SystemRecipe, calibration: Calibration | None, out: Path) -> tuple[str, ...]:
    model = one.model or (DEFAULT_MODEL if one.runs == "ours" else "")
    if calibration is None or model != calibration.model:
        return ()
    return ("--set", f"decoding.calibration={out / 'calibration'}")


def _bench(asked: Bench, calibration: Calibration | None, snapshot: Snapshot, out: Path) -> Iterator[Step]:
    prompts = replace(_prompts(asked.split, asked.limit, snapshot, out), group="bench")
    yield prompts
    words = ["--model", _folder_of(asked.model), "--prompts", str(prompts.writes[0]), "--methods", ",".join(asked.methods)]
    given = (("--repetitions", asked.repetitions), ("--max-new-tokens", asked.max_new_tokens))
    words += [word for flag, value in given if value is not None for word in (flag, str(value))]
    words += ["--against", ",".join(asked.against)] if asked.against else []
    if calibration is not None and calibration.model == asked.model:
        words += ["--calibration", str(out / "calibration")]
    where = out / "bench"
    yield Step(
        "bench",
        "bench",
        (*words, "--out", str(where)),
        reads=prompts.writes,
        writes=(where / "bench.json",),
        module="decoding.bench",
    )


def _site(site: str, targets: tuple[Target, ...], out: Path) -> Step:
    """Of the folder of submissions, or where all are parts of a split, of those parts."""
    whole = [target for target in targets if target.whole]
    folder = (whole or targets)[0].final.parent
    where = Path(site) if whole else out / "site"
    return Step(
        "leaderboard",
        "leaderboard",
        ("leaderboard", str(folder), "--html", str(where)),
        reads=tuple(target.final / SUBMISSION for target in targets if target.final.parent == folder),
        writes=(where / "index.html",),
    )


def _site_page(plan: Plan) -> Path | None:
    pages = [path for step in plan.steps if step.name == "leaderboard" for path in step.writes if path.is_file()]
    return pages[0] if pages else None


def _is_done(target: Target, ended: list[Ended]) -> bool:
    return all(one.ok for one in ended if one.step.group == target.one.name)


def _unlike(plan: Plan, ready: list[Target]) -> Iterator[str]:
    """The new submission against that in the folder of submissions; a part of a split by its events alone."""
    from benchmark.submissions import folder, submission
    from benchmark.submissions.agreement import disagreements, row_disagreements

    for target in ready:
        there = Path(plan.recipe.submissions) / target.one.name
        old, new = submission.read(there / SUBMISSION), submission.read(target.final / SUBMISSION)
        compare = disagreements if target.whole else row_disagreements
        yield from (f"{target.one.name}: {line}" for line in compare(old, new))
        digests, others = (folder.digests_of(folder.read_evidence(place)) for place in (there, target.final))
        for event_id in sorted(others if target.whole else digests.keys() & others.keys()):
            if digests.get(event_id) != others[event_id]:
                yield f"{target.one.name}: event {event_id}: its pages are not the same, so the data or their cleaning differ"


__all__ = ["Plan", "carry_out", "planned", "tell"]
