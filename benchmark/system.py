"""What the benchmark knows of a system: a name, what it depends on, and one function from pages to an article."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from data.stage_types import Stages
from data.types import Article, Event, Page


class System(Protocol):
    """Every system gets the same pages. It asks for its stages through `stages`, so that a run can be resumed."""

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> Mapping[str, str]:
        """Everything that the text depends on: versions of prompts and rules, the model's fingerprint, settings."""
        ...

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        """Raises StageError (NoEvidence among them) when the event cannot be written."""
        ...
