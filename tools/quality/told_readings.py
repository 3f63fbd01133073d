"""Is `fact_recall` right? Draw pairs of a human fact and an article, show them to a reader, and print how the measure did.

    python -m tools.quality.told_readings draw --data DIR --articles DIR --also extractive=DIR --out readings.jsonl
    python -m tools.quality.told_readings show readings.jsonl --data DIR --articles DIR --also extractive=DIR --first 0 --n 25
    python -m tools.quality.told_readings card --data DIR --articles DIR --also extractive=DIR

`--articles` has a folder of `<event id>.json` for each system, `--also` names another system's folder. `draw` takes development
topics alone: of each system as many pairs that the measure counts as told as pairs that it does not with something near (half
of the fact's content words in its five best sentences), and a few of the rest. Whoever reads fills `label` (told, partly, not),
`wording` (copy: the words are those of the fact or of a page; own) and `sentences`. `card` reads eval/cards/told_facts.jsonl
unless another file is named; a pair whose article is not there is left out and counted.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmark.splits import choose
from data import codec, wikigenbench
from data.errors import UserError
from data.gold import GoldArticle, load_gold
from data.snapshot import Snapshot
from eval.cards.told_accuracy import (
    FAR,
    FILE,
    Agreement,
    Judged,
    Reading,
    agreement,
    article_hash,
    by,
    by_system,
    half_of,
    kappa,
    read_readings,
    short_hash,
)
from eval.metric import Case
from eval.metrics.citations import Ranking
from eval.metrics.told_facts import TOP_SENTENCES, Facts, reference_claims
from eval.text import content_words, porter_stem
from flows.showing import console

NEAR = 0.5
"""Share of a fact's content words, those of the title aside, in the five best sentences."""
A_SYSTEM = {"told": 10, "near": 10, FAR: 3}
"""Pairs drawn of each system by stratum."""
FACTS_A_SYSTEM = 480
"""Facts judged of a system, as many of each of its articles: to know the shares of the strata."""


@dataclass(frozen=True, slots=True)
class Told:
    """An article of a system, its sentences, and the facts of the human one."""

    event: str
    system: str
    gold: GoldArticle
    case: Case

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(sentence.text for sentence in self.case.sentences)

    @property
    def facts(self) -> tuple[str, ...]:
        return reference_claims(self.gold.prose)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.quality.told_readings",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("do", choices=("draw", "show", "card"))
    parser.add_argument("readings", type=Path, nargs="?", default=FILE, metavar="FILE")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="benchmark folder")
    parser.add_argument("--articles", type=Path, metavar="DIR", help="holds a folder a system")
    parser.add_argument("--also", action="append", default=[], metavar="NAME=DIR", help="another system's articles; repeatable")
    parser.add_argument("--judge", default="embedded", metavar="NAME", help="who decides for the measure")
    parser.add_argument("--out", type=Path, metavar="FILE", help="of draw")
    parser.add_argument("--half", choices=("choose", "once"), help="of card: only this half")
    parser.add_argument("--first", type=int, default=0, metavar="I")
    parser.add_argument("--n", type=int, default=25, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    from flows.wiring.judges import build_judge

    snapshot = Snapshot(arguments.data)
    systems = folders(arguments.articles, arguments.also)
    if arguments.do == "draw":
        if arguments.out is None:
            raise UserError("draw writes readings to be labelled: name the file with --out")
        facts = Facts(build_judge(arguments.judge))
        found = drawn(list(articles(snapshot, systems, choose(snapshot, "search", "dev"))), facts, arguments.seed)
        codec.write_atomic(arguments.out, "".join(codec.to_json(one) + "\n" for one in found))
        console.result(f"{len(found)} pairs in {arguments.out}")
        return 0
    readings = read_readings(arguments.readings)
    there = {
        (one.event, one.system): one for one in articles(snapshot, systems, sorted({reading.event for reading in readings}))
    }
    if arguments.do == "show":
        for reading in readings[arguments.first : arguments.first + arguments.n]:
            console.result(shown(reading, there))
        return 0
    readings = half_of(readings, arguments.half) if arguments.half else readings
    judged, n_absent = counted(readings, there, Facts(build_judge(arguments.judge)))
    print_card(judged, n_absent)
    return 0


def folders(place: Path | None, also: Sequence[str]) -> dict[str, Path]:
    """Systems by name. Raises UserError for a folder that is not there."""
    try:
        found = {path.name: path for path in sorted(place.iterdir()) if path.is_dir()} if place else {}
    except OSError as error:
        raise UserError(f"cannot read {place}: {error.strerror}; name the folder with one folder a system") from None
    for one in also:
        name, _, path = one.partition("=")
        if not name or not path or not Path(path).is_dir():
            raise UserError(f"--also {one}: give NAME=DIR, a folder of <event id>.json")
        found[name] = Path(path)
    if not found:
        raise UserError("no articles: name them with --articles DIR or --also NAME=DIR")
    return found


def articles(snapshot: Snapshot, systems: Mapping[str, Path], events: Sequence[str]) -> Iterator[Told]:
    """Those that are there, topic after topic."""
    for event in events:
        gold = load_gold(snapshot, event)
        for system, folder in systems.items():
            path = folder / f"{event}.json"
            if path.is_file():
                yield Told(event, system, gold, Case(wikigenbench.read(path, event, gold.title), gold, ()))


def drawn(found: Sequence[Told], facts: Facts, seed: int) -> list[Reading]:
    """By stratum and system, shuffled; each half has every second of a stratum."""
    strata: dict[tuple[str, str], list[tuple[Told, int]]] = {}
    n_articles = Counter(one.system for one in found)
    chance = random.Random(seed)
    for told in console.tracked("judging", found, len(found), lambda one: f"{one.system} {one.event}"):
        n = -(-FACTS_A_SYSTEM // n_articles[told.system])
        places = sorted(chance.sample(range(len(told.facts)), min(n, len(told.facts))))
        held = facts.held([told.facts[place] for place in places], told.sentences)
        for place, is_told in zip(places, held, strict=True):
            stratum = "told" if is_told else "near" if nearness(told, place) >= NEAR else FAR
            strata.setdefault((told.system, stratum), []).append((told, place))
    rows = []
    for (system, stratum), pairs in sorted(strata.items()):
        some = chance.sample(pairs, min(A_SYSTEM[stratum], len(pairs)))
        for i, (told, place) in enumerate(some):
            rows.append(
                Reading(
                    id="",
                    event=told.event,
                    system=system,
                    article=article_hash(told.sentences),
                    fact=short_hash(told.facts[place]),
                    place=place,
                    stratum=stratum,
                    weight=round(len(pairs) / len(some), 4),
                    half="choose" if i % 2 else "once",
                )
            )
    chance.shuffle(rows)
    return [replace(row, id=f"told-{i:03}") for i, row in enumerate(rows)]


def nearness(told: Told, place: int) -> float:
    fact = told.facts[place]
    title = {porter_stem(word) for word in content_words(told.gold.title)}
    wanted = {porter_stem(word) for word in content_words(fact)} - title
    best = " ".join(told.sentences[i] for i in nearest_by_words(told, fact))
    return len(wanted & {porter_stem(word) for word in content_words(best)}) / len(wanted) if wanted else 0.0


def nearest_by_words(told: Told, fact: str) -> list[int]:
    ranking = _rankings.setdefault(article_hash(told.sentences), Ranking(dict.fromkeys(told.sentences)))
    return [told.sentences.index(ranking.texts[i]) for i in ranking.top(fact, TOP_SENTENCES)]


_rankings: dict[str, Ranking] = {}
"""By article: a topic's facts all ask for the same."""


def shown(reading: Reading, there: Mapping[tuple[str, str], Told], n_alike: int = 6) -> str:
    """Fact and nearest sentences, by words and by pieces of words, with their places; the stratum is not told."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    told = there.get((reading.event, reading.system))
    if told is None:
        return f"== {reading.id}: {reading.system} {reading.event} is not there"
    fact = told.facts[reading.place]
    vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit_transform([fact, *told.sentences])
    alike = (vectors[1:] @ vectors[0].T).toarray()[:, 0]
    nearest = sorted(range(len(alike)), key=lambda i: -alike[i])[:n_alike]
    before = f"   (before: {told.facts[reading.place - 1]})\n" if reading.place else ""
    lines = [f"{i:4} {told.sentences[i]}" for i in sorted({*nearest, *nearest_by_words(told, fact)})]
    return f"== {reading.id} [{told.gold.title}]\n{before}FACT {fact}\n" + "\n".join(lines)


def counted(readings: Sequence[Reading], there: Mapping[tuple[str, str], Told], facts: Facts) -> tuple[list[Judged], int]:
    """The labelled readings with what the measure says now, and how many have no article (or another one)."""
    found, n_absent = [], 0
    for reading in readings:
        told = there.get((reading.event, reading.system))
        if told is None or article_hash(told.sentences) != reading.article or not is_its(reading, told):
            n_absent += 1
        elif reading.label:
            found.append(Judged(reading, facts.held([told.facts[reading.place]], told.sentences)[0]))
    return found, n_absent


def is_its(reading: Reading, told: Told) -> bool:
    return reading.place < len(told.facts) and short_hash(told.facts[reading.place]) == reading.fact


def print_card(judged: Sequence[Judged], n_absent: int) -> None:
    from rich import box
    from rich.table import Table

    table = Table(title="fact_recall against readers, percent of all pairs", box=box.SIMPLE, title_justify="left")
    for i, name in enumerate(("", "n", "accuracy", "false told", "of it partly", "missed", "recall", "read", "read, half")):
        table.add_column(name, justify="right" if i else "left", no_wrap=True)
    mentioned = [one for one in judged if one.reading.label in ("told", "partly")]
    rows: list[tuple[str, Agreement]] = [("all", agreement(judged))]
    rows += [(f"worded as {name}", of) for name, of in by(mentioned, lambda one: one.reading.wording).items()]
    rows += by(judged, lambda one: one.reading.stratum).items()
    rows += by_system(judged).items()
    for name, of in rows:
        error = "" if of.error is None else f" ±{196 * of.error:.0f}"
        values = (of.false_told, of.partly_told, of.missed, of.recall, of.read_recall, of.read_recall_half)
        table.add_row(name, str(of.n), f"{_percent(of.accuracy)}{error}", *map(_percent, values))
    console.show(table)
    twice = [(one.reading.label, one.reading.second) for one in judged if one.reading.second]
    if (agreed := kappa(twice)) is not None:
        same = sum(a == b for a, b in twice)
        console.result(f"read twice: {len(twice)}, of which {same} alike; Cohen's kappa {agreed:.2f}")
    if n_absent:
        console.result(f"{n_absent} pairs left out: their article is not among those named, or is another one")


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


if __name__ == "__main__":
    sys.exit(main())
