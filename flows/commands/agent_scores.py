"""The walk of `wikigenben agents`: topic after topic, every system on the same pages, then a submission of each."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmark import floors, leaderboard, scoring, validate
from benchmark.comparing.agents import (
    RECIPE,
    SCHEMA,
    AgentsRecipe,
    Group,
    Member,
    Standings,
    agent_folders,
    missing_of,
    read_recipe,
    standings,
    write_group,
)
from benchmark.leaks import filter_used
from benchmark.runner import run_event
from benchmark.splits import choose
from benchmark.submissions import folder, submission
from benchmark.submissions.agreement import disagreements, row_disagreements
from benchmark.submissions.ledger import note_scored
from benchmark.submissions.made_elsewhere import ArticleFiles
from benchmark.submissions.records import data_sha256, write_record
from benchmark.submissions.statement import Statement, joined
from benchmark.submissions.submitted import Submission, SubmittedCost, SubmittedModel
from data import codec
from data.errors import StageError, UserError, WikigenError
from data.scores import EventScores
from data.settings import Settings, load_settings
from data.snapshot import Snapshot
from data.stage_types import ARTICLE
from data.types import Article, Event, Page
from eval.metric import Metric
from flows.job import SYSTEMS, Job
from flows.run_scores import submission_of, with_tables
from flows.showing import console
from flows.wiring.metrics import build_metrics, floors_folder
from flows.wiring.page_sources import build_collect
from flows.wiring.prepared import Prepared, prepare

SPLITS = {"dev": "dev", "test": "test", "all": "full"}


@dataclass(frozen=True, slots=True)
class Asked:
    """The request, checked. `agents` has the folder of each agent. `whole` is False for a part of the topics or of the
    agents: its submissions go to a folder beside the runs, and not to `out`."""

    snapshot: Snapshot
    recipe: AgentsRecipe
    split: str
    ids: tuple[str, ...]
    agents: Mapping[str, Path]
    group: Group
    settings: Settings
    out: Path
    runs: Path
    html: Path | None
    with_floors: bool
    check: bool
    whole: bool

    def run_of(self, name: str) -> Path:
        return self.runs / name

    @property
    def target(self) -> Path:
        """Where submissions are written."""
        return self.runs / "check" if self.check else self.out if self.whole else self.runs / "part"


@dataclass(frozen=True, slots=True)
class Seconds:
    """Wall time: cleaning pages and finding floors, which all share; writing by systems of this package; scoring by system."""

    pages: float
    floors: float
    writing: Mapping[str, float]
    scoring: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Ended:
    """`failures` are lines on articles that failed, `invalid` on submissions, `unlike` what --check found."""

    standings: Standings
    seconds: Seconds
    failures: tuple[str, ...]
    invalid: tuple[str, ...]
    unlike: tuple[str, ...] | None
    site: Path | None

    @property
    def exit_code(self) -> int:
        return 1 if self.failures or self.invalid or self.unlike else 0


class _Clock:
    """Seconds by what they were spent on, and by system."""

    def __init__(self) -> None:
        self.spent: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def on(self, what: str, name: str = "") -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.spent[what, name] += time.perf_counter() - began  # type: ignore[assignment]  # a Counter of seconds

    def of(self, what: str) -> dict[str, float]:
        return {name: seconds for (kind, name), seconds in self.spent.items() if kind == what}


def asked(
    place: Path,
    *,
    recipe: Path | None = None,
    split: str | None = None,
    systems: Sequence[str] = (),
    base: str | None = None,
    agents: Sequence[str] = (),
    limit: int | None = None,
    out: Path = Path("submissions/agents"),
    runs: Path | None = None,
    html: Path | None = None,
    with_floors: bool = True,
    check: bool = False,
    assignments: Sequence[str] = (),
) -> Asked:
    """Raises UserError for all that is wrong with the words and the folder, before anything is written."""
    known = _recipe(recipe, systems, base)
    folders = agent_folders(place, agents)
    settings = load_settings(None, list(assignments))
    if settings.evidence.source != "recorded":
        raise UserError(f"agents are scored against recorded pages; drop evidence.source = {settings.evidence.source}")
    snapshot = Snapshot(_data(place))
    part = SPLITS[split] if split else known.split
    ids = choose(snapshot, settings.evidence.track, part, limit=limit)  # type: ignore[arg-type]
    members = (
        *(Member(name, name, "here") for name in known.systems),
        *(Member(name, known.title(name), "agent", missing_of(path, ids)) for name, path in folders.items()),
    )
    found = Asked(
        snapshot=snapshot,
        recipe=known,
        split=part,
        ids=ids,
        agents=folders,
        group=Group(SCHEMA, known.base, members, " ".join(known.terms.split())),
        settings=settings,
        out=out,
        runs=runs or Path(os.environ.get("WIKIGEN_RUNS", "runs")) / "agents",
        html=html,
        with_floors=with_floors,
        check=check,
        whole=limit is None and not agents,
    )
    if check and (absent := [one.name for one in members if not (out / one.name / "submission.json").is_file()]):
        raise UserError(f"--check: {out / absent[0]} holds no submission to compare with; make it by leaving out --check")
    return found


def carry_out(asked: Asked) -> Ended:
    """Write and score what is missing, then submissions, standings and pages."""
    metrics = build_metrics(asked.settings)
    clock = _Clock()
    with ExitStack() as held:
        prepared = _prepared(asked)
        for one in prepared.values():
            held.enter_context(one.run.locked())
        rows, lost = _rows(asked, prepared, metrics, clock)
        beside = floors.means(_floors(asked, prepared, metrics, asked.ids)) if asked.with_floors else {}
        made = {name: _submission(asked, one, rows[name], metrics, beside) for name, one in prepared.items()}
        invalid = [line for name, one in prepared.items() for line in _write(asked, one, made[name])]
    write_group(asked.target, asked.group)
    return Ended(
        standings=standings(asked.group, made),
        seconds=Seconds(clock.spent["pages", ""], clock.spent["floors", ""], clock.of("writing"), clock.of("scoring")),
        failures=(*_failures(asked, made), *lost),
        invalid=tuple(invalid),
        unlike=tuple(_unlike(asked, made)) if asked.check else None,
        site=_site(asked),
    )


def _recipe(path: Path | None, systems: Sequence[str], base: str | None) -> AgentsRecipe:
    known = read_recipe(path or RECIPE)
    chosen = tuple(dict.fromkeys(systems)) or known.systems
    if unknown := [name for name in chosen if name not in SYSTEMS]:
        raise UserError(f"there is no system {unknown[0]!r}; set --systems to some of {', '.join(SYSTEMS)}")
    base = base or (known.base if known.base in chosen else chosen[0])
    if base not in chosen:
        raise UserError(f"--base {base!r} is none of the systems {', '.join(chosen)}; add it with --systems")
    return replace(known, systems=chosen, base=base)


def _data(place: Path) -> Path:
    if not (place / "data").is_dir():
        raise UserError(f"{place} has no folder data/; name one that has data/wiki/, data/google/ and articles/<agent>/")
    return place / "data"


def _prepared(asked: Asked) -> dict[str, Prepared]:
    """Every member ready to run, all with the same pages."""
    collect = _Pages(build_collect(asked.snapshot, asked.settings))
    found = {}
    for one in asked.group.members:
        if one.kind == "agent" and one.name in SYSTEMS:
            raise UserError(f"the agent {one.name!r} has the name of a system of this package; give its folder another name")
        job = Job(one.name, asked.settings, data=str(asked.snapshot.root), split=asked.split, out=asked.run_of(one.name))
        files = ArticleFiles(asked.agents[one.name], one.name) if one.kind == "agent" else None
        if files is not None and (foreign := sorted(set(files.event_ids) - set(asked.snapshot.ids("cited")))):
            console.note(f"{one.name}: {len(foreign)} files name no topic and are not read: {', '.join(foreign[:3])}")
        try:
            ready = prepare(job, files)
        except UserError as error:
            raise UserError(f"{one.name}: {error}; its folder lies in {asked.runs}, which --runs chooses") from None
        found[one.name] = replace(ready, ids=asked.ids, collect=collect)
    return found


class _Pages:
    """The pages of the last topic, cleaned once for all systems."""

    def __init__(self, collect: Callable[[Event], tuple[Page, ...]]) -> None:
        self._collect = collect
        self._last: tuple[str, tuple[Page, ...]] = ("", ())

    def __call__(self, event: Event) -> tuple[Page, ...]:
        if self._last[0] != event.id:
            self._last = (event.id, self._collect(event))
        return self._last[1]


def _rows(
    asked: Asked, prepared: Mapping[str, Prepared], metrics: Sequence[Metric], clock: _Clock
) -> tuple[dict[str, list[EventScores]], list[str]]:
    """For each system a row for each topic, and which articles the metrics failed on."""
    rows: dict[str, list[EventScores]] = {name: [] for name in prepared}
    lost: list[str] = []
    for event_id in console.tracked("scoring", asked.ids, len(asked.ids), str):
        with clock.on("pages"):
            _warm(asked, prepared, event_id)
        for name, one in prepared.items():
            with clock.on("writing", name):
                run_event(one.run, one.system, event_id, one.snapshot.event, one.collect)
            with clock.on("scoring", name):
                row = _row(one, event_id, metrics)
            rows[name].append(row)
            if row.reason.startswith(scoring.UNSCORED):
                lost.append(f"{name}: {event_id}: {row.reason}")
        if asked.with_floors:
            with clock.on("floors"):
                list(_floors(asked, prepared, metrics, (event_id,)))
    return rows, lost


def _warm(asked: Asked, prepared: Mapping[str, Prepared], event_id: str) -> None:
    """The pages, before any system's time is taken."""
    try:
        prepared[asked.group.base].collect(asked.snapshot.event(event_id))
    except StageError:  # then every system fails on this topic, and its row says why
        return


def _row(one: Prepared, event_id: str, metrics: Sequence[Metric]) -> EventScores:
    """A metric that an article breaks leaves the topic unscored, with the reason; it is tried again by the next command."""
    try:
        (row,) = scoring.score_run(one.run, one.snapshot, (event_id,), metrics, one.collect)
        return row
    except WikigenError:
        raise
    except Exception as error:  # of one article: the others are scored, and this one is named
        text = one.run.event(event_id).file(ARTICLE).read_text(encoding="utf-8")
        article = codec.from_json(Article, text, where=event_id)
        why = console.one_line(f"{type(error).__name__}: {error}")[: 200 - len(scoring.UNSCORED)]
        return scoring.unscored(article, codec.sha256(text), metrics, why)


def _floors(
    asked: Asked, prepared: Mapping[str, Prepared], metrics: Sequence[Metric], ids: Sequence[str]
) -> Iterator[floors.EventFloors]:
    base, seed = prepared[asked.group.base], asked.settings.evaluation.seed
    return floors.score_floors(base.run, asked.snapshot, ids, metrics, base.collect, seed=seed, kept=floors_folder())


def _submission(
    asked: Asked, one: Prepared, rows: Sequence[EventScores], metrics: Sequence[Metric], beside: Mapping[str, dict[str, float]]
) -> Submission:
    """As it is ranked: its scores were computed here from the articles, so there is no claim of others to check."""
    chosen = asked.settings.evaluation
    scores = scoring.system_scores(
        one.system.name,
        asked.settings.evidence.track,
        asked.split,
        rows,
        metrics,
        resamples=chosen.resamples,
        seed=chosen.seed,
    )
    made = with_tables(submission_of(one, scores, metrics), beside, {})
    data = replace(
        made.data,
        benchmark=asked.recipe.benchmark,
        evidence_filter=filter_used(one.run, asked.ids, on=asked.settings.evidence.leak_filter),
    )
    made = replace(made, data=data, recomputed=True)
    said = Statement(url=asked.recipe.url, data_revision=asked.recipe.revision, notes=asked.group.terms)
    member = asked.group.member(one.system.name)
    if member.kind == "agent":
        n_written = sum(row.status == "ok" for row in rows)
        system = replace(made.system, version="", extractive=False, models=())
        made = replace(made, system=system, cost=SubmittedCost(0.0, n_written))
        # it searched the web itself, so most of its citations are of pages that the others never saw
        said = replace(said, uses_web=True, models=(SubmittedModel("writer", member.title, "not stated"),))
    else:
        said = replace(said, url="")
    return joined(made, said)


def _write(asked: Asked, one: Prepared, made: Submission) -> list[str]:
    """The submission with hashes in place of text, and its problems."""
    out = asked.target / one.system.name
    folder.clear(out)
    pages, evidence = {}, {}
    for event in made.events:
        stored = one.run.event(event.id).stored_pages() or ()
        article = one.run.event(event.id).article() if event.article_sha256 else None
        pages[event.id], evidence[event.id] = stored, folder.evidence_pages(stored, article)
    folder.write_hashes(made, folder.Evidence(folder.SCHEMA, evidence), out)
    note_scored(out, write_record(out, made, data_sha256(asked.snapshot, pages)), holding=asked.target.parent)
    problems = folder.check(out).problems
    if asked.whole:
        problems = (*problems, *validate.list_problems(made, asked.snapshot))
    return [f"{one.system.name}: {problem}" for problem in problems]


def _failures(asked: Asked, made: Mapping[str, Submission]) -> Iterator[str]:
    """Articles that are there and did not make it, by name; missing ones are counted in the table."""
    for name, one in made.items():
        missing = set(asked.group.member(name).missing)
        for event in one.events:
            if event.status != "ok" and event.id not in missing:
                yield f"{name}: {event.id}: {event.status}: {event.reason}"


def _unlike(asked: Asked, made: Mapping[str, Submission]) -> Iterator[str]:
    compare = disagreements if asked.whole else row_disagreements
    for name, new in made.items():
        yield from (f"{name}: {line}" for line in compare(submission.read(asked.out / name / "submission.json"), new))
        old, again = (folder.digests_of(folder.read_evidence(place / name)) for place in (asked.out, asked.target))
        for event_id in sorted(again):
            if old.get(event_id) != again[event_id]:
                yield f"{name}: event {event_id}: its pages are not the same, so the data or their cleaning differ"


def _site(asked: Asked) -> Path | None:
    if asked.html is None:
        return None
    leaderboard.build(asked.target, asked.html)
    return asked.html / "index.html"
