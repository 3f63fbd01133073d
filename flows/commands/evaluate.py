"""Score a system: write missing articles, score every event, print a table, write submission.json.

    python -m benchmark.evaluate --system extractive --split sample
    python -m benchmark.evaluate --system extractive --data wikigenbench/data
    python -m benchmark.evaluate --system ours --model hf:models/qwen3-4b --data wikigenbench/data --limit 20
    python -m benchmark.evaluate --articles my-articles --name mine --data wikigenbench/data

The last one scores articles made elsewhere: <event id>.json files in WikiGenBench's own form, {"text", "retrieve"}.
A failed or missing event counts as 0 where 0 is worst and is listed; it is never dropped. Exit code: 0 done, 1 some events
failed, 2 wrong input, 3 no evidence at all, 130 interrupted.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import UserError
from flows.commands.arguments import add_job_flags, job_from
from flows.showing.console import guarded

if TYPE_CHECKING:
    from benchmark.submissions.made_elsewhere import Oddities
    from benchmark.submissions.statement import Statement
    from benchmark.submissions.submitted import Submission
    from flows.job import Job
    from flows.run_events import Write
    from flows.run_scores import Evaluated
    from flows.wiring.prepared import Prepared


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben evaluate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_job_flags(parser, system_default=None, system_required=False)
    shown = parser.add_argument_group("the metrics beside the scores")
    shown.add_argument("--all", action="store_true", help="print all metrics, not the headline alone")
    shown.add_argument("--strata", action="store_true", help="also print the headline metrics by kind of event")
    shown.add_argument(
        "--no-floors", action="store_true", help="without floors and ceilings, which take a while the first time"
    )
    parser.add_argument(
        "--as-in",
        type=Path,
        metavar="RUN",
        help="take over the articles of this run of the same system, with another leak filter, where the pages are the same",
    )
    elsewhere = parser.add_argument_group("articles made elsewhere, in place of --system")
    elsewhere.add_argument("--articles", type=Path, metavar="DIR", help="folder of <event id>.json files, {text, retrieve}")
    elsewhere.add_argument("--name", default="articles", help="of the system that wrote them (default: articles)")
    elsewhere.add_argument(
        "--about", type=Path, metavar="FILE", help="what to say of that system, as TOML; see benchmark.submissions.statement"
    )
    arguments = parser.parse_args(argv)
    if (arguments.system is None) is (arguments.articles is None):
        parser.error("name either --system or --articles")

    def run() -> int:
        from flows.reproducing import adopting
        from flows.run_scores import evaluate, report
        from flows.wiring.prepared import prepare

        if arguments.articles is None:
            if arguments.about is not None:
                raise UserError("--about goes with --articles; a run of --system is described at wikigenben submit")
            prepared = prepare(job_from(arguments))
            if arguments.as_in is not None:
                adopting.adopt(prepared, arguments.as_in)
            evaluated = evaluate(prepared, with_floors=not arguments.no_floors)
        elif arguments.as_in is not None:
            raise UserError(f"the articles of --articles are written already; drop --as-in {arguments.as_in}")
        else:
            evaluated = _score_files(arguments)
        report(evaluated, as_json=arguments.json, with_strata=arguments.strata, everything=arguments.all)
        return evaluated.generated.exit_code

    return guarded(run)


def articles(
    folder: str | Path,
    *,
    name: str = "articles",
    data: str | None = None,
    out: Path | None = None,
    track: str = "search",
    with_floors: bool = True,
) -> Evaluated:
    """Score a folder of articles, as `--articles` does: `.scores` has the estimates, `.submission` the path of the file."""
    from data.settings import load_settings
    from flows.job import Job

    return evaluate_files(
        Path(folder), Job(name, load_settings(evidence={"track": track}), data=data, out=out), with_floors=with_floors
    )


def evaluate_files(
    folder: Path, job: Job, said: Statement | None = None, write: Write | None = None, *, with_floors: bool = True
) -> Evaluated:
    """`job.system` is the name that the articles' system gets. Raises UserError for what the caller can fix."""
    from benchmark.submissions import submission
    from benchmark.submissions.made_elsewhere import ArticleFiles
    from benchmark.submissions.submission_faults import imitated, is_file_name, unshowable
    from data.locate import locate
    from data.snapshot import Snapshot
    from flows import run_events
    from flows.job import SYSTEMS
    from flows.run_scores import evaluate
    from flows.showing import console
    from flows.wiring.prepared import prepare

    if imitated(job.system) or unshowable(job.system) or not is_file_name(job.system):
        raise UserError(
            f"--name {job.system!r} cannot be the name of these articles; choose one of letters, digits, '-' and '_' that "
            f"is no system of this package ({', '.join(SYSTEMS)})"
        )
    if job.settings.evidence.source != "recorded":
        raise UserError(
            f"articles made elsewhere are scored against the recorded pages; drop --evidence {job.settings.evidence.source}"
        )
    files = ArticleFiles(folder, job.system)
    snapshot = Snapshot(locate(job.data))
    foreign = sorted(set(files.event_ids) - set(snapshot.ids(job.settings.evidence.track)))
    if len(foreign) == len(files.event_ids):
        raise UserError(
            f"no file in {folder} has the name of an event of {snapshot.root} ({foreign[0]}.json is none); "
            f"list them with: wikigenben events --data {snapshot.root}"
        )
    if foreign:
        console.note(f"{len(foreign)} files name no event of {snapshot.root} and are not read: {', '.join(foreign[:5])}")
    prepared = prepare(job, files)
    evaluated = evaluate(prepared, write or run_events.one_by_one, with_floors=with_floors)
    with prepared.run.locked():
        submission.write(evaluated.submission, _described(submission.read(evaluated.submission), prepared, said))
    return evaluated


def _score_files(arguments: argparse.Namespace) -> Evaluated:
    from benchmark.submissions import statement

    for flag in ("model", "decoding", "seed"):
        if getattr(arguments, flag) is not None:
            raise UserError(f"the articles of --articles are written already; drop --{flag} {getattr(arguments, flag)}")
    arguments.system = arguments.name
    said = statement.read(arguments.about) if arguments.about is not None else None
    return evaluate_files(arguments.articles, job_from(arguments), said, with_floors=not arguments.no_floors)


def _described(made: Submission, prepared: Prepared, said: Statement | None) -> Submission:
    """An article made elsewhere cost nothing here, and its system is known only by its description."""
    from benchmark.submissions.made_elsewhere import remarks
    from benchmark.submissions.statement import Statement, joined
    from benchmark.submissions.submitted import SubmittedCost
    from flows.showing import console

    found = _oddities(prepared)
    for line in remarks(found):
        console.note(line)
    n_own, n_sources = (sum(getattr(one, name) for one in found.values()) for name in ("n_own", "n_sources"))
    if n_own:
        console.note(
            f"{n_own} of {n_sources} cited texts are in no usable page of {prepared.snapshot.root}: the system used evidence "
            "that others did not see, so it is marked uses_web and ranked apart"
        )
    n_written = sum(event.status == "ok" for event in made.events)
    bare = replace(made, system=replace(made.system, version="", extractive=False), cost=SubmittedCost(0.0, n_written))
    full = joined(bare, said or Statement())
    return replace(full, system=replace(full.system, uses_web=full.system.uses_web or n_own > 0))


def _oddities(prepared: Prepared) -> dict[str, Oddities]:
    """Of each article, by event id."""
    from benchmark.submissions.made_elsewhere import oddities

    found = {}
    for event_id in prepared.ids:
        folder = prepared.run.event(event_id)
        article = folder.article()
        if article is not None:
            pages = folder.stored_pages()
            n_pages = len(prepared.pages_to_score(prepared.snapshot.event(event_id)) if pages is None else pages)
            found[event_id] = oddities(article, n_pages)
    return found
