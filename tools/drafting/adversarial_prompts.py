"""Prompts that mislead drafters: what looks as if it could be copied goes on otherwise. For measuring that none is slower.

    python -m tools.drafting.adversarial_prompts --out adversarial.jsonl
    python -m tools.drafting.check_lossless adversarial.jsonl --temperature 1.2 --max-new-tokens 96 --out runs/misled

Made of the words of the sample's pages, the same for the same seed. Kinds: `noise` has words in random order, so that nothing
comes twice; `near_repeats` says a sentence again and again with another word changed each time, so that every copy breaks; in
`shuffled` the same few words stand in ever new orders, so that each pair was seen and none foretells the next; `counting` has
lines that differ in their numbers; `reversed` asks for a text backwards, whose words are all there and never in this order.
A small model that is asked greedily repeats its prompt all the same, so sample: then hardly any text comes twice.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flows.showing import console

if TYPE_CHECKING:
    from decoding.knn.prompt_files import PromptRow


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.drafting.adversarial_prompts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--each", type=int, default=4, metavar="N", help="prompts of each kind (default: 4)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: run(arguments.out, arguments.each, arguments.seed))


def run(out: Path, each: int, seed: int) -> int:
    from data import codec
    from data.errors import UserError

    if each < 1:
        raise UserError(f"--each {each} is too small; the least is 1")
    rows = adversarial(each, seed)
    codec.write_atomic(out, "".join(codec.to_json(row) + "\n" for row in rows))
    console.note(f"{len(rows)} prompts of {len(KINDS)} kinds in {out}")
    return 0


def adversarial(each: int, seed: int) -> list[PromptRow]:
    from data.snapshot import SAMPLE
    from decoding.api import Message
    from decoding.knn.prompt_files import PromptRow

    rng = random.Random(seed)
    text = " ".join(path.read_text(encoding="utf-8") for path in sorted((SAMPLE / "wiki").glob("*.json")))
    words = sorted(set(re.findall(r"[A-Za-z]{3,12}", text)))
    return [
        PromptRow(f"{kind}-{n}", (Message("user", make(rng, words)),), topic=kind)
        for kind, make in KINDS.items()
        for n in range(each)
    ]


def _noise(rng: random.Random, words: Sequence[str]) -> str:
    return "Go on with this list of words, none of them twice: " + ", ".join(rng.sample(words, 150))


def _near_repeats(rng: random.Random, words: Sequence[str]) -> str:
    sentence = rng.sample(words, 12)
    said = []
    for _ in range(12):
        sentence[rng.randrange(len(sentence))] = rng.choice(words)
        said.append(" ".join(sentence).capitalize() + ".")
    return "Go on, with another word changed in each sentence. " + " ".join(said)


def _shuffled(rng: random.Random, words: Sequence[str]) -> str:
    few = rng.sample(words, 8)
    return "Go on with these words in other orders: " + "; ".join(" ".join(rng.sample(few, len(few))) for _ in range(18))


def _counting(rng: random.Random, words: Sequence[str]) -> str:
    first, step = rng.randrange(100, 900), rng.randrange(7, 60)
    lines = [f"{i}. {rng.choice(words)} had {first + i * step + rng.randrange(5)} of {rng.choice(words)}" for i in range(1, 19)]
    return "Go on with the list.\n" + "\n".join(lines)


def _reversed(rng: random.Random, words: Sequence[str]) -> str:
    return "Write these words backwards, the last one first: " + " ".join(rng.sample(words, 60))


KINDS: dict[str, Callable[[random.Random, Sequence[str]], str]] = {
    "noise": _noise,
    "near_repeats": _near_repeats,
    "shuffled": _shuffled,
    "counting": _counting,
    "reversed": _reversed,
}


if __name__ == "__main__":
    sys.exit(main())
