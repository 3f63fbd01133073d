"""A run's articles -> one row of scores per event -> estimates with intervals. Every event asked for gets a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from benchmark.event_rows import read_rows, write_rows
from data import codec
from data.errors import StageError, UserError
from data.gold import load_gold
from data.markup import reread
from data.runs import RunFolder, own_article
from data.scores import Estimate, EventScores, SystemScores
from data.snapshot import Snapshot
from data.types import Article, Event, Page
from eval.aggregate import estimate
from eval.metric import Better, Case, Metric

HEADLINE = ("cite_recall", "cite_precision", "attainable_entity_recall", "ib_hard", "heading_f", "grounded")
"""What systems are compared by; everything else explains. It consists of RANKED, SUPPORT and UNRANKED."""

RANKED = ("attainable_entity_recall", "heading_f")
"""Headline metrics on which every floor stays below the systems here: higher is better without more to say. They rank in this
order."""

SUPPORT = ("cite_recall", "cite_precision", "grounded")
"""Headline metrics that are a precondition. The first sentences of the pages, copied, reach about 1 on each (floor `lead`), so
that a high value alone says nothing of an article; a low one says that it cannot be trusted. Tables mark them with "!", show
`copy8` beside them, and never rank by them alone."""

UNRANKED = ("ib_hard",)
"""Headline metrics that tell a right article from a wrong one (0.29 against 0.03 on 143 events), and not an article from the
passages that it was written from: the floor `bm25_title` has 0.297, the extractive system 0.288 (difference -0.009, 95%
interval -0.020 to 0.002). Compared, not ranked by, until a system is above."""

SUPPORTED_FROM = 0.90
"""What citation recall and precision should both reach under the table's judge: the goal for writers on this benchmark."""


def ranking_key(means: Mapping[str, float]) -> tuple[float, ...]:
    """Sorts a leaderboard, largest first, from a system's means.

    Systems whose citation recall and precision reach SUPPORTED_FROM come first, by RANKED. Below them stand the others, by
    `cite_f1` and then by RANKED. No blend of the two: support is asked for, coverage and structure are ranked. Sorting
    everything by `cite_f1` would put the copied lead of the pages above every writer; sorting everything by RANKED would put
    a model that writes from memory there. A metric that is missing counts as worst.
    """
    supported = min(means.get("cite_recall", 0.0), means.get("cite_precision", 0.0)) >= SUPPORTED_FROM
    return (float(supported), 0.0 if supported else means.get("cite_f1", 0.0), *(means.get(name, -1.0) for name in RANKED))


def metric_names(metrics: Sequence[Metric]) -> dict[str, Better]:
    return {name: better for metric in metrics for name, better in metric.names.items()}


def signature(metrics: Sequence[Metric]) -> str:
    return " ; ".join(metric.signature for metric in metrics)


def score_run(
    run: RunFolder,
    snapshot: Snapshot,
    ids: Sequence[str],
    metrics: Sequence[Metric],
    collect: Callable[[Event], tuple[Page, ...]],
) -> Iterator[EventScores]:
    """Rows in the order of `ids`, each computed at most once: scores.jsonl keeps them under the article's hash and the
    metrics' signature. The human article is loaded here and nowhere before."""
    stored = read_rows(EventScores, run.path / "scores.jsonl", signature(metrics))
    rows: dict[str, EventScores] = dict(stored)
    try:
        for event_id in ids:
            text = _article_text(run, event_id)
            digest = "" if text is None else codec.sha256(text)
            row = stored.get(event_id)
            if row is None or row.article_sha256 != digest or row.status == "failed":
                row = _score(run, snapshot, event_id, text, digest, metrics, collect)
            rows[event_id] = row
            yield row
    finally:  # also when interrupted: what was computed is kept
        write_rows(run.path / "scores.jsonl", signature(metrics), rows)


def system_scores(
    system: str, track: str, split: str, rows: Sequence[EventScores], metrics: Sequence[Metric], *, resamples: int, seed: int
) -> SystemScores:
    """Means and 95% intervals over all rows, failures included."""
    ordered = tuple(sorted(rows, key=lambda row: row.event_id))
    estimates = {
        name: estimate(
            [row.values[name] for row in ordered],
            name=name,
            seed=seed,
            resamples=resamples,
            n_failed=sum(row.status != "ok" for row in ordered),
        )
        for name in metric_names(metrics)
        if any(row.values[name] is not None for row in ordered)
    }
    return SystemScores(system, track, split, signature(metrics), estimates, ordered)


def failed_values(names: Mapping[str, Better]) -> dict[str, float | None]:
    """What an event without an article scores: 0 where higher is better, unscored elsewhere."""
    return {name: 0.0 if better == "higher" else None for name, better in names.items()}


def _article_text(run: RunFolder, event_id: str) -> str | None:
    path = run.event(event_id).path / "article.json"
    try:
        return path.read_text(encoding="utf-8") if path.exists() else None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"cannot read {path}: {why}; remove it and run the command again to make it anew") from None


def _why_empty(article: Article) -> str:
    n_headings = len(article.sections)
    return f"the article has {n_headings} headings and no sentence" if n_headings else "the article has no sentence"


def _score(
    run: RunFolder,
    snapshot: Snapshot,
    event_id: str,
    text: str | None,
    digest: str,
    metrics: Sequence[Metric],
    collect: Callable[[Event], tuple[Page, ...]],
) -> EventScores:
    folder = run.event(event_id)
    if text is None:
        failure = folder.failure()
        reason = f"{failure.stage}: {failure.message}" if failure else "no article in the run"
        return EventScores(event_id, "failed", "", 0, failed_values(metric_names(metrics)), reason)
    path = folder.path / "article.json"
    article = reread(own_article(codec.from_json(Article, text, where=str(path)), event_id, path))
    words = sum(len(s.text.split()) for section in article.all_sections for s in section.sentences)
    if not words:
        return EventScores(event_id, "empty", digest, 0, failed_values(metric_names(metrics)), _why_empty(article))
    pages = folder.stored_pages()
    try:
        if pages is None:
            pages = collect(snapshot.event(event_id))
        case = Case(article=article, gold=load_gold(snapshot, event_id), pages=pages)
    except StageError as error:  # the snapshot's files are unreadable: nobody can be scored on this event
        nothing: dict[str, float | None] = dict.fromkeys(metric_names(metrics))
        return EventScores(event_id, "ok", digest, words, nothing, f"unscored: {error.why}")
    values = {name: value for metric in metrics for name, value in metric.score(case).items()}
    return EventScores(event_id, "ok", digest, words, values)


__all__ = [
    "HEADLINE",
    "RANKED",
    "SUPPORT",
    "SUPPORTED_FROM",
    "UNRANKED",
    "Estimate",
    "failed_values",
    "metric_names",
    "ranking_key",
    "score_run",
    "signature",
    "system_scores",
]
