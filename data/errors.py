"""The errors a person meets, and the exit code each one carries.

A `UserError` is something the caller can fix: it is printed without a traceback, names the offending value and ends in
the next command. Anything else that escapes is a bug and keeps its traceback.
"""

from __future__ import annotations


class WikigenError(Exception):
    """Base of every error this project raises on purpose. `exit_code` is what a command returns for it."""

    exit_code = 1


class UserError(WikigenError):
    """A wrong value, path, name or file. The message says which one and what to do next."""

    exit_code = 2


class MissingExtra(UserError):
    """An optional package is needed for the request."""

    def __init__(self, package: str, extra: str, why: str) -> None:
        super().__init__(f"{why} needs the package {package!r}; run: pip install 'wikigenben[{extra}]'")
        self._made_from = (package, extra, why)

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str, str]]:
        return type(self), self._made_from  # errors cross process borders


class StageError(WikigenError):
    """One event's stage failed. The run records it and goes on with the next event."""

    def __init__(self, stage: str, why: str) -> None:
        super().__init__(f"{stage}: {why}")
        self.stage = stage
        self.why = why

    def __reduce__(self) -> tuple[type[StageError], tuple[str, ...]]:
        return type(self), (self.stage, self.why)  # errors cross process borders


class NoEvidence(StageError):
    """No page of the event is usable, so there is nothing to cite and no article is written."""

    exit_code = 3

    def __init__(self, why: str) -> None:
        super().__init__("evidence", why)

    def __reduce__(self) -> tuple[type[StageError], tuple[str, ...]]:
        return type(self), (self.why,)
