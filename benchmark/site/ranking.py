"""Who is compared with whom, and who shares a rank.

Only rows made under one condition meet in a table: scores as submitted are never ranked with those that this site computed
itself (`benchmark.submissions.ledger`; what a submission says of that is not asked), nor systems that find text of their own
with those that do not. Within it rows are sorted by `benchmark.scoring.ranking_key`: those that fail fewer preconditions
(support, originality, junk) are in a higher tier, and no rank is shared between tiers. Inside a
tier ranks come from one metric of RANKED after the other: a row shares the rank of the first row above it that it cannot be
separated from in the first metric, by the sign-flip test of `eval.aggregate.paired`, Holm's adjustment over all tests inside
the tiers of the table, at 5%; among those that share it the next metric decides in the same way. "Cannot be separated from"
does not pass on from row to row, so every row of a rank is tied with the first of them, and two later ones may differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from benchmark.scoring import RANKED, ranking_key, why_unmet
from benchmark.site.entries import Entry
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
    """`rank` is None where the metric that decides is missing; `shared` says that another row has the same one; `failed` are
    the preconditions that it does not meet, each with the values that fail it."""

    entry: Entry
    rank: int | None
    shared: bool
    failed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The row minus `other` on `metric`; `p` is Holm's, over all tests inside the tiers of the block. `tiers` is how many more
    preconditions `other` fails: where that is not 0 it decides by itself, nothing is tested, and `p` is None."""

    other: Entry
    metric: str
    tiers: int
    difference: PairedDifference
    p: float | None


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
        recomputed=entry.recomputed,
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
    by_key = sorted(entries, key=lambda e: (*(-x for x in ranking_key(e.submission.means)), e.submission.system.name, e.slug))
    failed = [why_unmet(entry.submission.means) for entry in by_key]
    tests = _Tests(by_key, [len(names) for names in failed])
    ordered: list[Entry] = []
    ranks: list[int | None] = []
    for tier in sorted(set(tests.tiers)):
        among = [i for i, other in enumerate(tests.tiers) if other == tier]
        without = [i for i in among if RANKED[0] not in by_key[i].submission.scores]
        for group in tests.ranked([i for i in among if i not in without], RANKED):
            ranks += [len(ordered) + 1] * len(group)
            ordered += [by_key[i] for i in group]
        ranks += [None] * len(without)
        ordered += [by_key[i] for i in without]
    rows = tuple(
        Row(entry, rank, rank is not None and ranks.count(rank) > 1, failed[by_key.index(entry)])
        for entry, rank in zip(ordered, ranks, strict=True)
    )
    comparisons = {a.slug: tuple(found for b in ordered if (found := tests.between(a, b)) is not None) for a in ordered}
    return Block(condition, rows, comparisons)


class _Tests:
    """Every pair of entries of one tier in every metric that decides between them; p is adjusted over all of these."""

    def __init__(self, entries: Sequence[Entry], tiers: Sequence[int]) -> None:
        self._entries = entries
        self.tiers = tiers
        found: dict[tuple[int, int, str], PairedDifference] = {}
        for (i, a), (j, b) in combinations(enumerate(entries), 2):
            for metric in RANKED:
                if metric in a.submission.scores and metric in b.submission.scores:
                    found[i, j, metric] = _paired(a, b, metric)
        asked = [key for key in found if tiers[key[0]] == tiers[key[1]]]
        adjusted = dict(zip(asked, holm([found[key].p for key in asked]), strict=True))
        self._found = {key: (difference, adjusted.get(key)) for key, difference in found.items()}

    def ranked(self, group: Sequence[int], metrics: Sequence[str]) -> list[list[int]]:
        """The group from best to worst, those that nothing separates together."""
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
        """`a` minus `b` in the first metric that separates them, or in the first of all where none does."""
        i, j = self._entries.index(a), self._entries.index(b)
        tested = [key for key in self._found if key[:2] == (min(i, j), max(i, j))]
        if not tested:
            return None
        key = next((key for key in tested if self._clear(key)), tested[0])
        d, p = self._found[key]
        if i > j:
            d = PairedDifference(0.0 - d.mean, 0.0 - d.high, 0.0 - d.low, d.p, d.n)
        return Comparison(b, key[2], self.tiers[j] - self.tiers[i], d, p)

    def _apart(self, i: int, j: int, metric: str) -> bool:
        return self._clear((min(i, j), max(i, j), metric))

    def _clear(self, key: tuple[int, int, str]) -> bool:
        p = self._found[key][1] if key in self._found else None
        return p is not None and p <= LEVEL

    def _mean(self, i: int, metric: str) -> float:
        score = self._entries[i].submission.scores.get(metric)
        return score.mean if score is not None else -1.0


def _paired(a: Entry, b: Entry, metric: str) -> PairedDifference:
    pairs = [(a.rows[event_id].scores.get(metric), b.rows[event_id].scores.get(metric)) for event_id in sorted(a.rows)]
    if any(x is not None and y is not None for x, y in pairs):
        return paired([x for x, _ in pairs], [y for _, y in pairs], SEED, name=metric)
    return PairedDifference(0.0, 0.0, 0.0, 1.0, 0)  # equal on every event


__all__ = ["Block", "Comparison", "Condition", "Row", "blocks", "condition_of", "without_leak_filter"]
