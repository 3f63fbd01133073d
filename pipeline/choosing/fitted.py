"""The fitted models that ship with this package: a JSON file each, beside the module that asks the model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from data import codec
from data.errors import UserError


class Fitted(Protocol):
    def takes(self, features: Sequence[str]) -> bool:
        """Whether the model was fitted for these features, in an order that it can use."""
        ...


M = TypeVar("M", bound=Fitted)


def fitted_model(kind: type[M], path: Path, features: tuple[str, ...], tool: str) -> M:
    """The model of `path`, read once. Raises UserError for a file that cannot be read or was fitted for other features; `tool`
    is the module that fits it anew."""
    model: M = _read_once(kind, path, features, tool)
    return model


@cache
def _read_once(kind: Any, path: Path, features: tuple[str, ...], tool: str) -> Any:
    try:
        model = codec.read(kind, path)
    except UserError as error:
        why, _, _ = str(error).rpartition(";")  # what to do about a file of a run does not fit
        raise UserError(f"{why}; it ships with the package: install that again, or run: python -m {tool}") from None
    if not model.takes(features):
        raise UserError(f"{path} was fitted for other features; run: python -m {tool}")
    return model
