"""`wikigenben notes`: what a run noted, with the passages, as text and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from data import codec
from data.decoding_counts import Usage
from data.runs import RunFolder
from data.types import Page
from pipeline.article_plan import Statement
from pipeline.notes import AboutPages, Card, DroppedNote, Notes, PageVerdict
from pipeline.stages import ABOUT, CARD, NOTES
from tests.conftest import Command
from tests.flows.told import refused

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
    told = wikigenben("notes", run.path)
    assert told.code == 0, told.err
    about = "2. Flood, the game <https://games.example/2>: about something else (likeness 0.30, 50% of the title's words)"
    assert "- Fourteen people died in the flood. [1]\n" in told.out and about in told.out
    assert "1. Levee breaks <https://ledger.example/1>: about it (likeness 0.80, 100% of the title's words)\n" in told.out
    assert "## The story, by the page that retells it\n\n- Lena finds a boat. [2]\n" in told.out
    assert "- Flood is fun. (its passage hardly says it (0.10))" in told.out


def test_as_json_with_the_passages(run: RunFolder, wikigenben: Command) -> None:
    told: Any = wikigenben("notes", run.path, "--event", "flood", "--json").json
    assert told["card"] == "The flood was a flood." and told["card_by"] == "model"
    pages = [(page["url"], page["verdict"], page["named"]) for page in told["pages"]]
    assert pages == [(FLOOD.url, "subject", 1.0), (GAME.url, "other", 0.5)]
    passage = {"url": FLOOD.url, "start": 0, "end": 34, "text": FLOOD.text}
    assert told["notes"] == [{"text": "Fourteen people died in the flood.", "day": "2031-03", "passages": [passage]}]
    assert [note["text"] for note in told["story"]] == ["Lena finds a boat."]
    assert told["dropped"][0]["passage"]["text"] == GAME.text


def test_what_cannot_be_printed(run: RunFolder, wikigenben: Command) -> None:
    refused(wikigenben("notes", run.path, "--event", "fire"), "has no event 'fire'; it has flood")
    (run.path / "events" / "second").mkdir()
    refused(wikigenben("notes", run.path), "has 2 events; name one with --event, such as --event flood")
    refused(wikigenben("notes", run.path, "--event", "second"), "second has no card yet")
    codec.write_atomic(run.event("flood").file(NOTES), "{")
    refused(wikigenben("notes", run.path, "--event", "flood"), "notes.json")
    refused(wikigenben("notes", "nowhere"))
