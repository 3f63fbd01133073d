"""Make `data/wordnet_synonyms.txt` from the dictionary files of WordNet 3.0 (`data.verb`, `index.verb`, ...).

    python -m tools.fits.make_wordnet_synonyms DICT_FOLDER

WordNet may be copied and changed where its notice is kept (`data/wordnet.LICENSE`). The folder comes with several
packages and from wordnet.princeton.edu. Only common single words are kept, and of each word its `SENSES` most frequent
meanings: a rare meaning is mostly a wrong one.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from data import codec
from data.errors import UserError
from data.wordnet import SYNONYMS_FILE
from flows.showing import console
from pipeline.choosing.common_words import is_common

SENSES = 3
_PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}


def _synsets(folder: Path, part: str) -> dict[str, tuple[str, ...]]:
    """Offset -> the common single words of the set. Some copies hold a long file in two parts."""
    files = sorted(folder.glob(f"data.{part}*"))
    if not files:
        raise UserError(f"{folder} holds no file data.{part}: give the folder `dict` of WordNet 3.0")
    found = {}
    for file in files:
        for line in file.read_text(encoding="latin-1").splitlines():
            if re.match(r"\d{8} ", line):
                fields = line.split(" ")
                words = [re.sub(r"\(.*\)", "", fields[4 + 2 * n]) for n in range(int(fields[3], 16))]
                found[fields[0]] = tuple(word for word in words if re.fullmatch(r"[a-z]{3,}", word) and is_common(word))
    return found


def _senses(folder: Path, part: str) -> Iterator[tuple[str, list[str]]]:
    """Each common word with the offsets of its meanings, the most frequent first."""
    for line in (folder / f"index.{part}").read_text(encoding="latin-1").splitlines():
        if not line.startswith(" "):
            fields = line.split()
            if re.fullmatch(r"[a-z]{3,}", fields[0]) and is_common(fields[0]):
                yield fields[0], fields[-int(fields[2]) :]


def made(folder: Path) -> str:
    lines = ["# Words of one meaning, from WordNet 3.0 (wordnet.LICENSE): part of speech, word, words that may stand for it."]
    for letter, part in _PARTS.items():
        sets = _synsets(folder, part)
        for word, offsets in sorted(_senses(folder, part)):
            others = dict.fromkeys(other for offset in offsets[:SENSES] for other in sets.get(offset, ()) if other != word)
            if others:
                lines.append(f"{letter} {word} {' '.join(others)}")
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fits.make_wordnet_synonyms",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="DICT_FOLDER", help="the folder `dict` of WordNet 3.0")
    folder = parser.parse_args(argv).folder

    def make() -> int:
        codec.write_atomic(SYNONYMS_FILE, made(folder))
        return 0

    return console.guarded(make)


if __name__ == "__main__":
    sys.exit(main())
