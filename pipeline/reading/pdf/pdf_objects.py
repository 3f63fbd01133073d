"""What stands in a PDF at the end of a reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WRONG = (TypeError, ValueError, IndexError, KeyError, AttributeError, ArithmeticError)
"""What broken operators and resources raise."""


def got(value: Any) -> Any:
    found = value.get_object() if hasattr(value, "get_object") else value
    return None if type(found).__name__ == "NullObject" else found


def number(value: Any) -> int:
    """Of an indirect object; -1 of a direct one."""
    reference = value if hasattr(value, "idnum") else getattr(value, "indirect_reference", None)
    return -1 if reference is None else int(reference.idnum)


def numbers(array: Any) -> list[int]:
    return [number(value) for value in got(array) or ()]


def named_property(name: Any, resources: Any) -> Any:
    if isinstance(name, Mapping):
        return name
    listed: Any = got(resources.get("/Properties")) or {}
    return listed.raw_get(name) if name in listed else None
