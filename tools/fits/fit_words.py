"""Learn which words are common English words and no names, from open text.

    python -m tools.fits.fit_words --corpus corpus.jsonl.xz

The corpus has one JSON object a line with `text`. A word is common when it is in small letters, inside a sentence, in
enough documents, and with a capital there far more seldom. Writes pipeline/choosing/common_words.txt, one word a line, no text
of any document.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from flows.showing import console

MIN_DOCUMENTS = 6
MOST_CAPITALS = 0.15
"""Share of a word's places inside sentences where it has a capital."""
_INSIDE = re.compile(r"(?<=[a-z,;] )[A-Za-z][a-z]+(?=[\s,.;:)])")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fits.fit_words", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True, metavar="FILE", help="corpus.jsonl or corpus.jsonl.xz")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: pipeline/choosing/common_words.txt")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: fit(arguments.corpus, arguments.out))


def fit(corpus: Path, out: Path | None) -> int:
    from data import codec
    from pipeline.choosing.common_words import WORDS_FILE

    words = common_words(_texts(corpus))
    target = out or WORDS_FILE
    codec.write_atomic(target, "\n".join(words) + "\n")
    console.note(f"{target}: {len(words)} words")
    return 0


def common_words(texts: Iterator[str]) -> list[str]:
    documents: Counter[str] = Counter()
    small: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for text in texts:
        found = _INSIDE.findall(text)
        documents.update({word for word in found if word.islower()})
        small.update(word for word in found if word.islower())
        capital.update(word.lower() for word in found if not word.islower())
    return sorted(
        word
        for word, n in documents.items()
        if n >= MIN_DOCUMENTS and capital[word] <= MOST_CAPITALS * (capital[word] + small[word])
    )


def _texts(corpus: Path) -> Iterator[str]:
    from data.errors import UserError

    try:
        with lzma.open(corpus, "rt", encoding="utf-8") if corpus.suffix == ".xz" else corpus.open(encoding="utf-8") as lines:
            for line in lines:
                yield str(json.loads(line)["text"])
    except (OSError, lzma.LZMAError, ValueError, KeyError) as error:
        raise UserError(f"{corpus} is no corpus of JSON lines with a text each ({error}); check --corpus") from error


if __name__ == "__main__":
    sys.exit(main())
