"""Make the submission folder of a finished run: submission.json, evidence.json, the articles, and the verdict on each claim.

    wikigenben submit runs/extractive-full-search --out submissions/extractive
    wikigenben submit runs/ours-full-search --out submissions/ours --about about.toml --hash-only
    wikigenben submit runs/ours --out submissions/ours --variant leak_filter_off=runs/ours-unfiltered

`--about` is what only you can say of the system (benchmark.submissions.statement); `--hash-only` leaves out all text, where
rights in the evidence forbid passing it on: such a submission cannot be scored again and is not ranked (`wikigenben rescore
--strip` leaves the text out afterwards). The folder is checked as `wikigenben validate` does. Exit code: 0 done, 2 wrong input
or an invalid submission.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from data.settings import add_setting_flags, load_settings

if TYPE_CHECKING:
    from benchmark.submissions.submitted import Submission, SubmittedCost, VariantScore
    from data.runs import RunFolder
    from eval.judges.judge import Judge
    from eval.metric import Metric

CLOSED_BOOK = "closed_book"
"""The variant, and the name of the system that makes it: the model writes what it remembers."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben submit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="run folder that benchmark.evaluate has scored")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="submission folder to make; must be new")
    parser.add_argument("--replace", action="store_true", help="an older submission in --out is replaced")
    parser.add_argument("--about", type=Path, metavar="FILE", help="what to say of the system, as TOML")
    parser.add_argument("--hash-only", action="store_true", help="no articles: their hashes stay")
    parser.add_argument(
        "--variant", action="append", default=[], metavar="NAME=RUN", help="scores of the same system run otherwise"
    )
    add_setting_flags(parser)
    arguments = parser.parse_args(argv)

    from flows.showing.console import guarded

    def run() -> int:
        from benchmark.submissions import folder, statement
        from benchmark.submissions.verdicts import verdicts
        from data.runs import RunFolder
        from flows.showing import console
        from flows.wiring.judges import judge_card
        from flows.wiring.metrics import build_metrics

        metrics = build_metrics(load_settings(arguments.config, arguments.assignments))
        source = RunFolder(arguments.run)
        said = statement.read(arguments.about) if arguments.about is not None else statement.Statement()
        made = statement.joined(completed(source, scored(source.path, metrics, str(source.path)), metrics, judge_card), said)
        made = replace(made, variants={**made.variants, **_variants(arguments.variant, made)})
        results = None if arguments.hash_only else verdicts(source, made, metrics)
        if arguments.replace:
            folder.clear(arguments.out)
        folder.write(source, made, arguments.out, results)
        found = folder.check(arguments.out)
        for line in found.notes:
            console.note(f"note: {line}")
        for line in found.problems:
            console.result(line)
        console.result(f"{arguments.out}: {made.system.name} on {made.data.n_events} events of split {made.data.split!r}")
        if found.problems:
            console.note("this submission is not valid; name the missing parts with --about, or evaluate the run again")
        return 2 if found.problems else 0

    return guarded(run)


def scored(run: Path, metrics: Sequence[Metric], where: str = "") -> Submission:
    """The run's submission.json. Raises UserError, calling the run `where`, if there is none, or other metrics made it."""
    from benchmark.scoring import signature
    from benchmark.submissions import folder, submission

    path, where = run / folder.SUBMISSION, where or str(run)
    if not path.exists():
        raise UserError(f"{where} holds no {folder.SUBMISSION}; score it first with: wikigenben evaluate --out {where} ...")
    made = submission.read(path)
    if made.profile.signature != signature(metrics):
        raise UserError(
            f"{where} was scored with other metrics than these; score it again: wikigenben evaluate --out {where}, or "
            "give the settings it was scored with (--set evaluation.judge=...)"
        )
    return made


def completed(
    run: RunFolder, made: Submission, metrics: Sequence[Metric], card: Callable[[Judge], dict[str, Any]] = lambda judge: {}
) -> Submission:
    """With what the run folder and the metrics say beyond the rows: judges and their cards, the leak filter at work, speed."""
    from benchmark.leaks import filter_used
    from benchmark.submissions.submission import judges_of

    judges, judged = judges_of(metrics, card)
    used = filter_used(run, [event.id for event in made.events], on=made.data.leak_filter)
    return replace(
        made,
        judges=judges,
        scores={name: replace(score, judge=score.judge or judged.get(name, "")) for name, score in made.scores.items()},
        data=replace(made.data, evidence_filter=made.data.evidence_filter or used),
        cost=_with_speed(run, made),
    )


def _with_speed(run: RunFolder, made: Submission) -> SubmittedCost:
    usages = [s.usage for event in made.events if (s := run.event(event.id).stats()) is not None and s.usage is not None]
    seconds = sum(usage.stats.total_s for usage in usages)
    if made.cost.tokens_per_s is not None or not seconds:
        return made.cost
    return replace(made.cost, tokens_per_s=round(sum(usage.n_new_tokens for usage in usages) / seconds, 3))


def _variants(named: Sequence[str], made: Submission) -> Mapping[str, dict[str, VariantScore]]:
    from benchmark.submissions import folder, submission, submission_faults, submitted
    from data.runs import RunFolder

    found = {}
    for assignment in named:
        name, equals, path = assignment.partition("=")
        if not equals or not name or not path:
            raise UserError(f"--variant {assignment!r} is not of the form NAME=RUN")
        other = submission.read(RunFolder(Path(path)).path / folder.SUBMISSION)
        if problems := submission_faults.problems(other):
            raise UserError(f"--variant {name}: {problems[0]}")
        if not _of_the_same(name, other, made) or other.data.ids_sha256 != made.data.ids_sha256:
            raise UserError(
                f"--variant {name}: {path} is of {other.system.name} on {other.data.n_events} events, not of "
                f"{made.system.name} on the same {made.data.n_events}"
            )
        found[name] = {metric: submitted.VariantScore(score.mean, score.ci95) for metric, score in other.scores.items()}
    return found


def _of_the_same(variant: str, other: Submission, made: Submission) -> bool:
    """The same system, or for `closed_book` the same model writing from the title alone."""
    if variant != CLOSED_BOOK:
        return other.system.name == made.system.name
    return other.system.name == CLOSED_BOOK and bool(_writers(made)) and _writers(other) == _writers(made)


def _writers(made: Submission) -> set[tuple[str, str]]:
    return {(model.name, model.revision) for model in made.system.models if model.role == "writer"}
