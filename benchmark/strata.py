"""Scores by kind of event: a mean over all of them hides where a system fails.

    evidence: small, medium, large      terciles of the words on usable pages, among the events that are scored
    reference: list-like, prose         most lines of the human article, headings included, have under 12 words, as in results,
                                        rosters, casts (118 of 248 development articles; 49 if headings were left out)
    topic: since 2021, before           the median of the years that the human article names
    infobox: with, without              whether the human article has one to be recalled

Traits are of the event, not of the system, so two systems on the same events and track are cut alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from data.errors import StageError
from data.gold import GoldArticle, load_gold
from data.runs import RunFolder
from data.scores import Estimate, EventScores
from data.snapshot import Snapshot
from data.types import Event, Page
from eval.aggregate import estimates
from eval.catalogue import HEADLINE

RECENT_FROM = 2021
SHORT_LINE_WORDS = 12
STRATA = (
    "evidence: small", "evidence: medium", "evidence: large",
    "reference: list-like", "reference: prose",
    "topic: since 2021", "topic: before",
    "infobox: with", "infobox: without",
)  # fmt: skip

_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")


@dataclass(frozen=True, slots=True)
class Traits:
    """`year` is the median year that the human article names, None if it names none (which counts as before 2021)."""

    evidence_words: int
    list_like: bool
    year: float | None
    infobox: bool


@dataclass(frozen=True, slots=True)
class Stratum:
    """Its events in id order, and the estimates of the headline metrics over them."""

    events: tuple[str, ...]
    estimates: dict[str, Estimate]


def traits_of(gold: GoldArticle, pages: Sequence[Page]) -> Traits:
    lines = [len(line.split()) for line in gold.raw.split("\n") if line.strip()]
    years = [int(year) for year in _YEAR.findall(gold.prose)]
    return Traits(
        evidence_words=sum(len(page.text.split()) for page in pages if page.usable),
        list_like=2 * sum(n < SHORT_LINE_WORDS for n in lines) > len(lines),
        year=median(years) if years else None,
        infobox=bool(gold.infobox),
    )


def read_traits(
    run: RunFolder, snapshot: Snapshot, ids: Iterable[str], collect: Callable[[Event], tuple[Page, ...]]
) -> dict[str, Traits]:
    """Traits of the events whose human article and pages can be read."""
    found = {}
    for event_id in ids:
        try:
            pages = run.event(event_id).stored_pages()
            pages = collect(snapshot.event(event_id)) if pages is None else pages
            found[event_id] = traits_of(load_gold(snapshot, event_id), pages)
        except StageError:  # unscored, too
            continue
    return found


def members(traits: Mapping[str, Traits]) -> dict[str, tuple[str, ...]]:
    """The events of each stratum, in id order; an empty stratum is left out."""
    by_words = sorted(traits, key=lambda event_id: (traits[event_id].evidence_words, event_id))
    size = {event_id: 3 * rank // len(by_words) for rank, event_id in enumerate(by_words)}
    found: dict[str, list[str]] = {name: [] for name in STRATA}
    for event_id in sorted(traits):
        one = traits[event_id]
        found[STRATA[size[event_id]]].append(event_id)
        found["reference: list-like" if one.list_like else "reference: prose"].append(event_id)
        found["topic: since 2021" if one.year is not None and one.year >= RECENT_FROM else "topic: before"].append(event_id)
        found["infobox: with" if one.infobox else "infobox: without"].append(event_id)
    return {name: tuple(ids) for name, ids in found.items() if ids}


def stratify(traits: Mapping[str, Traits], rows: Sequence[EventScores], *, resamples: int, seed: int) -> dict[str, Stratum]:
    """The headline metrics in each stratum, failures included. A metric that no event of a stratum has is left out there."""
    by_id = {row.id: row for row in rows}
    found = {}
    for name, ids in members({i: t for i, t in traits.items() if i in by_id}).items():
        here = [by_id[i] for i in ids]
        n_failed = sum(row.status != "ok" for row in here)
        values = [row.scores for row in here]
        found[name] = Stratum(ids, estimates(values, HEADLINE, n_failed=n_failed, seed=seed, resamples=resamples))
    return found
