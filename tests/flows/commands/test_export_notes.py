"""`wikigenben notes`: what a run noted, with the passages, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from data import codec
from data.decoding_counts import Usage
from data.runs import RunFolder
from data.types import Page
from pipeline.article_plan import Statement
from pipeline.notes import AboutPages, Card, DroppedNote, Notes, PageVerdict
from pipeline.stages import ABOUT, CARD, NOTES
from tests.conftest import Command

FLOOD = Page("https://ledger.example/1", "Levee breaks", "Fourteen people died in Vasterlow.", origin="search")
GAME = Page("https://games.example/2", "Flood, the game", "Flood is a puzzle game.", origin="search")


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder.open(tmp_path / "run", {"system": "ours"})
    event = folder.event("flood")
    event.pages(lambda: (FLOOD, GAME))
    event.once(CARD, lambda: Card("The flood was a flood.", ("0:0-34",), "model", Usage()))
    verdicts = (PageVerdict(0, "subject", 0.8, 1.0), PageVerdict(1, "other", 0.3, 0.5))
    event.once(ABOUT, lambda: AboutPages(verdicts))
    statements = (Statement("Fourteen people died in the flood.", ("0:0-34",), (), "2031-03"),)
    dropped = (DroppedNote("Flood is fun.", "1:0-23", "its passage hardly says it (0.10)"),)
    event.once(NOTES, lambda: Notes(statements, dropped, (Statement("Lena finds a boat.", ("1:0-23",)),)))
    return folder


def test_as_text(run: RunFolder, wikigenben: Command) -> None:
    told = wikigenben("notes", str(run.path))
    assert told.code == 0, told.err
    assert "- Fourteen people died in the flood. [1]\n" in told.out
    assert "1. Levee breaks <https://ledger.example/1>: about it (likeness 0.80, 100% of the title's words)\n" in told.out
    assert (
        "2. Flood, the game <https://games.example/2>: about something else (likeness 0.30, 50% of the title's words)"
        in told.out
    )
    assert "## The story, by the page that retells it\n\n- Lena finds a boat. [2]\n" in told.out
    assert "- Flood is fun. (its passage hardly says it (0.10))" in told.out


def test_as_json_with_the_passages(run: RunFolder, wikigenben: Command) -> None:
    told = json.loads(wikigenben("notes", str(run.path), "--event", "flood", "--json").out)
    assert told["card"] == "The flood was a flood." and told["card_by"] == "model"
    assert [(page["url"], page["verdict"], page["named"]) for page in told["pages"]] == [
        (FLOOD.url, "subject", 1.0),
        (GAME.url, "other", 0.5),
    ]
    passage = {"url": FLOOD.url, "start": 0, "end": 34, "text": FLOOD.text}
    assert told["notes"] == [{"text": "Fourteen people died in the flood.", "day": "2031-03", "passages": [passage]}]
    assert [note["text"] for note in told["story"]] == ["Lena finds a boat."]
    assert told["dropped"][0]["passage"]["text"] == GAME.text


def test_what_cannot_be_printed(run: RunFolder, wikigenben: Command, tmp_path: Path) -> None:
    assert "has no event 'fire'; it has flood" in wikigenben("notes", str(run.path), "--event", "fire").err
    (run.path / "events" / "second").mkdir()
    told = wikigenben("notes", str(run.path))
    assert told.code == 2 and "has 2 events; name one with --event, such as --event flood" in told.err
    told = wikigenben("notes", str(run.path), "--event", "second")
    assert told.code == 2 and "second has no card yet" in told.err
    path = run.event("flood").file(NOTES)
    codec.write_atomic(path, "{")
    told = wikigenben("notes", str(run.path), "--event", "flood")
    assert told.code == 2 and "notes.json" in told.err
    assert wikigenben("notes", str(tmp_path / "nowhere")).code == 2
