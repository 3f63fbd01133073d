"""The live panel: where a command that writes articles is, on a terminal that can show it; elsewhere nothing of it appears.

A thread of rich draws the newest `flows.showing.watching.View` a few times a second.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flows.showing import console
from flows.showing.watching import Current, Spent, View, Watch
from pipeline.drop_words import DROP_REASONS
from pipeline.stages import ABOUT, ANSWERS, ARTICLE, CARD, KIND, NOTES, OUTLINE, PAGES, PLAN, STORY, part_of

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderResult
    from rich.text import Text

REFRESHES_PER_SECOND = 4
REASONS_SHOWN = 4
_STAGES = {
    PAGES.name: "collecting its pages",
    CARD.name: "asking what the subject is",
    ABOUT.name: "finding the pages about it",
    KIND.name: "finding what kind of subject it is",
    part_of(ANSWERS.name): "asking the pages what such an article tells",
    part_of(STORY.name): "reading the page that retells its story",
    NOTES.name: "taking notes",
    PLAN.name: "planning its sections",
    OUTLINE.name: "planning its sections",
    ARTICLE.name: "putting the article together",
}
"""Those that are no section of their own, with their drafts."""


@contextmanager
def watching(total: int) -> Iterator[Watch]:
    """A watch over `total` events, drawn on stderr while the block lasts. The panel is gone when the block is left."""
    watch = Watch(total)
    if not console.can_redraw():
        yield watch
        return
    from rich.console import Console
    from rich.live import Live

    with Live(
        get_renderable=lambda: _Panel(watch),
        console=Console(stderr=True, highlight=False),
        refresh_per_second=REFRESHES_PER_SECOND,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # elsewhere it holds results, which the panel's console would take to stderr
    ):
        yield watch


# --- drawing -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Panel:
    watch: Watch

    def __rich_console__(self, terminal: Console, options: ConsoleOptions) -> RenderResult:
        try:
            view = self.watch.view
            yield panel(view, time.monotonic(), height=terminal.size.height, plain_marks=options.ascii_only)
        except Exception as error:  # a picture that cannot be drawn is no reason to stop writing
            yield f"the panel cannot be drawn: {type(error).__name__}"


def panel(view: View, now: float, *, height: int, plain_marks: bool = False) -> Group:
    """The panel of a terminal of `height` lines, as long as needed to show everything, never longer than the terminal."""
    from rich.console import Group
    from rich.table import Table

    current = view.current
    rows = Table.grid(padding=(0, 2), expand=False)
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="fold")
    if current is not None:
        rows.add_row("now", _line(_doing(current, now)))
        if current.kept is not None:
            rows.add_row("pages", _pages(current))
        if current.headings:
            rows.add_row("sections", _sections(current, height, plain_marks))
    if view.spent.tokens:
        rows.add_row("model", _line(_speed(view.spent)))
    rows.add_row("time", _line(_times(view, now)))
    if view.failed:
        rows.add_row("failed", _line(f"{view.failed}; the last: {view.last_failure}"))
    return Group(_heading(view), rows)


def _line(text: str) -> Text:
    """One line, cut where the terminal ends. Titles and reasons come from pages: no markup, no control characters."""
    from rich.text import Text

    return Text(console.one_line(text), no_wrap=True, overflow="ellipsis")


def _heading(view: View) -> Text:
    place = f"Event {min(view.finished + 1, view.total)} of {view.total}" if view.total > 1 else ""
    title = view.current.title if view.current else ""
    line = _line("  ".join(part for part in (place, title) if part) or "An article")
    line.stylize("bold")
    return line


def _doing(current: Current, now: float) -> str:
    if not current.steps:
        return "writing" if current.headings or current.done else "preparing to write"
    began = current.steps[-1].began
    return f"{_words_for(current)}, for {duration(now - began)}" if now - began >= 1 else _words_for(current)


def _words_for(current: Current) -> str:
    section, name = current.section, current.steps[-1].name
    if section == 0:
        return "writing the lead"
    if section is not None:
        named = f": {current.headings[section - 1]}" if section <= len(current.headings) else ""
        return f"writing section {section}{f' of {len(current.headings)}' if named else ''}{named}"
    return _STAGES.get(part_of(name).partition("-")[0], "preparing to write")  # the notes are taken as `notes-01` and so on


def _pages(current: Current) -> str:
    n = sum(count for _, count in current.dropped)
    if not n:
        return f"{current.kept} kept, none dropped"
    shown = [f"{DROP_REASONS[reason]} ({count})" for reason, count in current.dropped[:REASONS_SHOWN]]
    rest = n - sum(count for _, count in current.dropped[:REASONS_SHOWN])
    return f"{current.kept} kept, {n} dropped: {'; '.join(shown)}" + (f"; other reasons ({rest})" if rest else "")


def _sections(current: Current, height: int, plain_marks: bool) -> Text:
    """A line each where the terminal is high enough, else one after the other."""
    from rich.text import Text

    done, writing, waiting = ("x", ">", "-") if plain_marks else ("✓", "▸", "·")
    parts = []
    for n, heading in enumerate(current.headings, 1):
        mark, style = (done, "green") if n in current.done else (writing, "bold") if n == current.section else (waiting, "dim")
        parts.append(Text(f"{mark} {console.one_line(heading)}", style=style))
    below = len(parts) + 9 <= height  # the other rows, and pages on up to three lines
    return Text("\n" if below else "  ", no_wrap=True, overflow="ellipsis").join(parts)


def _speed(spent: Spent) -> str:
    words = [f"{spent.tokens / spent.seconds:.1f} tokens/s"] if spent.seconds else []
    if spent.passes:
        words.append(f"{spent.passed / spent.passes:.2f} tokens a pass")
    return ", ".join([*words, f"{spent.tokens:,} tokens"])


def _times(view: View, now: float) -> str:
    left = view.seconds_left(now)
    return f"{duration(now - view.began)} gone" + (f", about {duration(left)} left" if left is not None else "")


def duration(seconds: float) -> str:
    """8 s, 1:05 min, 2:03:04 h."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{rest:02} h"
    return f"{minutes}:{rest:02} min" if minutes else f"{rest} s"
