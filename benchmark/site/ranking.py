"""Who is compared with whom, and who shares a rank.

Only rows made under one condition meet in a table: scores as submitted are never ranked with recomputed ones, nor systems
that find text of their own with those that do not. Within it rows are sorted by `benchmark.scoring.ranking_key`: those whose
citations hold first. Ranks come from one metric, `decided_by`: a row has the rank of the first row above it that it cannot be
told from, by the sign-flip test of `eval.aggregate.paired`, Holm's adjustment over all pairs of the table, at 5%. "Cannot be
told from" does not pass on from row to row, so every row of a rank is tied with the first of them, and two later ones may
differ. No rank is shared across the line between citations that hold and those that do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from benchmark.scoring import RANKED, ranking_key
from benchmark.site.entries import Entry
from eval.aggregate import PairedDifference, holm, paired

LEVEL = 0.05
SEED = 0
UNSUPPORTED_BY = "cite_f1"
"""What rows are told apart by whose citations do not hold."""
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
    """`rank` is None where the metric that decides is missing; `shared` says that another row has the same one; `supported`
    that its citations hold, as `ranking_key` asks."""

    entry: Entry
    rank: int | None
    shared: bool
    supported: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The row minus `other` on `metric`; `p` is Holm's, over all pairs of the block. `decides` is False where the citations of
    one hold and those of the other do not, which decides by itself."""

    other: Entry
    metric: str
    decides: bool
    difference: PairedDifference
    p: float


@dataclass(frozen=True, slots=True)
class Block:
    condition: Condition
    rows: tuple[Row, ...]
    decided_by: str
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


def decided_by(entry: Entry) -> str:
    """The metric that its rank comes from."""
    return RANKED[0] if _key(entry)[0] else UNSUPPORTED_BY


def _key(entry: Entry) -> tuple[float, ...]:
    return ranking_key({name: score.mean for name, score in entry.submission.scores.items()})


def _block(condition: Condition, entries: Sequence[Entry]) -> Block:
    ordered = sorted(entries, key=lambda e: (*(-x for x in _key(e)), e.submission.system.name, e.slug))
    pairs = _pairs(ordered)
    ranks: list[int | None] = []
    leader = 0
    for i, entry in enumerate(ordered):
        if decided_by(entry) not in entry.submission.scores:
            ranks.append(None)
            continue
        if i != leader and not ((leader, i) in pairs and pairs[leader, i].decides and pairs[leader, i].p > LEVEL):
            leader = i
        ranks.append(leader + 1)
    rows = tuple(
        Row(entry, rank, rank is not None and ranks.count(rank) > 1, bool(_key(entry)[0]))
        for entry, rank in zip(ordered, ranks, strict=True)
    )
    comparisons = {entry.slug: tuple(_against(i, ordered, pairs)) for i, entry in enumerate(ordered)}
    return Block(condition, rows, decided_by(ordered[0]), comparisons)


def _pairs(ordered: Sequence[Entry]) -> dict[tuple[int, int], Comparison]:
    """For each pair of rows that have its metric: row i minus row j, and the adjusted p."""
    found: dict[tuple[int, int], tuple[str, PairedDifference]] = {}
    for (i, a), (j, b) in combinations(enumerate(ordered), 2):
        metric = decided_by(a) if decided_by(a) == decided_by(b) else UNSUPPORTED_BY
        if metric in a.submission.scores and metric in b.submission.scores:
            found[i, j] = metric, _paired(a, b, metric)
    adjusted = holm([difference.p for _, difference in found.values()])
    return {
        (i, j): Comparison(ordered[j], metric, decided_by(ordered[i]) == decided_by(ordered[j]), difference, p)
        for ((i, j), (metric, difference)), p in zip(found.items(), adjusted, strict=True)
    }


def _paired(a: Entry, b: Entry, metric: str) -> PairedDifference:
    pairs = [(a.rows[event_id].scores.get(metric), b.rows[event_id].scores.get(metric)) for event_id in sorted(a.rows)]
    if any(x is not None and y is not None for x, y in pairs):
        return paired([x for x, _ in pairs], [y for _, y in pairs], SEED, name=metric)
    return PairedDifference(0.0, 0.0, 0.0, 1.0, 0)  # no event tells them apart


def _against(i: int, ordered: Sequence[Entry], pairs: Mapping[tuple[int, int], Comparison]) -> Iterator[Comparison]:
    for j in range(len(ordered)):
        if (i, j) in pairs:
            yield pairs[i, j]
        elif (j, i) in pairs:
            one, d = pairs[j, i], pairs[j, i].difference
            turned = PairedDifference(0.0 - d.mean, 0.0 - d.high, 0.0 - d.low, d.p, d.n)
            yield replace(one, other=ordered[j], difference=turned)


__all__ = ["Block", "Comparison", "Condition", "Row", "blocks", "condition_of", "decided_by", "without_leak_filter"]
