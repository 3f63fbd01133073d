"""Everything that can be wrong with a submission, as sentences.

Means and intervals are recomputed from the event rows before anything is believed.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from benchmark.splits import ids_sha256, in_dev
from benchmark.submissions.submitted import Submission, SubmittedProfile, SubmittedScore, SubmittedSystem, agree
from data.scores import EventScores
from eval.aggregate import estimate
from eval.catalogue import is_share

RESAMPLES = range(100, 100_001)
"""How many bootstrap resamples a submission may name: too few say nothing, too many keep the checker busy for hours."""
MOST_EVENTS = 10_000
MOST_NAME_CHARS = 100
"""Of the name of a system, a model or a judge, and of a version: what tables show."""
MOST_DRAWS = 10**10
"""Resamples times rows, summed over all scores: about what a minute of recomputing takes. A thousand events with a hundred
metrics and ten thousand resamples need a tenth."""
BUILT_IN = ("lead", "bm25", "extractive", "rr", "prr", "rprr", "ours", "closed_book")
"""Systems of this package: their names are theirs alone."""
_EVENT_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def some(ids: Sequence[str]) -> str:
    """The first three, and how many more there are."""
    return ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")


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
    height = 0
    for c in unicodedata.normalize("NFD", name):
        height = height + 1 if unicodedata.combining(c) else 0
        if height > _MOST_ACCENTS:
            return f"has more than {_MOST_ACCENTS} accents on one letter, which paint over other lines"
    return ""


def imitated(name: str) -> str:
    """The system of this package that a name is, or looks like; else nothing. A letter of another alphabet may look like any of
    ASCII, as long as one of ASCII stands beside it."""
    shape = _shape(name)
    if len(shape) > MOST_NAME_CHARS or not any(c.isascii() for c in shape):
        return ""
    pattern = re.compile("".join("[a-z0-9]" if _is_foreign_letter(c) else re.escape(c) for c in shape))
    return next((known for known in BUILT_IN if pattern.fullmatch(_shape(known))), "")


_BLANK = "\u115f\u1160\u2800\u3164\uffa0"  # letters and signs by their category, and seen as a space or not at all
_MOST_ACCENTS = 4
"""On one letter."""
_LOOKS_LIKE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0501\u04cf\u0432\u043c\u0442\u0433"  # Cyrillic
    "\u03b1\u03bf\u03c1\u03c5\u03c4\u03b9\u03bd\u03ba\u0251\u0261\u0131" "015|",  # Greek, phonetic, digits
    "aeopcyxisdlbmtr" "aoputivkagi" "olsl",
)  # fmt: skip
_LIKE_ONE = (("i", "l"), ("rn", "m"), ("cl", "d"))
"""Letters that together look like one, and the capital I, which most fonts draw as an l."""


def _is_foreign_letter(c: str) -> bool:
    """Of an alphabet, whose letters may look like one of ours; no character of a script of syllables or words does."""
    return not (c.isascii() or unicodedata.name(c, "CJK").startswith(("CJK", "HANGUL", "HIRAGANA", "KATAKANA")))


def _shape(name: str) -> str:
    """A name as the eye sees it: letters and digits without case, width, marks, and spaces of any kind."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold()).translate(_LOOKS_LIKE)
    seen = "".join(c for c in plain if c.isalnum() and c not in _BLANK)
    for written, like in _LIKE_ONE:
        seen = seen.replace(written, like)
    return seen


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
