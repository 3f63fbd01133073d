"""The graphics state of a PDF: what its operators have set when letters are shown, and how wide these are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.reading.pdf.pdf_colours import BLACK, Rgb, colour_in, device_colour, first_colour, space_of
from pipeline.reading.pdf.pdf_objects import WRONG, got
from pipeline.reading.pdf.pdf_places import EVERYWHERE, UNIT, Box, Matrix


@dataclass(frozen=True, slots=True)
class Font:
    """How wide letters are, in sizes of the font, by their codes of `n_bytes`."""

    widths: Mapping[int, float]
    other: float
    n_bytes: int
    is_drawn: bool
    """Its letters are drawings of their own scale."""


@dataclass(frozen=True, slots=True)
class State:
    """The graphics state, as far as it decides what is seen."""

    ctm: Matrix = UNIT
    clip: Box = EVERYWHERE
    fill: Rgb | None = BLACK
    stroke: Rgb | None = BLACK
    spaces: tuple[Any, Any] = (None, None)
    """The colour spaces of fill and stroke, None for a device's."""
    fill_alpha: float = 1.0
    stroke_alpha: float = 1.0
    is_blended: bool = False
    mode: int = 0
    size: float = 0.0
    font: Font | None = None
    leading: float = 0.0
    spacing: tuple[float, float] = (0.0, 0.0)
    """Behind each letter, and behind each blank."""
    stretch: float = 1.0


def coloured(state: State, operator: bytes, operands: Sequence[Any], resources: Any) -> State:
    is_stroke = operator.isupper()
    name = operator.lower()
    spaces = list(state.spaces)
    if name == b"cs":
        spaces[is_stroke] = space_of(operands[0], resources)
        colour = first_colour(spaces[is_stroke])
    elif name in (b"sc", b"scn"):
        colour = colour_in(spaces[is_stroke], operands)
    else:
        spaces[is_stroke] = None
        colour = device_colour(operands)
    state = replace(state, spaces=(spaces[0], spaces[1]))
    return replace(state, stroke=colour) if is_stroke else replace(state, fill=colour)


def with_settings(state: State, settings: Any) -> State:
    if "/ca" in settings:
        state = replace(state, fill_alpha=float(settings["/ca"]))
    if "/CA" in settings:
        state = replace(state, stroke_alpha=float(settings["/CA"]))
    if "/BM" in settings or "/SMask" in settings:
        blend, mask = got(settings.get("/BM", "/Normal")), got(settings.get("/SMask", "/None"))
        first = blend if isinstance(blend, str) else blend[0]
        state = replace(state, is_blended=first not in ("/Normal", "/Compatible") or not isinstance(mask, str))
    if "/Font" in settings:
        state = replace(state, size=float(got(settings["/Font"])[1]))
    return state


def length_of(operands: Sequence[Any], state: State) -> tuple[int, float]:
    """How many bytes are shown, and how wide they are."""
    shown = operands[-1]
    font = state.font or Font({}, 0.5, 1, False)
    n, width = 0, 0.0
    for part in shown if isinstance(shown, list) else [shown]:
        if isinstance(part, (str, bytes)):
            codes = part if isinstance(part, bytes) else part.encode("latin-1", "replace")
            n += len(codes)
            if font.n_bytes == 2:
                listed = [codes[i] << 8 | codes[i + 1] for i in range(0, len(codes) - 1, 2)]
            else:
                listed = list(codes)
            width += state.size * sum(font.widths.get(code, font.other) for code in listed) + state.spacing[0] * len(listed)
            width += state.spacing[1] * (listed.count(32) if font.n_bytes == 1 else 0)
        else:
            width -= state.size * float(part) / 1000
    return n, width * state.stretch


def font_of(font: Any) -> Font | None:
    try:
        kind = font.get("/Subtype")
        if kind != "/Type0":
            first = int(font.get("/FirstChar", 0))
            scale = abs(float(got(font["/FontMatrix"])[0])) if kind == "/Type3" else 0.001
            widths = {first + i: scale * float(got(width)) for i, width in enumerate(got(font.get("/Widths")) or ())}
            return Font(widths, 0.5, 1, kind == "/Type3")
        inner = got(got(font["/DescendantFonts"])[0])
        widths, listed = {}, [got(value) for value in got(inner.get("/W")) or ()]
        at = 0
        while at + 1 < len(listed):
            start, told = int(listed[at]), listed[at + 1]
            if isinstance(told, list):
                widths.update({start + i: 0.001 * float(got(width)) for i, width in enumerate(told)})
                at += 2
            else:
                widths.update(dict.fromkeys(range(start, min(int(told), 0xFFFF) + 1), 0.001 * float(listed[at + 2])))
                at += 3
        return Font(widths, 0.001 * float(inner.get("/DW", 1000)), 2, False)
    except WRONG:
        return None
