"""Is `fact_recall` what a reader would count? Readings of pairs of a human fact and an article, beside the measure.

A reading names its pair by hashes alone, so that the labels may ship and the texts need not. `weight` says how many pairs of
all it stands for: pairs that the measure counts as told, those that it does not with something near, and the rest are drawn
apart (stratified sampling), and every share printed is of all pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from data import codec
from data.errors import UserError
from data.types import Strict

FILE = Path(__file__).with_name("told_facts.jsonl")

FAR = "far"
"""The stratum of pairs that are not counted as told and have nothing near."""

Label = Literal["told", "partly", "not", ""]
Wording = Literal["copy", "own", ""]
Half = Literal["choose", "once"]


@dataclass(frozen=True, slots=True)
class Reading(Strict):
    """`fact` and `article` are `short_hash` of the fact and of the article's sentences; `place` is the fact's among those of
    its human article. `stratum` is how the pair was drawn. `sentences` are places in the article that tell it, `second` a
    second reading, "" where there was none. `half`: may something be chosen on it, or is it looked at once?"""

    id: str
    event: str
    system: str
    article: str
    fact: str
    place: int
    stratum: str
    weight: float
    half: Half
    label: Label = ""
    wording: Wording = ""
    sentences: tuple[int, ...] = ()
    second: Label = ""


def short_hash(text: str) -> str:
    return codec.sha256(text)[:16]


def article_hash(sentences: Iterable[str]) -> str:
    return short_hash("\n".join(sentences))


def read_readings(path: Path) -> list[Reading]:
    """Raises UserError for a line that is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"cannot read {path} ({error}); draw readings with: python -m tools.quality.told_readings draw"
        ) from None
    return [codec.from_json(Reading, line, where=f"{path}:{n}") for n, line in enumerate(lines, 1)]


def half_of(readings: Sequence[Reading], half: Half) -> list[Reading]:
    """That half, standing for all pairs: of each system and stratum it weighs what both halves do."""
    whole: dict[tuple[str, str], float] = {}
    part: dict[tuple[str, str], float] = {}
    for one in readings:
        key = one.system, one.stratum
        whole[key] = whole.get(key, 0.0) + one.weight
        part[key] = part.get(key, 0.0) + one.weight * (one.half == half)
    return [
        replace(one, weight=one.weight * whole[one.system, one.stratum] / part[one.system, one.stratum])
        for one in readings
        if one.half == half
    ]


@dataclass(frozen=True, slots=True)
class Judged:
    """A reading beside what the measure says of the same pair."""

    reading: Reading
    counted: bool


@dataclass(frozen=True, slots=True)
class Agreement:
    """Shares in [0, 1] of the weight of all pairs, None without any. `accuracy` counts `partly` as not told.

    `false_told`: of the pairs counted as told, those that are not (`partly_told`: of these those that are told in part).
    `missed`: of the pairs that are told, those not counted. `error` is the standard error of `accuracy`.
    """

    n: int
    accuracy: float | None
    error: float | None
    false_told: float | None
    partly_told: float | None
    missed: float | None
    recall: float | None
    read_recall: float | None
    read_recall_half: float | None
    """`recall` by the measure, by readers, and by readers with a half for `partly`."""


def agreement(found: Sequence[Judged]) -> Agreement:
    told = [one for one in found if one.counted]
    true = [one for one in found if one.reading.label == "told"]
    accuracy = _share(found, lambda one: one.counted == (one.reading.label == "told"))
    return Agreement(
        n=len(found),
        accuracy=accuracy,
        error=_error(found),
        false_told=_share(told, lambda one: one.reading.label != "told"),
        partly_told=_share(told, lambda one: one.reading.label == "partly"),
        missed=_share(true, lambda one: not one.counted),
        recall=_share(found, lambda one: one.counted),
        read_recall=_share(found, lambda one: one.reading.label == "told"),
        read_recall_half=_share(found, lambda one: {"told": 1.0, "partly": 0.5}.get(one.reading.label, 0.0)),
    )


def by(found: Sequence[Judged], key: Callable[[Judged], str]) -> Mapping[str, Agreement]:
    """Agreement by what `key` says, in the order of the names; "" is left out."""
    names = sorted({key(one) for one in found} - {""})
    return {name: agreement([one for one in found if key(one) == name]) for name in names}


def by_system(found: Sequence[Judged]) -> Mapping[str, Agreement]:
    """Of each system, its own pairs of the strata `told` and `near`; of the rest too few were drawn to tell systems apart, so
    those of all systems stand for each one's."""
    rest = [one for one in found if one.reading.stratum == FAR]
    found_by = {}
    for system in sorted({one.reading.system for one in found}):
        own = [one for one in found if one.reading.system == system]
        size = math.fsum(one.reading.weight for one in own if one.reading.stratum == FAR)
        lent = [Judged(replace(one.reading, weight=size / len(rest)), one.counted) for one in rest] if size else []
        of = agreement([*(one for one in own if one.reading.stratum != FAR), *lent])
        found_by[system] = replace(of, n=len(own))
    return found_by


def _share(found: Sequence[Judged], is_in: Callable[[Judged], float]) -> float | None:
    whole = math.fsum(one.reading.weight for one in found)
    return math.fsum(one.reading.weight * is_in(one) for one in found) / whole if whole else None


def _error(found: Sequence[Judged]) -> float | None:
    """Of the weighted share of right ones. Strata were drawn apart, each by simple sampling; a few of one may all be right by
    chance, so that one right and one wrong are added to each (Agresti and Coull 1998)."""
    whole = math.fsum(one.reading.weight for one in found)
    if not whole:
        return None
    variance = 0.0
    for stratum in {one.reading.stratum for one in found}:
        drawn = [one for one in found if one.reading.stratum == stratum]
        n, size = len(drawn), math.fsum(one.reading.weight for one in drawn)
        right = (1 + sum(one.counted == (one.reading.label == "told") for one in drawn)) / (n + 2)
        variance += (size / whole) ** 2 * right * (1 - right) / n
    return math.sqrt(variance)


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa (1960) of two readings of the same pairs; None without pairs or where chance alone agrees."""
    if not pairs:
        return None
    n = len(pairs)
    names = {label for pair in pairs for label in pair}
    agreed = sum(a == b for a, b in pairs) / n
    chance = sum(sum(a == name for a, _ in pairs) * sum(b == name for _, b in pairs) for name in names) / n**2
    return (agreed - chance) / (1 - chance) if chance < 1 else None
