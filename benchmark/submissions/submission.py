"""The leaderboard submission: what it holds, how it is built, and how it is checked.

Schema `wikigenben-submission/1`. A reader accepts its own major, ignores keys it does not know, and refuses a higher
major; what later versions of a major add is optional. Means and intervals are recomputed from the event rows before
anything is believed. The folder that a submission travels in is `benchmark.submissions.folder`.

On disk a row of an event is one line. Its `scores` are an object by metric, or, where the key `columns` names the metrics once
for all rows, a list in their order. Scores of rows have six decimals: means, intervals and scores computed again are compared
within 1e-6, and values rounded so lie within half of that.
"""

from __future__ import annotations

import functools
import json
import math
import platform
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.splits import ids_sha256, in_dev
from data import codec
from data.errors import UserError
from data.scores import Estimate, EventScores, SystemScores
from eval.aggregate import estimate, estimates
from eval.catalogue import is_share

if TYPE_CHECKING:
    from benchmark.strata import Stratum
    from eval.judges.judge import Judge
    from eval.metric import Metric

SCHEMA = "wikigenben-submission"
MAJOR = 1
DECIMALS = 6
"""Of the scores of rows, of floors and of ceilings."""
TOLERANCE = 1e-6
"""Between submitted and recomputed values; compare with `agree`."""
RESAMPLES = range(100, 100_001)
"""How many bootstrap resamples a submission may name: too few say nothing, too many keep the checker busy for hours."""
MOST_EVENTS = 10_000
MOST_BYTES = 64 * 2**20
"""Of submission.json. The rows of a thousand events need two."""
MOST_WORDS, MOST_NOTE_WORDS = 60, 400
"""Of any string inside, and of `notes`: a longer one is the text of a page or of an article, which has no place here."""
MOST_CHARS, MOST_NOTE_CHARS, MOST_SIGNATURE_CHARS = 2_000, 10_000, 50_000
"""Of any string inside, of `notes`, and of `profile.signature`."""
MOST_NAME_CHARS = 100
"""Of the name of a system, a model or a judge, and of a version: what tables show."""
MOST_DEPTH = 20
"""Of objects and lists within each other. What a submission holds itself is six deep."""
MOST_DRAWS = 10**10
"""Resamples times rows, summed over all scores: about what a minute of recomputing takes. A thousand events with a hundred
metrics and ten thousand resamples need a tenth."""
BUILT_IN = ("lead", "bm25", "extractive", "rr", "prr", "rprr", "ours", "closed_book")
"""Systems of this package: their names are theirs alone."""
MODEL_FREE = frozenset({"lead", "bm25", "extractive"})
"""Those of them that use no language model."""
PACKAGES = ("wikigenben", "torch", "transformers", "sentence-transformers", "trafilatura", "rank-bm25", "faiss-cpu", "nltk")


_MAJOR = re.compile(r"[0-9]{1,6}")
_EVENT_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class SubmittedModel:
    """`revision` is a commit or a hash of the weights; `parameters` a count; `licence` an SPDX name."""

    role: str
    name: str
    revision: str
    parameters: int | None = None
    licence: str = ""


@dataclass(frozen=True, slots=True)
class SubmittedSystem:
    """`settings` is the run's identity: everything that the text depends on. `uses_web` says that it cites text of its own
    finding, which the others never saw; `self_judged` that a judge of the scores also chose the words."""

    name: str
    version: str
    evidence_track: str
    extractive: bool
    models: tuple[SubmittedModel, ...] = ()
    uses_gold_outline: bool = False
    uses_web: bool = False
    self_judged: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    url: str = ""
    contact: str = ""
    commit: str = ""
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class EvidenceFilter:
    """What kept the human article out of the evidence: `leak` is on or off; pages that share `threshold` of it are dropped."""

    leak: str
    threshold: float | None = None
    dropped_pages: int | None = None


@dataclass(frozen=True, slots=True)
class SubmittedData:
    """`ids_sha256` is of the sorted event ids, so that a part cannot pose as the whole."""

    benchmark: str
    split: str
    n_events: int
    ids_sha256: str
    leak_filter: bool
    revision: str = ""
    evidence_filter: EvidenceFilter | None = None


@dataclass(frozen=True, slots=True)
class SubmittedProfile:
    signature: str
    resamples: int
    seed: int
    name: str = "clean"


@dataclass(frozen=True, slots=True)
class SubmittedJudge:
    """A pair is supported from `threshold` on; `card` is how good the judge is on claims with human labels."""

    id: str
    kind: str
    revision: str
    threshold: float
    card: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SubmittedScore:
    """`judge` names the one of `judges` that decided, and is empty where none did."""

    mean: float
    ci95: tuple[float, float]
    n: int
    n_failed: int
    n_unscored: int
    judge: str = ""


@dataclass(frozen=True, slots=True)
class VariantScore:
    mean: float
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class SubmittedStratum:
    """Scores over the events of one kind (`benchmark.strata`), by their ids."""

    events: tuple[str, ...]
    scores: dict[str, SubmittedScore]


@dataclass(frozen=True, slots=True)
class SubmittedCost:
    """Wall seconds of writing, summed over events; tokens are None for systems without a model, `usd` is of all events."""

    write_s: float
    n_written: int
    n_prompt_tokens: int | None = None
    n_new_tokens: int | None = None
    tokens_per_s: float | None = None
    device: str = ""
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """`floors` are means of what any system should beat, by name and metric, `ceilings` of what none can; `variants` are
    scores of the same system run otherwise, such as `leak_filter_off`. `recomputed` is for `benchmark.rescore` alone to set,
    and nothing else is ranked."""

    schema: str
    created: str
    system: SubmittedSystem
    data: SubmittedData
    profile: SubmittedProfile
    scores: dict[str, SubmittedScore]
    events: tuple[EventScores, ...]
    cost: SubmittedCost
    environment: dict[str, str]
    notes: str = ""
    judges: tuple[SubmittedJudge, ...] = ()
    floors: dict[str, dict[str, float]] = field(default_factory=dict)
    ceilings: dict[str, dict[str, float]] = field(default_factory=dict)
    variants: dict[str, dict[str, VariantScore]] = field(default_factory=dict)
    strata: dict[str, SubmittedStratum] = field(default_factory=dict)
    recomputed: bool = False

    @property
    def means(self) -> dict[str, float]:
        return {name: score.mean for name, score in self.scores.items()}


def agree(a: float, b: float) -> bool:
    """Within TOLERANCE, and a little: two neighbours of six decimals differ by it and an error of floating point."""
    return abs(a - b) <= TOLERANCE * 1.001


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


def problems(submission: Submission) -> list[str]:
    """Everything that is wrong with a submission, as sentences; an empty list means valid."""
    ids = [event.id for event in submission.events]
    if not ids:
        return ["it has no events"]
    if len(ids) > MOST_EVENTS:
        return [f"it has {len(ids)} events, more than the {MOST_EVENTS} that are read"]
    found = [*_list_problems(submission, ids), *_statement_problems(submission), *_judge_problems(submission)]
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
    draws = profile.resamples * (
        len(submission.scores) * len(ids)
        + sum(len(stratum.scores) * len(stratum.events) for stratum in submission.strata.values())
    )
    if draws > MOST_DRAWS:
        return [
            *found,
            f"recomputing its means takes {draws:,} draws, more than {MOST_DRAWS:,}; name fewer resamples or metrics",
        ]
    for name, score in submission.scores.items():
        found += _score_problems(f"scores.{name}", name, score, submission.events, profile)
    rows = {event.id: event for event in submission.events}
    for kind, stratum in submission.strata.items():
        unknown = [i for i in stratum.events if i not in rows]
        if unknown or not stratum.events or len(set(stratum.events)) < len(stratum.events):
            why = f"names the event {unknown[0]!r}, which is not listed" if unknown else "has no events, or one of them twice"
            found.append(f"strata.{kind} {why}")
            continue
        for name, score in stratum.scores.items():
            of = [rows[i] for i in stratum.events]
            found += _score_problems(f"strata.{kind}.{name}", name, score, of, profile)
    return found


def is_file_name(event_id: str) -> bool:
    """Whether `<event id>.json` is a plain file name everywhere."""
    return _EVENT_ID.fullmatch(event_id) is not None


def is_sha256(text: str) -> bool:
    return _SHA256.fullmatch(text) is not None


def _list_problems(submission: Submission, ids: Sequence[str]) -> Iterator[str]:
    """Which events it lists, against what it says of them."""
    data = submission.data
    if duplicates := sorted(i for i, n in Counter(ids).items() if n > 1):
        yield f"events occur twice: {', '.join(duplicates)}"
    if unnameable := [i for i in ids if not is_file_name(i)]:
        yield f"event ids are names of files, and {unnameable[0]!r} cannot be one"
    if data.n_events != len(ids):
        yield f"data.n_events is {data.n_events}, but {len(ids)} events are listed"
    if data.ids_sha256 != ids_sha256(ids):
        yield "data.ids_sha256 is not the hash of the listed event ids"
    if data.split in ("dev", "test") and (foreign := [i for i in ids if in_dev(i) != (data.split == "dev")]):
        other = "test" if data.split == "dev" else "dev"
        yield f"data.split is {data.split!r}, but {len(foreign)} events belong to {other!r}, the first is {foreign[0]}"


def unshowable(name: str) -> str:
    """Why a name cannot be in a table, or nothing: it is too long, or not what it looks like."""
    if len(name) > MOST_NAME_CHARS:
        return f"has {len(name)} characters ({name[:40]!r}...), at most {MOST_NAME_CHARS} may stand there"
    if bad := next((c for c in name if c != " " and (unicodedata.category(c)[0] in "CZ" or c in _BLANK)), None):
        return f"is {name!r}, which holds U+{ord(bad):04X}: a character that cannot be seen"
    return ""


def imitated(name: str) -> str:
    """The system of this package that a name is, or looks like; else nothing."""
    shape = _shape(name)
    return next((known for known in BUILT_IN if _shape(known) == shape), "")


_BLANK = "\u115f\u1160\u2800\u3164\uffa0"  # letters and signs by their category, and seen as a space or not at all
_LOOKS_LIKE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0501\u04cf\u0432\u043c\u0442\u0433"  # Cyrillic
    "\u03b1\u03bf\u03c1\u03c5\u03c4\u03b9\u03bd\u03ba\u0251\u0261\u0131" "015",  # Greek, phonetic, digits
    "aeopcyxisdlbmtr" "aoputivkagi" "ols",
)  # fmt: skip


def _shape(name: str) -> str:
    """A name as the eye sees it: letters and digits without case, width, marks, and spaces of any kind."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold()).translate(_LOOKS_LIKE)
    return "".join(c for c in plain if c.isalnum() and c not in _BLANK)


def _name_problems(system: SubmittedSystem) -> Iterator[str]:
    name = system.name
    if not name.strip():
        yield f"system.name is {name!r}"
    elif why := unshowable(name):
        yield f"system.name {why}"
    elif name != name.strip() or "  " in name:
        yield f"system.name is {name!r}, with spaces that cannot be seen"
    elif known := imitated(name):
        by_us = system.settings.get("system") == name and not any(key.startswith("system.articles") for key in system.settings)
        if name != known or not by_us:
            yield (
                f"system.name is {name!r}, and {known!r} is a system of this package that did not write these articles, as "
                "system.settings has it; choose another name"
            )


def _statement_problems(submission: Submission) -> Iterator[str]:
    """What it says of itself."""
    system, data, cost = submission.system, submission.data, submission.cost
    yield from _name_problems(system)
    for place, name in (
        ("system.version", system.version),
        ("data.benchmark", data.benchmark),
        *((f"system.models.{n}.{part}", getattr(m, part)) for n, m in enumerate(system.models) for part in ("role", "name")),
        *((f"judges.{n}.id", judge.id) for n, judge in enumerate(submission.judges)),
    ):
        if why := unshowable(name):
            yield f"{place} {why}"
    if system.evidence_track not in ("search", "cited", "both"):
        yield f"system.evidence_track is {system.evidence_track!r}, not search, cited or both"
    try:
        zone = datetime.fromisoformat(submission.created).tzinfo
    except ValueError:
        zone = None
    if zone is None:
        yield f"created is {submission.created!r}, not a time with its zone such as '2031-03-16T12:00:00+00:00'"
    if (given := data.evidence_filter) is not None and (given.leak == "on") is not data.leak_filter:
        yield f"data.leak_filter is {data.leak_filter}, but data.evidence_filter.leak is {given.leak!r}"
    amounts = {name: getattr(cost, name) for name in cost.__dataclass_fields__ if name != "device"}
    for name, amount in amounts.items():
        if amount is not None and not 0 <= amount < math.inf:
            yield f"cost.{name} is {amount!r}, not a number of 0 or more"
    for model in system.models:
        if model.parameters is not None and model.parameters < 0:
            yield f"system.models: {model.name} has {model.parameters} parameters"
    tables: dict[str, Mapping[str, float]] = {f"floors.{name}": means for name, means in submission.floors.items()}
    tables |= {f"ceilings.{name}": means for name, means in submission.ceilings.items()}
    tables |= {f"variants.{name}": {k: v.mean for k, v in scores.items()} for name, scores in submission.variants.items()}
    for place, means in tables.items():
        for name, mean in means.items():
            if why := _out_of_range(name, mean):
                yield f"{place}.{name} {why}"


def _judge_problems(submission: Submission) -> Iterator[str]:
    ids = [judge.id for judge in submission.judges]
    if twice := [i for i, n in Counter(ids).items() if n > 1]:
        yield f"judges: {twice[0]!r} occurs twice"
    for judge in submission.judges:
        if not 0 <= judge.threshold <= 1:
            yield f"judges: the threshold of {judge.id!r} is {judge.threshold!r}, not in [0, 1]"
    for name, score in submission.scores.items():
        if score.judge and score.judge not in ids:
            yield f"scores.{name}.judge is {score.judge!r}, which is not among the judges"
    system = submission.system
    # other kinds of judges do not write: one that shares its name with a model is another thing
    both = sorted({model.name for model in system.models} & {judge.id for judge in submission.judges if judge.kind == "llm"})
    if both and not system.self_judged:
        yield f"system.self_judged is false, but {both[0]!r} is a model of the system and a judge of it"
    if system.self_judged and len(set(ids) - set(both)) < (1 if both else 2):
        yield "system.self_judged is true, so a second judge must have scored it, and judges lists none"


_LONGEST_TITLE = 500


def _event_problems(event: EventScores, names: Iterable[str]) -> list[str]:
    found = []
    sha = event.article_sha256
    if event.status != "failed" and not sha:
        found.append(f"event {event.id} is {event.status} but has no article hash")
    elif event.status == "failed" and sha:
        found.append(f"event {event.id} is failed but has an article hash")
    elif sha and not is_sha256(sha):
        found.append(f"event {event.id}: article_sha256 {sha[:70]!r} is not a SHA-256 in hexadecimal")
    if event.words < 0 or (event.status != "ok") is not (event.words == 0):
        found.append(f"event {event.id} is {event.status} and has {event.words} words")
    if event.status != "ok" and any(value for value in event.scores.values()):
        found.append(f"event {event.id} is {event.status} but has a score other than 0")
    if len(event.title) > _LONGEST_TITLE:
        found.append(f"event {event.id}: its title has {len(event.title):,} characters; at most {_LONGEST_TITLE} are read")
    for name, value in event.scores.items():
        if value is not None and (why := _out_of_range(name, value)):
            found.append(f"event {event.id}: {name} {why}")
    missing = [name for name in names if name not in event.scores]
    if missing:
        found.append(f"event {event.id} lacks {', '.join(missing)}")
    return found


def _out_of_range(metric: str, value: float) -> str:
    """Why the value cannot be one of this metric, or nothing."""
    if not math.isfinite(value):
        return "is not a finite number"
    if value < 0 or (value > 1 and is_share(metric)):
        return f"is {value!r}, not {'in [0, 1]' if is_share(metric) else '0 or more'}"
    return ""


def _score_problems(
    place: str, name: str, score: SubmittedScore, events: Sequence[EventScores], profile: SubmittedProfile
) -> list[str]:
    values = [event.scores.get(name) for event in events]
    if all(value is None for value in values):
        return [f"{place} is given, but no event has a value for it"]
    if not all(value is None or math.isfinite(value) for value in values):
        return [f"{place} cannot be recomputed: a value is not a finite number"]
    n_failed = sum(event.status != "ok" for event in events)
    again = estimate(values, name=name, seed=profile.seed, resamples=profile.resamples, n_failed=n_failed)
    claimed = (score.mean, *score.ci95)
    recomputed = (again.mean, again.low, again.high)
    found = [
        f"{place}.{part} is {a!r}, recomputed from the events it is {b!r}"
        for part, a, b in zip(("mean", "ci95[0]", "ci95[1]"), claimed, recomputed, strict=True)
        if not agree(a, b)
    ]
    if (score.n, score.n_failed, score.n_unscored) != (again.n, again.n_failed, again.n_unscored):
        found.append(f"{place} counts n={score.n}, failed={score.n_failed}, unscored={score.n_unscored}; "
                     f"the events give {again.n}, {again.n_failed}, {again.n_unscored}")  # fmt: skip
    return found
