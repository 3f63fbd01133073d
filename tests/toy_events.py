"""A small benchmark folder of invented events, made on the spot: as many as a test needs, each written in no time.

And what of a run over them two runs must have in common."""

from __future__ import annotations

import json
import random
from pathlib import Path

TOWNS = ("Halven", "Orsk", "Tarn", "Vell", "Marrick", "Dunmoor", "Eskol", "Brae")
CAUSES = ("A flood", "A landslide", "A warehouse fire", "A power cut", "A rail accident")
WITNESSES = ("the mayor", "the fire service", "the river authority", "a regional paper")


def make_events(root: Path, n: int) -> Path:
    """Events 7000001, 7000002, ... below `root`, which is laid out as a benchmark folder. The same `n` gives the same bytes."""
    for half in ("wiki", "google"):
        (root / half).mkdir(parents=True, exist_ok=True)
    for k in range(1, n + 1):
        event_id = f"{7_000_000 + k}"
        chance = random.Random(k)
        town, cause, year = chance.choice(TOWNS), chance.choice(CAUSES), 2030 + k % 10
        facts = [
            f"{cause} struck {town} on {chance.randint(1, 28)} May {year}, {who} said, and {chance.randint(2, 90)} houses on "
            f"{chance.choice(TOWNS)} Street were damaged. Repairs cost {chance.randint(2, 40)} million talers, according to "
            f"{chance.choice(WITNESSES)}. {chance.randint(10, 900)} residents of {town} left their homes for the night."
            for who in WITNESSES
        ]
        article = f"In May {year} {town} was hit.\n\nDamage\n\nMany houses suffered.\n\nAftermath\n\nPeople slept elsewhere."
        title = f"{year} {town} {cause.split()[-1]} {k}"
        wiki = {"id": int(event_id), "key": title, "url": f"https://wiki.example/{event_id}", "text": article, "reference": []}
        pages = [
            {"title": f"{title}: {who}", "link": f"https://news{i}.example/{event_id}", "text": f"{fact} {facts[i - 1]}"}
            for i, (who, fact) in enumerate(zip(WITNESSES, facts, strict=True))
        ]
        (root / "wiki" / f"{event_id}.json").write_text(json.dumps(wiki), encoding="utf-8")
        (root / "google" / f"{event_id}.json").write_text(json.dumps(pages), encoding="utf-8")
    return root


TIMED = frozenset({"stats.json", "environment.json", "submission.json", "report.html"})
"""Files of a run that tell of its time and machine, as its plots do."""


def results(run: Path) -> dict[str, bytes]:
    """Everything else that lies there, but hidden files."""
    found = [p for p in sorted(run.rglob("*")) if p.is_file() and p.parent.name != "plots"]
    return {str(p.relative_to(run)): p.read_bytes() for p in found if p.name not in TIMED and not p.name.startswith(".")}
