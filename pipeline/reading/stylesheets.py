"""Which elements of a page its own stylesheets hide: rules of `<style>`, resolved by a CSS library, and style attributes.

Sheets of other addresses are not fetched. Where a page has such, nothing is said about the ground that text is on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

import cssselect2
import tinycss2
from lxml.html import HtmlElement
from tinycss2.color4 import parse_color

MOST_CSS = 600_000
"""Characters of a page's stylesheets that are read; news pages have some 100,000."""
MOST_RULES = 4_000
_SMALL = 1.5
_FAINT = 0.05
_FAR = -500.0
_NEAR = 0.08
"""Distance of two colours, in [0, 1] a channel, up to which nobody reads one on the other."""
_LENGTH = re.compile(r"(-?(?:\d+\.?\d*|\.\d+))([a-z%]*)")
_PIXELS = {"": 1.0, "px": 1.0, "pt": 1.33, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "vw": 13.0, "vh": 8.0, "%": 8.0}
"""About how long a unit is; a hundredth of the window or of the box around counts as eight."""
_SHARE = {"": 1.0, "%": 0.01}
_CLIPPED = re.compile(r"rect\((?:0|1px)|inset\((?:50|100)%|polygon\(00|circle\(0")
_SCALED = re.compile(r"scale[xy3d]*\((0(?:\.0\d*)?)[,)]")
_MOVED = re.compile(r"translate[xy3d]*\((?:calc\()?(-[^,)]*)")
_FADED = re.compile(r"opacity\(([^)]*)\)")
_EXTENTS = ("height", "width", "max-height", "max-width", "line-height")
_SIDES = ("left", "top", "right", "bottom", "inset", "inset-inline-start")
_COLOURS = frozenset(("color", "background", "background-color", "-webkit-text-fill-color"))
_TOLD = frozenset(
    ("display", "visibility", "content-visibility", "opacity", "filter", "font-size", "font", "position", "text-indent",
     "margin-left", "margin-top", "margin", "translate", "scale", "zoom", "transform", "clip", "clip-path", "color",
     "background", "background-color", "-webkit-text-fill-color", "overflow", "overflow-x", "overflow-y", "letter-spacing",
     *_EXTENTS, *_SIDES)
)  # fmt: skip
_WHOLE = frozenset(("html", "body", "main", "article"))
"""Hidden by a sheet until a script shows them: their text is the page."""

Said = Mapping[str, str]


def hidden_by_sheets(tree: HtmlElement) -> Iterator[HtmlElement]:
    """Elements that rules of the page's `<style>` elements hide, alone or with their style attribute."""
    matcher = _matcher(tree)
    if matcher is None:
        return
    own_ground = not tree.xpath("//link[contains(@rel, 'stylesheet')]")
    grounds: dict[Any, str] = {}
    for wrapper in cssselect2.ElementWrapper.from_html_root(tree).iter_subtree():
        element = wrapper.etree_element
        said: dict[str, str] = {}
        for _, _, pseudo, declared in sorted(matcher.match(wrapper), key=lambda match: match[:2]):
            if pseudo is None:
                said.update(declared)
        style = element.get("style")
        said.update(declarations(style) if style else {})
        above = grounds.get(element.getparent(), "#fff" if own_ground else "")
        grounds[element] = said.get("background-color") or said.get("background") or above
        if not said or element.tag in _WHOLE:
            continue
        if hides(said) or (own_ground and _is_same_colour(said.get("color", ""), grounds[element])):
            yield element


def declarations(style: str) -> dict[str, str]:
    """The last value of each property of a style attribute, in small letters and without white space."""
    return _declared(tinycss2.parse_blocks_contents(style[:20_000]))


def hides(said: Said) -> bool:
    """Whether these properties of one element make its text invisible to a reader.

    White text on a white page is not found here: one element does not say what it is on, unless it says so itself.
    """
    clipped = any(
        "hidden" in said.get(name, "") or "clip" in said.get(name, "") for name in ("overflow", "overflow-x", "overflow-y")
    )
    ground = said.get("background-color") or said.get("background", "")
    ink = said.get("-webkit-text-fill-color") or said.get("color", "")
    moved = (said.get("translate", ""), *_MOVED.findall(said.get("transform", "")))
    return (
        said.get("display") == "none"
        or said.get("visibility") in ("hidden", "collapse")
        or said.get("content-visibility") == "hidden"
        or _pixels(said.get("opacity"), _SHARE) <= _FAINT
        or any(_pixels(share, _SHARE) <= _FAINT for share in _FADED.findall(said.get("filter", "")))
        or any(_pixels(said.get(name), _SHARE) <= _FAINT for name in ("scale", "zoom"))
        or bool(_SCALED.search(said.get("transform", "")))
        or _pixels(said.get("font-size")) <= _SMALL
        or bool(re.match(r"0(?:px)?[/a-z]", said.get("font", "")))
        or (clipped and any(_pixels(said.get(name)) <= _SMALL for name in _EXTENTS))
        or any(_pixels(said.get(name)) <= _FAR for name in ("text-indent", "margin-left", "margin-top", "margin"))
        or _pixels(said.get("letter-spacing")) <= -8
        or (said.get("position", "static") != "static" and any(_pixels(said.get(name)) <= _FAR for name in _SIDES))
        or any(_CLIPPED.match(said.get(name, "")) for name in ("clip", "clip-path"))
        or any(_pixels(value) <= _FAR for value in moved if value)
        or _is_clear(ink)
        or _is_same_colour(ink, ground)
    )


def _matcher(tree: HtmlElement) -> cssselect2.Matcher | None:
    """The rules of the page's sheets that could hide something; None where there are none."""
    matcher, n, room = cssselect2.Matcher(), 0, MOST_CSS
    for sheet in tree.xpath("//style"):
        css = (sheet.text or "")[: max(room, 0)]
        room -= len(css)
        for selectors, declared in _rules(tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)):
            if n >= MOST_RULES:
                return matcher
            for selector in selectors:
                matcher.add_selector(selector, declared)
                n += 1
    return matcher if n else None


def _rules(parsed: list[Any]) -> Iterator[tuple[list[Any], dict[str, str]]]:
    for rule in parsed:
        if rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports", "layer", "container") and rule.content:
            media = tinycss2.serialize(rule.prelude).lower()
            # A page is read on a wide screen: text hidden on paper or on phones alone is visible.
            if not re.search(r"\bprint\b|max-width|\bnot\b|prefers-|orientation", media):
                yield from _rules(tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True))
        elif rule.type == "qualified-rule":
            declared = _declared(tinycss2.parse_blocks_contents(rule.content))
            if declared:
                try:
                    yield cssselect2.compile_selector_list(rule.prelude), declared
                except cssselect2.SelectorError:
                    continue


def _declared(parsed: list[Any]) -> dict[str, str]:
    return {
        part.lower_name: " ".join(tinycss2.serialize(part.value).lower().split())
        if part.lower_name in _COLOURS  # whose parts may be separated by spaces alone
        else re.sub(r"\s+", "", tinycss2.serialize(part.value).lower())
        for part in parsed
        if part.type == "declaration" and part.lower_name in _TOLD
    }


def _is_clear(colour: str) -> bool:
    found = parse_color(colour) if colour else None
    return found is not None and found != "currentcolor" and found.alpha <= _FAINT


def _is_same_colour(one: str, other: str) -> bool:
    first, second = (parse_color(colour) if colour else None for colour in (one, other))
    if first in (None, "currentcolor") or second in (None, "currentcolor") or first.alpha < 1 or second.alpha < 1:
        return False
    try:
        here, there = (colour.to("srgb").coordinates for colour in (first, second))
    except NotImplementedError:
        return False
    return all(abs(a - b) <= _NEAR for a, b in zip(here, there))


def _pixels(value: str | None, units: Mapping[str, float] = _PIXELS) -> float:
    """About how many pixels (or what share) a value means; infinite where it says nothing of the kind."""
    found = _LENGTH.match(value.removeprefix("calc(")) if value else None
    return float(found[1]) * units.get(found[2], 1.0) if found else inf
