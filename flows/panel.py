"""The live panel: where a command that writes articles is, on a terminal that can show it; elsewhere nothing of it appears.

It looks on from outside. `Watch.collect` and `Watch.system` stand in for the two things that the runner asks of an event, pass
everything through, and note what went by; a thread of rich draws the newest note a few times a second.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from benchmark.runner import EventOutcome
from benchmark.system import System
from data.runs import Stages
from data.types import Article, DropReason, Event, Outline, Page
from flows import console
from pipeline.composing import ComposedDraft
from pipeline.drafting import Draft
from pipeline.formats.html import DROP_REASONS

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderResult
    from rich.text import Text

T = TypeVar("T")
REFRESHES_PER_SECOND = 4
REASONS_SHOWN = 4
_STAGES = {
    "pages": "collecting its pages",
    "outline": "planning its sections",
    "infobox": "collecting key facts",
    "article": "putting the article together",
}
"""Those that are no section of their own, with their drafts."""
_SECTION = re.compile(r"(?:sections|drafts)/(\d+)")


@dataclass(frozen=True, slots=True)
class Step:
    """A stage being made, by its name, such as `sections/02`; `began` is of the clock that `View.now` reads."""

    name: str
    began: float


@dataclass(frozen=True, slots=True)
class Current:
    """The event being written. `done` numbers its finished sections (0: the lead); `steps` has the outermost stage first."""

    title: str
    began: float
    kept: int | None = None
    dropped: tuple[tuple[DropReason, int], ...] = ()
    headings: tuple[str, ...] = ()
    done: frozenset[int] = frozenset()
    steps: tuple[Step, ...] = ()
    sections_began: float | None = None

    @property
    def section(self) -> int | None:
        """The number of the section in hand."""
        found = [match for step in self.steps if (match := _SECTION.match(step.name))]
        return int(found[-1][1]) if found else None


@dataclass(frozen=True, slots=True)
class Spent:
    """What a language model took for the drafts made by this command; `passes` and `passed` of those that count them."""

    tokens: int = 0
    seconds: float = 0.0
    passes: int = 0
    passed: int = 0

    def plus(self, draft: Draft | ComposedDraft) -> Spent:
        counted = draft.n_verify is not None
        return Spent(
            self.tokens + draft.n_new_tokens,
            self.seconds + draft.seconds,
            self.passes + (draft.n_verify or 0) + counted,  # the first pass reads the prompt
            self.passed + counted * draft.n_new_tokens,
        )


@dataclass(frozen=True, slots=True)
class View:
    """All that the panel shows: a value, so that it can be drawn by one thread while another goes on."""

    total: int
    began: float
    finished: int = 0
    written: int = 0
    written_s: float = 0.0
    failed: int = 0
    last_failure: str = ""
    spent: Spent = field(default_factory=Spent)
    current: Current | None = None

    def seconds_left(self, now: float) -> float | None:
        """From the mean of the events written so far; before the first one, from its finished sections. None while unknown."""
        waiting = self.total - self.finished - (self.current is not None)
        mean = self.written_s / self.written if self.written else None
        if self.current is None:
            return mean * waiting if mean is not None else None
        elapsed = now - self.current.began
        here = max(mean - elapsed, 0.0) if mean is not None else _left_of(self.current, now)
        return here + waiting * (mean if mean is not None else elapsed + here) if here is not None else None


def _left_of(current: Current, now: float) -> float | None:
    done = len(current.done - {0})
    if not done or current.sections_began is None:
        return None
    return (now - current.sections_began) / done * (len(current.headings) - done)


class Watch:
    """Notes what one command does, event after event. Nothing here changes what is written."""

    def __init__(self, total: int, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.view = View(total, now())

    def collect(self, collect: Callable[[Event], tuple[Page, ...]]) -> Callable[[Event], tuple[Page, ...]]:
        def watched(event: Event) -> tuple[Page, ...]:
            self._begin(event)
            self._enter("pages")
            pages = collect(event)
            self._leave("pages", pages)
            return pages

        return watched

    def system(self, system: System) -> System:
        return _WatchedSystem(system, self)

    def ended(self, outcome: EventOutcome) -> None:
        """To be called after each event, also for one that was reused or failed."""
        view = self.view
        wrote, failure = outcome.status == "written", outcome.failure
        self.view = replace(
            view,
            finished=view.finished + 1,
            written=view.written + wrote,
            written_s=view.written_s + wrote * outcome.seconds,
            failed=view.failed + (failure is not None),
            last_failure=f"{outcome.title}: {failure.stage}: {failure.message}" if failure else view.last_failure,
            current=None,
        )

    def writes(self, event: Event, pages: tuple[Page, ...]) -> None:
        """The pages are known, made now or found stored: writing begins."""
        if self.view.current is None:
            self._begin(event)
        reasons = Counter(page.drop_reason for page in pages if page.drop_reason)
        self._note(kept=sum(page.usable for page in pages), dropped=tuple(reasons.most_common()), steps=())

    def once(self, stages: Stages, name: str, kind: type[T], make: Callable[[], T]) -> T:
        """`stages.once`, noted. A stage that raises stays in hand until its event has ended."""
        made = False

        def noted() -> T:
            nonlocal made
            made = True
            return make()

        self._enter(name)
        value = stages.once(name, kind, noted)
        self._leave(name, value)
        if made and isinstance(value, Draft | ComposedDraft):
            self.view = replace(self.view, spent=self.view.spent.plus(value))
        return value

    def _begin(self, event: Event) -> None:
        self.view = replace(self.view, current=Current(event.title, self._now()))

    def _enter(self, name: str) -> None:
        if (current := self.view.current) is None:
            return
        now, section = self._now(), _SECTION.match(name)
        first = current.sections_began is None and section is not None and int(section[1]) > 0
        self._note(steps=(*current.steps, Step(name, now)), sections_began=now if first else current.sections_began)

    def _leave(self, name: str, value: object) -> None:
        if (current := self.view.current) is None:
            return
        self._note(steps=tuple(step for step in current.steps if step.name != name))
        if isinstance(value, Outline):
            self._note(title=value.title, headings=tuple(heading.text for heading in value.headings))
        elif name.startswith("sections/") and (match := _SECTION.match(name)):
            self._note(done=current.done | {int(match[1])})

    def _note(self, **changes: object) -> None:
        if self.view.current is not None:
            self.view = replace(self.view, current=replace(self.view.current, **changes))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class _WatchedSystem:
    """Implements `benchmark.system.System`."""

    inner: System
    watch: Watch

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def identity(self) -> Mapping[str, str]:
        return self.inner.identity

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        self.watch.writes(event, pages)
        return self.inner.write(event, pages, _WatchedStages(stages, self.watch))


@dataclass(frozen=True, slots=True)
class _WatchedStages:
    """Implements `data.runs.Stages`."""

    inner: Stages
    watch: Watch

    def once(self, name: str, kind: type[T], make: Callable[[], T]) -> T:
        return self.watch.once(self.inner, name, kind, make)


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
    """The panel of a terminal of `height` lines, as long as needed to say what is known, never longer than the terminal."""
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
    return _STAGES.get(name.removeprefix("drafts/"), "preparing to write")


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
