"""`wikigenben notes RUN`: what the model wrote down of the pages while it read, each fact with the passage that states it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from data.errors import UserError

if TYPE_CHECKING:
    from data.runs import EventFolder, RunFolder
    from data.stage_types import Stage
    from data.types import Page
    from pipeline.article_plan import Statement
    from pipeline.notes import AboutPages, Card, Notes

T = TypeVar("T")


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben notes",
        description="Print the notes of a run that write, generate or evaluate made: what the subject is, which pages are "
        "about it, each fact with the passages that state it, and what was dropped and why. A run may be still at it.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder")
    parser.add_argument("--event", default="", metavar="ID", help="which event; needed where the run has several")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of Markdown")
    arguments = parser.parse_args(argv)
    from flows.showing.console import guarded

    def run() -> int:
        from data.runs import RunFolder
        from flows.showing import console

        folder = _event(RunFolder(arguments.run), arguments.event)
        from pipeline.stages import ABOUT, CARD, NOTES

        # Both raise UserError, with the next command, where the stage is missing or cannot be read.
        card, about, notes = _stored(folder, CARD), _stored(folder, ABOUT), _stored(folder, NOTES)
        pages = folder.stored_pages() or ()
        if arguments.json:
            console.result_json(_facts(card, about, notes, pages))
        else:
            console.result(_markdown(card, about, notes, pages))
        return 0

    return guarded(run)


def _event(run: RunFolder, asked: str) -> EventFolder:
    """Raises UserError for an event that the run does not have, and where it has several and none is named."""
    found = {folder.event_id: folder for folder in run.event_folders()}
    if asked and asked not in found:
        raise UserError(f"{run.path} has no event {asked!r}; it has {', '.join(sorted(found)[:10]) or 'none'}")
    if not found:
        raise UserError(f"{run.path} holds no event; name a run folder, as `wikigenben write` prints it")
    if not asked and len(found) > 1:
        raise UserError(f"{run.path} has {len(found)} events; name one with --event, such as --event {min(found)}")
    return found[asked] if asked else next(iter(found.values()))


def _stored(folder: EventFolder, stage: Stage[T]) -> T:
    from data import codec

    path = folder.file(stage)
    if not path.exists():
        raise UserError(
            f"{folder.event_id} has no {stage.name} yet: only ours in mode notes takes notes; give its command again"
        )
    return codec.read(stage.kind, path)


def _facts(card: Card, about: AboutPages, notes: Notes, pages: Sequence[Page]) -> dict[str, object]:
    return {
        "card": card.text,
        "card_by": card.by,
        "pages": [
            {"page": one.page, "url": pages[one.page].url, "title": pages[one.page].title, "verdict": one.verdict}
            | {"likeness": one.likeness, "named": one.named}
            for one in about.pages
        ],
        "notes": [_fact(note, pages) for note in notes.statements],
        "story": [_fact(note, pages) for note in notes.story],
        "dropped": [{"text": one.text, "passage": _cited(one.passage, pages), "reason": one.reason} for one in notes.dropped],
    }


def _fact(note: Statement, pages: Sequence[Page]) -> dict[str, object]:
    return {"text": note.text, "day": note.day, "passages": [_cited(cite, pages) for cite in note.cites]}


def _cited(cite: str, pages: Sequence[Page]) -> dict[str, object]:
    page, start, end = _span(cite)
    return {"url": pages[page].url, "start": start, "end": end, "text": pages[page].text[start:end]}


def _span(cite: str) -> tuple[int, int, int]:
    """Page, start and end of a passage's id (`data.types.Passage.id`)."""
    page, _, span = cite.partition(":")
    start, _, end = span.partition("-")
    return int(page), int(start), int(end)


def _markdown(card: Card, about: AboutPages, notes: Notes, pages: Sequence[Page]) -> str:
    """`notes` with numbers of their pages, which are listed below with their verdicts; then what was dropped."""
    from pipeline.notes import VERDICTS

    numbers = {one.page: n for n, one in enumerate(about.pages, 1)}
    lines = [f"{card.text} ({'from the pages' if card.by == 'model' else 'as told'})"]
    for heading, some in (("Notes", notes.statements), ("The story, by the page that retells it", notes.story)):
        lines += ["", f"## {heading}", ""] if some or heading == "Notes" else []
        for note in some:
            cited = dict.fromkeys(numbers.get(_span(cite)[0], 0) for cite in note.cites)
            lines.append(f"- {note.text} {''.join(f'[{n}]' for n in cited)}")
    lines += ["", "## Pages", ""]
    for one in about.pages:
        why = f"likeness {one.likeness:.2f}, {one.named:.0%} of the title's words"
        page = pages[one.page]
        lines.append(f"{numbers[one.page]}. {page.title or 'no title'} <{page.url}>: {VERDICTS[one.verdict]} ({why})")
    if notes.dropped:
        lines += ["", "## Dropped", "", *(f"- {one.text} ({one.reason})" for one in notes.dropped)]
    return "\n".join(lines)
