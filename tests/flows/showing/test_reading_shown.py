"""While an article is read for: what the panel says, what the web page hears, and what it shows of a run afterwards."""

from __future__ import annotations

from pathlib import Path

from data import codec
from data.decoding_counts import Usage
from data.runs import RunFolder
from data.stage_types import ObservedStages
from data.types import Event, Page
from flows.showing import panel
from flows.showing.watching import Described, Happening, Judged, Noted, Watch
from flows.webapp.shelf import Asked, Shelf
from pipeline.article_plan import Statement
from pipeline.notes import AboutPages, Card, DroppedNote, Note, Notes, PageVerdict, TakenNotes
from pipeline.stages import ABOUT, CARD, NOTES, notes_stage

COUNTED = Usage(1, 10, 5)
CARD_MADE = Card("The flood was a flood.", ("0:0-34",), "model", COUNTED)
JUDGED = AboutPages((PageVerdict(0, "subject", 0.8, 1.0), PageVerdict(1, "other", 0.3, 0.5)))
TAKEN = TakenNotes(("0:0-34",), (Note("Fourteen people died.", "0:0-34"),), (), COUNTED)


def test_each_step_of_reading_is_told_and_counted(tmp_path: Path) -> None:
    told: list[Happening] = []
    watch = Watch(1, tell=told.append)
    event = RunFolder.open(tmp_path / "run", {}).event("1")
    stages = ObservedStages(event, watch)
    said: list[str] = []

    def while_made(value: object) -> object:
        assert watch.view.current is not None
        said.append(panel._words_for(watch.view.current))
        return value

    for _ in range(2):  # the second time they are stored
        watch.begins(Event("1", "Flood"))
        stages.once(CARD, lambda: while_made(CARD_MADE))  # type: ignore[arg-type, return-value]
        stages.once(ABOUT, lambda: while_made(JUDGED))  # type: ignore[arg-type, return-value]
        stages.once(notes_stage(1), lambda: while_made(TAKEN))  # type: ignore[arg-type, return-value]
    assert said == ["asking what the subject is", "finding the pages about it", "taking notes"]
    assert told == [Described(CARD_MADE), Judged(JUDGED), Noted(TAKEN.notes)] * 2
    assert watch.view.spent.tokens == 10


def test_the_page_shows_them_of_a_stored_run(tmp_path: Path) -> None:
    run = RunFolder.open(tmp_path / "flood", {"title": "Flood"})
    event = run.event("flood")
    event.pages(lambda: (Page("https://a.example/", "Levee", "Fourteen people died in Vasterlow.", origin="search"),))
    shelf = Shelf(tmp_path)
    assert not {"card", "about", "noted"} & set(shelf.shown("flood"))
    event.once(CARD, lambda: CARD_MADE)
    event.once(ABOUT, lambda: JUDGED)
    assert shelf.shown("flood")["card"] == CARD_MADE.text
    assert [one["verdict"] for one in shelf.shown("flood")["about"]] == ["about it", "about something else"]
    statement = Statement("Fourteen people died.", ("0:0-34",))
    event.once(NOTES, lambda: Notes((statement,), (DroppedNote("Fun.", "0:0-34", "too short"),)))
    shown = shelf.shown("flood")
    assert shown["noted"] == [{"text": "Fourteen people died.", "cites": ["0:0-34"]}]
    assert shown["noted_not"] == ["Fun. (too short)"]


def test_what_the_subject_is_goes_with_what_was_asked(tmp_path: Path) -> None:
    run = RunFolder.open(tmp_path / "flood", {"title": "Flood"})
    shelf = Shelf(tmp_path)
    shelf.keep_asked(run, Asked("Flood", about="a flood in Vasterlow"))
    assert shelf.asked(run).about == "a flood in Vasterlow"
    codec.write_atomic(run.path / "asked.json", '{"title": "Flood"}')  # of a version before
    assert shelf.asked(run).about == ""
