"""Colours of CSS as red, green, blue and alpha in [0, 1]: `tinycss2` reads them, here they are made comparable."""

from __future__ import annotations

import re
from functools import lru_cache

import tinycss2
from tinycss2.color4 import Color, parse_color

Rgba = tuple[float, float, float, float]

NEAR = 0.08
"""Distance of two colours, in [0, 1] a channel, up to which nobody reads one on the other."""
FAINT = 0.05
_SYSTEM = {
    "canvas": "#fff", "canvastext": "#000", "field": "#fff", "fieldtext": "#000", "buttonface": "#efefef",
    "buttontext": "#000", "linktext": "#00e", "visitedtext": "#551a8b", "activetext": "#f00", "window": "#fff",
    "windowtext": "#000", "background": "#fff", "graytext": "#808080", "highlight": "#b5d5ff", "highlighttext": "#000",
    "mark": "#ff0", "marktext": "#000", "infobackground": "#fff", "infotext": "#000", "menu": "#fff", "menutext": "#000",
}  # fmt: skip
"""Of a light screen (https://www.w3.org/TR/css-color-4/#css-system-colors)."""
_MIXED = re.compile(r"color-mix\(\s*in\s+[\w-]+(?:\s+\w+\s+hue)?\s*,")
_RELATIVE = re.compile(
    r"(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch)\(\s*from\s+(\S+|\S+\([^()]*\))\s+"
    r"(?:r g b|h s l|h w b|l a b|l c h)\s*\)"
)
"""A colour made of another one, unchanged."""
_PERCENT = re.compile(r"\s(\d+(?:\.\d+)?)%\s*$|^\s*(\d+(?:\.\d+)?)%\s")


@lru_cache(maxsize=4096)
def colour_of(value: str) -> Rgba | None:
    """The colour that a value names, or the first one that it holds (`background: url(x) #fff`); None where there is none, for
    `currentcolor`, and for what cannot be known."""
    if not value or len(value) > 400:
        return None
    if (whole := _parsed(value)) is not None:
        return whole
    for token in tinycss2.parse_component_value_list(value):
        if token.type in ("ident", "hash", "function") and (found := _parsed(token.serialize())) is not None:
            return found
    return None


def alike(one: Rgba | None, other: Rgba | None) -> bool:
    """Whether text of one colour cannot be read on the other. Unknown or half transparent colours are not."""
    if one is None or other is None or min(one[3], other[3]) < 1:
        return False
    return all(abs(a - b) <= NEAR for a, b in zip(one[:3], other[:3], strict=True))


def is_clear(colour: Rgba | None) -> bool:
    return colour is not None and colour[3] <= FAINT


def _parsed(value: str) -> Rgba | None:
    text = value.strip().lower()
    if text in _SYSTEM:
        text = _SYSTEM[text]
    if text.startswith("light-dark("):
        return colour_of(_arguments(text)[0])
    if text.startswith("contrast-color("):
        behind = colour_of(_arguments(text)[0])
        return None if behind is None else (1.0, 1.0, 1.0, 1.0) if sum(behind[:3]) < 1.5 else (0.0, 0.0, 0.0, 1.0)
    if match := _RELATIVE.match(text):
        return colour_of(match[1])
    if match := _MIXED.match(text):
        return _mixed(_arguments("(" + text[match.end() :]))
    try:
        found = parse_color(text)
    except (ValueError, TypeError, IndexError, AttributeError):  # tinycss2 on odd numbers of arguments
        return None
    return _rgba(found) if isinstance(found, Color) else None


def _arguments(call: str) -> list[str]:
    """Of a function, cut at the commas of its own level."""
    parts, depth = [""], 0
    for char in call[call.index("(") + 1 :]:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            break
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def _mixed(parts: list[str]) -> Rgba | None:
    """In sRGB, whatever the space: near enough to say whether two colours are alike."""
    if len(parts) != 2:
        return None
    shares: list[float | None] = []
    colours = []
    for part in parts:
        share = _PERCENT.search(f" {part}" if not part.startswith(" ") else part)
        shares.append(float(share[1] or share[2]) / 100 if share else None)
        colours.append(colour_of(_PERCENT.sub("", part).strip()))
    first, second = shares
    weight = first if first is not None else 1 - second if second is not None else 0.5
    a, b = colours
    if a is None or b is None:
        return None
    return (
        a[0] * weight + b[0] * (1 - weight),
        a[1] * weight + b[1] * (1 - weight),
        a[2] * weight + b[2] * (1 - weight),
        a[3] * weight + b[3] * (1 - weight),
    )


def _rgba(colour: Color) -> Rgba | None:
    alpha = 1.0 if colour.alpha is None else float(colour.alpha)
    try:
        if colour.space in ("srgb", "hsl", "hwb"):
            red, green, blue = (float(part) for part in colour.to("srgb").coordinates)
            return (red, green, blue, alpha)
        if colour.space in ("display-p3", "a98-rgb", "prophoto-rgb", "rec2020"):  # near enough
            red, green, blue = (min(max(float(part or 0), 0.0), 1.0) for part in colour.coordinates)
            return (red, green, blue, alpha)
        if colour.space == "srgb-linear":
            red, green, blue = (_gamma(float(part or 0)) for part in colour.coordinates)
            return (red, green, blue, alpha)
        lab = colour.to("lab").coordinates  # its lightness runs to 100, and a and b to about 125
    except (NotImplementedError, ValueError, TypeError, ZeroDivisionError):
        return None
    light, a, b = (float(part or 0) for part in lab)
    return (*_from_lab(light, a, b), alpha)


def _from_lab(light: float, a: float, b: float) -> tuple[float, float, float]:
    """https://www.w3.org/TR/css-color-4/#color-conversion-code, D50 to sRGB."""
    fy = (light + 16) / 116
    fx, fz = a / 500 + fy, fy - b / 200

    def cube(t: float) -> float:
        return float(t**3) if t**3 > 216 / 24389 else (116 * t - 16) / (24389 / 27)

    x, y, z = 0.9643 * cube(fx), cube(fy), 0.8251 * cube(fz)
    red = 3.1342 * x - 1.6174 * y - 0.4907 * z
    green = -0.9788 * x + 1.9163 * y + 0.0335 * z
    blue = 0.0720 * x - 0.2290 * y + 1.4055 * z
    return _gamma(red), _gamma(green), _gamma(blue)


def _gamma(linear: float) -> float:
    value = 12.92 * linear if linear <= 0.0031308 else 1.055 * float(linear ** (1 / 2.4)) - 0.055
    return min(max(value, 0.0), 1.0)
