"""Whether rules behind a media query hold on the screen of a desk: as true, false, or not known (None)."""

from __future__ import annotations

import re
from collections.abc import Callable

_NUMBERS = {"width": 1280.0, "height": 800.0, "device-width": 1280.0, "device-height": 800.0, "resolution": 96.0,
            "aspect-ratio": 1.6, "device-aspect-ratio": 1.6, "color": 8.0, "monochrome": 0.0, "color-index": 0.0,
            "-webkit-device-pixel-ratio": 1.0}  # fmt: skip
_WORDS = {"orientation": "landscape", "prefers-color-scheme": "light", "prefers-reduced-motion": "no-preference",
          "prefers-contrast": "no-preference", "prefers-reduced-data": "no-preference", "hover": "hover", "any-hover": "hover",
          "pointer": "fine", "any-pointer": "fine", "scripting": "enabled", "forced-colors": "none", "update": "fast",
          "display-mode": "browser", "grid": "0", "overflow-block": "scroll", "inverted-colors": "none",
          "prefers-reduced-transparency": "no-preference", "scan": "progressive", "overflow-inline": "scroll",
          "color-gamut": "srgb", "dynamic-range": "standard"}  # fmt: skip
_UNITS = {"": 1.0, "px": 1.0, "em": 16.0, "rem": 16.0, "pt": 4 / 3, "cm": 37.8, "mm": 3.78, "in": 96.0, "dppx": 96.0,
          "x": 96.0, "dpi": 1.0, "dpcm": 2.54}  # fmt: skip
_RANGE = re.compile(r"(?:(.+?)(<=?|>=?|=))?\s*([a-z-]+)\s*(?:(<=?|>=?|=)(.+))?")
_RATIO = re.compile(r"(\d*\.?\d+)\s*/\s*(\d*\.?\d+)")
_LENGTH = re.compile(r"(-?\d*\.?\d+)([a-z]*)")
MOST = 1_000
"""Characters of a query that are read."""


def holds(query: str) -> bool | None:
    """A list of media queries (https://www.w3.org/TR/mediaqueries-5/). An empty one holds."""
    text = " ".join(re.sub(r"/\*.*?\*/", " ", query[:MOST].lower()).split())
    if len(query) > MOST:
        return None
    return _any([_query(part.strip()) for part in _split(text, ",")]) if text else True


def _query(text: str) -> bool | None:
    match = re.match(r"(?:(not|only)\s+)?([a-z-]+)?(?:\s*\band\b)?\s*", text)
    if match is None or text.startswith("(") or text.startswith("not ("):
        return _condition(text)
    kind, rest = match[2], text[match.end() :]
    found: bool | None = kind in ("all", "screen", None)
    if rest:
        found = _all([found, _condition(rest)])
    return _not(found) if match[1] == "not" else found


def is_supported(query: str) -> bool | None:
    """The condition of `@supports` (https://www.w3.org/TR/css-conditional-3/): True where it asks for what each browser has
    for years. Who can do what else is not known here."""
    text = " ".join(query.lower().split())
    return None if len(query) > MOST else _condition(text, lambda asked: _SUPPORTED.fullmatch(asked) is not None or None)


_SUPPORTED = re.compile(
    r"display ?: ?(?:inline-)?(?:grid|flex|block)|display ?: ?(?:flow-root|contents)|position ?: ?sticky|--[\w-]+ ?: ?[\w ]+|"
    r"(?:grid-template-columns|gap|grid-gap) ?: ?\w+|object-fit ?: ?(?:cover|contain)|aspect-ratio ?: ?[\d /]+|"
    r"(?:(?:min|max)-)?width ?: ?(?:min|max|fit)-content"
)


def _condition(text: str, feature: Callable[[str], bool | None] | None = None) -> bool | None:
    feature = feature or _feature
    text = text.strip()
    if text.startswith("not"):
        return _not(_condition(text[3:], feature))
    for word, join in ((" or ", _any), (" and ", _all)):
        parts = _split(text, word)
        if len(parts) > 1:
            return join([_condition(part, feature) for part in parts])
    if not (text.startswith("(") and text.endswith(")")):
        return None
    inner = text[1:-1].strip()
    return _condition(inner, feature) if inner.startswith(("(", "not")) else feature(inner)


def _feature(text: str) -> bool | None:
    name, colon, value = (part.strip() for part in text.partition(":"))
    if colon:
        bound = "min" if name.startswith("min-") else "max" if name.startswith("max-") else ""
        name = name.removeprefix("min-").removeprefix("max-")
        if bound or name in _NUMBERS:
            return _compare(name, {"min": ">=", "max": "<=", "": "="}[bound], value)
        return None if name not in _WORDS else _WORDS[name] == value
    if name in _NUMBERS:
        return _NUMBERS[name] > 0
    if name in _WORDS:
        return _WORDS[name] not in ("none", "0", "no-preference")
    match = _RANGE.fullmatch(text)
    if match is None or match[3] not in _NUMBERS:
        return None
    turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
    sides = [(turned[match[2]], match[1])] if match[2] else []
    sides += [(match[4], match[5])] if match[4] else []
    return _all([_compare(match[3], sign, bound) for sign, bound in sides]) if sides else None


def _compare(name: str, sign: str, value: str) -> bool | None:
    if name not in _NUMBERS:
        return None
    if ratio := _RATIO.fullmatch(value.strip()):
        bound = float(ratio[1]) / float(ratio[2]) if float(ratio[2]) else None
    else:
        length = _LENGTH.fullmatch(value.strip())
        bound = float(length[1]) * _UNITS[length[2]] if length and length[2] in _UNITS else None
    if bound is None:
        return None
    here = _NUMBERS[name]
    return {"<": here < bound, "<=": here <= bound, ">": here > bound, ">=": here >= bound, "=": here == bound}[sign]


def _split(text: str, mark: str) -> list[str]:
    """At the marks that stand in no parentheses."""
    parts, depth, at = [""], 0, 0
    while at < len(text):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0 and text.startswith(mark, at):
            parts.append("")
            at += len(mark)
            continue
        parts[-1] += text[at]
        at += 1
    return parts


def _not(found: bool | None) -> bool | None:
    return None if found is None else not found


def _any(found: list[bool | None]) -> bool | None:
    return True if True in found else None if None in found else False


def _all(found: list[bool | None]) -> bool | None:
    return False if False in found else None if None in found else True
