"""Who is compared with whom, and who shares a rank.

Only rows made under one condition meet in a table: scores as submitted are never ranked with recomputed ones, nor systems
that find text of their own with those that do not. Within it rows are sorted by `RANKING`; ranks come from `cite_f1`: a row
has the rank of the first row above it that it cannot be told from, by the sign-flip test of `eval.aggregate.paired`, Holm's
adjustment over all pairs of the table, at 5%. "Cannot be told from" does not pass on from row to row, so every row of a
rank is tied with the first of them, and two later ones may differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from benchmark.site.entries import RANKING, Entry
from eval.aggregate import PairedDifference, holm, paired

LEVEL = 0.05
SEED = 0
_JUDGE = re.compile(r"(?:^|\|)judge=([^|;]*)")


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """What two numbers must share to be compared."""

    benchmark: str
    split: str
    track: str
    leak_filter: bool
    uses_web: bool
    recomputed: bool
    n_events: int
    ids_sha256: str
    signature: str

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges that the signature names, each once."""
        parts = (part.strip() for part in self.signature.split(";"))
        return tuple(dict.fromkeys(judge.strip() for part in parts for judge in _JUDGE.findall(part)))


@dataclass(frozen=True, slots=True)
class Row:
    """`rank` is None where `cite_f1` is missing; `shared` says that another row has the same one."""

    entry: Entry
    rank: int | None
    shared: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The row's `cite_f1` minus that of `other`; `p` is Holm's, over all pairs of the block."""

    other: Entry
    difference: PairedDifference
    p: float


@dataclass(frozen=True, slots=True)
class Block:
    condition: Condition
    rows: tuple[Row, ...]
    comparisons: Mapping[str, tuple[Comparison, ...]]
    """By slug, in the order of the rows."""


def condition_of(entry: Entry) -> Condition:
    made = entry.submission
    return Condition(
        benchmark=made.data.benchmark,
        split=made.data.split,
        track=made.system.evidence_track,
        leak_filter=made.data.leak_filter,
        uses_web=made.system.uses_web,
        recomputed=made.recomputed,
        n_events=made.data.n_events,
        ids_sha256=made.data.ids_sha256,
        signature=made.profile.signature,
    )


def blocks(entries: Iterable[Entry]) -> list[Block]:
    """One for each condition: recomputed scores first, then filtered evidence, then those with most rows."""
    groups: dict[Condition, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(condition_of(entry), []).append(entry)
    ordered = sorted(groups, key=lambda c: (not c.recomputed, not c.leak_filter, -len(groups[c]), c))
    return [_block(condition, groups[condition]) for condition in ordered]


def without_leak_filter(entry: Entry, entries: Iterable[Entry]) -> Entry | None:
    """The same system on the same events with the leak filter off, if that was submitted as well."""
    wanted = replace(condition_of(entry), leak_filter=False)
    if not entry.submission.data.leak_filter:
        return None
    return next((e for e in entries if condition_of(e) == wanted and _identity(e) == _identity(entry)), None)


def _identity(entry: Entry) -> tuple[object, ...]:
    system = entry.submission.system
    settings = {name: value for name, value in system.settings.items() if name != "leak_filter"}
    return system.name, system.version, system.models, settings


def _block(condition: Condition, entries: Sequence[Entry]) -> Block:
    ordered = sorted(entries, key=lambda e: (*(-_mean(e, name) for name in RANKING), e.submission.system.name, e.slug))
    pairs = _pairs(ordered)
    tied = {pair: p > LEVEL for pair, (_, p) in pairs.items()}
    ranks: list[int | None] = []
    leader = 0
    for i, entry in enumerate(ordered):
        if RANKING[0] not in entry.submission.scores:
            ranks.append(None)
            continue
        if i != leader and not tied[leader, i]:
            leader = i
        ranks.append(leader + 1)
    rows = tuple(Row(e, rank, rank is not None and ranks.count(rank) > 1) for e, rank in zip(ordered, ranks, strict=True))
    return Block(condition, rows, {entry.slug: _against(i, ordered, pairs) for i, entry in enumerate(ordered)})


def _mean(entry: Entry, name: str) -> float:
    score = entry.submission.scores.get(name)
    return -1.0 if score is None else score.mean


def _pairs(ordered: Sequence[Entry]) -> dict[tuple[int, int], tuple[PairedDifference, float]]:
    """For each pair of rows with `cite_f1`: row i minus row j, and the adjusted p."""
    ranked = [i for i, entry in enumerate(ordered) if RANKING[0] in entry.submission.scores]
    values = {i: _values(ordered[i]) for i in ranked}
    differences = {}
    for i, j in combinations(ranked, 2):
        if any(a is not None and b is not None for a, b in zip(values[i], values[j], strict=True)):
            differences[i, j] = paired(values[i], values[j], SEED, name=RANKING[0])
        else:  # no event tells them apart
            differences[i, j] = PairedDifference(0.0, 0.0, 0.0, 1.0, 0)
    adjusted = holm([difference.p for difference in differences.values()])
    return {pair: (difference, p) for (pair, difference), p in zip(differences.items(), adjusted, strict=True)}


def _values(entry: Entry) -> list[float | None]:
    return [entry.rows[event_id].scores.get(RANKING[0]) for event_id in sorted(entry.rows)]


def _against(
    i: int, ordered: Sequence[Entry], pairs: Mapping[tuple[int, int], tuple[PairedDifference, float]]
) -> tuple[Comparison, ...]:
    found = []
    for j, other in enumerate(ordered):
        if (i, j) in pairs:
            found.append(Comparison(other, *pairs[i, j]))
        elif (j, i) in pairs:
            d, p = pairs[j, i]
            turned = PairedDifference(0.0 - d.mean, 0.0 - d.high, 0.0 - d.low, d.p, d.n)
            found.append(Comparison(other, turned, p))
    return tuple(found)


__all__ = ["Block", "Comparison", "Condition", "Row", "blocks", "condition_of", "without_leak_filter"]
