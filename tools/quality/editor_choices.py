"""Would an editor choose the article that `quality` puts first, and is the better ordered one that which `organisation` does?

    python -m tools.quality.editor_choices ../shared/wlc
    python -m tools.quality.editor_choices ../shared/wlc --set evaluation.judge=lexical
    python -m tools.quality.editor_choices ../shared/wlc --more extractive=RUN/wikigenbench --more ours=RUN/wikigenbench

The folder has data/wiki, data/google and articles/<agent>, as for `wikigenben agents`. Articles of systems of this package are
in no such folder; --more names where some are (may be given again, for the same system too). The labels are in
`eval/cards/editor_choices.json`, by the hash of the text: what is not found is counted and left out. Prints, for `quality` and
for each of its parts alone, how often the article that the reader chose has the better value: over all choices, over the clear
and the slight ones, and by halves (`first` is the one that a change may be chosen on); then the same for the order of four
articles each and `organisation`. Values are kept in --values, under the metrics' signature, and are not computed again.
Exit code: 0 done, 2 wrong input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from data import codec, wikigenbench
from data.errors import UserError
from data.settings import Settings, add_setting_flags, load_settings
from data.types import Strict
from eval.cards.editor_labels import (
    CLEAR,
    LABELS,
    SLIGHT,
    Agreement,
    Choices,
    Score,
    Values,
    Written,
    agreement,
    order_agreement,
    read_choices,
)
from eval.metrics import quality
from flows.showing import console

if TYPE_CHECKING:
    from eval.metric import Metric

NEEDED = frozenset(
    {*quality.PARTS, "fact_recall", "fact_precision_gold", "copied_share", "verbatim_share", "repetition", "words"}
)
"""Metrics that make none of these are left out: they cost more than the rest together."""


def _value(name: str, sign: float = 1.0) -> Score:
    def score(values: Values) -> float | None:
        value = values.get(name)
        return None if value is None else sign * value

    return score


def ranked(values: Values) -> float | None:
    """As a leaderboard ranks: fewer failed preconditions first, then `quality`."""
    from benchmark.scoring import ranking_key

    known = {name: value for name, value in values.items() if value is not None}
    made = quality.quality(known)
    if made is None:
        return None
    failed, rank = ranking_key(known | {quality.NAME: made})
    return failed + rank / 2  # `rank` is at most 1, so that it never outweighs a precondition


QUALITY_ROWS: Mapping[str, Score] = {
    "quality": quality.quality,
    "quality, preconditions first": ranked,
    "fact_f": _value("fact_f"),
    "fact_recall": _value("fact_recall"),
    "fact_precision_gold": _value("fact_precision_gold"),
    "organisation": _value("organisation"),
    "cite_f1, where known": quality.support_of,
    "cite_f1, all": _value("cite_f1"),
    "conflict_share, less": _value("conflict_share", -1),
    "copied_share, less": _value("copied_share", -1),
    "junk_share, less": _value("junk_share", -1),
    "repetition, less": _value("repetition", -1),
    "length": lambda values: quality.length_cost(values.get("length_ratio") or 0.0),
    "words, more": _value("words"),
}
ORDER_ROWS: Mapping[str, Score] = {
    name: _value(name)
    for name in ("organisation", "placement", "togetherness", "heading_fit", "order", "fact_order", "chronology", "quality")
}


@dataclass(frozen=True, slots=True)
class Kept(Strict):
    """By the hash of an article's text, its values."""

    signature: str
    values: dict[str, dict[str, float | None]] = field(default_factory=dict)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.quality.editor_choices", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="holds data/ and articles/<agent>/")
    parser.add_argument("--more", action="append", default=[], metavar="SYSTEM=DIR", help="articles of another system")
    parser.add_argument("--labels", type=Path, metavar="FILE", default=LABELS, help="default: eval/cards/editor_choices.json")
    parser.add_argument("--values", type=Path, metavar="FILE", help="where values are kept (default: nowhere)")
    add_setting_flags(parser)
    arguments = parser.parse_args(argv)

    def run() -> int:
        choices = read_choices(arguments.labels)
        found = find(choices, arguments.folder, [more_of(one) for one in arguments.more])
        settings = load_settings(arguments.config, arguments.assignments)
        scores = scored(arguments.folder / "data", found, settings, arguments.values)
        for line in report(choices, scores):
            console.result(line)
        return 0

    return console.guarded(run)


def more_of(text: str) -> tuple[str, Path]:
    name, equals, folder = text.partition("=")
    if not name or not equals or not Path(folder).is_dir():
        raise UserError(f"--more {text!r} is no SYSTEM=DIR of a folder with <event id>.json files")
    return name, Path(folder)


def find(choices: Choices, folder: Path, more: Sequence[tuple[str, Path]]) -> dict[Written, Path]:
    """Where the labelled articles are. Raises UserError if no article is found."""
    found: dict[Written, Path] = {}
    for one in choices.articles:
        for place in (folder / "articles" / one.system, *(path for name, path in more if name == one.system)):
            file = place / f"{one.topic}.json"
            if file.is_file() and text_hash(file) == one.sha256:
                found[one] = file
                break
    if not found:
        raise UserError(f"{folder} holds none of the articles that were labelled; name the folder that has data/ and articles/")
    return found


def text_hash(file: Path) -> str:
    value = codec.json_of(codec.read_bounded(file, wikigenbench.MOST_FILE_BYTES), where=str(file))
    text = value.get("text") if isinstance(value, dict) else None
    return codec.sha256(text) if isinstance(text, str) else ""


def scored(
    data: Path, found: Mapping[Written, Path], settings: Settings, kept_at: Path | None
) -> dict[str, dict[str, float | None]]:
    from benchmark.scoring import signature
    from flows.wiring.metrics import build_metrics

    metrics = [metric for metric in build_metrics(settings) if NEEDED & metric.names.keys()]
    signed = signature(metrics)
    kept = codec.read(Kept, kept_at) if kept_at is not None and kept_at.exists() else Kept(signed)
    values = dict(kept.values) if kept.signature == signed else {}
    missing = {one: file for one, file in found.items() if one.sha256 not in values}
    for one, row in _rows(data, missing, settings, metrics):
        values[one.sha256] = row
        if kept_at is not None:
            codec.write_atomic(kept_at, codec.to_json(Kept(signed, values)) + "\n")
    return {one.sha256: values[one.sha256] for one in found}


def _rows(
    data: Path, found: Mapping[Written, Path], settings: Settings, metrics: Sequence[Metric]
) -> Iterator[tuple[Written, dict[str, float | None]]]:
    """One topic after the other, so that pages and the human article are read once."""
    from benchmark.scoring import values_of
    from benchmark.submissions.made_elsewhere import located
    from data.gold import load_gold
    from data.locate import locate
    from data.markup import reread
    from data.snapshot import Snapshot
    from eval.metric import Case
    from flows.wiring.page_sources import build_collect

    if not found:
        return
    snapshot = Snapshot(locate(str(data)))
    collect = build_collect(snapshot, settings)
    by_topic: dict[str, list[Written]] = {}
    for one in sorted(found, key=lambda one: one.topic):
        by_topic.setdefault(one.topic, []).append(one)
    for topic, articles in console.tracked("scoring", list(by_topic.items()), len(by_topic), lambda item: item[0]):
        event = snapshot.event(topic)
        pages, gold = collect(event), load_gold(snapshot, topic)
        for one in articles:
            article = reread(located(wikigenbench.read(found[one], topic, event.title), pages))
            yield one, values_of(Case(article, gold, pages), metrics)


def report(choices: Choices, scores: Mapping[str, Values]) -> list[str]:
    have = [one for one in choices.choices if one.chosen.sha256 in scores and one.other.sha256 in scores]
    made = [one for one in have if one.margin >= SLIGHT]
    twice = [one for one in choices.choices if one.again]
    same = sum(one.again == ("chosen" if one.margin else "equal") for one in twice)
    lines = [
        f"{len(have)} of {len(choices.choices)} pairs found, {len(have) - len(made)} of them without a choice; "
        f"{same} of {len(twice)} read twice were judged alike. The reader: {choices.reader}",
        "",
        "| share of choices that agree | all | clear | slight | first half | second half |",
        "|---|---|---|---|---|---|",
    ]
    clear, slight = ([one for one in made if (one.margin >= CLEAR) is wanted] for wanted in (True, False))
    halves = [[one for one in made if one.half == half] for half in ("first", "second")]
    for name, score in QUALITY_ROWS.items():
        cells = [shown(agreement(part, scores, score)) for part in (made, clear, slight, *halves)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    orders = [order for order in choices.orders if all(one.sha256 in scores for one in order)]
    lines += ["", f"| pairs in the reader's order, {len(orders)} topics | share | Kendall's tau |", "|---|---|---|"]
    for name, score in ORDER_ROWS.items():
        one = order_agreement(orders, scores, score)
        lines.append(f"| {name} | {shown(one)} | {2 * one.share - 1:+.2f} |" if one.n else f"| {name} | none | |")
    return lines


def shown(one: Agreement) -> str:
    """Percent, its 95% interval and the number of pairs."""
    if not one.n:
        return "none"
    low, high = one.within
    return f"{100 * one.share:.0f} [{100 * low:.0f}, {100 * high:.0f}] of {one.n}"


if __name__ == "__main__":
    sys.exit(main())
