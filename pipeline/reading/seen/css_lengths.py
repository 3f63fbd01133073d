"""About how many pixels a value of CSS means, with the arithmetic of `calc`, `min`, `max` and `clamp`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import inf

PIXELS = {"": 1.0, "px": 1.0, "pt": 1.33, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "vw": 13.0, "vh": 8.0, "%": 8.0,
          "pc": 16.0, "cm": 38.0, "mm": 3.8, "in": 96.0, "q": 0.94, "vmin": 8.0, "vmax": 13.0, "vi": 13.0, "vb": 8.0,
          "dvw": 13.0, "dvh": 8.0, "svw": 13.0, "svh": 8.0, "lvw": 13.0, "lvh": 8.0, "cqw": 8.0, "cqh": 8.0, "cqi": 8.0,
          "cqb": 8.0, "lh": 20.0, "rlh": 20.0, "ic": 16.0, "cap": 11.0}  # fmt: skip
"""How long a unit is; a hundredth of the window or of the box around counts as eight."""
SHARE = {"": 1.0, "%": 0.01}
DEGREES = {"deg": 1.0, "": 1.0, "turn": 360.0, "rad": 57.29578, "grad": 0.9}
SECONDS = {"s": 1.0, "ms": 0.001}
_LENGTH = re.compile(r"(-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?)([a-z%]*)")
_TOKEN = re.compile(r"\s*((?:\d+\.?\d*|\.\d+)(?:e-?\d+)?[a-z%]*|[a-z-]+\(|[-+*/(),])")
_FUNCTION = re.compile(r"(?:calc|min|max|clamp|abs|round)\(")
_MOST = 200


def pixels(value: str | None, units: Mapping[str, float] = PIXELS) -> float:
    """The first length of a value; infinite where it says nothing of the kind."""
    text = (value or "").strip()
    if _FUNCTION.match(text):
        found = _Sum(text[:_MOST], units).value()
        return inf if found is None else found
    match = _LENGTH.match(text)
    return float(match[1]) * units.get(match[2], 1.0) if match else inf


class _Sum:
    """A recursive descent over the tokens of a function; None for what is no arithmetic."""

    def __init__(self, text: str, units: Mapping[str, float]) -> None:
        self._tokens = _TOKEN.findall(text)
        self._at = 0
        self._units = units

    def value(self) -> float | None:
        try:
            return self._factor()
        except (IndexError, ValueError, ZeroDivisionError, RecursionError, OverflowError):
            return None

    def _next(self) -> str:
        self._at += 1
        token: str = self._tokens[self._at - 1]
        return token

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _sum(self) -> float:
        found = self._product()
        while self._peek() in ("+", "-"):
            found = found + self._product() if self._next() == "+" else found - self._product()
        return found

    def _product(self) -> float:
        found = self._factor()
        while self._peek() in ("*", "/"):
            found = found * self._factor() if self._next() == "*" else found / self._factor()
        return found

    def _factor(self) -> float:
        token = self._next()
        if token in ("-", "+"):
            return -self._factor() if token == "-" else self._factor()
        if not token.endswith("("):
            match = _LENGTH.fullmatch(token)
            if match is None:
                raise ValueError(token)
            return float(match[1]) * self._units.get(match[2], 1.0)
        given = [self._sum()]
        while self._next() == ",":
            given.append(self._sum())
        if token == "clamp(" and len(given) == 3:
            return max(given[0], min(given[1], given[2]))
        made = {"min(": min(given), "max(": max(given), "abs(": abs(given[0])}
        return made.get(token, given[0])
