"""What a command that writes articles is doing: one observer, which the terminal's panel and the web page both read.

It looks on from outside. `Watch.collect` and `Watch.system` replace the two things that the runner asks of an event, pass
everything through, and note what went by: in a `View`, for whoever draws the present, and as `Happening`s, for whoever follows.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from benchmark.runner import EventOutcome
from benchmark.system import System
from data.runs import Stages
from data.types import Article, DropReason, Event, Heading, Outline, Page, Section, Sentence
from pipeline.writing.assembly import WrittenSection
from pipeline.writing.composing import ComposedDraft
from pipeline.writing.drafting import Draft

T = TypeVar("T")
SECTION = re.compile(r"(?:sections|drafts)/(\d+)")


@dataclass(frozen=True, slots=True)
class PagesKept:
    """All pages of the event, with their verdicts."""

    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """The headings, in order."""

    title: str
    headings: tuple[Heading, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """Sentences of a section that is still being written; 0 is the lead."""

    section: int
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """A section as it is in the article; it takes the place of its sentences so far."""

    number: int
    section: Section


Happening = PagesKept | Planned | Said | Finished


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
        found = [match for step in self.steps if (match := SECTION.match(step.name))]
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
    """Notes what one command does, event after event. Nothing here changes the text."""

    def __init__(
        self,
        total: int,
        now: Callable[[], float] = time.monotonic,
        tell: Callable[[Happening], None] = lambda happening: None,
    ) -> None:
        self._now = now
        self._tell = tell
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
        self._tell(PagesKept(pages))

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
        now, section = self._now(), SECTION.match(name)
        first = current.sections_began is None and section is not None and int(section[1]) > 0
        self._note(steps=(*current.steps, Step(name, now)), sections_began=now if first else current.sections_began)

    def _leave(self, name: str, value: object) -> None:
        if (current := self.view.current) is None:
            return
        self._note(steps=tuple(step for step in current.steps if step.name != name))
        if isinstance(value, Outline):
            self._note(title=value.title, headings=tuple(heading.text for heading in value.headings))
            self._tell(Planned(value.title, value.headings))
        elif name.startswith("sections/") and (match := SECTION.match(name)):
            self._note(done=current.done | {int(match[1])})
            if isinstance(value, WrittenSection | Section):
                self._tell(Finished(int(match[1]), value.section if isinstance(value, WrittenSection) else value))

    def said(self, name: str, sentences: tuple[Sentence, ...]) -> None:
        if match := SECTION.match(name):
            self._tell(Said(int(match[1]), sentences))

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

    def said(self, name: str, sentences: tuple[Sentence, ...]) -> None:
        self.watch.said(name, sentences)
        self.inner.said(name, sentences)
