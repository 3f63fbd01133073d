"""Make the network again that says which heading a sentence stands under: decoding/filing/filing.safetensors.

    python -m tools.fits.fit_filing --corpus corpus.jsonl.xz --data wikigenbench/data --data wlc/data

    python -m tools.fits.fit_filing ... --large        # filing-mpnet.safetensors: MPNet, 20 minutes on two cores with bfloat16

Learns from open articles of the corpus and from human articles of the development parts alone (`benchmark.splits`). With
`--check` every fourth article is held out, and the share of its sentences that find their own heading is printed, before and
after; nothing is written. With `--large` they are held out, too, and the network that was measured is the one that is written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from flows.showing import console
from tools.fits.fit_headings import read_articles

if TYPE_CHECKING:
    from decoding.filing.training import Headed

HELD_OUT = 4
LEAST_WORDS, MOST_WORDS = 5, 60
"""Of a sentence that is learned from."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fits.fit_filing", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True, metavar="FILE", help="corpus.jsonl or corpus.jsonl.xz")
    parser.add_argument("--source", default="FreshWiki", metavar="TEXT", help="part of the source's name (default: FreshWiki)")
    parser.add_argument("--data", type=Path, action="append", default=[], metavar="DIR", help="benchmark data, again for more")
    parser.add_argument("--check", action="store_true", help="hold every fourth article out and print the accuracy")
    parser.add_argument("--large", action="store_true", help="MPNet in the place of MiniLM")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: decoding/filing/filing.safetensors")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    from torch import bfloat16

    from data.errors import UserError
    from decoding.filing.heading_encoder import LARGE_WEIGHTS, WEIGHTS
    from decoding.filing.heading_network import fresh_large_network, fresh_network
    from decoding.filing.training import LARGE, Recipe, accuracy, train
    from decoding.models.adapters import save_trained

    groups = {str(arguments.corpus.name): list(open_articles(arguments.corpus, arguments.source))}
    groups |= {str(folder): list(human_articles(folder)) for folder in arguments.data}
    for name, articles in groups.items():
        if not articles:
            raise UserError(f"{name} holds no article with two sections: name another --corpus, --source or --data")
    holds_out = arguments.check or arguments.large
    held = {name: articles[::HELD_OUT] if holds_out else [] for name, articles in groups.items()}
    learned = [a for name, articles in groups.items() for a in articles if a not in held[name]]
    n_sentences = sum(len(sentences) for a in learned for _, sentences in a.sections)
    console.note(f"{len(learned)} articles, {n_sentences} sentences")
    recipe = replace(LARGE if arguments.large else Recipe(), threads=arguments.threads)
    network = fresh_large_network(seed=recipe.seed, dtype=bfloat16) if arguments.large else fresh_network(seed=recipe.seed)

    def report(done: int, of: int, loss: float) -> None:
        if done % 50 == 0:
            console.note(f"step {done} of {of}, loss {loss:.3f}")

    before = {name: accuracy(network, articles) for name, articles in held.items() if articles}
    train(network, learned, recipe, report)
    for name, share in before.items():
        after = accuracy(network, held[name])
        console.result(f"{name}: {100 * share:.1f} -> {100 * after:.1f}% of {len(held[name])} held-out articles")
    if arguments.check:
        return 0
    facts = {"articles": str(len(learned)), "sentences": str(n_sentences), "seed": str(recipe.seed)}
    save_trained(network, arguments.out or (LARGE_WEIGHTS if arguments.large else WEIGHTS), facts)
    return 0


def open_articles(corpus: Path, source: str) -> Iterator[Headed]:
    for article in read_articles(corpus, source):
        yield from headed(article.title, [(section.heading, section.text) for section in article.sections])


def human_articles(folder: Path) -> Iterator[Headed]:
    """Of the development part."""
    from benchmark.splits import split_ids
    from data.gold import load_gold
    from data.locate import locate
    from data.snapshot import Snapshot

    snapshot = Snapshot(locate(str(folder)))
    for event_id in split_ids(snapshot, "search", "dev"):
        gold = load_gold(snapshot, event_id)
        yield from headed(gold.title, [(section.heading, section.prose) for section in gold.sections])


def headed(title: str, sections: Sequence[tuple[str, str]]) -> Iterator[Headed]:
    """The article, if it has two headings with sentences; sections of one heading are one."""
    from data.sentences import split_sentences
    from decoding.filing.training import Headed
    from pipeline.planning.outlines import is_apparatus

    found: dict[str, list[str]] = {}
    for heading, text in sections:
        said = [s for s in split_sentences(text) if LEAST_WORDS <= len(s.split()) <= MOST_WORDS]
        if heading and said and not is_apparatus(heading):
            found.setdefault(heading, []).extend(said)
    if len(found) > 1:
        yield Headed(title, tuple((heading, tuple(said)) for heading, said in found.items()))


if __name__ == "__main__":
    sys.exit(main())
