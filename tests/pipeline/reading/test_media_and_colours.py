"""What a style sheet asks of the screen, and what colours it names: as a browser on a desk has it."""

from __future__ import annotations

import pytest

from pipeline.reading.media import holds
from pipeline.reading.seen.colours import colour_of


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", True), ("screen", True), ("print", False), ("print, screen", True), ("not print", True), ("not screen", False),
        ("(max-width: 600px)", False), ("(max-width: 9999px)", True), ("(width >= 1px)", True),
        ("(100px < width <= 900px)", False),
        ("only screen and (min-width: 30em)", True), ("(orientation: portrait)", False),
        ("(prefers-color-scheme: dark)", False),
        ("not (max-width: 600px)", True), ("(min-width: 1px) and (not (hover: none))", True), ("(newly-made: 1)", None),
        ("(aspect-ratio > 1/1)", True), ("x" * 2000, None), ("((((", None),
    ],
)  # fmt: skip
def test_media_of_a_desk(query: str, expected: bool | None) -> None:
    assert holds(query) is expected


def test_colours_are_made_comparable() -> None:
    white = ("#fff", "Canvas", "oklch(100% 0 0)", "lab(100% 0 0)", "hwb(0 100% 0%)", "color(srgb 1 1 1)",
             "light-dark(#fff, #000)", "color-mix(in srgb, white, white)", "url(x.png) #fff", "rgb(from white r g b)",
             "color(display-p3 1 1 1)")  # fmt: skip
    for value in white:
        assert colour_of(value) == pytest.approx((1, 1, 1, 1), abs=0.01), value
    red = colour_of("oklch(62.8% 0.2577 29.23)")
    assert red == pytest.approx((1, 0, 0, 1), abs=0.03)
    for unknown in ("var(--x)", "currentcolor", "", "none", "color-mix(in srgb, var(--x), red)", "rgb(", "color()", "a" * 999):
        assert colour_of(unknown) is None, unknown
