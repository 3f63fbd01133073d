"""`wikigenben attacks`: honest articles, the attacks made from them, and whether those rank below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark import splits
from benchmark.attacks import standing
from benchmark.attacks.all_attacks import Attack
from benchmark.attacks.given import Given, Other
from benchmark.attacks.siblings import sibling_of
from benchmark.attacks.standing import HONEST, Standing
from data import codec
from data.errors import StageError, UserError
from data.locate import locate
from data.runs import RunFolder
from data.settings import Settings
from data.snapshot import Snapshot
from data.stage_types import ARTICLE
from data.types import Article, Page
from eval.catalogue import HEADLINE
from flows import run_events
from flows.job import Job
from flows.showing import console
from flows.wiring.metrics import build_metrics
from flows.wiring.prepared import prepare

if TYPE_CHECKING:
    from rich.table import Table

BESIDE = ("fact_recall", "fact_precision", "rouge2_f", "copy8", "repetition", "number_errors", "name_errors")
"""Measures that explain, shown beside those of the headline."""
COLUMNS_A_TABLE = 7


@dataclass(frozen=True, slots=True)
class Asked:
    """Exactly one of `run` and `system` is given."""

    run: Path | None
    system: str | None
    data: str | None
    split: str | None
    limit: int | None
    settings: Settings


@dataclass(frozen=True, slots=True)
class Honest:
    """What attacks are made from. `lost` says which events asked for have no honest article, and why."""

    name: str
    run: RunFolder
    snapshot: Snapshot
    split: str
    given: Mapping[str, Given]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """`rows` are those of the honest system over all events, `idle` the attacks that no event admits."""

    honest: Honest
    means: dict[str, float]
    words: float
    standings: tuple[Standing, ...]
    idle: tuple[str, ...]
    lost: tuple[str, ...]
    out: Path


def honest_of(asked: Asked) -> Honest:
    """The honest articles with their pages, and for each the event with the most similar title. Raises UserError for what the
    caller can fix."""
    return _of_system(asked, asked.system) if asked.system is not None else _of_run(asked)


def _of_system(asked: Asked, system: str) -> Honest:
    snapshot = Snapshot(locate(asked.data))
    track = asked.settings.evidence.track
    if asked.settings.evidence.source != "recorded":
        raise UserError(f"attacks are made from recorded pages; drop evidence.source = {asked.settings.evidence.source}")
    split = _split(asked, snapshot)
    ids = splits.choose(snapshot, track, split, limit=asked.limit)
    titles = _titles(snapshot, splits.split_ids(snapshot, track, split))
    siblings = {i: other for i in ids if i in titles and (other := sibling_of(i, titles)) is not None}
    wanted = tuple(dict.fromkeys((*ids, *siblings.values())))
    prepared = prepare(Job(system, asked.settings, data=asked.data, split=split, events=wanted))
    run_events.generate(prepared)
    return _read(system, prepared.run, snapshot, split, ids, siblings)


def _of_run(asked: Asked) -> Honest:
    assert asked.run is not None
    run = RunFolder(asked.run)
    identity = run.identity()
    if identity is None:
        raise UserError(f"{asked.run} is no run folder; make one with: wikigenben generate --out {asked.run} ...")
    data = asked.data or ("sample" if identity.get("data") == "sample" else None)
    snapshot = Snapshot(locate(data))
    split = _split(asked, snapshot)
    there = {folder.event_id for folder in run.event_folders()}
    known = tuple(i for i in splits.split_ids(snapshot, "cited", split) if i in there)
    if not known:
        raise UserError(f"{asked.run} holds no event of split {split} of {snapshot.root}; name another --split or --data")
    if asked.limit is not None and asked.limit < 1:
        raise UserError(f"--limit {asked.limit} leaves no event; use 1 or more")
    ids = known[: asked.limit]
    titles = _titles(snapshot, [i for i in known if _is_readable(run, i)])
    siblings = {i: other for i in ids if i in titles and (other := sibling_of(i, titles)) is not None}
    return _read(identity.get("system", asked.run.name), run, snapshot, split, ids, siblings)


def _split(asked: Asked, snapshot: Snapshot) -> splits.Split:
    found = asked.split or ("sample" if snapshot.is_sample else "dev")
    return found  # type: ignore[return-value]


def _titles(snapshot: Snapshot, ids: Sequence[str]) -> dict[str, str]:
    """Of the events whose file can be read."""
    titles = {}
    for event_id in ids:
        try:
            titles[event_id] = snapshot.event(event_id).title
        except StageError:
            continue
    return titles


def _read(name: str, run: RunFolder, snapshot: Snapshot, split: str, ids: Sequence[str], siblings: Mapping[str, str]) -> Honest:
    given: dict[str, Given] = {}
    lost = []
    for event_id in ids:
        found = _article(run, event_id)
        if isinstance(found, str):
            lost.append(f"{event_id}: {found}")
            continue
        other = _article(run, siblings[event_id]) if event_id in siblings else ""
        given[event_id] = Given(*found, None if isinstance(other, str) else Other(*other))
    if not given:
        raise UserError(f"{run.path} has no article to attack ({lost[0]}); write some with: wikigenben generate")
    return Honest(name, run, snapshot, split, given, tuple(lost))


def _is_readable(run: RunFolder, event_id: str) -> bool:
    try:
        return run.event(event_id).article() is not None
    except (UserError, OSError):
        return False


def _article(run: RunFolder, event_id: str) -> tuple[Article, tuple[Page, ...]] | str:
    """An event's article and pages, or why there are none."""
    folder = run.event(event_id)
    try:
        article, pages = folder.article(), folder.stored_pages()
    except (UserError, OSError) as error:
        return str(error)
    if article is None:
        failure = folder.failure()
        return f"{failure.stage}: {failure.message}" if failure else f"no article in {folder.path}"
    if article.event_id != event_id:
        return f"{folder.file(ARTICLE)} is the article of event {article.event_id}"
    return (article, pages) if pages is not None else f"no pages in {folder.path}"


def attack(honest: Honest, attacks: Sequence[Attack], settings: Settings, out: Path | None = None) -> Found:
    """Make the attacks, score them and the honest articles by the benchmark's metrics, and compare."""
    out = out or honest.run.path.with_name(f"{honest.run.path.name}-attacks")
    metrics = build_metrics(settings)
    attacked = standing.make(attacks, honest.given)
    with RunFolder(out).locked(), console.progress("scoring attacks", len(honest.given)) as step:
        rows = standing.score(attacked, honest.given, honest.snapshot, metrics, out, step)
    own = list(rows[HONEST].values())
    unscored = [f"{row.id}: {row.reason}" for row in own if row.reason]
    return Found(
        honest=honest,
        means=standing.means_of(own, metrics),
        words=sum(row.words for row in own) / len(own),
        standings=standing.standings(attacks, attacked, rows, metrics),
        idle=tuple(attack.name for attack in attacks if not rows[attack.name]),
        lost=(
            *honest.lost,
            *unscored,
            *(f"{one.event_id}: the attack {one.attack} ended in {one.error}" for one in attacked.broken),
        ),
        out=out,
    )


def tell(attacks: Sequence[Attack]) -> None:
    for one in attacks:
        console.result(f"{one.family:9} {one.name:22} {one.says}")


def report(found: Found, *, everything: bool, as_json: bool) -> None:
    for line in found.lost:
        console.note(f"lost: {line}")
    if as_json:
        console.result_json(
            {
                "honest": found.honest.name,
                "split": found.honest.split,
                "n_events": len(found.honest.given),
                "headline": list(HEADLINE),
                "means": found.means,
                "words": found.words,
                "attacks": [codec.to_plain(one) for one in found.standings],
                "idle": list(found.idle),
                "lost": list(found.lost),
            }
        )
        return
    headline = [name for name in HEADLINE if name in found.means]
    rest = [name for name in found.means if name not in headline]
    shown = rest if everything else [name for name in BESIDE if name in rest]
    console.show(_measures(found, headline))
    for at in range(0, len(shown), COLUMNS_A_TABLE):
        console.show(_measures(found, shown[at : at + COLUMNS_A_TABLE]))
    console.show(_verdicts(found))
    above = [one.attack for one in found.standings if not one.is_below]
    n = len(found.standings)
    console.result(f"{n - len(above)} of {n} attacks rank below {found.honest.name}")
    if above:
        console.result(f"not below: {', '.join(above)}")
    if found.idle:
        console.result(f"no event admits: {', '.join(found.idle)}")
    if found.lost:
        console.result(f"{len(found.lost)} events or attacks lost; each is named on stderr")
    console.result(f"articles and scores: {found.out}")


def _measures(found: Found, names: Sequence[str]) -> Table:
    """The honest system first."""
    table = _table(f"{_title(found)}, percent", ("attack",), ("n", *names, "words"))

    def row(name: str, n: int, means: Mapping[str, float], words: float, *, last: bool) -> None:
        values = ("" if means.get(m) is None else f"{100 * means[m]:.1f}" for m in names)
        table.add_row(name, str(n), *values, f"{words:.0f}", end_section=last)

    row(f"{found.honest.name} (honest)", len(found.honest.given), found.means, found.words, last=True)
    for one, last in _with_ends(found.standings):
        row(one.attack, one.n_events, one.means, one.words, last=last)
    table.caption = "n: events that the attack changed; words are a number, not percent"
    table.caption_justify = "left"
    return table


def _verdicts(found: Found) -> Table:
    table = _table(
        f"{_title(found)}: do they rank below?", ("attack", "below", "by"), ("honest", "attack", "margin", "changed", "n")
    )
    for one, last in _with_ends(found.standings):
        by, values = one.deciding, ("", "", "")
        if by:
            values = (f"{100 * one.honest[by]:.1f}", f"{100 * one.means[by]:.1f}", f"{100 * one.margin:+.1f}")
        elif not one.is_below:
            by = "the same rank"
        table.add_row(
            one.attack,
            "yes" if one.is_below else "NO",
            by,
            *values,
            f"{100 * one.changed:.0f}",
            str(one.n_events),
            end_section=last,
        )
    table.caption = (
        "by: the measure that alone moves the rank furthest, percent, over the n events that the attack changed;\n"
        "margin: honest minus attack; changed: sentences, percent, that the honest article does not have"
    )
    table.caption_justify = "left"
    return table


def _title(found: Found) -> str:
    return f"attacks made from {found.honest.name}, {len(found.honest.given)} events (split {found.honest.split})"


def _with_ends(standings: Sequence[Standing]) -> list[tuple[Standing, bool]]:
    """Each with whether its family ends there."""
    families = [one.family for one in standings]
    return [(one, following != one.family) for one, following in zip(standings, [*families[1:], ""], strict=True)]


def _table(title: str, left: Sequence[str], right: Sequence[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE, title_justify="left", title_style="bold", padding=0, collapse_padding=True)
    for name in (*left, *right):
        table.add_column(name.replace("_", "\n"), justify="left" if name in left else "right", no_wrap=True)
    return table
