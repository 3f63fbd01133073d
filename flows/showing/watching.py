"""What a command that writes articles is doing: one observer, which the terminal's panel and the web page both read.

A `Watch` is the runner's `data.stage_types.Observer`. It notes what goes by in a `View`, for whoever draws the present, and as
`Happening`s, for whoever follows.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from benchmark.runner import EventOutcome
from data.decoding_counts import Usage
from data.stage_types import Observer
from data.types import DropReason, Event, Heading, Outline, Page, Section, Sentence
from pipeline.notes import AboutPages, Card, Note, TakenNotes
from pipeline.stages import section_of
from pipeline.writing.assembly import WrittenSection
from pipeline.writing.drafting import ComposedDraft, Draft


@dataclass(frozen=True, slots=True)
class PagesKept:
    """All pages of the event, with their verdicts."""

    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class Described:
    """What the subject is, in one sentence."""

    card: Card


@dataclass(frozen=True, slots=True)
class Judged:
    """Which pages are about the subject."""

    about: AboutPages


@dataclass(frozen=True, slots=True)
class Noted:
    """Notes of a few more passages."""

    notes: tuple[Note, ...]


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


Happening = PagesKept | Described | Judged | Noted | Planned | Said | Finished


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
        found = [n for step in self.steps if (n := section_of(step.name)) is not None]
        return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class Spent:
    """What a language model took for the drafts made by this command; `passes` and `passed` of those that count them."""

    tokens: int = 0
    seconds: float = 0.0
    passes: int = 0
    passed: int = 0

    def plus(self, usage: Usage) -> Spent:
        counts = usage.n_passes is not None
        return Spent(
            self.tokens + usage.n_new_tokens,
            self.seconds + usage.stats.total_s,
            self.passes + (usage.n_passes or 0),
            self.passed + counts * usage.n_new_tokens,
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


class Watch(Observer):
    """Notes what one command does, event after event."""

    def __init__(
        self,
        total: int,
        now: Callable[[], float] = time.monotonic,
        tell: Callable[[Happening], None] = lambda happening: None,
    ) -> None:
        self._now = now
        self._tell = tell
        self.view = View(total, now())

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

    def begins(self, event: Event) -> None:
        self.view = replace(self.view, current=Current(event.title, self._now()))

    def writes(self, event: Event, pages: tuple[Page, ...]) -> None:
        reasons = Counter(page.drop_reason for page in pages if page.drop_reason)
        self._note(kept=sum(page.usable for page in pages), dropped=tuple(reasons.most_common()), steps=())
        self._tell(PagesKept(pages))

    def enters(self, stage: str) -> None:
        if (current := self.view.current) is None:
            return
        now, section = self._now(), section_of(stage)
        first = current.sections_began is None and section is not None and section > 0
        self._note(steps=(*current.steps, Step(stage, now)), sections_began=now if first else current.sections_began)

    def leaves(self, stage: str, value: object, *, made: bool) -> None:
        """A stage that raises stays in hand until its event has ended."""
        if (current := self.view.current) is None:
            return
        self._note(steps=tuple(step for step in current.steps if step.name != stage))
        if isinstance(value, Outline):
            self._note(title=value.title, headings=tuple(heading.text for heading in value.headings))
            self._tell(Planned(value.title, value.headings))
        elif isinstance(value, WrittenSection) and (section := section_of(stage)) is not None:
            self._note(done=current.done | {section})
            self._tell(Finished(section, value.section))
        elif isinstance(value, Card):
            self._tell(Described(value))
        elif isinstance(value, AboutPages):
            self._tell(Judged(value))
        elif isinstance(value, TakenNotes):
            self._tell(Noted(value.notes))
        if made and isinstance(value, Draft | ComposedDraft | Card | TakenNotes):
            self.view = replace(self.view, spent=self.view.spent.plus(value.usage))

    def said(self, stage: str, sentences: tuple[Sentence, ...]) -> None:
        if (section := section_of(stage)) is not None:
            self._tell(Said(section, sentences))

    def _note(self, **changes: object) -> None:
        if self.view.current is not None:
            self.view = replace(self.view, current=replace(self.view.current, **changes))  # type: ignore[arg-type]
