"""Who tells a right rewording from one that is wrong in one respect?

    python -m tools.quality.bench_verifiers --model qwen-1.5b --limit 200

Reads `said_triples.jsonl.xz` here: a note, a rewording that says the same, and one as fluent that is wrong (roles exchanged, a
hedge lost, a date moved ...), all written for this project on invented subjects. Prints the area under the ROC curve, and how
often the right one is ranked above the wrong one: for the question that `ours` asks its model, and for the two reader networks.
Nothing was ever fitted on these triples.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flows.showing import console

TRIPLES = Path(__file__).parent / "said_triples.jsonl.xz"


@dataclass(frozen=True, slots=True)
class Triple:
    """`said` says what `note` says; `wrong` does not, and `why` says in what. `title` is the article's."""

    title: str
    note: str
    said: str
    wrong: str
    why: str


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.quality.bench_verifiers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", metavar="NAME", help="a language model, too; the reader networks alone without")
    parser.add_argument("--limit", type=int, metavar="N", help="so many triples, drawn by the seed (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    from decoding.support.reader import judge_reader, writer_reader

    triples = read_triples(TRIPLES)
    if arguments.limit:
        triples = random.Random(arguments.seed).sample(triples, min(arguments.limit, len(triples)))
    pairs = [(one.note, text) for one in triples for text in (one.said, one.wrong)]
    console.note(f"{len(triples)} triples")
    if arguments.model:
        from decoding.local import LocalGenerator
        from decoding.models.naming import load_named
        from pipeline.writing.prompts import says_the_same

        generator = LocalGenerator(load_named(arguments.model, tell=console.note))
        chances = generator.choose_many([says_the_same(note, text) for note, text in pairs], ("Yes", "No"))
        console.result(f"{arguments.model}, does it say the same: {ranked([yes for yes, _ in chances])}")
    for name, reader in (("reader of writers", writer_reader()), ("reader of the judge", judge_reader())):
        found = reader.read([(text, (note,)) for note, text in pairs])
        console.result(f"{name}, the note supports it: {ranked([one.support if one else 0.0 for one in found])}")
    return 0


def read_triples(path: Path) -> list[Triple]:
    """Raises UserError for a line that is none."""
    from data import codec
    from data.errors import UserError

    found = []
    for n, line in enumerate(codec.lines_of(path), 1):
        try:
            found.append(Triple(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise UserError(f"{path}, line {n}: no triple ({error})") from error
    return found


def ranked(scores: Sequence[float]) -> str:
    """Of scores of a right and a wrong one in turn."""
    right, wrong = scores[::2], scores[1::2]
    area = sum((a > b) + 0.5 * (a == b) for a in right for b in wrong) / len(right) / len(wrong)
    above = sum((a > b) + 0.5 * (a == b) for a, b in zip(right, wrong, strict=True)) / len(right)
    return f"AUROC {area:.3f}, right above wrong {above:.1%}"


if __name__ == "__main__":
    sys.exit(main())
