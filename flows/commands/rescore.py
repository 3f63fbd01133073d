"""Score a submission again from its articles, so that nothing of it has to be believed.

    wikigenben rescore submissions/extractive --data wikigenbench/data
    wikigenben rescore submissions/extractive --data wikigenbench/data --write
    wikigenben rescore full/extractive --data wikigenbench/data --strip submissions/extractive

The evidence is cleaned anew from the data and must have the hashes of evidence.json; the cited passages must be in it. All
means, intervals, rows, strata, floors and ceilings are computed from that. FOLDER/rescored.json says when, by which commit and
from which data, and what differed. With --write they replace what submission.json says, and the judge's verdicts what results/
says; --strip writes them into another folder, which holds hashes in place of all text. Both are noted in scored-here.json,
beside the folder and not in it: the leaderboard ranks by that note alone, for a folder can say anything of itself. Variants and
cost stay as submitted. Exit code: 0 same numbers, 1 some differ by more than 1e-6 (each is printed), 2 wrong input.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from data.settings import add_setting_flags, load_settings

if TYPE_CHECKING:
    from benchmark.strata import Traits
    from benchmark.submissions.folder import EvidencePage, JudgedSentence
    from benchmark.submissions.submitted import Submission, SubmittedJudge, SubmittedStratum
    from data.runs import RunFolder
    from data.scores import EventScores, SystemScores
    from data.settings import Settings
    from data.snapshot import Snapshot
    from data.types import Article, Event, Page, Section, Source
    from eval.judges.judge import Judge
    from eval.metric import Metric


@dataclass(frozen=True, slots=True)
class Rescored:
    """`differences` say what the submitter had otherwise. Scores, rows, strata, floors, ceilings, judges and the list of events
    are computed here; what cannot be (the description of the system, its cost, variants, notes) stays as submitted.
    `data_sha256` is of all that was scored against; `results` has the judge's verdicts on each article, where the metrics have
    a judge."""

    submission: Submission
    differences: tuple[str, ...]
    data_sha256: str
    results: Mapping[str, Sequence[JudgedSentence]]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben rescore", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="submission folder with articles")
    parser.add_argument("--data", required=True, metavar="DIR", help="benchmark folder, or: sample")
    parser.add_argument("--write", action="store_true", help="replace submission.json by the computed one")
    parser.add_argument(
        "--strip", type=Path, metavar="OUT", help="write the computed submission there, with hashes in place of text"
    )
    parser.add_argument("--replace", action="store_true", help="with --strip: an older submission in OUT is replaced")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout")
    add_setting_flags(parser)
    arguments = parser.parse_args(argv)

    from flows.showing.console import guarded

    def run() -> int:
        from benchmark.submissions import folder
        from data.locate import locate
        from data.snapshot import Snapshot
        from flows.showing import console
        from flows.wiring.judges import judge_card
        from flows.wiring.metrics import build_metrics, floors_folder
        from flows.wiring.page_sources import build_collect

        if arguments.replace and arguments.strip is None:
            raise UserError("--replace is about the folder that --strip writes; name one")
        if arguments.strip is not None:
            folder.clear(arguments.strip) if arguments.replace else folder.must_be_empty(arguments.strip)
        snapshot = Snapshot(locate(arguments.data))
        made = readable(arguments.folder)
        settings = with_evidence_of(made, load_settings(arguments.config, arguments.assignments))
        found = rescore(
            arguments.folder,
            made,
            snapshot,
            build_metrics(settings),
            build_collect(snapshot, settings),
            kept_floors=floors_folder(),
            card=judge_card,
        )
        told = written(arguments.folder, found, write=arguments.write, strip=arguments.strip)
        if arguments.json:
            console.result_json({"written": str(told[-1]), "differences": list(found.differences)})
        else:
            for line in found.differences:
                console.result(line)
            outcome = f"{len(found.differences)} differences" if found.differences else "the same numbers"
            console.result(f"{told[-1]}: {outcome}; {found.submission.data.n_events} events scored again")
        return 1 if found.differences else 0

    return guarded(run)


def written(folder: Path, found: Rescored, *, write: bool, strip: Path | None) -> list[Path]:
    """The files that now hold the computed values, the record in `folder` first."""
    from benchmark.submissions import folder as files
    from benchmark.submissions import submission
    from benchmark.submissions.ledger import note_scored
    from benchmark.submissions.records import write_record

    places = [folder / files.RESCORED]
    if write:
        submission.write(folder / files.SUBMISSION, found.submission)
        files.write_results(folder, found.results)
        places.append(folder / files.SUBMISSION)
    record = write_record(folder, found.submission, found.data_sha256, found.differences)
    if write:
        note_scored(folder, record)
    if strip is not None:
        files.write_hashes(found.submission, files.read_evidence(folder), strip)
        note_scored(strip, write_record(strip, found.submission, found.data_sha256, found.differences))
        places.append(strip / files.SUBMISSION)
    return places


def readable(folder: Path) -> Submission:
    """The submission of a folder whose articles can be scored again: its claims may be wrong, its files not."""
    from benchmark.submissions import folder as files
    from benchmark.submissions import submission, submission_faults

    path = folder / files.SUBMISSION
    made = submission.read(path)
    if not made.events or any(not submission_faults.is_file_name(event.id) for event in made.events):
        raise UserError(f"{path} lists no events that could be scored; see: wikigenben validate {folder}")
    if made.profile.resamples not in submission_faults.RESAMPLES or made.profile.seed < 0:
        raise UserError(f"{path} has intervals that cannot be computed again; see: wikigenben validate {folder}")
    if made.system.evidence_track not in ("search", "cited", "both"):
        raise UserError(f"{path}: there is no track {made.system.evidence_track!r}; see: wikigenben validate {folder}")
    if (source := made.system.settings.get("source")) in ("links", "search"):
        raise UserError(
            f"{folder} was written from live pages (--evidence {source}), which no benchmark folder holds, so nothing can be "
            f"computed again; check what it says with: wikigenben validate {folder}"
        )
    if not files.has_articles(folder):
        raise UserError(
            f"{folder} holds hashes in place of articles, so nothing can be computed again from it; "
            "compare it with articles written anew: wikigenben reproduce FILE.toml --check"
        )
    return made


def with_evidence_of(made: Submission, settings: Settings) -> Settings:
    """The settings, with the evidence that the submission says it was written from."""
    languages = tuple(code for code in made.system.settings.get("languages", "").split(",") if code)
    evidence = replace(
        settings.evidence,
        track=made.system.evidence_track,  # type: ignore[arg-type]
        leak_filter=made.data.leak_filter,
        languages=languages or settings.evidence.languages,
    )
    return replace(settings, evidence=evidence)


def rescore(
    folder: Path,
    made: Submission,
    snapshot: Snapshot,
    metrics: Sequence[Metric],
    collect: Callable[[Event], tuple[Page, ...]],
    *,
    kept_floors: Path | None = None,
    card: Callable[[Judge], dict[str, Any]] = lambda judge: {},
) -> Rescored:
    """Every row and mean computed again. Raises UserError when articles or evidence are not those that were scored.

    `kept_floors` is a folder as of `benchmark.floors.score_floors`; `card` says how good a judge is.
    """
    from benchmark.scoring import score_run, system_scores
    from benchmark.strata import read_traits
    from benchmark.submissions.agreement import disagreements
    from benchmark.submissions.records import data_sha256
    from benchmark.submissions.submission import judges_of
    from benchmark.submissions.verdicts import verdicts
    from data.runs import RunFolder

    given = {event.id: event for event in made.events}
    with TemporaryDirectory() as place:
        run = RunFolder(Path(place))
        pages, false_sources = _restored(run, folder, made, snapshot, collect)
        rows = [_as_listed(row, given[row.id]) for row in score_run(run, snapshot, list(given), metrics, collect)]
        results = verdicts(run, made, metrics)
        traits = read_traits(run, snapshot, given, collect) if made.strata else {}
        beside = _floors(run, made, snapshot, metrics, collect, kept_floors) if made.floors or made.ceilings else {}
    scores = system_scores(
        made.system.name,
        made.system.evidence_track,
        made.data.split,
        rows,
        metrics,
        resamples=made.profile.resamples,
        seed=made.profile.seed,
    )
    again = _built(made, scores, snapshot, judges_of(metrics, card), beside)
    again = replace(again, strata=_strata(traits, rows, again))
    differences = (*false_sources, *disagreements(made, again), *_other_verdicts(folder, results))
    return Rescored(again, differences, data_sha256(snapshot, pages), results)


def _other_verdicts(folder: Path, computed: Mapping[str, Sequence[JudgedSentence]]) -> list[str]:
    """Where results/ says otherwise than the judge does here."""
    from benchmark.submissions import folder as files

    given = {path.stem: files.read_results(folder, path.stem) for path in sorted((folder / files.RESULTS).glob("*.json"))}
    said = []
    for event_id, claimed in given.items():
        true = computed.get(event_id, ())
        n = len(set(claimed) ^ set(true))
        said += [f"{files.RESULTS}/{event_id}.json: {n} verdicts are not the judge's"] if n else []
    return said


def _restored(
    run: RunFolder,
    folder: Path,
    made: Submission,
    snapshot: Snapshot,
    collect: Callable[[Event], tuple[Page, ...]],
) -> tuple[dict[str, tuple[Page, ...]], list[str]]:
    """The articles as a run leaves them, with sources that are in the evidence; the pages by event, and false sources."""
    from benchmark.submissions import folder as files

    listed = files.read_evidence(folder).events
    found: dict[str, tuple[Page, ...]] = {}
    false_sources: list[str] = []
    for event in made.events:
        if not event.article_sha256 and not listed.get(event.id):
            continue  # it failed before it had any evidence
        pages = found[event.id] = _same_pages(snapshot, event.id, listed.get(event.id, ()), collect)
        if event.article_sha256:
            article, wrong = honest(files.read_article(folder, event), pages, may_bring_own=made.system.uses_web)
            false_sources += wrong
            _restore(run, event.id, article, pages)
    return found, false_sources


def _built(
    made: Submission,
    scores: SystemScores,
    snapshot: Snapshot,
    judging: tuple[tuple[SubmittedJudge, ...], dict[str, str]],
    beside: Mapping[str, Mapping[str, float]],
) -> Submission:
    from benchmark.floors import CEILINGS, FLOORS
    from benchmark.submissions.submission import build

    judges, judged = judging
    again = build(
        scores,
        made.system,
        benchmark="sample" if snapshot.is_sample else "wikigenbench",
        leak_filter=made.data.leak_filter,
        resamples=made.profile.resamples,
        seed=made.profile.seed,
        cost=made.cost,
        created=made.created,
        revision=made.data.revision,
        evidence_filter=made.data.evidence_filter,
        judges=[judge if judge.card else _with_card(judge, made.judges) for judge in judges],
        judged=judged,
        floors={name: beside[name] for name in FLOORS if name in beside},
        ceilings={name: beside[name] for name in CEILINGS if name in beside},
    )
    return replace(again, notes=made.notes, variants=made.variants, recomputed=True)


def _with_card(judge: SubmittedJudge, said: Sequence[SubmittedJudge]) -> SubmittedJudge:
    """Its card as the submission has it, where none is known here."""
    return next((one for one in said if replace(one, card={}) == judge), judge)


def _strata(traits: Mapping[str, Traits], rows: Sequence[EventScores], again: Submission) -> dict[str, SubmittedStratum]:
    from benchmark.strata import stratify
    from benchmark.submissions.submission import submitted_strata

    cut = stratify(traits, rows, resamples=again.profile.resamples, seed=again.profile.seed)
    return submitted_strata(cut, again.scores)


def _floors(
    run: RunFolder,
    made: Submission,
    snapshot: Snapshot,
    metrics: Sequence[Metric],
    collect: Callable[[Event], tuple[Page, ...]],
    kept: Path | None,
) -> dict[str, dict[str, float]]:
    """Floors and ceilings of the events, on the evidence that was cleaned here."""
    from benchmark import floors

    ids = [event.id for event in made.events]
    return floors.means(floors.score_floors(run, snapshot, ids, metrics, collect, seed=made.profile.seed, kept=kept))


def _same_pages(
    snapshot: Snapshot, event_id: str, listed: Sequence[EvidencePage], collect: Callable[[Event], tuple[Page, ...]]
) -> tuple[Page, ...]:
    """The event's pages, cleaned here. Raises UserError when they are not those that the submission lists."""
    from benchmark.submissions.folder import EVIDENCE, evidence_pages
    from data.errors import StageError

    try:
        pages = collect(snapshot.event(event_id))
    except StageError as error:
        raise UserError(f"event {event_id} cannot be scored again: {error.why}") from None
    here, there = evidence_pages(pages, None), tuple(page for page in listed if not page.own)
    if here != there:
        n = next((n for n, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), min(len(here), len(there)))
        said, found = (f"{p[n].url[:80]!r} {p[n].sha256[:16]}" if n < len(p) else "nothing" for p in (there, here))
        raise UserError(
            f"{EVIDENCE}: page {n} of event {event_id} is {said}, and cleaned from {snapshot.root} it is {found}: other data, "
            "track, leak filter or version of this package; name the data that the submission was written from with --data DIR"
        )
    return pages


def honest(article: Article, pages: Sequence[Page], *, may_bring_own: bool) -> tuple[Article, list[str]]:
    """The article with the sources that are in the pages, each with its page's own address and title; citations of others
    become invalid. And the reasons for those."""
    from data.markup import INVALID

    kept: dict[str, tuple[str, Source | None]] = {}
    wrong: list[str] = []
    for k, source in enumerate(article.sources, 1):
        passage = source.passage
        page = pages[passage.page] if 0 <= passage.page < len(pages) else None
        if page is None and may_bring_own:
            kept[source.id] = (source.id, source)
        elif page is not None and page.usable and page.text[passage.start : passage.end] == passage.text:
            true = replace(source, url=page.url, title=page.title, published=page.published)
            kept[source.id] = (source.id, true)
            if true != source:
                wrong.append(f"articles/{article.event_id}.json: source {source.id!r} has another title, address or date")
        else:
            kept[source.id] = (f"{INVALID}{k}", None)
            wrong.append(f"articles/{article.event_id}.json: source {source.id!r} is not in page {passage.page}")
    return _with_sources(article, kept), wrong


def _with_sources(article: Article, kept: Mapping[str, tuple[str, Source | None]]) -> Article:
    def section(old: Section) -> Section:
        paragraphs = tuple(
            tuple(replace(s, cites=tuple(kept[c][0] if c in kept else c for c in s.cites)) for s in paragraph)
            for paragraph in old.paragraphs
        )
        return replace(old, paragraphs=paragraphs)

    return replace(
        article,
        lead=section(article.lead),
        sections=tuple(section(old) for old in article.sections),
        sources=tuple(source for _, source in kept.values() if source is not None),
    )


def _restore(run: RunFolder, event_id: str, article: Article, pages: tuple[Page, ...]) -> None:
    """As a run leaves an event that was written."""
    from data.stage_types import ARTICLE

    folder = run.event(event_id)
    folder.pages(lambda: pages)
    folder.once(ARTICLE, lambda: article)


def _as_listed(row: EventScores, event: EventScores) -> EventScores:
    """The row under the hash of the file that was submitted; why an event failed is known to the submitter alone."""
    return replace(row, article_sha256=event.article_sha256, reason=event.reason if row.status == "failed" else row.reason)
