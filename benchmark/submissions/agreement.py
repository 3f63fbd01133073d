"""Whether two submissions that should be the same are: of one set of articles, scored twice, or of articles written twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmark.submissions.submitted import Submission, SubmittedScore, agree
from data.scores import EventScores


def disagreements(made: Submission, again: Submission) -> Iterator[str]:
    """What scoring again found to be other than it was said, beyond `benchmark.submissions.submitted.TOLERANCE`."""
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
    yield from _table_differences("floors", made.floors, again.floors)
    yield from _table_differences("ceilings", made.ceilings, again.ceilings)
    yield from row_disagreements(made, again)


def row_disagreements(made: Submission, again: Submission) -> Iterator[str]:
    """Event by event, over those that both list."""
    rows = {event.id: event for event in again.events}
    for event in made.events:
        if event.id in rows:
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


def _table_differences(
    place: str, made: Mapping[str, Mapping[str, float]], again: Mapping[str, Mapping[str, float]]
) -> Iterator[str]:
    for name in {**made, **again}:
        old, new = made.get(name, {}), again.get(name, {})
        for metric in {**old, **new}:
            a, b = old.get(metric), new.get(metric)
            if not _same(a, b):
                yield f"{place}.{name}.{metric} was {_or_none(a)}, computed again it is {_or_none(b)}"


def _or_none(value: float | None) -> str:
    return "not given" if value is None else repr(value)


def _row_differences(old: EventScores, new: EventScores) -> Iterator[str]:
    for part in ("status", "words", "article_sha256"):
        if getattr(old, part) != getattr(new, part):
            yield f"event {old.id}: {part} was {getattr(old, part)!r}, computed again it is {getattr(new, part)!r}"
    for name in {**old.scores, **new.scores}:
        a, b = old.scores.get(name), new.scores.get(name)
        if name not in old.scores or name not in new.scores or not _same(a, b):
            yield f"event {old.id}: {name} was {a!r}, computed again it is {b!r}"


def _same(a: float | None, b: float | None) -> bool:
    return a is b if a is None or b is None else agree(a, b)
