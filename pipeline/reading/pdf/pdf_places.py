"""Where something lies on a page of a PDF: boxes and matrices, in points from its lower left corner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pipeline.reading.pdf.pdf_objects import WRONG

if TYPE_CHECKING:
    from pypdf import PageObject

Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in points of the page."""
Matrix = tuple[float, float, float, float, float, float]

UNIT: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
EVERYWHERE: Box = (-1e9, -1e9, 1e9, 1e9)


def page_box(page: PageObject) -> Box:
    try:
        boxes = [tuple(float(value) for value in box) for box in (page.mediabox, page.cropbox)]
        first, second = ((min(x, right), min(y, top), max(x, right), max(y, top)) for x, y, right, top in boxes)
        return common(first, second)
    except WRONG:
        return EVERYWHERE


def matrix_of(operands: Sequence[Any]) -> Matrix:
    a, b, c, d, e, f = (float(value) for value in operands)
    return (a, b, c, d, e, f)


def times(one: Matrix, other: Matrix) -> Matrix:
    a, b, c, d, e, f = one
    p, q, r, s, t, u = other
    return (a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u)


def moved(x: float, y: float, matrix: Matrix) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return (a * x + c * y + e, b * x + d * y + f)


def around(points: Sequence[tuple[float, float]]) -> Box:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return (min(xs), min(ys), max(xs), max(ys))


def common(one: Box, other: Box) -> Box:
    return (max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3]))


def is_box(path: Sequence[tuple[float, float]], box: Box) -> bool:
    """Whether straight lines between these points are the sides of their box."""
    corners = {(round(x, 2), round(y, 2)) for x in box[::2] for y in box[1::2]}
    return {(round(x, 2), round(y, 2)) for x, y in path} == corners


def holds(box: Box, point: tuple[float, float]) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]
