"""Every number that an article can score: its name, what it is called, which way is good, and what it says.

Console, reports, leaderboard, comparisons and `docs/scores.md` read it here. A new metric is a class in `eval.metrics` and an
entry in `catalogue.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from eval.metric import Better

Unit = Literal["share", "ratio", "count"]
"""`share` lies in [0, 1], `ratio` may exceed 1 (both are printed in percent), `count` is a number of things."""

Place = Literal["headline", "beside", ""]
"""Whether systems are compared by it, whether it is shown beside those, or only where everything is asked for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`label` is what a table calls it, `meaning` one line for readers who have never seen it."""

    name: str
    label: str
    meaning: str
    better: Better = "higher"
    unit: Unit = "share"
    place: Place = ""
    group: str = ""

    @property
    def arrow(self) -> str:
        return {"higher": "↑", "lower": "↓", "neither": ""}[self.better]

    @property
    def share(self) -> bool:
        """Whether values lie in [0, 1]."""
        return self.unit == "share"


_TABLE: Mapping[str, tuple[Entry, ...]] = {
    group: tuple(Entry(**row) for row in rows)
    for group, rows in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
CATALOGUE: Mapping[str, Entry] = {
    entry.name: Entry(entry.name, entry.label, entry.meaning, entry.better, entry.unit, entry.place, group)
    for group, entries in _TABLE.items()
    for entry in entries
}
"""By name, in the order in which tables show them."""
GROUPS = tuple(_TABLE)

HEADLINE = tuple(name for name, one in CATALOGUE.items() if one.place == "headline")
"""What systems are compared by; everything else explains. docs/scores.md says how they were chosen."""
BESIDE = tuple(name for name, one in CATALOGUE.items() if one.place == "beside")
"""Shown beside the headline: what length costs, and two that the preconditions and `quality` look at."""


def entry(name: str) -> Entry:
    """Of a metric that is not in the catalogue, as somebody's submission may have, the name and nothing more is known."""
    known = CATALOGUE.get(name)
    return known or Entry(name, name, "", "neither", "count" if name.startswith("n_") else "share", group="Others")


def directions(*names: str) -> dict[str, Better]:
    """Which way each metric is better, as `Metric.names` gives it. Raises KeyError for one that has no entry."""
    return {name: CATALOGUE[name].better for name in names}


def less_is_better(name: str) -> bool:
    return entry(name).better == "lower"


def is_share(name: str) -> bool:
    return entry(name).share


def shown(name: str, value: float) -> str:
    """As tables print it: shares and ratios in percent, counts as they are."""
    if entry(name).unit == "count":
        return f"{value:.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.1f}"
    return f"{100 * value:.1f}"


def by_group(names: Iterable[str]) -> list[tuple[str, list[Entry]]]:
    """The entries of these metrics by group, in the catalogue's order; those without one last."""
    wanted = set(names)
    found = {group: [one for one in CATALOGUE.values() if one.group == group and one.name in wanted] for group in GROUPS}
    others = [entry(name) for name in sorted(wanted - CATALOGUE.keys())]
    return [(group, entries) for group, entries in [*found.items(), ("Others", others)] if entries]
