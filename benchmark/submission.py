"""The leaderboard submission: what it holds, how it is built, and how it is checked.

Schema `wikigenben-submission/1`. A reader accepts its own major, ignores keys it does not know, and refuses a higher
major. Means and intervals are recomputed from the event rows before anything is believed.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path

from benchmark.splits import ids_sha256
from data import codec
from data.errors import UserError
from data.scores import EventStatus, SystemScores
from eval.aggregate import estimate

SCHEMA = "wikigenben-submission"
MAJOR = 1
TOLERANCE = 1e-6
RESAMPLES = range(100, 100_001)
"""How many bootstrap resamples a submission may name: too few say nothing, too many keep the checker busy for hours."""
PACKAGES = ("wikigenben", "torch", "transformers", "sentence-transformers", "trafilatura", "rank-bm25", "faiss-cpu", "nltk")


@dataclass(frozen=True, slots=True)
class SubmittedModel:
    role: str
    name: str
    revision: str


@dataclass(frozen=True, slots=True)
class SubmittedSystem:
    """`settings` is the run's identity: everything that the text depends on."""

    name: str
    version: str
    evidence_track: str
    extractive: bool
    models: tuple[SubmittedModel, ...] = ()
    uses_gold_outline: bool = False
    uses_web: bool = False
    self_judged: bool = False
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SubmittedData:
    """`ids_sha256` is of the sorted event ids, so that a part cannot pose as the whole."""

    benchmark: str
    split: str
    n_events: int
    ids_sha256: str
    leak_filter: bool


@dataclass(frozen=True, slots=True)
class SubmittedProfile:
    signature: str
    resamples: int
    seed: int


@dataclass(frozen=True, slots=True)
class SubmittedScore:
    mean: float
    ci95: tuple[float, float]
    n: int
    n_failed: int
    n_unscored: int


@dataclass(frozen=True, slots=True)
class SubmittedEvent:
    id: str
    status: EventStatus
    article_sha256: str
    words: int
    scores: dict[str, float | None]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SubmittedCost:
    """Wall seconds of writing, summed over events; tokens are None for systems without a model."""

    write_s: float
    n_written: int
    n_prompt_tokens: int | None = None
    n_new_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    schema: str
    created: str
    system: SubmittedSystem
    data: SubmittedData
    profile: SubmittedProfile
    scores: dict[str, SubmittedScore]
    events: tuple[SubmittedEvent, ...]
    cost: SubmittedCost
    environment: dict[str, str]
    notes: str = ""


def build(
    scores: SystemScores,
    system: SubmittedSystem,
    *,
    benchmark: str,
    leak_filter: bool,
    resamples: int,
    seed: int,
    cost: SubmittedCost,
    created: str,
) -> Submission:
    """`created` is an ISO time with zone; it and `environment` are the only parts that a repeated run may change."""
    events = tuple(
        SubmittedEvent(row.event_id, row.status, row.article_sha256, row.words, dict(row.values), row.reason)
        for row in scores.events
    )
    return Submission(
        schema=f"{SCHEMA}/{MAJOR}",
        created=created,
        system=system,
        data=SubmittedData(benchmark, scores.split, len(events), ids_sha256(e.id for e in events), leak_filter),
        profile=SubmittedProfile(scores.signature, resamples, seed),
        scores={
            name: SubmittedScore(e.mean, (e.low, e.high), e.n, e.n_failed, e.n_unscored) for name, e in scores.estimates.items()
        },
        events=events,
        cost=cost,
        environment=environment(),
    )


def part(submission: Submission, split: str, keep: Callable[[str], bool]) -> Submission:
    """The same submission over the events whose id is kept, its means and intervals computed from their rows alone.

    Raises UserError when no event is left.
    """
    events = tuple(event for event in submission.events if keep(event.id))
    if not events:
        raise UserError(f"{submission.system.name} has no event of split {split!r}; evaluate it on --split full")
    profile, n_failed = submission.profile, sum(event.status != "ok" for event in events)
    scores = {}
    for name in submission.scores:
        values = [event.scores.get(name) for event in events]
        if any(value is not None for value in values):
            e = estimate(values, name=name, seed=profile.seed, resamples=profile.resamples, n_failed=n_failed)
            scores[name] = SubmittedScore(e.mean, (e.low, e.high), e.n, e.n_failed, e.n_unscored)
    data = replace(submission.data, split=split, n_events=len(events), ids_sha256=ids_sha256(event.id for event in events))
    return replace(submission, data=data, scores=scores, events=events)


def environment() -> dict[str, str]:
    versions = {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def write(path: Path, submission: Submission) -> None:
    codec.write_atomic(path, codec.to_json(submission, indent=1) + "\n")


def read(path: Path) -> Submission:
    """Raises UserError with the reason when the file is not a submission of our major version."""
    try:
        text = path.read_text(encoding="utf-8")
        plain = json.loads(text)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not JSON: {error}") from None
    schema = plain.get("schema") if isinstance(plain, Mapping) else None
    name, _, major = str(schema).partition("/")
    if name != SCHEMA or not major.isdecimal():
        raise UserError(f"{path}: schema is {schema!r}, expected '{SCHEMA}/{MAJOR}'")
    if int(major) != MAJOR:
        raise UserError(f"{path}: schema {schema} needs another version of this package; this one reads '{SCHEMA}/{MAJOR}'")
    return codec.from_json(Submission, text, where=str(path))


def problems(submission: Submission) -> list[str]:
    """Everything that is wrong with a submission, as sentences; an empty list means valid."""
    found: list[str] = []
    ids = [event.id for event in submission.events]
    if not ids:
        return ["it has no events"]
    if duplicates := sorted({i for i in ids if ids.count(i) > 1}):
        found.append(f"events occur twice: {', '.join(duplicates)}")
    if submission.data.n_events != len(ids):
        found.append(f"data.n_events is {submission.data.n_events}, but {len(ids)} events are listed")
    if submission.data.ids_sha256 != ids_sha256(ids):
        found.append("data.ids_sha256 is not the hash of the listed event ids")
    n_failed = sum(event.status != "ok" for event in submission.events)
    for event in submission.events:
        found += _event_problems(event, submission.scores)
    if not submission.scores:
        found.append("it has no scores")
    profile = submission.profile
    if profile.resamples not in RESAMPLES or profile.seed < 0:
        return [
            *found,
            f"profile.resamples is {profile.resamples} and profile.seed {profile.seed}; means can be recomputed with "
            f"{RESAMPLES.start} to {RESAMPLES.stop - 1} resamples and a seed of 0 or more",
        ]
    for name, score in submission.scores.items():
        found += _score_problems(name, score, submission, n_failed)
    return found


def _event_problems(event: SubmittedEvent, names: Iterable[str]) -> list[str]:
    found = []
    if event.status == "ok" and len(event.article_sha256) != 64:
        found.append(f"event {event.id} is ok but has no article hash")
    if event.status != "ok" and any(value for value in event.scores.values()):
        found.append(f"event {event.id} is {event.status} but has a score other than 0")
    for name, value in event.scores.items():
        if value is not None and not math.isfinite(value):
            found.append(f"event {event.id}: {name} is not a finite number")
    missing = [name for name in names if name not in event.scores]
    if missing:
        found.append(f"event {event.id} lacks {', '.join(missing)}")
    return found


def _score_problems(name: str, score: SubmittedScore, submission: Submission, n_failed: int) -> list[str]:
    values = [event.scores.get(name) for event in submission.events]
    if all(value is None for value in values):
        return [f"scores.{name} is given, but no event has a value for it"]
    if not all(value is None or math.isfinite(value) for value in values):
        return [f"scores.{name} cannot be recomputed: a value is not a finite number"]
    again = estimate(values, name=name, seed=submission.profile.seed, resamples=submission.profile.resamples, n_failed=n_failed)
    claimed = (score.mean, *score.ci95)
    recomputed = (again.mean, again.low, again.high)
    found = [
        f"scores.{name}.{part} is {a!r}, recomputed from the events it is {b!r}"
        for part, a, b in zip(("mean", "ci95[0]", "ci95[1]"), claimed, recomputed, strict=True)
        if not abs(a - b) <= TOLERANCE
    ]
    if (score.n, score.n_failed, score.n_unscored) != (again.n, again.n_failed, again.n_unscored):
        found.append(f"scores.{name} counts n={score.n}, failed={score.n_failed}, unscored={score.n_unscored}; "
                     f"the events give {again.n}, {again.n_failed}, {again.n_unscored}")  # fmt: skip
    return found
