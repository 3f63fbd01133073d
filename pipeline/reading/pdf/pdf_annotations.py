"""What lies on a page of a PDF beside its own operators: notes, stamps, fields of forms, boxes drawn by a reviewer.

A viewer paints them last, so they may cover the page's words. What they say themselves is not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.reading.pdf.pdf_layers import is_off
from pipeline.reading.pdf.pdf_objects import WRONG, got
from pipeline.reading.pdf.pdf_places import UNIT, Box, Matrix, around, matrix_of, moved, times

if TYPE_CHECKING:
    from pypdf import PageObject

_UNSEEN = 2 | 32
"""The flags Hidden and NoView."""
_BEHIND = frozenset(("/Link", "/Popup"))
"""Of these nothing is painted before somebody clicks."""
_THROUGH = frozenset(("/Highlight", "/Underline", "/Squiggly"))
"""Viewers let the words below these shine through, whatever their drawing says."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """`drawing` is the form with its operators, None where a viewer fills `boxes` itself. `matrix` takes it to the page."""

    boxes: tuple[Box, ...]
    drawing: Any = None
    matrix: Matrix = UNIT
    shines_through: bool = False


def annotations_of(page: PageObject, off: frozenset[int]) -> Iterator[Annotation]:
    """Those that a viewer paints, in its order; broken ones are passed over as it does. `off` is of `layers_off`."""
    try:
        listed = list(got(page.get("/Annots")) or ())
    except WRONG:
        return
    for entry in listed:
        try:
            found = _painted(got(entry), off)
        except WRONG:
            continue
        if found is not None:
            yield found


def _painted(entry: Any, off: frozenset[int]) -> Annotation | None:
    kind = got(entry.get("/Subtype"))
    if kind in _BEHIND or int(got(entry.get("/F")) or 0) & _UNSEEN:
        return None
    if "/OC" in entry and is_off(entry.raw_get("/OC"), off):
        return None
    left, bottom, right, top = (float(got(value)) for value in got(entry["/Rect"]))
    box = (min(left, right), min(bottom, top), max(left, right), max(bottom, top))
    if kind == "/StrikeOut":
        return Annotation(_lines(entry) or (box,))
    drawing = _appearance(entry)
    if drawing is not None:
        return Annotation((box,), drawing, _to_page(drawing, box), kind in _THROUGH)
    return Annotation((box,)) if _is_filled(entry, kind) else None


def _appearance(entry: Any) -> Any:
    """The form that draws it now: of several that of its state."""
    normal = got((got(entry.get("/AP")) or {}).get("/N"))
    if normal is not None and not hasattr(normal, "get_data") and isinstance(normal, Mapping):
        normal = got(normal.get(got(entry.get("/AS"))))
    return normal if hasattr(normal, "get_data") else None


def _to_page(drawing: Any, box: Box) -> Matrix:
    """As the format has it: the drawing's box, turned by its own matrix, is stretched to the annotation's."""
    own = matrix_of(got(drawing["/Matrix"])) if "/Matrix" in drawing else UNIT
    left, bottom, right, top = (float(got(value)) for value in got(drawing["/BBox"]))
    held = around([moved(x, y, own) for x in (left, right) for y in (bottom, top)])
    wide, high = ((box[i + 2] - box[i]) / ((held[i + 2] - held[i]) or 1.0) for i in (0, 1))
    return times(UNIT, (wide, 0.0, 0.0, high, box[0] - wide * held[0], box[1] - high * held[1]))


def _is_filled(entry: Any, kind: Any) -> bool:
    """Whether a viewer fills its box with a colour, though it brings no drawing."""
    if float(got(entry.get("/CA")) or 1.0) < 1.0:
        return False
    if kind in ("/Square", "/Redact"):
        return bool(got(entry.get("/IC")))
    if kind == "/FreeText":
        return bool(got(entry.get("/C")))
    return kind == "/Widget" and bool((got(entry.get("/MK")) or {}).get("/BG"))


def _lines(entry: Any) -> tuple[Box, ...]:
    """Of words that a reviewer has struck out."""
    points = [float(got(value)) for value in got(entry.get("/QuadPoints")) or ()]
    return tuple(
        around(list(zip(points[i : i + 8 : 2], points[i + 1 : i + 8 : 2], strict=True))) for i in range(0, len(points) - 7, 8)
    )
