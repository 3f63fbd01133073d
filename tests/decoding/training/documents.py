"""Small documents to learn from: made-up places, so regular that a tiny model gets somewhere, and no two sentences alike."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

from decoding.training.corpus import Document

_STARTS = ("Al", "Bren", "Cor", "Dun", "Esk", "Fal", "Gar", "Hol", "Ist", "Jor", "Kel", "Lom", "Mar", "Nor", "Osm", "Pel")
_ENDS = ("dale", "ford", "wick", "mouth", "stead", "ham")
_SECTIONS = {
    "": (
        "{place} is a market town of about {number} people on the northern bank of the River {river}.",
        "It lies {few} miles to the north of {other}, between the hills of Orvenia and the open sea.",
    ),
    "History": (
        "The castle of {place} was built by the Earl of {other} in the year {year}, on the site of an older one.",
        "A great fire destroyed {few} houses around the market place and the old church in the summer of {year}.",
        "The King of {other} gave the town of {place} a royal charter in {year}, and it was renewed many times.",
        "The walls were taken down by order of the Duke of {other} in {year}, when they had become useless.",
    ),
    "Economy": (
        "The largest mill beside the River {river} employed {number} workers in {year}, most of them women.",
        "Ships from the harbour of {other} bring {number} tons of grain to the town each autumn.",
        "A factory for window glass was opened on the road to {other} in {year} and is still at work.",
    ),
    "Transport": (
        "The railway line from {place} to {other} was finished in {year}, after eleven years of work.",
        "A stone bridge of {few} arches crosses the River {river} at the southern end of the town.",
        "About {number} passengers use the main station of {place} every day, on their way to {other}.",
    ),
}


def made_documents(n: int, seed: int = 0) -> list[Document]:
    """A few hundred tokens each, with a lead and three sections."""
    rng = random.Random(f"documents {seed}")
    names = [start + end for start in _STARTS for end in _ENDS]
    return [_document(rng, names, place) for place in rng.sample(names, n)]


def _document(rng: random.Random, names: Sequence[str], place: str) -> Document:
    lines: list[str] = []
    for heading, forms in _SECTIONS.items():
        sentences = [
            form.format(
                place=place, other=rng.choice(names), river=rng.choice(names), number=rng.randint(1000, 99999),
                few=rng.randint(2, 90), year=rng.randint(1100, 1999),
            )
            for form in forms
        ]  # fmt: skip
        lines += [*([f"== {heading} =="] if heading else []), " ".join(sentences)]
    return Document("https://made.example/towns@1", "CC0-1.0", place, "\n".join(lines))


def write_corpus(path: Path, documents: Sequence[Document]) -> Path:
    entries = ({"source": d.source, "license": d.license, "title": d.title, "text": d.text} for d in documents)
    path.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries), encoding="utf-8")
    return path
