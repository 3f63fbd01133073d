"""Whether attacks rank below the honest system that they were made from.

Honest articles and attacks are scored alike, by `benchmark.scoring.score_run`, each in a run folder of its own. They are
compared over the events on which the attack changed the article: on the others there is no attack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from benchmark import scoring
from benchmark.attacks.all_attacks import Attack
from benchmark.attacks.given import Given, sentences_of
from data import codec
from data.runs import RunFolder
from data.scores import EventScores
from data.snapshot import Snapshot
from data.stage_types import ARTICLE
from data.types import Article, Event, Page, Strict
from eval.metric import Metric

HONEST = "honest"
DIGITS = 6
"""Means are rounded to as many before they are ranked: equal articles must not be separated by how sums were rounded."""
_RESAMPLES = 1
"""Intervals are not looked at here."""

Rows = dict[str, dict[str, EventScores]]
"""Scores by attack (or HONEST) and event."""


@dataclass(frozen=True, slots=True)
class Standing(Strict):
    """One attack beside the honest system, means over the `n_events` events that it changed.

    `deciding` is the measure which alone, put in place of the honest system's, moves its rank furthest the way the attack's
    went, and `margin` is honest minus attack on it, where a missing value counts as 0. Empty and 0 where no single measure
    does. `changed` is the share of the attack's sentences, on these events, that the honest article does not have.
    """

    attack: str
    family: str
    n_events: int
    is_below: bool
    deciding: str
    margin: float
    changed: float
    words: float
    honest_words: float
    means: dict[str, float]
    honest: dict[str, float]


@dataclass(frozen=True, slots=True)
class Broken(Strict):
    """An attack that raised an error on an event, which is then missing from its means."""

    attack: str
    event_id: str
    error: str


@dataclass(frozen=True, slots=True)
class Attacked:
    """Articles by attack and event: those that differ from the honest one."""

    articles: dict[str, dict[str, Article]]
    changed: dict[str, float]
    broken: tuple[Broken, ...]


def make(attacks: Sequence[Attack], given: Mapping[str, Given]) -> Attacked:
    """Every attack's articles, and the share of their sentences that are not honest ones. An error stays with its attack and
    event."""
    articles: dict[str, dict[str, Article]] = {attack.name: {} for attack in attacks}
    broken = []
    for event_id, one in given.items():
        for attack in attacks:
            try:
                article = attack.make(one)
            except Exception as error:  # one event must not end a run; the caller shows it
                broken.append(Broken(attack.name, event_id, repr(error)))
                continue
            if article != one.article:
                articles[attack.name][event_id] = article
    changed = {
        name: fmean(_changed(article, given[event_id].article) for event_id, article in found.items())
        for name, found in articles.items()
        if found
    }
    return Attacked(articles, changed, tuple(broken))


def _changed(article: Article, honest: Article) -> float:
    known = set(sentences_of(honest))
    found = sentences_of(article)
    return sum(sentence not in known for sentence in found) / len(found) if found else 0.0


def score(
    attacked: Attacked,
    given: Mapping[str, Given],
    snapshot: Snapshot,
    metrics: Sequence[Metric],
    out: Path,
    done: Callable[[str], None] = lambda event_id: None,
) -> Rows:
    """Rows of the honest system and of every attack. `out` keeps articles and scores, a folder each; an article that is there
    and the same is not scored again. Goes event by event, since metrics keep what they know of an event's pages for a
    moment."""
    articles = {HONEST: {event_id: one.article for event_id, one in given.items()}, **attacked.articles}

    def collect(event: Event) -> tuple[Page, ...]:
        return given[event.id].pages

    rows: Rows = {name: {} for name in articles}
    with ExitStack() as stack:
        scoring_of: dict[str, Iterator[EventScores]] = {}
        for name, made in articles.items():
            run = RunFolder(out / name)
            for event_id, article in made.items():
                codec.write_atomic(run.event(event_id).file(ARTICLE), codec.to_json(article, indent=1) + "\n")
            scoring_of[name] = stack.enter_context(
                closing(scoring.score_run(run, snapshot, list(made), metrics, collect))  # type: ignore[type-var]
            )
        for event_id in given:
            for name, made in articles.items():
                if event_id in made:
                    rows[name][event_id] = next(scoring_of[name])
            done(event_id)
        for rest in scoring_of.values():
            assert next(rest, None) is None  # each has written its rows
    return rows


def standings(attacks: Sequence[Attack], attacked: Attacked, rows: Rows, metrics: Sequence[Metric]) -> tuple[Standing, ...]:
    """In the order of the attacks; one that changed nothing is left out."""
    return tuple(
        standing(
            attack,
            list(rows[attack.name].values()),
            [rows[HONEST][event_id] for event_id in rows[attack.name]],
            metrics,
            attacked.changed[attack.name],
        )
        for attack in attacks
        if rows[attack.name]
    )


def standing(
    attack: Attack,
    attacked: Sequence[EventScores],
    honest: Sequence[EventScores],
    metrics: Sequence[Metric],
    changed: float,
) -> Standing:
    """Rows of the same events."""
    ours, theirs = means_of(honest, metrics), means_of(attacked, metrics)
    name, margin = _deciding(ours, theirs)
    return Standing(
        attack=attack.name,
        family=attack.family,
        n_events=len(attacked),
        is_below=scoring.ranking_key(theirs) < scoring.ranking_key(ours),
        deciding=name,
        margin=margin,
        changed=changed,
        words=fmean(row.words for row in attacked),
        honest_words=fmean(row.words for row in honest),
        means=theirs,
        honest=ours,
    )


def means_of(rows: Sequence[EventScores], metrics: Sequence[Metric]) -> dict[str, float]:
    """As a leaderboard has them, rounded."""
    scores = scoring.system_scores("", "search", "", rows, metrics, resamples=_RESAMPLES, seed=0)
    return {name: round(estimate.mean, DIGITS) for name, estimate in scores.estimates.items()}


def _deciding(honest: Mapping[str, float], attack: Mapping[str, float]) -> tuple[str, float]:
    """The public ranking key alone is asked, so this holds whatever it ranks by."""
    before, after = scoring.ranking_key(honest), scoring.ranking_key(attack)
    if before == after:
        return "", 0.0
    margins = {name: value - attack.get(name, 0.0) for name, value in honest.items() if attack.get(name) != value}
    keys = {
        name: scoring.ranking_key({k: v for k, v in {**honest, name: attack.get(name)}.items() if v is not None})
        for name in margins
    }
    moving = [name for name in margins if (keys[name] < before if after < before else keys[name] > before)]
    if not moving:
        return "", 0.0
    furthest = (min if after < before else max)(keys[name] for name in moving)
    name = max((name for name in moving if keys[name] == furthest), key=lambda name: abs(margins[name]))
    return name, margins[name]
