"""How a submission is built from scores, written and read.

On disk a row of an event is one line. Its `scores` are an object by metric, or, where the key `columns` names the metrics once
for all rows, a list in their order. Scores of rows have six decimals: means, intervals and scores computed again are compared
within 1e-6, and values rounded so lie within half of that. The types are in `submitted`, what can be wrong with one in
`submission_faults`, and the folder that it travels in is `benchmark.submissions.folder`.
"""

from __future__ import annotations

import functools
import json
import math
import platform
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.splits import ids_sha256
from benchmark.submissions.submission_faults import problems
from benchmark.submissions.submitted import (
    DECIMALS,
    MAJOR,
    SCHEMA,
    EvidenceFilter,
    Submission,
    SubmittedCost,
    SubmittedData,
    SubmittedJudge,
    SubmittedProfile,
    SubmittedScore,
    SubmittedStratum,
    SubmittedSystem,
)
from data import codec
from data.errors import UserError
from data.scores import Estimate, SystemScores
from eval.aggregate import estimates

if TYPE_CHECKING:
    from benchmark.strata import Stratum
    from eval.judges.judge import Judge
    from eval.metric import Metric

MOST_BYTES = 64 * 2**20
"""Of submission.json. The rows of a thousand events need two."""
MOST_WORDS, MOST_NOTE_WORDS = 60, 400
"""Of any string inside, and of `notes`: a longer one is the text of a page or of an article, which has no place here."""
MOST_CHARS, MOST_NOTE_CHARS, MOST_SIGNATURE_CHARS = 2_000, 10_000, 50_000
"""Of any string inside, of `notes`, and of `profile.signature`."""
MOST_DEPTH = 20
"""Of objects and lists within each other. What a submission holds itself is six deep."""
PACKAGES = ("wikigenben", "torch", "transformers", "sentence-transformers", "trafilatura", "rank-bm25", "faiss-cpu", "nltk")

_MAJOR = re.compile(r"[0-9]{1,6}")


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
    revision: str = "",
    evidence_filter: EvidenceFilter | None = None,
    judges: Sequence[SubmittedJudge] = (),
    judged: Mapping[str, str] | None = None,
    floors: Mapping[str, Mapping[str, float]] | None = None,
    ceilings: Mapping[str, Mapping[str, float]] | None = None,
) -> Submission:
    """`created` is an ISO time with zone; it and `environment` are the only parts that scoring again may change.

    `judged` gives for a metric the id of the judge that decided it.
    """
    events = tuple(row.rounded(DECIMALS) for row in scores.events)
    return Submission(
        schema=f"{SCHEMA}/{MAJOR}",
        created=created,
        system=system,
        data=SubmittedData(
            benchmark, scores.split, len(events), ids_sha256(e.id for e in events), leak_filter, revision, evidence_filter
        ),
        profile=SubmittedProfile(scores.signature, resamples, seed),
        scores={name: submitted_score(e, (judged or {}).get(name, "")) for name, e in scores.estimates.items()},
        events=events,
        cost=cost,
        environment=environment(),
        judges=tuple(judges),
        floors=rounded(floors or {}),
        ceilings=rounded(ceilings or {}),
    )


def rounded(tables: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Means by name and metric, to the decimals of rows."""
    return {name: {metric: round(mean, DECIMALS) for metric, mean in means.items()} for name, means in tables.items()}


def submitted_score(e: Estimate, judge: str = "") -> SubmittedScore:
    return SubmittedScore(e.mean, (e.low, e.high), e.n, e.n_failed, e.n_unscored, judge)


def submitted_strata(cut: Mapping[str, Stratum], scores: Mapping[str, SubmittedScore]) -> dict[str, SubmittedStratum]:
    """With the judges of the submission's own `scores`."""
    return {
        kind: SubmittedStratum(one.events, {name: submitted_score(e, scores[name].judge) for name, e in one.estimates.items()})
        for kind, one in cut.items()
    }


def judges_of(
    metrics: Sequence[Metric], card: Callable[[Judge], dict[str, Any]] = lambda judge: {}
) -> tuple[tuple[SubmittedJudge, ...], dict[str, str]]:
    """The judges that the metrics ask, and for each name of theirs the id of its judge. `card` says how good a judge is."""
    judges: dict[str, SubmittedJudge] = {}
    judged: dict[str, str] = {}
    for metric in metrics:
        judge: Judge | None = getattr(metric, "judge", None)
        if judge is not None:
            judges[judge.name] = SubmittedJudge(judge.name, judge.kind, judge.revision, judge.threshold, card(judge))
            judged |= dict.fromkeys(metric.names, judge.name)
    return tuple(judges.values()), judged


def part(submission: Submission, split: str, keep: Callable[[str], bool]) -> Submission:
    """The same submission over the events whose id is kept, its means and intervals computed from their rows alone.

    Raises UserError when no event is left.
    """
    events = tuple(event for event in submission.events if keep(event.id))
    if not events:
        raise UserError(f"{submission.system.name} has no event of split {split!r}; evaluate it on --split full")
    profile, n_failed = submission.profile, sum(event.status != "ok" for event in events)
    found = estimates(
        [event.scores for event in events],
        submission.scores,
        n_failed=n_failed,
        seed=profile.seed,
        resamples=profile.resamples,
    )
    scores = {name: submitted_score(e, submission.scores[name].judge) for name, e in found.items()}
    data = replace(submission.data, split=split, n_events=len(events), ids_sha256=ids_sha256(event.id for event in events))
    return replace(
        submission, data=data, scores=scores, events=events, floors={}, ceilings={}, variants={}, strata={}
    )  # of all


def environment() -> dict[str, str]:
    versions = {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def write(path: Path, submission: Submission, *, compact: bool = False) -> None:
    """`compact` names the metrics once for all rows, which makes the file a third as large."""
    codec.write_atomic(path, to_text(submission, compact=compact))


def to_text(submission: Submission, *, compact: bool = False) -> str:
    """The file: the head indented, then a line for each score, floor, stratum and event."""
    head = codec.to_plain(submission)
    tables = {name: head.pop(name) for name in ("scores", "floors", "ceilings", "variants", "strata")}
    rows = head.pop("events")
    if compact and rows:
        head["columns"] = list(rows[0]["scores"])
        rows = [
            {k: v for k, v in row.items() if k not in ("reason", "title") or v}
            | {"scores": [row["scores"][name] for name in head["columns"]]}
            for row in rows
            if sorted(row["scores"]) == sorted(head["columns"])
        ]
        if len(rows) < len(submission.events):
            raise UserError(f"events of {submission.system.name} have different metrics; see: python -m benchmark.validate")
    text = json.dumps(head, ensure_ascii=False, indent=1, allow_nan=False).removesuffix("\n}")
    return text + "".join(_lines(name, table) for name, table in tables.items()) + _lines("events", rows) + "\n}\n"


def _lines(name: str, values: Mapping[str, Any] | Sequence[Any]) -> str:
    """One more key of an object whose text was left open: each entry of its value in a line of its own."""
    told = functools.partial(json.dumps, ensure_ascii=False, allow_nan=False)
    lines = [f"{told(k)}: {told(v)}" for k, v in values.items()] if isinstance(values, Mapping) else [told(v) for v in values]
    opening, closing = "{}" if isinstance(values, Mapping) else "[]"
    body = ",\n".join(f"  {line}" for line in lines)
    return f",\n {told(name)}: {opening}" + (f"\n{body}\n " if lines else "") + closing


def read(path: Path) -> Submission:
    """Raises UserError with the reason when the file is not a submission of our major version."""
    text, _ = _parsed(path)
    return codec.from_json(Submission, text, where=str(path))


def read_checked(path: Path) -> tuple[Submission | None, list[str]]:
    """What can be read, and everything that is wrong with it; never raises for what the file holds."""
    try:
        text, plain = _parsed(path)
    except UserError as error:
        return None, [str(error)]
    found = list(_foreign_text(plain))
    if faults := codec.faults(Submission, text):
        return None, [*faults, *found]
    submission = codec.from_json(Submission, text, where=str(path))
    return submission, [*problems(submission), *found]


def _parsed(path: Path) -> tuple[str, Any]:
    """Text and JSON value of a file that says it is ours."""
    content = codec.read_bounded(path, MOST_BYTES)
    plain = codec.json_of(content, where=str(path), finite=False)  # NaN and infinity are reported with their place
    if _depth(plain) > MOST_DEPTH:
        raise UserError(f"{path} is no submission: objects and lists lie more than {MOST_DEPTH} deep in each other")
    text = content.decode("utf-8-sig")
    schema = plain.get("schema") if isinstance(plain, Mapping) else None
    name, _, major = str(schema).partition("/")
    if name != SCHEMA or not _MAJOR.fullmatch(major):
        raise UserError(f"{path}: schema is {repr(schema)[:80]}, expected '{SCHEMA}/{MAJOR}'")
    if int(major) != MAJOR:
        raise UserError(f"{path}: schema {schema} needs another version of this package; this one reads '{SCHEMA}/{MAJOR}'")
    if "columns" in plain:
        text = json.dumps(_with_names(plain, path))
    return text, plain


def _with_names(plain: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The submission with an object of scores in each row. Raises UserError when a list does not fit the columns."""
    columns, rows = plain["columns"], plain.get("events")
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns) or not isinstance(rows, list):
        raise UserError(f"{path}: columns is no list of metrics for the rows in events")
    if twice := [name for name, n in Counter(columns).items() if n > 1]:
        raise UserError(f"{path}: columns names {twice[0]!r} twice")
    named = []
    for n, row in enumerate(rows):
        if isinstance(row, Mapping) and isinstance(scores := row.get("scores"), list):
            if len(scores) != len(columns):
                raise UserError(f"{path}: events.{n}.scores has {len(scores)} values for {len(columns)} columns")
            row = {**row, "scores": dict(zip(columns, scores, strict=True))}
        named.append(row)
    return {**{key: value for key, value in plain.items() if key != "columns"}, "events": named}


def _depth(plain: Any) -> int:
    """How many objects and lists lie in each other; counting ends soon after MOST_DEPTH."""
    depth, level = 0, [plain]
    while depth <= MOST_DEPTH:
        level = [value for value in level if isinstance(value, Mapping | list)]
        if not level:
            break
        depth += 1
        level = [inner for value in level for inner in (value.values() if isinstance(value, Mapping) else value)]
    return depth


def _foreign_text(plain: Any, place: str = "") -> Iterator[str]:
    """Strings anywhere, under unknown keys too, that are long enough to be the text of a page or an article; and numbers that
    are none."""
    if isinstance(plain, Mapping):
        for key, value in plain.items():
            yield from _foreign_text(key, f"{place} (a key)")
            yield from _foreign_text(value, f"{place}.{key}" if place else key)
    elif isinstance(plain, list):
        for n, value in enumerate(plain):
            yield from _foreign_text(value, f"{place}.{n}")
    elif isinstance(plain, float) and not math.isfinite(plain):
        yield f"{place[:200]} is {plain!r}, not a finite number"
    elif isinstance(plain, str):
        n_words, most = len(plain.split()), MOST_NOTE_WORDS if place == "notes" else MOST_WORDS
        most_chars = {"notes": MOST_NOTE_CHARS, "profile.signature": MOST_SIGNATURE_CHARS}.get(place, MOST_CHARS)
        if len(plain) > most_chars:
            yield f"{place[:200]} holds {len(plain)} characters ({plain[:40]!r}...), at most {most_chars} may stand there"
        elif n_words > most and place != "profile.signature":
            yield f"{place[:200]} holds a text of {n_words} words ({plain[:40]!r}...), at most {most} may stand there"
