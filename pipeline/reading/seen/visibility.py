"""What values of CSS mean for a reader: which of several declared ones a browser takes, and which make text invisible."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import inf

from pipeline.reading.seen.colours import Rgba, alike, colour_of, is_clear
from pipeline.reading.seen.css_lengths import DEGREES, PIXELS, SECONDS, SHARE, pixels
from pipeline.reading.seen.sheets import Declared

Said = Mapping[str, str]
"""The values of one element, by property."""

SMALL = 1.5
FAINT = 0.05
_FAR = -500.0
_FAR_RIGHT = 3_000.0
_FAR_DOWN = 5_000.0
_FAR_PADDING = 1_000.0
_WINDOW = {"top": 800.0, "bottom": 800.0, "left": 1_300.0, "right": 1_300.0}
"""A fixed element that far from a side is outside of the window, which does not scroll to it."""
_UNREADABLE_BLUR = 8.0
_FLAT = 0.05
"""Of `font-size-adjust`: how high small letters are, in sizes of the font."""
_MASK_PLACES = ("mask-position", "-webkit-mask-position")
_UNPAINTED = ("none", "table-column", "table-column-group")
_EXTENTS = ("height", "width", "max-height", "max-width", "block-size", "inline-size", "max-block-size",
            "max-inline-size")  # fmt: skip
_SIDES = ("left", "top", "right", "bottom", "inset", "inset-inline-start", "inset-inline-end", "inset-block-start",
          "inset-block-end", "inset-inline", "inset-block")  # fmt: skip
_MARGINS = ("margin", "margin-left", "margin-top", "margin-inline", "margin-block", "margin-inline-start",
            "margin-block-start")  # fmt: skip
_OVERFLOWS = ("overflow", "overflow-x", "overflow-y", "overflow-block", "overflow-inline")
_BEYOND = ("right", "bottom", "inset-inline-end", "inset-block-end")
_SPOT = 40.0
_COLUMNS = ("columns", "column-count", "column-width")
_MASKS = ("mask", "mask-image", "-webkit-mask", "-webkit-mask-image")
_BORDER_MASKS = ("mask-border", "mask-border-source", "-webkit-mask-box-image", "-webkit-mask-box-image-source")
_SIZES = ("mask-size", "-webkit-mask-size")
COLOURS = frozenset(("color", "background", "background-color", "-webkit-text-fill-color"))
TOLD = frozenset(
    ("display", "visibility", "content-visibility", "opacity", "filter", "font-size", "font", "position", "text-indent",
     "translate", "scale", "rotate", "zoom", "transform", "backface-visibility", "clip", "clip-path", "overflow", "overflow-x",
     "overflow-y", "overflow-block", "overflow-inline",
     "letter-spacing", "contain", "content", "mix-blend-mode", "-webkit-text-security", "background-clip",
     "-webkit-background-clip", "background-image", "z-index", "animation", "animation-name", "animation-fill-mode",
     "text-decoration", "text-decoration-line", "animation-play-state", "animation-delay", "animation-duration",
     "grid-template-rows", "offset-path", "unicode-bidi", "direction", "font-size-adjust", "container", "container-type",
     "min-height", "float", "margin-right", "margin-inline-end", "padding", "padding-top", "padding-left", "color-scheme",
     "padding-inline-start", "padding-block-start", "position-visibility", "position-anchor", "columns", "column-count",
     "column-width", "flex", "flex-grow", "all", "-webkit-text-stroke",
     "-webkit-text-stroke-width", "-webkit-text-stroke-color", "mask-mode", "mask-composite", "-webkit-mask-composite",
     "mask-repeat", "-webkit-mask-repeat", "animation-timeline", "line-height", "mask-position", "-webkit-mask-position",
     *_BORDER_MASKS, *COLOURS, *_MARGINS,
     *_EXTENTS, *_SIDES, *_MASKS, *_SIZES)
)  # fmt: skip
_GLOBAL = frozenset(("inherit", "initial", "unset", "revert"))
_OPEN = re.compile(
    r"(?:\bvar|\bif|\battr|\benv|\brandom|\bsibling-\w+|\binherit|\bprogress|--[\w-]+|"
    r"(?<![\w-])(?:a?sin|a?cos|a?tan|atan2|pow|sqrt|hypot|log|exp|mod|rem|sign|round))\(|\brevert-layer\b|"
    r"calc\((?:.*[\s(])?(?:pi|e|infinity|nan)[\s)]"
)
"""What a value may become is not known."""
_FOREIGN = re.compile(r"-(?:ms|moz|o|khtml)-")
_KEYWORDS = {
    "display": re.compile(
        r"(?:none|contents|run-in|math|ruby(?:-\w+)?|table(?:-\w+)*|-webkit-(?:inline-)?(?:box|flex)|"
        r"(?:block|inline)?-?(?:block|flex|grid|flow-root|flow|table|ruby|list-item)?)"
        r"(?: (?:flow-root|flow|flex|grid|table|ruby|list-item|block|inline|math))*"
    ),
    "visibility": re.compile(r"visible|hidden|collapse"),
    "content-visibility": re.compile(r"visible|hidden|auto"),
    "position": re.compile(r"static|relative|absolute|fixed|(?:-webkit-)?sticky"),
    "overflow": re.compile(r"(?:visible|hidden|clip|scroll|auto|overlay)(?: (?:visible|hidden|clip|scroll|auto|overlay))?"),
    "backface-visibility": re.compile(r"visible|hidden"),
    "opacity": re.compile(r"[-+\d.].*|(?:calc|min|max|clamp)\(.*"),
    "font-size": re.compile(
        r"\d.*|\.\d.*|(?:calc|min|max|clamp|round)\(.*|(?:xx-|x-|xxx-)?(?:small|large)|medium|smaller|larger|math"
    ),
}  # fmt: skip
_PLAIN_COLOUR = re.compile(r"currentcolor|none|.*(?:url|gradient|image-set|element|cross-fade)\(.*", re.DOTALL)


def declared_value(name: str, values: Sequence[str]) -> tuple[str | None, bool]:
    """The last value that a browser understands, of those declared for a property, the winner last; and whether that is
    unsure, because a later one may be understood as well."""
    unsure = False
    for value in reversed(values):
        if _OPEN.search(value):
            unsure = True
        elif not _FOREIGN.match(value) and _is_understood(name, value):
            return value, unsure
    return None, unsure


def _is_understood(name: str, value: str) -> bool:
    if value in _GLOBAL:
        return True
    if name in COLOURS:
        return colour_of(value) is not None or bool(_PLAIN_COLOUR.fullmatch(value))
    pattern = _KEYWORDS.get("overflow" if name in _OVERFLOWS else name)
    return bool(value) and (pattern is None or bool(pattern.fullmatch(value)))


def hides(said: Said) -> bool:
    """Whether these values of one element make it, and all that is in it, invisible to a reader."""
    return (
        said.get("display") in _UNPAINTED
        or said.get("content-visibility") == "hidden"
        or pixels(said.get("opacity"), SHARE) <= FAINT
        or _is_filtered_out(said.get("filter", ""))
        or any(pixels(part, SHARE) <= FAINT for part in _words(said.get("scale", ""))[:2])
        or pixels(said.get("zoom"), SHARE) <= FAINT
        or _is_turned_away(said)
        or _is_emptied(said)
        or _is_far(said)
        or pixels(said.get("letter-spacing")) <= -8
        or pixels(said.get("font-size-adjust", "").rpartition(" ")[2]) <= _FLAT
        or ("override" in said.get("unicode-bidi", "") and said.get("direction") == "rtl")  # backwards
        or any(_is_clipped_away(said.get(name, "")) for name in ("clip", "clip-path"))
        or any(_is_masked(said.get(name, "")) is True for name in _MASKS)
        or any(pixels(said.get(name)) <= 0 for name in _SIZES)
        or said.get("-webkit-text-security", "none") not in ("none", *_GLOBAL)
        or said.get("content", "").startswith(("url(", "image-set(", "linear-gradient("))
    )


def may_hide(said: Said) -> bool:
    """Whether nobody can tell, from these values alone, what a reader sees, or is meant to read."""
    return (
        any("line-through" in said.get(name, "") for name in ("text-decoration", "text-decoration-line"))  # taken back
        or any(_is_masked(said.get(name, "")) is None for name in _MASKS)
        or said.get("mix-blend-mode", "normal") not in ("normal", *_GLOBAL)
        or said.get("clip-path", "").startswith(("url(", "path(", "shape("))
        or said.get("offset-path", "none") not in ("none", *_GLOBAL)
        or (said.get("position", "static") != "static" and pixels(said.get("z-index")) < 0)
        or ("override" in said.get("unicode-bidi", "") and said.get("direction") != "ltr")
        or _may_be_flat(said)
        or any(said.get(name, "none") not in ("none", *_GLOBAL) for name in _BORDER_MASKS)
        or any(
            abs(pixels(part)) >= -_FAR for name in _MASK_PLACES for part in said.get(name, "").split() if pixels(part) != inf
        )
        or said.get("position-visibility", "always") not in ("always", *_GLOBAL)
        or (said.get("position-anchor", "auto") not in ("auto", "normal", "none", *_GLOBAL))  # gone where its anchor is
        or any("anchor(" in said.get(name, "") for name in _SIDES)
        or _is_a_slit(said)
        or _is_masked_by_two(said)
        or any(
            pixels(said.get(name)) >= 100 * PIXELS["%"] and pixels(said.get(name)) < inf for name in _BEYOND if is_placed(said)
        )
        or (
            is_clipped(said)
            and any(name in said for name in _COLUMNS)
            and any(name in said for name in ("height", "max-height"))
        )
        or (is_clipped(said) and any("calc-size(" in said.get(name, "") for name in _EXTENTS))
        or (
            said.get("float") in ("right", "inline-end")
            and any(pixels(said.get(name)) <= _FAR for name in ("margin-right", "margin-inline-end"))
        )
        or bool(
            re.search(r"matrix3d\(|perspective\((?:0|.*translate(?:z|3d)\()", said.get("transform", ""), re.I)
        )  # behind the eye
        or bool(re.search(r"brightness\(0|invert\(1|invert\(100%|url\(", said.get("filter", "")))
    )


def is_placed(said: Said) -> bool:
    return said.get("position") in ("absolute", "fixed")


def _thickest(said: Said, *names: str) -> float:
    found = [pixels(part) for name in names for part in _words(said.get(name, ""))]
    return max((one for one in found if one < inf), default=0.0)


def stroke_of(said: Said) -> tuple[float, Rgba | None]:
    """Width and colour of the line around letters."""
    width = _thickest(said, "-webkit-text-stroke", "-webkit-text-stroke-width")
    return width, colour_of(said.get("-webkit-text-stroke-color") or said.get("-webkit-text-stroke", ""))


def covers(said: Said) -> bool:
    """Whether what has these values, an element or a pseudo-element, lies upon all of the box that it is in, and nothing can
    be seen through it."""
    ground = [said.get(name, "") for name in ("background", "background-color")]
    is_opaque = any((colour := colour_of(value)) is not None and colour[3] == 1 for value in ground if "gradient(" not in value)
    whole = 100 * PIXELS["%"]
    fills = pixels(said.get("inset")) <= 0 or all(
        any(whole <= pixels(said.get(name)) < inf for name in sizes) or all(pixels(said.get(name)) <= 0 for name in sides)
        for sizes, sides in ((("width", "inline-size"), ("left", "right")), (("height", "block-size"), ("top", "bottom")))
    )
    is_there = said.get("display") != "none"
    seen = said.get("visibility") != "hidden" and not pixels(said.get("opacity"), SHARE) < 1
    return is_there and seen and is_placed(said) and is_opaque and fills and not pixels(said.get("z-index")) < 0


def _is_masked_by_two(said: Said) -> bool:
    """Whether masks are combined, or taken by their light, or leave a spot."""
    masks = " ".join(said.get(name, "") for name in _MASKS)
    how = " ".join(said.get(name, "") for name in ("mask-mode", "mask-composite", "-webkit-mask-composite", "mask-repeat",
                                                   "-webkit-mask-repeat"))  # fmt: skip
    if not masks or masks.strip() == "none":
        return False
    odd = re.search(r"luminance|exclude|intersect|subtract|xor|source-|destination-|clear", f"{masks} {how}")
    spot = any(pixels(part) <= _SPOT for name in _SIZES for part in _words(said.get(name, "")))
    return bool(odd) or (spot and "no-repeat" in f"{masks} {how}")


def _is_a_slit(said: Said) -> bool:
    """A box that scrolls and has no extent, unless what is around it gives it some."""
    scrolls = any(
        word in said.get(name, "") for name in ("overflow", "overflow-x", "overflow-y") for word in ("auto", "scroll")
    )
    grows = any(name in said for name in ("flex", "flex-grow", "min-height"))
    return scrolls and not grows and any(pixels(said.get(name)) <= SMALL for name in _EXTENTS)


def _may_be_flat(said: Said) -> bool:
    """A clipped box whose height does not come from what is in it: from the boxes around it, or it has none."""
    sized = "size" in (said.get("container-type"), said.get("container", "").rpartition("/")[2].strip())
    sized = sized or "size" in said.get("contain", "").split()
    return sized and is_clipped(said) and not any(said.get(name) for name in ("height", "min-height", "block-size"))


def font_pixels(said: Said, parent: float, root: float) -> float:
    """Of the text in an element; `parent` where it says nothing."""
    size = said.get("font-size", "")
    if not size and (match := re.search(r"(?:^|\s)((?:\d+\.?\d*|\.\d+)[a-z%]*)(?:\s*/|\s+\S)", said.get("font", ""))):
        size = match[1]
    if not size or size in ("inherit", "unset", "revert"):
        return parent
    found = pixels(size, {**PIXELS, "em": parent, "%": parent / 100, "rem": root, "ex": parent / 2, "ch": parent / 2})
    if found != inf:
        return max(found, 0.0)
    return parent * {"smaller": 0.83, "larger": 1.2}[size] if size in ("smaller", "larger") else 16.0


def is_clipped(said: Said) -> bool:
    kept = any(word in said.get(name, "") for name in _OVERFLOWS for word in ("hidden", "clip"))
    return kept or any(word in said.get("contain", "") for word in ("paint", "strict", "content"))


def is_text_of_ground(said: Said) -> bool:
    """Whether the text shows the ground behind it: letters cut out of a gradient."""
    clip = said.get("background-clip") or said.get("-webkit-background-clip") or said.get("background", "")
    ground = said.get("background-image", "") + said.get("background", "")
    return "text" in clip.split() and any(word in ground for word in ("gradient(", "url(", "image-set("))


def ends_hidden(said: Said, frames: Mapping[str, Sequence[tuple[float, Declared]]], ground: Rgba | None) -> bool:
    """Whether an animation of the page's own leaves the element invisible, or never begins to show it."""
    words = said.get("animation", "").replace(",", " ").split()
    names = [*words, *said.get("animation-name", "").replace(",", " ").split()]
    name = next((word.strip("\"'") for word in names if word.strip("\"'") in frames), None)
    if name is None or not frames[name]:
        return False
    hidden = [_frame_hides(declared, ground) for _, declared in frames[name]]
    times = [pixels(word, SECONDS) for word in words if re.fullmatch(r"-?[\d.]+m?s", word)]
    lasts = pixels(said.get("animation-duration"), SECONDS) if "animation-duration" in said else (times or [0.0])[0]
    waits = pixels(said.get("animation-delay"), SECONDS) if "animation-delay" in said else (times[1:] or [0.0])[0]
    fills = " ".join((said.get("animation-fill-mode", ""), *words))
    held = "forwards" in fills or "both" in fills or "infinite" in words
    is_still = "paused" in words or said.get("animation-play-state") == "paused" or lasts >= 60 or waits >= 60
    is_still = is_still or "scroll(" in said.get("animation-timeline", "")
    return all(hidden) or (hidden[-1] and (held or waits < 0)) or (hidden[0] and is_still)


def _frame_hides(declared: Declared, ground: Rgba | None) -> bool:
    said = {name: value for name, (value, _) in declared.items()}
    ink = colour_of(said.get("color", ""))
    return hides(said) or said.get("visibility") == "hidden" or is_clear(ink) or alike(ink, ground)


def _is_filtered_out(value: str) -> bool:
    faded = any(pixels(share, SHARE) <= FAINT for share in re.findall(r"opacity\(([^)]*)\)", value))
    blurred = any(pixels(size) >= _UNREADABLE_BLUR for size in re.findall(r"blur\(([^)]*)\)", value) if size)
    return (
        faded or blurred or any(pixels(share, SHARE) <= FAINT for share in re.findall(r"contrast\(([^)]*)\)", value) if share)
    )


def _is_turned_away(said: Said) -> bool:
    """By transforms: scaled to nothing, edge on, or with a back that is not shown."""
    value = said.get("transform", "")
    for name, given in re.findall(r"(scale[xyz3d]*|matrix)\(([^)]*)\)", value):
        parts = [pixels(part, SHARE) for part in given.split(",")]
        if name == "matrix" and len(parts) == 6 and abs(parts[0] * parts[3] - parts[1] * parts[2]) <= FAINT**2:
            return True
        if name.startswith("scale") and any(abs(part) <= FAINT for part in parts[:2] if part != inf):
            return True
    turns = re.findall(r"rotate[xy]\(([^)]*)\)", value)
    turns += [given.split(",")[-1] for given in re.findall(r"rotate3d\(([^)]*)\)", value) if given.count(",") == 3]
    turns += re.findall(r"^(?:[xy]|[\d. ]+\s)\s*(-?[\d.]+[a-z]+)", said.get("rotate", ""))
    turns += re.findall(r"(-?[\d.]+[a-z]+)\s+[xy]$", said.get("rotate", ""))
    angles = [abs(pixels(turn.strip(), DEGREES)) % 360 for turn in turns if pixels(turn.strip(), DEGREES) != inf]
    skewed = [part for given in re.findall(r"skew[xy]?\(([^)]*)\)", value) for part in given.split(",")]
    angles += [abs(pixels(turn.strip(), DEGREES)) % 180 for turn in skewed if pixels(turn.strip(), DEGREES) != inf]
    back = said.get("backface-visibility") == "hidden"
    return any(abs(angle - edge) <= 2 for angle in angles for edge in (90, 270)) or (
        back and sum(90 < angle < 270 for angle in angles) % 2 == 1
    )


def _is_emptied(said: Said) -> bool:
    """A box without extent that shows nothing of what is larger than it."""
    if not is_clipped(said):
        return False
    contained = said.get("contain", "")
    no_height = not any(said.get(name) for name in ("height", "min-height", "block-size"))
    return (
        any(pixels(said.get(name)) <= SMALL for name in _EXTENTS)
        or _line(said) <= SMALL
        or (_line(said) < inf and _line(said) > 2 * pixels(said.get("height")) + 20)  # its letters are below the box
        or (no_height and ("strict" in contained or ("size" in contained.split() and "paint" in contained)))
        or 300 <= pixels(said.get("text-indent")) < inf
        or any(_FAR_PADDING <= one < inf for one in _before_text(said))
    )


def _line(said: Said) -> float:
    """Height of a line; a number without a unit is of the letters' size."""
    value = said.get("line-height", "")
    return pixels(value) * (16.0 if re.fullmatch(r"[\d.]+", value) else 1.0)


def _before_text(said: Said) -> list[float]:
    """The padding above text and on the side where it begins."""
    parts = said.get("padding", "").split()
    sides = [parts[0], parts[3] if len(parts) == 4 else parts[-1 if len(parts) < 3 else 1]] if parts else []
    sides += [said.get(name, "") for name in ("padding-top", "padding-left", "padding-inline-start", "padding-block-start")]
    return [pixels(side) for side in sides if side]


def colour_of_gradient(value: str) -> Rgba | None:
    """Of one that has the same colour from end to end."""
    match = re.fullmatch(r"\s*(?:repeating-)?(?:linear|radial|conic)-gradient\((.*)\)\s*", value, re.DOTALL)
    stops = [re.sub(r"\s+-?[\d.]+[a-z%]*(?=\s|$)", "", stop) for stop in _cut(match[1])] if match else []
    if stops and re.match(r"to |from |at |in |-?[\d.]+(?:deg|turn|g?rad)|circle|ellipse", stops[0]):
        del stops[0]
    colours = [colour_of(stop) for stop in stops]
    first = colours[0] if colours else None
    return first if first is not None and all(alike(one, first) for one in colours) else None


def _is_far(said: Said) -> bool:
    """Outside of what the window shows, or can be scrolled to."""
    transform = said.get("transform", "")
    moved = [
        part for given in re.findall(r"translate[xyz3d]*\(((?:[^()]|\([^()]*\))*)\)", transform) for part in _cut(given)[:2]
    ]
    moved += _words(said.get("translate", ""))[:2]
    if any(pixels(part) <= _FAR or _FAR_RIGHT <= pixels(part) < inf for part in moved):
        return True
    if any(pixels(part) <= _FAR for name in (*_MARGINS, "text-indent") for part in _words(said.get(name, ""))):
        return True
    if any(_FAR_RIGHT <= pixels(said.get(name)) < inf for name in ("margin-left", "margin-inline-start", "text-indent")):
        return True
    position = said.get("position", "static")
    if position == "static":
        return False
    for name in _SIDES:
        for part in _words(said.get(name, "")):
            far = pixels(part)
            limit = _FAR_DOWN if name.startswith(("top", "inset-block")) else _FAR_RIGHT
            if far <= _FAR or (limit <= far < inf) or (position == "fixed" and _WINDOW.get(name, inf) <= far < inf):
                return True
    return False


def _is_clipped_away(value: str) -> bool:
    """Whether a shape has no area to speak of. `value` is of `clip` or `clip-path`."""
    match = re.match(r"(rect|inset|circle|ellipse|polygon|xywh)\(([^()]*(?:\([^()]*\)[^()]*)*)\)", value)
    if match is None:
        return False
    shape, given = match[1], match[2].partition(" round ")[0]
    parts = [pixels(part) for part in re.split(r"[\s,]+", given.partition(" at ")[0].strip()) if part]
    if shape in ("circle", "ellipse"):
        centre = [pixels(part) for part in _words(given.partition(" at ")[2])]
        beside = any(at + max(parts, default=inf) <= 0 or _FAR_RIGHT <= at < inf for at in centre)
        return (bool(parts) and min(parts) <= SMALL) or beside
    if shape == "xywh":
        return len(parts) == 4 and (min(parts[2:]) <= SMALL or parts[0] + parts[2] <= 0 or parts[1] + parts[3] <= 0)
    if shape == "polygon":
        return _area(given) <= 4.0
    if not parts:
        return False
    top, right, bottom, left = (parts * 4)[:4] if len(parts) == 1 else (parts + parts[len(parts) - 2 :] * 2)[:4]
    if shape == "rect":  # where a side is not cut, it is as far out as it can be
        top, left = (0.0 if side == inf else side for side in (top, left))
        return min(right, bottom) <= 0 or bottom - top <= SMALL or right - left <= SMALL
    whole = 100 * PIXELS["%"]
    return top + bottom >= whole - SMALL or left + right >= whole - SMALL


def _area(points: str) -> float:
    pairs = [[pixels(part) for part in pair.split()] for pair in points.split(",")]
    corners = [(xy[0], xy[1]) for xy in pairs if len(xy) == 2 and inf not in xy]
    if len(corners) == len(pairs) and any(max(side) <= 0 for side in zip(*corners, strict=True)):
        return 0.0  # beside the box
    if len(corners) < 3:
        return inf if len(corners) < len(pairs) else 0.0
    turned = zip(corners, [*corners[1:], corners[0]], strict=True)
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in turned)) / 2


def _is_masked(value: str) -> bool | None:
    """Whether a mask leaves nothing; None where that is not known."""
    if not value or value in _GLOBAL or value.startswith("none"):
        return False
    if "gradient(" not in value:
        return None
    stops = _cut(value[value.index("gradient(") + len("gradient(") :].rpartition(")")[0])
    known = [colour for stop in stops if (colour := colour_of(re.sub(r"\s+-?[\d.]+[a-z%]*(?=\s|$)", "", stop))) is not None]
    if not known:
        return None
    return all(is_clear(colour) for colour in known)


def _words(value: str) -> list[str]:
    """The parts of a value, at the blanks outside of parentheses."""
    return re.findall(r"(?:[^\s()]|\((?:[^()]|\([^()]*\))*\))+", value)


def _cut(given: str) -> list[str]:
    """Arguments of a function, at the commas outside of parentheses."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", given)]
