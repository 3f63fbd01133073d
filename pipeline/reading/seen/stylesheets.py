"""Which elements of a page its own stylesheets, style attributes and old attributes hide, as a browser would compute it.

Rules come from `sheets`, what values mean from `visibility`; selectors are matched by cssselect2. Where it cannot be decided
whether text is seen (a variable that nobody sets, a condition or function that is not known), it is `unsure`, and `unseen_text`
decides. Sheets at other addresses are not fetched: where a page has such, nothing is said about the
ground that text is on. What scripts and foreign sheets hide is not seen here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import tinycss2
from lxml.html import HtmlElement

from pipeline.reading.seen.colours import FAINT, Rgba, alike, colour_of, is_clear
from pipeline.reading.seen.css_lengths import SHARE, pixels
from pipeline.reading.seen.matching import Found
from pipeline.reading.seen.sheets import AGAIN, UNLAYERED, Declared, Rule, Sheets, declarations_of, sheets_of
from pipeline.reading.seen.visibility import (
    COLOURS,
    SMALL,
    TOLD,
    colour_of_gradient,
    covers,
    declared_value,
    ends_hidden,
    font_pixels,
    hides,
    is_clipped,
    is_text_of_ground,
    may_hide,
    stroke_of,
)

MOST_STYLE = 20_000
"""Characters of a style attribute that are read."""
MOST_VALUE = 2_000
_WHOLE = frozenset(("html", "body", "main", "article"))
"""Hidden by a sheet until a script shows them: their text is the page."""
_NEVER = frozenset(("datalist", "noframes", "noembed", "template", "title", "metadata", "desc", "defs", "symbol", "clippath",
                    "annotation", "annotation-xml", "rp", "video", "audio", "canvas", "iframe"))  # fmt: skip
"""Of which a browser paints no text, or only where it cannot do what it should."""
UNTOLD = frozenset(("script", "style", "head", "noscript", "meta", "link"))
_VAR = re.compile(r"var\(\s*(--[^\s,()]+)\s*(?:,((?:[^()]|\((?:[^()]|\([^()]*\))*\))*))?\)", re.IGNORECASE)
Ranked = dict[str, list[tuple[tuple[Any, ...], str, bool]]]
"""By property: rank, value, and whether the rule holds for sure."""
BLACK: Rgba = (0.0, 0.0, 0.0, 1.0)
WHITE: Rgba = (1.0, 1.0, 1.0, 1.0)
_LINK: Rgba = (0.0, 0.0, 0.93, 1.0)


@dataclass(frozen=True, slots=True)
class _State:
    """What an element hands on to those inside of it. `ground` is None where it is not known; `unsure` says that the ink may be
    another one."""

    variables: Mapping[str, str] = field(default_factory=dict)
    font: float = 16.0
    opacity: float = 1.0
    ink: Rgba | None = BLACK
    fill: Rgba | None = None
    ground: Rgba | None = WHITE
    visible: bool = True
    unsure: bool = False
    is_inked: bool = False
    """Whether anything says which colour the text has; where nothing does, it may be set by what is not read here."""
    said: Mapping[str, str] = field(default_factory=dict)
    container: bool | None = False
    """Whether it is in an element whose size a rule may ask for; None where a sheet at another address may make it one."""


@dataclass
class Unseen:
    """`boxes` are elements that are invisible with all that is in them, `texts` those whose own words are, whatever becomes of
    elements inside; `unsure` are both kinds where nobody can tell."""

    boxes: set[HtmlElement] = field(default_factory=set)
    texts: set[HtmlElement] = field(default_factory=set)
    unsure: set[HtmlElement] = field(default_factory=set)
    given_up: set[HtmlElement] = field(default_factory=set)
    """Which a rule may hide that would take too long to ask."""


def declarations(style: str) -> dict[str, tuple[str, bool]]:
    """Of a style attribute."""
    return declarations_of(tinycss2.parse_blocks_contents(style[:MOST_STYLE]))


def unseen(tree: HtmlElement) -> Unseen:
    """What a browser would not paint, element by element, from the outermost in."""
    sheets = sheets_of(tree, TOLD, _effects)
    has_foreign = bool(tree.xpath("//link[contains(@rel, 'stylesheet') and not(starts-with(@href, 'data:'))]"))
    found = Unseen()
    root = _State(ground=None if has_foreign else WHITE, container=None if has_foreign else False)
    states: dict[HtmlElement, _State] = {}
    rem = 16.0
    shadowed = _shadowed(tree)
    given_up: dict[HtmlElement, frozenset[str]] = {}
    closed = _opened(tree)
    lying: list[HtmlElement] = []
    for element, matches in sheets.matcher.elements(tree):
        above = states.get(element.getparent(), root)
        state, box, unsure = _judged(matches.found, element, above, sheets, rem, has_foreign)
        parent = element.getparent()
        if parent in shadowed and element.tag != "template":
            seen = shadowed[parent].shows(element)
            box, unsure = box or seen is False, unsure or seen is None
        states[element] = state
        pseudos = {pseudo for _, _, pseudo, _ in matches.found}
        width, stroke = stroke_of(state.said)
        unsure = unsure or (width >= LEAST_STROKE and alike(stroke, state.ground))
        for part in pseudos & _COVERS:
            its_own = _computed(matches.found, element, state, part)[0]
            unsure = unsure or (its_own.get("content", "normal") not in ("none", "normal") and covers(its_own))
        for part in pseudos & _LETTERS:
            its, is_gone, may_be_gone = _judged(matches.found, element, state, sheets, rem, has_foreign, part)
            unsure = unsure or is_gone or may_be_gone or not _is_seen(its)
        if element is tree and state.font >= 6:
            rem = state.font
        if element.tag in _WHOLE or element.tag in UNTOLD or (parent is not None and parent.tag == "head"):
            continue  # a page's title is in no window, and hidden from nobody
        open_to = frozenset(matches.given_up) | given_up.get(element.getparent(), _NO_EFFECTS)
        if open_to:
            given_up[element] = open_to = open_to if len(open_to) <= MOST_EFFECTS else frozenset((HIDDEN,))
            if _may_be_hidden(open_to, state):
                found.given_up.add(element)
        if covers(state.said) and not str(element.text_content()).strip():
            lying.append(element)
        if element.tag in ("col", "colgroup") and state.said.get("visibility") == "collapse":
            found.unsure.update(table for table in element.iterancestors("table"))
        if box:
            found.boxes.add(element)
        elif unsure:
            found.unsure.add(element)
        elif element in shadowed and not shadowed[element].has_default:
            found.texts.add(element)
        elif has_words(element) and not _is_seen(state):
            sure = not state.unsure and (state.is_inked or not alike(state.ink, state.ground))
            (found.texts if sure else found.unsure).add(element)
    for cover in lying:
        found.unsure.update(_below(cover, states))
    for details in closed:
        if not _has_handle(details, found):
            summary = details.find("summary")
            found.boxes.update(child for child in details if child is not summary and isinstance(child.tag, str))
            found.texts.add(details)
    return found


_COVERS = frozenset(("before", "after"))
LEAST_STROKE = 3.0
"""Pixels of a line around letters that leaves nothing of them."""
_WHERE_CLIPPED = frozenset(
    ("padding", "padding-top", "padding-left", "padding-inline-start", "padding-block-start", "min-height")
)
"""Properties that hide nothing unless their box is clipped."""


def _below(cover: HtmlElement, states: Mapping[HtmlElement, _State]) -> Iterator[HtmlElement]:
    """What an element without words lies upon, of those beside it: not what is placed behind it in the page."""
    parent = cover.getparent()
    if parent is None:
        return
    if has_words(parent):
        yield parent
    is_behind = False
    for child in parent:
        is_behind = is_behind or child is cover
        said = states[child].said if child in states else {}
        is_above = said.get("position", "static") != "static" and (is_behind or pixels(said.get("z-index")) > 0)
        if child is not cover and child in states and not (is_above and pixels(said.get("z-index", "0")) >= 0):
            yield child


_LETTERS = frozenset(("first-line", "first-letter"))
"""Pseudo-elements that have words of their element."""


def _opened(tree: HtmlElement) -> list[HtmlElement]:
    """The closed `details` of a page, which are open from now on: what a reader has to open is read as if it had been."""
    closed: list[HtmlElement] = tree.xpath("//details[not(@open)]")
    for details in closed:
        details.set("open", "")
    return closed


def _has_handle(details: HtmlElement, found: Unseen) -> bool:
    """Whether a reader sees something that opens it. Without a `summary` a browser writes one."""
    summary = details.find("summary")
    if summary is None:
        return True
    if details.get("inert") is not None or summary in found.boxes or summary in found.texts or summary in found.unsure:
        return False
    return bool(str(summary.text_content()).strip()) or len(summary) > 0


def _judged(
    matched: Found, element: HtmlElement, above: _State, sheets: Sheets, rem: float, has_foreign: bool, part: str | None = None
) -> tuple[_State, bool, bool]:
    """The element's state, whether all of it is invisible, and whether that is not known; or those of a part of it, a pseudo-
    element, in which `above` is the element."""
    said, variables, open_names = _computed(matched, element, above, part)
    is_whole = element.tag in _WHOLE
    ink, fill, ground, doubt = _colours(element, said, above)
    if has_foreign:  # which may set the variables of colours, as most do
        open_names -= {"color", "background", "background-color", "-webkit-text-fill-color"}
    doubt = doubt or bool(open_names & {"color", "-webkit-text-fill-color"})
    visibility = said.get("visibility")
    visible = above.visible if visibility in (None, *_ABOVE) else visibility not in ("hidden", "collapse")
    share = 1.0 if is_whole else pixels(said.get("opacity"), SHARE)
    state = _State(
        variables=variables,
        font=font_pixels(said, above.font, rem),
        opacity=above.opacity * min(share, 1.0),
        ink=ink,
        fill=fill,
        ground=ground,
        visible=above.visible if is_whole else visible,
        unsure=above.unsure or doubt,
        is_inked=above.is_inked or "color" in said or element.get("color") is not None or element.get("text") is not None,
        said=said,
        container=above.container or _is_container(said) or bool(open_names & {"container", "container-type"}),
    )
    closed = said.get("display") in (None, "none") and (
        element.get("popover") is not None or (element.tag == "dialog" and element.get("open") is None)
    )
    folded = is_clipped(said) and re.fullmatch(r"0(?:fr|px|%)?", above.said.get("grid-template-rows", "")) is not None
    box = (
        str(element.tag).lower() in _NEVER
        or (element.tag == "bdo" and str(element.get("dir", "")).lower() == "rtl")  # seen backwards
        or closed
        or folded
        or hides(said)
        or state.opacity <= FAINT
        or ends_hidden(said, sheets.frames, ground)
    )
    scheme = said.get("color-scheme", "").split()
    is_dark = not is_whole and "dark" in scheme and "light" not in scheme and "color" in said  # words of colours change
    if not is_clipped(said):
        open_names -= _WHERE_CLIPPED
    unsure = (
        may_hide(said) or is_dark or bool(open_names - {"color", "-webkit-text-fill-color", "background", "background-color"})
    )
    return state, box, unsure


def _computed(
    matched: Found, element: HtmlElement, above: _State, part: str | None
) -> tuple[dict[str, str], Mapping[str, str], set[str]]:
    """The values of the element's own properties, its variables, and the properties whose value is not known."""
    ranked: Ranked = {}
    for specificity, order, pseudo, rule in matched:
        if pseudo == part and not (rule.is_contained and above.container is False):
            _rank(ranked, rule, specificity, order)
    if part is None and (style := element.get("style")):
        _rank(ranked, Rule(declarations(str(style))), (1_000,), 0, is_own=True)
    if not ranked:
        return {}, above.variables, set()
    for values in ranked.values():
        values.sort(key=lambda one: one[0])
    variables = _variables(ranked, above.variables)
    said: dict[str, str] = {}
    unknown: set[str] = set()
    for name, values in ranked.items():
        if name not in TOLD:
            continue
        known: list[str] = []
        doubtful: list[str] = []
        for _, value, is_sure in values:
            resolved = [_with_ink(name, _resolved(part, variables), above.ink) for part in value.split(AGAIN)]
            (known if is_sure else doubtful).extend(resolved)
        value_of, unsure = declared_value(name, known)
        if value_of is not None:
            said[name] = value_of
        if name in _INKS and known and _OF_COLOURS.match(known[-1]) and colour_of(known[-1]) is None:
            unknown.add("a colour that cannot be worked out")
        if unsure or any(_may_matter(name, one) for one in doubtful):
            unknown.add(name)
    return said, variables, unknown


def _is_container(said: Mapping[str, str]) -> bool:
    """https://www.w3.org/TR/css-conditional-5/#container-type"""
    kinds = (said.get("container-type", "normal"), said.get("container", "").rpartition("/")[2])
    return any(word in kind for kind in kinds for word in ("size", "scroll-state"))


HIDDEN, INK, GROUND = "hidden", "ink ", "ground "
"""What a rule that is not asked may do to text: hide it, or give it or its ground a colour."""
MOST_EFFECTS = 40
_NO_EFFECTS: frozenset[str] = frozenset()
_SMALL_FONT = 8.0
_HIDING_VALUE = re.compile(r"none|hidden|collapse|transparent|-?0(?:\.0\d*)?[a-z%]*|-\d{3,}.*|.*\bvar\(.*", re.DOTALL)


def _effects(rule: Rule) -> frozenset[str]:
    """How a rule could make text invisible, by its own values and whatever the rest of the page says."""
    found: set[str] = set()
    said = {name: value.rpartition(AGAIN)[2].strip().lower() for name, (value, _) in rule.declared.items()}
    for name, value in said.items():
        if name.startswith("--"):
            if _HIDING_VALUE.fullmatch(value):
                found.add(HIDDEN)
            elif colour_of(value) is not None:
                found |= {INK + value, GROUND + value}
        elif name in TOLD and "var(" in value:
            found.add(HIDDEN)
        elif name in ("color", "-webkit-text-fill-color"):
            found.add(INK + value)
        elif name in COLOURS:
            found.add(GROUND + value)
    small = font_pixels(said, 16.0, 16.0) < _SMALL_FONT or any(name.startswith("animation") for name in said)
    gone = said.get("visibility") in ("hidden", "collapse") or said.get("grid-template-rows", "").startswith("0")
    return frozenset(found | ({HIDDEN} if small or gone or hides(said) or may_hide(said) else set()))


def _may_be_hidden(effects: frozenset[str], state: _State) -> bool:
    if HIDDEN in effects:
        return True
    inks = [colour for one in effects if one.startswith(INK) and (colour := colour_of(one.removeprefix(INK))) is not None]
    grounds = [
        colour for one in effects if one.startswith(GROUND) and (colour := colour_of(one.removeprefix(GROUND))) is not None
    ]
    ink = state.fill or state.ink
    return (
        any(is_clear(one) or alike(one, state.ground) for one in inks)
        or any(alike(ink, one) for one in grounds)
        or any(alike(one, other) for one in inks for other in grounds)
    )


def _may_matter(name: str, value: str) -> bool:
    """Whether a value that may hold would hide."""
    return hides({name: value}) or (name == "visibility" and value in ("hidden", "collapse"))


def _rank(ranked: Ranked, rule: Rule, specificity: Any, order: int, *, is_own: bool = False) -> None:
    """https://www.w3.org/TR/css-cascade-5/#cascade-sort: importance, the element's own style, layers, specificity, order. Of
    important rules the earlier layer wins."""
    declared: Declared = rule.declared
    for at, (name, (value, important)) in enumerate(declared.items()):
        if name in TOLD or name.startswith("--"):
            layer = (UNLAYERED - rule.layer) if important else rule.layer
            rank = (important, is_own, layer, tuple(specificity), order, at)
            for one in _ALL if name == "all" else (name,):
                ranked.setdefault(one, []).append((rank, value, rule.sure))


_ALL = tuple(sorted(TOLD - {"all", "direction", "unicode-bidi"}))


_INKS = ("color", "-webkit-text-fill-color")
_OF_COLOURS = re.compile(
    r"(?!.*\bvar\()(?:color(?:-mix)?|contrast-color|light-dark|rgba?|hsla?|hwb|(?:ok)?l(?:ab|ch)|palette-mix)\(", re.S
)


def _with_ink(name: str, value: str, ink: Rgba | None) -> str:
    """A colour made of that of the text around it."""
    if name not in COLOURS or "(" not in value or "currentcolor" not in value or ink is None:
        return value
    return value.replace("currentcolor", "rgb({:.0f} {:.0f} {:.0f} / {:g})".format(*(255 * one for one in ink[:3]), ink[3]))


def _variables(ranked: Ranked, above: Mapping[str, str]) -> Mapping[str, str]:
    """Of an element: those that a rule may set which may not hold have a value that nobody knows."""
    own: dict[str, str] = {}
    for name, values in ranked.items():
        if name.startswith("--"):
            _, value, is_sure = values[-1]
            own[name] = value.rpartition(AGAIN)[2].strip() if is_sure else _UNKNOWN
    if not own:
        return above
    kept = {**above, **{name: value for name, value in own.items() if value.lower() not in _ABOVE}}
    return {name: value for name, value in kept.items() if value.lower() != "initial"}


_UNKNOWN = "var(--?)"
_ABOVE = ("inherit", "unset", "revert")
"""Words by which an inherited property has the value of the element around; what `revert` gives back is that for most."""


def _resolved(value: str, variables: Mapping[str, str]) -> str:
    """With the variables that are set; `var(` stays where none is."""
    for _ in range(6):
        if "var(" not in value or len(value) > MOST_VALUE:
            break
        value = _VAR.sub(lambda match: variables.get(match[1], match[2] if match[2] is not None else match[0]).strip(), value)
    return value.lower()


def _colours(
    element: HtmlElement, said: Mapping[str, str], above: _State
) -> tuple[Rgba | None, Rgba | None, Rgba | None, bool]:
    """Ink, fill and ground, and whether the ink is not known."""
    typed = said.get("color", "")
    old = element.get("color") if element.tag == "font" else element.get("text") if element.tag == "body" else None
    doubt = False
    is_link = element.tag == "a" and element.get("href") is not None
    if typed and typed not in ("currentcolor", *_ABOVE):
        ink = BLACK if typed == "initial" else colour_of(typed)
        doubt = ink is None
    elif not typed and old:
        ink = colour_of(str(old))
    elif is_link and typed in ("", "revert"):
        ink = _LINK
    else:
        ink = above.ink
    filled = said.get("-webkit-text-fill-color", "")
    fill = above.fill if filled in ("", *_ABOVE) else colour_of(filled)
    ground = above.ground
    for value in (said.get("background", ""), said.get("background-color", ""), said.get("background-image", "")):
        if (same := colour_of_gradient(value)) is not None and same[3] == 1:
            ground = same
        elif any(word in value for word in ("url(", "gradient(", "image-set(")):
            ground = None
        elif "currentcolor" in value.split():
            ground = ink
        elif (colour := colour_of(value)) is not None and not is_clear(colour):
            ground = colour if colour[3] == 1 else None
    if not said.get("background") and not said.get("background-color") and element.get("bgcolor"):
        ground = colour_of(str(element.get("bgcolor")))
    if element.get("background") is not None:
        ground = None
    if is_text_of_ground(said):
        ink, fill = None, None
    return ink, fill, ground, doubt


def _is_seen(state: _State) -> bool:
    ink = state.fill or state.ink
    return state.visible and state.font > SMALL and not is_clear(ink) and not alike(ink, state.ground)


@dataclass(frozen=True, slots=True)
class _Shadow:
    """The slots of a shadow tree, by name. `is_styled`: its own styles may hide them."""

    names: frozenset[str]
    is_styled: bool

    @property
    def has_default(self) -> bool:
        return "" in self.names

    def shows(self, child: HtmlElement) -> bool | None:
        """Whether a child of the tree's host is painted; None where that is not known."""
        return False if str(child.get("slot", "")) not in self.names else None if self.is_styled else True


def _shadowed(tree: HtmlElement) -> dict[HtmlElement, _Shadow]:
    """Elements with a shadow tree: of their children only those are painted that it has a slot for."""
    found: dict[HtmlElement, _Shadow] = {}
    for template in tree.xpath("//template[@shadowrootmode]"):
        parent = template.getparent()
        if parent is not None and parent not in found:  # the first counts
            names = frozenset(str(slot.get("name", "")) for slot in template.iter("slot"))
            is_styled = bool(template.xpath("boolean(.//style | .//link | .//@style | .//@hidden)"))
            found[parent] = _Shadow(names, is_styled)
    return found


def has_words(element: HtmlElement) -> bool:
    """Of its own, beside those of elements in it."""
    return bool(element.text and element.text.strip()) or any(child.tail and child.tail.strip() for child in element)
