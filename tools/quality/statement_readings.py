"""Draw statements of research agents that cite one page, and show them beside that page to a reader.

    python -m tools.quality.statement_readings draw --data DIR --articles DIR --out statements.jsonl
    python -m tools.quality.statement_readings show statements.jsonl --articles DIR --data DIR --first 0 --n 25

Development topics alone, as many statements of each agent, by seed. Whoever reads fills `label` (supported, partly, not) and
`wrong`; `python -m eval.judge_card --agents DIR` counts what a judge accepts.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmark.splits import choose
from data import codec, wikigenbench
from data.errors import UserError
from data.snapshot import Snapshot
from data.types import Source
from eval.cards.agent_statements import FILE, Statement, citing_one, read_statements
from eval.cards.told_accuracy import short_hash
from eval.metrics.citations import Ranking
from flows.showing import console
from tools.quality.told_readings import folders

N = 200
SHOWN_WORDS, SHOWN = 60, 5


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.quality.statement_readings",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("do", choices=("draw", "show"))
    parser.add_argument("statements", type=Path, nargs="?", default=FILE, metavar="FILE")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="benchmark folder")
    parser.add_argument("--articles", type=Path, required=True, metavar="DIR", help="holds a folder an agent")
    parser.add_argument("--out", type=Path, metavar="FILE", help="of draw")
    parser.add_argument("--first", type=int, default=0, metavar="I")
    parser.add_argument("--n", type=int, default=25, metavar="N")
    parser.add_argument("--grep", metavar="WORD", help="of show: lines of the page with this word in place of the best parts")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    snapshot = Snapshot(arguments.data)
    if arguments.do == "draw":
        if arguments.out is None:
            raise UserError("draw writes statements to be labelled: name the file with --out")
        found = drawn(arguments.articles, choose(snapshot, "search", "dev"), arguments.seed)
        codec.write_atomic(arguments.out, "".join(codec.to_json(one) + "\n" for one in found))
        console.result(f"{len(found)} statements in {arguments.out}")
        return 0
    for one in read_statements(arguments.statements)[arguments.first : arguments.first + arguments.n]:
        console.result(shown(one, arguments.articles, snapshot.event(one.event).title, arguments.grep))
    return 0


def drawn(articles: Path, events: Sequence[str], seed: int) -> list[Statement]:
    chance = random.Random(seed)
    systems = folders(articles, ())
    rows: list[Statement] = []
    for agent, folder in systems.items():
        there = [
            Statement("", event, agent, at, short_hash(s.text), short_hash(source.passage.text), short_hash(source.url), "once")
            for event in events
            if (folder / f"{event}.json").is_file()
            for at, s, source in citing_one(wikigenbench.read(folder / f"{event}.json", event, ""))
        ]
        some = chance.sample(there, min(N // len(systems), len(there)))
        rows += [replace(one, half="choose" if i % 2 else "once") for i, one in enumerate(some)]
    chance.shuffle(rows)
    return [replace(row, id=f"agent-{i:03}") for i, row in enumerate(rows)]


def shown(one: Statement, articles: Path, title: str, word: str | None) -> str:
    article = wikigenbench.read(articles / one.agent / f"{one.event}.json", one.event, title)
    sentence, source = next((s, source) for at, s, source in citing_one(article) if at == one.place)
    n_words = len(readable(source.passage.text).split())
    head = f"== {one.id} [{title}] page: {source.url} ({n_words} words)\nCLAIM {sentence.text}"
    return "\n".join([head, *(_with(source, word) if word else _best(source, sentence.text))])


def readable(text: str) -> str:
    """Without images, addresses of links and lines of signs: for the eye alone."""
    text = _IMAGE.sub(" ", text)
    text = _LINK.sub(r"\1", text)
    return " ".join(_NOISE.sub(" ", text).split())


_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_NOISE = re.compile(r"https?://\S+|[=*_#|-]{2,}|[*_#|]")


def _best(source: Source, claim: str) -> list[str]:
    words = readable(source.passage.text).split()
    pieces = [" ".join(words[at : at + SHOWN_WORDS]) for at in range(0, len(words), SHOWN_WORDS)]
    ranking = Ranking(pieces)
    places = sorted({pieces.index(ranking.texts[i]) for i in ranking.top(claim, SHOWN)})
    return [f"  <{at}> {pieces[at]}" for at in places]


def _with(source: Source, word: str) -> list[str]:
    text = readable(source.passage.text)
    places = [at for at in range(len(text)) if text.lower().startswith(word.lower(), at)]
    return [f"  ... {text[max(0, at - 200) : at + 300]}" for at in places[:8]]


if __name__ == "__main__":
    sys.exit(main())
