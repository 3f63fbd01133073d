"""The stages of writing an event: what each makes, who keeps it, and who looks on."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from data.types import Article, Event, Outline, Page, Sentence, Strict

T = TypeVar("T")
_STAGE_NAME = re.compile(r"[a-z0-9][a-z0-9-]*(?:/[a-z0-9][a-z0-9-]*)?")


@dataclass(frozen=True, slots=True)
class Stage(Generic[T]):
    """A step of writing an event: its file in the event's folder, without `.json`, such as `sections/02`, and what it holds.

    Those of our systems are listed in `pipeline.stages`. Raises ValueError for a name that is not one or two words of lower
    case letters, digits and hyphens with a slash between: it becomes a path.
    """

    name: str
    kind: type[T]

    def __post_init__(self) -> None:
        if not _STAGE_NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} cannot be a stage's name: it has to be like outline or sections/02")


SYSTEM = Stage("system", dict[str, str])
"""With what an article of `wikigenben write` was begun: the system's name and identity."""


PAGES = Stage("pages", tuple[Page, ...])
"""Kept line by line in pages.jsonl, by `EventFolder.pages`."""


OUTLINE = Stage("outline", Outline)


ARTICLE = Stage("article", Article)


DRAFTS = "drafts"
"""Folder of all that a language model answered; the cost of an event is counted from it."""


class Stages(Protocol):
    """Where a writer leaves its intermediate values. Every system asks for its stages through this, in order."""

    def once(self, stage: Stage[T], make: Callable[[], T]) -> T:
        """The stored value of the stage, or `make()`, stored."""
        ...

    def said(self, name: str, sentences: tuple[Sentence, ...]) -> None:
        """Sentences of a stage that is still being made, for whoever looks on. Nothing is stored."""
        ...


class Unstored:
    """Stages that keep nothing: for tests and one-off calls."""

    def once(self, stage: Stage[T], make: Callable[[], T]) -> T:
        return make()

    def said(self, name: str, sentences: tuple[Sentence, ...]) -> None: ...


@dataclass(frozen=True, slots=True)
class StageTime(Strict):
    """Wall seconds of making one stage, without those of stages made inside it. `stage` is its name, such as `sections/02`."""

    stage: str
    seconds: float


class Observer:
    """Looks on while an event is written and changes nothing. This one ignores all it hears: others override what they need."""

    def begins(self, event: Event) -> None:
        """The event has no article yet; its pages come next."""

    def writes(self, event: Event, pages: tuple[Page, ...]) -> None:
        """The pages are known, made now or found stored: the system begins."""

    def enters(self, stage: str) -> None:
        """A stage is asked for."""

    def leaves(self, stage: str, value: object, *, made: bool) -> None:
        """It is there: made now, or found stored. Of a stage that raises nothing more is heard."""

    def said(self, stage: str, sentences: tuple[Sentence, ...]) -> None:
        """As `Stages.said`."""


NOBODY = Observer()


class ObservedStages:
    """Other stages, with an observer, and with the time of each that has to be made; one that is found stored leaves none.

    The stages of an event are made one after the other or inside each other, never side by side.
    """

    def __init__(self, stages: Stages, observer: Observer) -> None:
        self.times: list[StageTime] = []
        self._stages = stages
        self._observer = observer
        self._inside = [0.0]  # for each stage that is being made, the outermost first: seconds of the stages inside it

    def once(self, stage: Stage[T], make: Callable[[], T]) -> T:
        made = False

        def timed() -> T:
            nonlocal made
            made = True
            return self._timed(stage.name, make)

        self._observer.enters(stage.name)
        value = self._stages.once(stage, timed)
        self._observer.leaves(stage.name, value, made=made)
        return value

    def making(self, stage: Stage[T], make: Callable[[], T]) -> T:
        """A stage that is stored elsewhere, and has to be made."""
        self._observer.enters(stage.name)
        value = self._timed(stage.name, make)
        self._observer.leaves(stage.name, value, made=True)
        return value

    def said(self, name: str, sentences: tuple[Sentence, ...]) -> None:
        self._observer.said(name, sentences)
        self._stages.said(name, sentences)

    def _timed(self, name: str, make: Callable[[], T]) -> T:
        """`make()`, adding to `times`, also when it raises."""
        began = time.perf_counter()
        self._inside.append(0.0)
        try:
            return make()
        finally:
            took = time.perf_counter() - began
            self.times.append(StageTime(name, round(took - self._inside.pop(), 3)))
            self._inside[-1] += took
