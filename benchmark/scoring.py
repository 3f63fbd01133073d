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
from data.stage_types import ARTICLE
from data.types import Article, Event, Page
from eval.aggregate import estimates
from eval.metric import Better, Case, Metric
from eval.metrics import quality

UNSCORED = "unscored: "
"""How the reason of a row without scores begins, where an article is there."""

RANKED = (quality.NAME,)
"""What ranks systems that meet as many preconditions."""

SUPPORTED_FROM = 0.80
"""Least `cite_f1`, where it is known. Statements in other words are refused by mistake oftener than quotations."""

ORIGINAL_UP_TO = {"copied_share": 0.50, "verbatim_share": 0.25}
"""Most of the words in copied runs, and of the sentences word for word: nobody may publish more. Human articles have 4% and 0%
on development topics, research agents up to 13% and 2%, copied passages 99% and 90%."""

JUNK_UP_TO = 0.10
"""Most sentences that are none. Research agents have 1 to 2% on development topics, human articles 3% where they are prose
and more where they are lists, copied passages 74%."""

TOPIC_FROM = 0.02
"""Least `fact_f`: below, the article is about something else. Articles of other events have 0%, the first words of the pages
8%."""


def unmet(means: Mapping[str, float]) -> tuple[str, ...]:
    """The preconditions that a system's means fail: `topic`, `support`, `originality`, `junk`. Unknown support fails none; a
    missing value of another does."""
    support = quality.support_of(means)
    failed = ["topic"] if means.get("fact_f", 0.0) < TOPIC_FROM else []
    if not support_unknown(means) and (support is None or support < SUPPORTED_FROM):
        failed.append("support")
    if any(means.get(name, 1.0) > most for name, most in ORIGINAL_UP_TO.items()):
        failed.append("originality")
    if means.get("junk_share", 1.0) > JUNK_UP_TO:
        failed.append("junk")
    return tuple(failed)


def support_unknown(means: Mapping[str, float]) -> str:
    """Why `cite_f1` says nothing, or nothing where it does: too few claims could be judged."""
    judged = means.get("judged_share", 1.0)
    return "" if judged >= quality.JUDGED_FROM else f"only {100 * judged:.0f}% of the claims could be judged"


def why_unmet(means: Mapping[str, float]) -> dict[str, str]:
    """The names of `unmet`, each with the values that fail it, in percent."""

    def told(name: str, bound: str) -> str:
        return f"{name} {100 * means[name]:.1f}, {bound}" if name in means else f"{name} was not measured"

    reasons = {
        "topic": told("fact_f", f"at least {100 * TOPIC_FROM:.0f}"),
        "support": told("cite_f1", f"at least {100 * SUPPORTED_FROM:.0f}"),
        "originality": "; ".join(
            told(name, f"at most {100 * most:.0f}") for name, most in ORIGINAL_UP_TO.items() if means.get(name, 1.0) > most
        ),
        "junk": told("junk_share", f"at most {100 * JUNK_UP_TO:.0f}"),
    }
    return {name: reasons[name] for name in unmet(means)}


def ranking_key(means: Mapping[str, float]) -> tuple[float, ...]:
    """Sorts a leaderboard, largest first: those that fail fewer preconditions before the others, then by `quality`. An article
    that may not be published wins over none that may, however many facts it has."""
    return (-float(len(unmet(means))), means.get(quality.NAME, -1.0))


def metric_names(metrics: Sequence[Metric]) -> dict[str, Better]:
    """Of all values of a row, those made from several metrics included."""
    names = {name: better for metric in metrics for name, better in metric.names.items()}
    return names | ({quality.NAME: "higher"} if "fact_f" in names else {})


def values_of(case: Case, metrics: Sequence[Metric]) -> dict[str, float | None]:
    """One row: every metric's values, and `quality` from them."""
    values = {name: value for metric in metrics for name, value in metric.score(case).items()}
    return values | ({quality.NAME: quality.quality(values)} if "fact_f" in values else {})


def signature(metrics: Sequence[Metric]) -> str:
    return " ; ".join([*(metric.signature for metric in metrics), quality.SIGNATURE])


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
    finally:  # also when interrupted: keep the rows that are done
        write_rows(run.path / "scores.jsonl", signature(metrics), rows)


def system_scores(
    system: str, track: str, split: str, rows: Sequence[EventScores], metrics: Sequence[Metric], *, resamples: int, seed: int
) -> SystemScores:
    """Means and 95% intervals over all rows, failures included."""
    ordered = tuple(sorted(rows, key=lambda row: row.id))
    n_failed = sum(row.status != "ok" for row in ordered)
    found = estimates([row.scores for row in ordered], metric_names(metrics), n_failed=n_failed, seed=seed, resamples=resamples)
    return SystemScores(system, track, split, signature(metrics), found, ordered)


def failed_values(names: Mapping[str, Better]) -> dict[str, float | None]:
    """What an event without an article scores: 0 where higher is better, unscored elsewhere."""
    return {name: 0.0 if better == "higher" else None for name, better in names.items()}


def unscored(article: Article, digest: str, metrics: Sequence[Metric], why: str) -> EventScores:
    """The row of an article that is there and could not be scored."""
    nothing: dict[str, float | None] = dict.fromkeys(metric_names(metrics))
    return EventScores(article.event_id, "ok", digest, _words(article), nothing, f"{UNSCORED}{why}", article.title)


def _words(article: Article) -> int:
    return sum(len(s.text.split()) for section in article.all_sections for s in section.sentences)


def _article_text(run: RunFolder, event_id: str) -> str | None:
    path = run.event(event_id).file(ARTICLE)
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
    path = folder.file(ARTICLE)
    article = reread(own_article(codec.from_json(Article, text, where=str(path)), event_id, path))
    words = _words(article)
    if not words:
        return EventScores(
            event_id, "empty", digest, 0, failed_values(metric_names(metrics)), _why_empty(article), article.title
        )
    pages = folder.stored_pages()
    try:
        if pages is None:
            pages = collect(snapshot.event(event_id))
        case = Case(article=article, gold=load_gold(snapshot, event_id), pages=pages)
    except StageError as error:  # the snapshot's files are unreadable: nobody can be scored on this event
        return unscored(article, digest, metrics, error.why)
    return EventScores(event_id, "ok", digest, words, values_of(case, metrics), title=article.title)


__all__ = [
    "JUNK_UP_TO",
    "ORIGINAL_UP_TO",
    "RANKED",
    "SUPPORTED_FROM",
    "UNSCORED",
    "Estimate",
    "failed_values",
    "metric_names",
    "ranking_key",
    "score_run",
    "signature",
    "support_unknown",
    "system_scores",
    "unmet",
    "unscored",
    "values_of",
    "why_unmet",
]
