"""Score a submission again from its articles, so that nothing of it has to be believed.

    python -m benchmark.rescore submissions/extractive --data wikigenbench/data
    python -m benchmark.rescore submissions/extractive --data wikigenbench/data --write

The evidence is cleaned anew from the data and must have the hashes of evidence.json; the cited passages must stand in it. All
means, intervals and rows are computed from that and written to FOLDER/rescored.json, or with --write in place of what
submission.json says, with `recomputed: true`; only that is ranked. Exit code: 0 same numbers, 1 some differ by more than 1e-6
(each is printed), 2 wrong input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from data.errors import UserError

if TYPE_CHECKING:
    from benchmark.folder import EvidencePage
    from benchmark.submission import Submission, SubmittedEvent, SubmittedScore
    from data.runs import RunFolder
    from data.scores import EventScores
    from data.settings import Settings
    from data.snapshot import Snapshot
    from data.types import Article, Event, Page, Section, Source
    from eval.metric import Metric


@dataclass(frozen=True, slots=True)
class Rescored:
    """`differences` say what the submitter had otherwise. Scores, rows, judges and the list of events are computed here; what
    cannot be (the description of the system, its cost, floors, ceilings, variants, notes) stays what was said."""

    submission: Submission
    differences: tuple[str, ...]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmark.rescore", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="submission folder with articles")
    parser.add_argument("--data", required=True, metavar="DIR", help="benchmark folder, or: sample")
    parser.add_argument("--write", action="store_true", help="replace submission.json in place of writing rescored.json")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as TOML")
    parser.add_argument(
        "--set", dest="assignments", action="append", default=[], metavar="SECTION.KEY=VALUE", help="one setting, as the judge"
    )
    arguments = parser.parse_args(argv)

    from flows.console import guarded

    def run() -> int:
        from benchmark import folder, submission
        from data.locate import locate
        from data.settings import load_settings
        from data.snapshot import Snapshot
        from flows import console
        from flows.wiring import build_collect, build_metrics

        snapshot = Snapshot(locate(arguments.data))
        made = readable(arguments.folder)
        settings = with_evidence_of(made, load_settings(arguments.config, arguments.assignments))
        found = rescore(arguments.folder, made, snapshot, build_metrics(settings), build_collect(snapshot, settings))
        path = arguments.folder / (folder.SUBMISSION if arguments.write else folder.RESCORED)
        submission.write(path, found.submission)
        if arguments.json:
            console.result_json({"written": str(path), "differences": list(found.differences)})
        else:
            for line in found.differences:
                console.result(line)
            told = f"{len(found.differences)} differences" if found.differences else "the same numbers"
            console.result(f"{path}: {told}; {found.submission.data.n_events} events scored again")
        return 1 if found.differences else 0

    return guarded(run)


def readable(folder: Path) -> Submission:
    """The submission of a folder whose articles can be scored again: its claims may be wrong, its files not."""
    from benchmark import folder as files
    from benchmark import submission

    path = folder / files.SUBMISSION
    made = submission.read(path)
    if not made.events or any(not submission.is_file_name(event.id) for event in made.events):
        raise UserError(f"{path} lists no events that could be scored; see: python -m benchmark.validate {folder}")
    if made.profile.resamples not in submission.RESAMPLES or made.profile.seed < 0:
        raise UserError(f"{path} has intervals that cannot be computed again; see: python -m benchmark.validate {folder}")
    if made.system.evidence_track not in ("search", "cited", "both"):
        raise UserError(f"{path}: there is no track {made.system.evidence_track!r}; see: python -m benchmark.validate {folder}")
    if not files.has_articles(folder):
        raise UserError(f"{folder} holds hashes in place of articles, so nothing can be computed again from it")
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
) -> Rescored:
    """Every row and mean computed again. Raises UserError when articles or evidence are not those that were scored."""
    from benchmark import folder as files
    from benchmark.scoring import score_run, system_scores
    from benchmark.strata import read_traits, stratify
    from benchmark.submission import SubmittedStratum, build, judges_of, submitted_score
    from data.runs import RunFolder

    listed, given = files.read_evidence(folder).events, {event.id: event for event in made.events}
    false_sources: list[str] = []
    with TemporaryDirectory() as place:
        run = RunFolder(Path(place))
        for event in given.values():
            if not event.article_sha256 and not listed.get(event.id):
                continue  # it failed before it had any evidence
            pages = _same_pages(snapshot, event.id, listed.get(event.id, ()), collect)
            if event.article_sha256:
                article, found = honest(files.read_article(folder, event), pages, may_bring_own=made.system.uses_web)
                false_sources += found
                _restore(run, event.id, article, pages)
        rows = [_as_listed(row, given[row.event_id]) for row in score_run(run, snapshot, list(given), metrics, collect)]
        traits = read_traits(run, snapshot, given, collect) if made.strata else {}
    profile, (judges, judged) = made.profile, judges_of(metrics)
    scores = system_scores(
        made.system.name,
        made.system.evidence_track,
        made.data.split,
        rows,
        metrics,
        resamples=profile.resamples,
        seed=profile.seed,
    )
    again = build(
        scores,
        made.system,
        benchmark="sample" if snapshot.is_sample else "wikigenbench",
        leak_filter=made.data.leak_filter,
        resamples=profile.resamples,
        seed=profile.seed,
        cost=made.cost,
        created=made.created,
        revision=made.data.revision,
        evidence_filter=made.data.evidence_filter,
        judges=[next((said for said in made.judges if replace(said, card={}) == judge), judge) for judge in judges],
        judged=judged,
        floors=made.floors,
        ceilings=made.ceilings,
    )
    strata = {
        kind: SubmittedStratum(
            one.events, {name: submitted_score(e, judged.get(name, "")) for name, e in one.estimates.items()}
        )
        for kind, one in stratify(traits, rows, resamples=profile.resamples, seed=profile.seed).items()
    }
    again = replace(again, notes=made.notes, variants=made.variants, strata=strata, recomputed=True)
    return Rescored(again, (*false_sources, *differences(made, again)))


def _same_pages(
    snapshot: Snapshot, event_id: str, listed: Sequence[EvidencePage], collect: Callable[[Event], tuple[Page, ...]]
) -> tuple[Page, ...]:
    """The event's pages, cleaned here. Raises UserError when they are not those that the submission lists."""
    from benchmark.folder import EVIDENCE, evidence_pages
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
    """The article with the sources that stand in the pages, each with its page's own address and title; citations of others
    become invalid. And what was wrong with those."""
    from data.markup import INVALID

    kept, wrong = {}, []
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
            wrong.append(f"articles/{article.event_id}.json: source {source.id!r} does not stand in page {passage.page}")
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
    folder = run.event(event_id)
    folder.pages(lambda: pages)
    folder.once("article", type(article), lambda: article)


def _as_listed(row: EventScores, event: SubmittedEvent) -> EventScores:
    """The row under the hash of the file that was submitted; why an event failed is known to the submitter alone."""
    return replace(row, article_sha256=event.article_sha256, reason=event.reason if row.status == "failed" else row.reason)


def differences(made: Submission, again: Submission) -> Iterator[str]:
    """What is not the same within `benchmark.submission.TOLERANCE`."""
    if made.profile.signature != again.profile.signature:
        yield f"profile.signature was {made.profile.signature!r}, and these metrics are {again.profile.signature!r}"
    if made.data != again.data:
        yield f"data was {made.data}, computed again it is {again.data}"
    yield from _score_differences("scores", made.scores, again.scores)
    for kind in {**made.strata, **again.strata}:
        old, new = made.strata.get(kind), again.strata.get(kind)
        if old is None or new is None or sorted(old.events) != sorted(new.events):
            said, found = (len(stratum.events) if stratum else 0 for stratum in (old, new))
            yield f"strata.{kind} had {said} events, computed again it has {found}, or others"
        else:
            yield from _score_differences(f"strata.{kind}", old.scores, new.scores)
    rows = {event.id: event for event in again.events}
    for event in made.events:
        yield from _row_differences(event, rows[event.id])


def _score_differences(place: str, made: Mapping[str, SubmittedScore], again: Mapping[str, SubmittedScore]) -> Iterator[str]:
    for name in {**made, **again}:
        old, new = made.get(name), again.get(name)
        if old is None or new is None:
            said, found = (score.mean if score else "not given" for score in (old, new))
            yield f"{place}.{name} was {said}, computed again it is {found}"
            continue
        for part, a, b in zip(
            ("mean", "ci95[0]", "ci95[1]", "n", "n_failed", "n_unscored"),
            (old.mean, *old.ci95, old.n, old.n_failed, old.n_unscored),
            (new.mean, *new.ci95, new.n, new.n_failed, new.n_unscored),
            strict=True,
        ):
            if not _same(a, b):
                yield f"{place}.{name}.{part} was {a!r}, computed again it is {b!r}"


def _row_differences(old: SubmittedEvent, new: SubmittedEvent) -> Iterator[str]:
    for part in ("status", "words"):
        if getattr(old, part) != getattr(new, part):
            yield f"event {old.id}: {part} was {getattr(old, part)!r}, computed again it is {getattr(new, part)!r}"
    for name in {**old.scores, **new.scores}:
        a, b = old.scores.get(name), new.scores.get(name)
        if name not in old.scores or name not in new.scores or not _same(a, b):
            yield f"event {old.id}: {name} was {a!r}, computed again it is {b!r}"


def _same(a: float | None, b: float | None) -> bool:
    from benchmark.submission import TOLERANCE

    return a is b if a is None or b is None else abs(a - b) <= TOLERANCE


if __name__ == "__main__":
    sys.exit(main())
