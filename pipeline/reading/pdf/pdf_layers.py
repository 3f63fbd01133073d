"""Which layers of a PDF (optional content groups) a viewer does not show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pipeline.reading.pdf.pdf_objects import WRONG, got, number, numbers

if TYPE_CHECKING:
    from pypdf import PdfReader

_DEEPEST = 10


def layers_off(reader: PdfReader) -> frozenset[int]:
    """The numbers of the optional content groups that a viewer does not show."""
    try:
        properties = got(got(reader.trailer["/Root"]).get("/OCProperties"))
        if not properties:
            return frozenset()
        default = got(properties.get("/D")) or {}
        off = set(numbers(properties.get("/OCGs"))) if default.get("/BaseState") == "/OFF" else set()
        off = (off - set(numbers(default.get("/ON")))) | set(numbers(default.get("/OFF")))
        for usage in got(default.get("/AS")) or ():
            told = got(usage)
            if told.get("/Event") != "/View":
                continue
            for group in got(told.get("/OCGs")) or ():
                view = got((got(got(group).get("/Usage")) or {}).get("/View")) or {}
                if view.get("/ViewState") in ("/OFF", "/ON"):
                    (off.add if view["/ViewState"] == "/OFF" else off.discard)(number(group))
        return frozenset(off)
    except WRONG:
        return frozenset()


def is_off(group: Any, off: frozenset[int], depth: int = 0) -> bool:
    """Whether an optional content group, or a membership in some, is not shown."""
    content = got(group)
    if not hasattr(content, "raw_get"):
        return False
    if content.get("/Type") != "/OCMD":
        return number(group) in off
    if content.get("/VE") is not None:
        return not _holds_true(content["/VE"], off, depth)
    groups = content.raw_get("/OCGs") if "/OCGs" in content else None
    listed = got(groups)
    states = [is_off(one, off) for one in ([groups] if isinstance(listed, Mapping) else listed or ()) if got(one)]
    if not states:
        return False
    policy = content.get("/P", "/AnyOn")
    shown = {"/AllOn": not any(states), "/AnyOff": any(states), "/AllOff": all(states)}.get(policy, not all(states))
    return not shown


def _holds_true(expression: Any, off: frozenset[int], depth: int) -> bool:
    listed = got(expression)
    if isinstance(listed, Mapping):
        return not is_off(expression, off, depth + 1)
    if depth > _DEEPEST:
        raise ValueError("too deep")
    values = [_holds_true(part, off, depth + 1) for part in listed[1:]]
    return {"/And": all(values), "/Or": any(values)}.get(listed[0], not values[0])
