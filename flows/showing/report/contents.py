"""What a run's report says, as values gathered from submission.json and the folders of its events."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

from benchmark.submissions import submission
from benchmark.submissions.submitted import Submission, SubmittedScore
from data.decoding_counts import Usage
from data.errors import UserError
from data.runs import EventFailure, EventFolder, EventStats, RunFolder
from data.scores import EventScores, EventStatus
from data.types import DropReason, Page, RepairKind
from eval.catalogue import HEADLINE, is_share, less_is_better

SHOWN = 5
"""How many events each list of the best and the worst has, where there are twice as many."""
BETWEEN_STAGES = "between stages"
"""Seconds of writing in no stage: cutting, indexing and ranking passages."""
NO_STAGES = "not kept by stage"
"""Seconds of events that were written before times were kept, or whose article was found whole."""
REMOVING: tuple[RepairKind, ...] = ("sentence_removed", "section_removed")


@dataclass(frozen=True, slots=True)
class MetricLine:
    """A metric over all events; a share is printed in percent. `floors` and `ceilings` are the submission's, by name."""

    name: str
    headline: bool
    is_share: bool
    score: SubmittedScore
    floors: tuple[tuple[str, float], ...] = ()
    ceilings: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    kind: RepairKind
    section: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class DroppedPage:
    title: str
    url: str
    reason: DropReason
    detail: str


@dataclass(frozen=True, slots=True)
class EventLine:
    """One event. `article` is the path of its rendered article from the run folder, "" where there is none.

    `evidence_words` are those of its usable pages, None where no pages are stored. `failure` is set if writing it failed.
    """

    event_id: str
    title: str
    status: EventStatus
    reason: str
    article: str
    words: int
    values: Mapping[str, float | None]
    n_pages: int
    evidence_words: int | None
    dropped: tuple[DroppedPage, ...]
    removed: tuple[Removed, ...]
    failure: EventFailure | None
    stats: EventStats | None

    @property
    def headline_mean(self) -> float:
        """Over the headline metrics of which more is better; 0 where it is scored on none."""
        return mean([v for name in HEADLINE if not less_is_better(name) and (v := self.values.get(name)) is not None] or [0.0])


@dataclass(frozen=True, slots=True)
class Ends:
    """The worst and the best written events by one metric, and how many more have the same value as the last one shown."""

    metric: str
    worst: tuple[EventLine, ...]
    best: tuple[EventLine, ...]
    n_more_worst: int
    n_more_best: int


@dataclass(frozen=True, slots=True)
class ReasonCount:
    reason: str
    n: int
    n_events: int


@dataclass(frozen=True, slots=True)
class StageLine:
    """Wall seconds of the stages of one kind (`sections/01`, `sections/02`: sections): all, and the median of `n_events`."""

    stage: str
    seconds: float
    n_events: int
    median_s: float


@dataclass(frozen=True, slots=True)
class Decoding:
    """What a language model was asked, over `n_events`; `counted` over those alone whose generator counts its passes, and
    `per_pass` their tokens for each pass of the whole model, its prefill included; None without them."""

    n_events: int
    usage: Usage
    counted: Usage
    per_pass: float | None
    per_pass_of_events: tuple[float, ...]

    @property
    def gain(self) -> float | None:
        """`SpeculationStats.estimated_gain` of all that is counted."""
        return self.counted.stats.speculation.estimated_gain if self.counted.stats.speculation is not None else None


@dataclass(frozen=True, slots=True)
class Contents:
    """`events` in id order; every other list is in the order in which it is to be shown."""

    submission: Submission
    metrics: tuple[MetricLine, ...]
    ends: tuple[Ends, ...]
    events: tuple[EventLine, ...]
    removal_reasons: tuple[ReasonCount, ...]
    drop_reasons: tuple[ReasonCount, ...]
    stages: tuple[StageLine, ...]
    decoding: Decoding | None

    def with_status(self, *wanted: EventStatus) -> tuple[EventLine, ...]:
        return tuple(event for event in self.events if event.status in wanted)

    @property
    def headline(self) -> tuple[MetricLine, ...]:
        return tuple(line for line in self.metrics if line.headline)

    @property
    def seconds(self) -> tuple[float, ...]:
        """Of writing each event, for those whose writing was timed."""
        return tuple(event.stats.seconds for event in self.events if event.stats is not None)


def gather(run: RunFolder) -> Contents:
    """Raises UserError when the run is not scored, or a file of it cannot be read."""
    path = run.path / "submission.json"
    if not path.is_file():
        raise UserError(f"{run.path} has no submission.json; score the run first: wikigenben evaluate --out {run.path} ...")
    made = submission.read(path)
    folders = {folder.event_id: folder for folder in run.event_folders()}  # by listing: an id may hold no path of its own
    events = tuple(_event(run, folders.get(event.id), event) for event in sorted(made.events, key=lambda event: event.id))
    metrics = _metrics(made)
    return Contents(
        submission=made,
        metrics=metrics,
        ends=tuple(ends for line in metrics if line.headline and (ends := _ends(line.name, events)) is not None),
        events=events,
        removal_reasons=_reasons(events, lambda event: [removed.reason for removed in event.removed]),
        drop_reasons=_reasons(events, lambda event: [page.reason for page in event.dropped]),
        stages=_stages([event.stats for event in events if event.stats is not None]),
        decoding=_decoding(
            [event.stats.usage for event in events if event.stats is not None and event.stats.usage is not None]
        ),
    )


def _event(run: RunFolder, folder: EventFolder | None, scored: EventScores) -> EventLine:
    article = folder.article() if folder else None
    failure = folder.failure() if folder else None
    pages = folder.stored_pages() if folder else None
    rendered = folder is not None and (run.path / "articles" / f"{folder.event_id}.html").is_file()
    return EventLine(
        event_id=scored.id,
        title=article.title if article else (failure.title if failure else "") or scored.id,
        status=scored.status,
        reason=scored.reason,
        article=f"articles/{scored.id}.html" if rendered else "",
        words=scored.words,
        values=scored.scores,
        n_pages=len(pages or ()),
        evidence_words=None if pages is None else sum(len(page.text.split()) for page in pages if page.usable),
        dropped=tuple(_dropped(pages or ())),
        removed=tuple(
            Removed(repair.kind, repair.section, repair.text, repair.detail)
            for repair in (article.repairs if article else ())
            if repair.kind in REMOVING
        ),
        failure=failure,
        stats=folder.stats() if folder else None,
    )


def _dropped(pages: Iterable[Page]) -> Iterable[DroppedPage]:
    for page in pages:
        if page.drop_reason is not None:
            yield DroppedPage(page.title, page.url, page.drop_reason, page.drop_detail)


def _metrics(made: Submission) -> tuple[MetricLine, ...]:
    """The headline metrics in their order, then the others in that of the submission."""
    names = [*(name for name in HEADLINE if name in made.scores), *(name for name in made.scores if name not in HEADLINE)]
    return tuple(
        MetricLine(
            name=name,
            headline=name in HEADLINE,
            is_share=is_share(name),
            score=made.scores[name],
            floors=tuple((floor, means[name]) for floor, means in made.floors.items() if name in means),
            ceilings=tuple((ceiling, means[name]) for ceiling, means in made.ceilings.items() if name in means),
        )
        for name in names
    )


def _ends(metric: str, events: Sequence[EventLine]) -> Ends | None:
    """Of events with the same value, those come first that are worse (or better) by all headline metrics; worst are the largest
    values where less is better."""
    scored = [(value, event) for event in events if event.status == "ok" and (value := event.values.get(metric)) is not None]
    if not scored:
        return None
    sign = -1 if less_is_better(metric) else 1
    rising = sorted(scored, key=lambda of: (sign * of[0], of[1].headline_mean, of[1].event_id))
    n = max(1, min(SHOWN, len(rising) // 2))
    worst, best = rising[:n], rising[::-1][:n]
    values = Counter(value for value, _ in scored)

    def n_more(shown: Sequence[tuple[float, EventLine]]) -> int:
        last = shown[-1][0]
        return values[last] - sum(value == last for value, _ in shown)

    return Ends(metric, tuple(e for _, e in worst), tuple(e for _, e in best), n_more(worst), n_more(best))


def _reasons(events: Iterable[EventLine], of: Callable[[EventLine], Sequence[str]]) -> tuple[ReasonCount, ...]:
    n, n_events = Counter[str](), Counter[str]()
    for event in events:
        found = of(event)
        n.update(found)
        n_events.update(set(found))
    return tuple(ReasonCount(reason, n[reason], n_events[reason]) for reason in sorted(n, key=lambda r: (-n[r], r)))


def _stages(stats: Sequence[EventStats]) -> tuple[StageLine, ...]:
    seconds: dict[str, list[float]] = defaultdict(list)
    for of in stats:
        event: dict[str, float] = defaultdict(float)
        for time in of.stages:
            event[time.stage.partition("/")[0]] += time.seconds
        event[BETWEEN_STAGES if event else NO_STAGES] += max(0.0, of.seconds - sum(event.values()))
        for stage, spent in event.items():
            seconds[stage].append(spent)
    lines = [StageLine(stage, sum(spent), len(spent), median(spent)) for stage, spent in seconds.items()]
    return tuple(sorted(lines, key=lambda line: (-line.seconds, line.stage)))


def _decoding(usages: Sequence[Usage]) -> Decoding | None:
    if not usages:
        return None
    local = [usage for usage in usages if usage.n_passes]
    counted = Usage.counted(local)
    return Decoding(
        n_events=len(usages),
        usage=Usage.total(usages),
        counted=counted,
        per_pass=counted.n_new_tokens / counted.n_passes if counted.n_passes else None,
        per_pass_of_events=tuple(usage.n_new_tokens / usage.n_passes for usage in local if usage.n_passes),
    )
