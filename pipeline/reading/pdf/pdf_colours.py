"""Which red, green and blue (0 to 1) a colour of a PDF has in the space that it is given in; None where it is not known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.reading.pdf.pdf_objects import got
from pipeline.reading.seen.colours import NEAR

Rgb = tuple[float, float, float]
WHITE: Rgb = (1.0, 1.0, 1.0)
BLACK: Rgb = (0.0, 0.0, 0.0)


def space_of(name: Any, resources: Any) -> Any:
    if name in ("/DeviceGray", "/DeviceRGB", "/DeviceCMYK"):
        return None
    return got((got(resources.get("/ColorSpace")) or {}).get(name)) or name


def first_colour(space: Any) -> Rgb | None:
    kind = _kind(space)
    if kind in ("/Separation", "/DeviceN"):
        n = len(got(space[1])) if kind == "/DeviceN" else 1
        return colour_in(space, [1.0] * n)
    return colour_in(space, [0]) if kind == "/Indexed" else None if kind == "/Pattern" else BLACK


def _kind(space: Any) -> str:
    return "" if space is None else str(space) if isinstance(space, str) else str(got(space[0]))


def colour_in(space: Any, operands: Sequence[Any], depth: int = 0) -> Rgb | None:
    """None where it is not known."""
    kind = _kind(space)
    if kind in ("", "/DeviceGray", "/DeviceRGB", "/DeviceCMYK", "/CalGray", "/CalRGB", "/ICCBased"):
        return device_colour(operands)
    if kind in ("/Separation", "/DeviceN") and depth < 3:
        tints = [float(value) for value in operands]
        function = got(space[3])
        if function.get("/FunctionType") == 2 and len(tints) == 1:
            start, end = (got(function.get(key)) or default for key, default in (("/C0", [0]), ("/C1", [1])))
            share = tints[0] ** float(function.get("/N", 1))
            return colour_in(got(space[2]), [float(a) + share * (float(b) - float(a)) for a, b in zip(start, end)], depth + 1)
        return WHITE if not any(tints) else None
    if kind == "/Indexed" and depth < 3:
        base, table = got(space[1]), got(space[3])
        content = table.get_data() if hasattr(table, "get_data") else getattr(table, "original_bytes", table)
        n = {"/DeviceGray": 1, "/CalGray": 1, "/DeviceCMYK": 4}.get(_kind(base), 3)
        if _kind(base) == "/ICCBased":
            n = int(got(base[1]).get("/N", 3))
        at = int(operands[0]) * n
        return colour_in(base, [byte / 255 for byte in content[at : at + n]], depth + 1)
    return None


def device_colour(operands: Sequence[Any]) -> Rgb | None:
    values = [min(max(float(value), 0.0), 1.0) for value in operands]
    if len(values) == 1:
        return (values[0], values[0], values[0])
    if len(values) == 3:
        return (values[0], values[1], values[2])
    if len(values) == 4:
        cyan, magenta, yellow, black = values
        return ((1 - cyan) * (1 - black), (1 - magenta) * (1 - black), (1 - yellow) * (1 - black))
    return None


def alike(one: Rgb, other: Rgb) -> bool:
    return all(abs(a - b) <= NEAR for a, b in zip(one, other, strict=True))
