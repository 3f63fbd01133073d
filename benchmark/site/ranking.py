"""Who is compared with whom, and who shares a rank.

Only rows made under one condition meet in a table: scores as submitted are never ranked with recomputed ones, nor systems
that find text of their own with those that do not. Within it rows are sorted by `benchmark.scoring.ranking_key`: those whose
citations hold first. Ranks come from one metric after the other, `deciding`: a row shares the rank of the first row above it
that it cannot be told from in the first metric, by the sign-flip test of `eval.aggregate.paired`, Holm's adjustment over all
tests of the table, at 5%; among those that share it the next metric decides in the same way. "Cannot be told from" does not
pass on from row to row, so every row of a rank is tied with the first of them, and two later ones may differ. No rank is
shared across the line between citations that hold and those that do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
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
    """The row minus `other` on `metric`; `p` is Holm's, over all tests of the block. `decides` is False where the citations of
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
    """The metric that its first row is ranked by."""
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


def deciding(entry: Entry) -> tuple[str, ...]:
    """The metrics that its rank comes from, each where those before it leave a tie."""
    return RANKED if _key(entry)[0] else (UNSUPPORTED_BY,)


def _key(entry: Entry) -> tuple[float, ...]:
    return ranking_key({name: score.mean for name, score in entry.submission.scores.items()})


def _block(condition: Condition, entries: Sequence[Entry]) -> Block:
    by_key = sorted(entries, key=lambda e: (*(-x for x in _key(e)), e.submission.system.name, e.slug))
    tests = _Tests(by_key)
    ordered: list[Entry] = []
    ranks: list[int | None] = []
    for metrics in (RANKED, (UNSUPPORTED_BY,)):
        among = [i for i, entry in enumerate(by_key) if deciding(entry) == metrics]
        without = [i for i in among if metrics[0] not in by_key[i].submission.scores]
        for group in tests.ranked([i for i in among if i not in without], metrics):
            ranks += [len(ordered) + 1] * len(group)
            ordered += [by_key[i] for i in group]
        ranks += [None] * len(without)
        ordered += [by_key[i] for i in without]
    rows = tuple(
        Row(entry, rank, rank is not None and ranks.count(rank) > 1, bool(_key(entry)[0]))
        for entry, rank in zip(ordered, ranks, strict=True)
    )
    comparisons = {a.slug: tuple(found for b in ordered if (found := tests.between(a, b)) is not None) for a in ordered}
    return Block(condition, rows, deciding(ordered[0])[0], comparisons)


class _Tests:
    """Every pair of entries in every metric that decides between them; p is adjusted over all of these."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        found: dict[tuple[int, int, str], PairedDifference] = {}
        for (i, a), (j, b) in combinations(enumerate(entries), 2):
            for metric in deciding(a) if deciding(a) == deciding(b) else (UNSUPPORTED_BY,):
                if metric in a.submission.scores and metric in b.submission.scores:
                    found[i, j, metric] = _paired(a, b, metric)
        adjusted = holm([difference.p for difference in found.values()])
        self._found = {key: (difference, p) for (key, difference), p in zip(found.items(), adjusted, strict=True)}

    def ranked(self, group: Sequence[int], metrics: Sequence[str]) -> list[list[int]]:
        """The group from best to worst, those that nothing tells apart together."""
        if len(group) < 2 or not metrics:
            return [list(group)] if group else []
        metric, *others = metrics
        ranks: list[list[int]] = []
        for i in sorted(group, key=lambda i: (-self._mean(i, metric), i)):
            if ranks and not self._apart(ranks[-1][0], i, metric):
                ranks[-1].append(i)
            else:
                ranks.append([i])
        return [part for rank in ranks for part in self.ranked(rank, others)]

    def between(self, a: Entry, b: Entry) -> Comparison | None:
        """`a` minus `b` in the first metric that tells them apart, or in the first of all where none does."""
        i, j = self._entries.index(a), self._entries.index(b)
        tested = [key for key in self._found if key[:2] == (min(i, j), max(i, j))]
        if not tested:
            return None
        key = next((key for key in tested if self._found[key][1] <= LEVEL), tested[0])
        d, p = self._found[key]
        if i > j:
            d = PairedDifference(0.0 - d.mean, 0.0 - d.high, 0.0 - d.low, d.p, d.n)
        return Comparison(b, key[2], deciding(a) == deciding(b), d, p)

    def _apart(self, i: int, j: int, metric: str) -> bool:
        known = self._found.get((min(i, j), max(i, j), metric))
        return known is not None and known[1] <= LEVEL

    def _mean(self, i: int, metric: str) -> float:
        score = self._entries[i].submission.scores.get(metric)
        return score.mean if score is not None else -1.0


def _paired(a: Entry, b: Entry, metric: str) -> PairedDifference:
    pairs = [(a.rows[event_id].scores.get(metric), b.rows[event_id].scores.get(metric)) for event_id in sorted(a.rows)]
    if any(x is not None and y is not None for x, y in pairs):
        return paired([x for x, _ in pairs], [y for _, y in pairs], SEED, name=metric)
    return PairedDifference(0.0, 0.0, 0.0, 1.0, 0)  # no event tells them apart


__all__ = ["Block", "Comparison", "Condition", "Row", "blocks", "condition_of", "deciding", "without_leak_filter"]
