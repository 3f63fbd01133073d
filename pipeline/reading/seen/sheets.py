"""The rules of a page's own stylesheets: nested and scoped ones made plain, in the order in which they win.

Sheets at other addresses are not fetched; those in `data:` addresses are part of the page.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

import cssselect2
import tinycss2
from lxml.html import HtmlElement

from pipeline.reading.media import holds
from pipeline.reading.seen.matching import Matcher

MOST_CSS = 600_000
"""Characters of a page's stylesheets that are read; news pages have some 100,000."""
MOST_RULES = 4_000
MOST_SELECTOR = 2_000
"""Characters of a selector after nesting."""
DEEPEST = 8
"""Of nested rules; also of sheets that import each other."""
UNLAYERED = 1_000_000
_MEDIA = ("media", "supports", "container", "layer", "scope")
_PSEUDO_ELEMENT = re.compile(r"::|:(?:before|after|first-line|first-letter)\b")
_PSEUDO_CLASS = re.compile(r":([a-z-]+)(\((?:[^()]|\([^()]*\))*\))?", re.IGNORECASE)
_KNOWN_CLASSES = frozenset(
    ("is", "where", "not", "has", "root", "first-child", "last-child", "nth-child", "nth-last-child", "only-child",
     "first-of-type", "last-of-type", "nth-of-type", "nth-last-of-type", "only-of-type", "empty", "lang", "link", "any-link",
     "hover", "active", "focus", "visited", "target", "checked", "disabled", "enabled", "scope", "focus-within",
     "focus-visible", "local-link", "target-within", "current", "past", "future", "playing", "paused", "user-invalid", "dir")
)  # fmt: skip

Declared = Mapping[str, tuple[str, bool]]
"""By property: its value, in small letters, and whether it is `!important`."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`sure` is False where a condition or a selector could not be understood: it may hold."""

    declared: Declared
    layer: int = UNLAYERED
    sure: bool = True


@dataclass
class Sheets:
    """All rules of a page, with `matcher`, whose matches carry a `Rule`; `frames` are those of its animations by their name,
    in order."""

    told: frozenset[str] = frozenset()
    """The properties that matter: rules without one of them, and without a variable, are passed over."""
    matcher: Matcher = field(default_factory=lambda: Matcher(lambda _: frozenset()))
    frames: dict[str, list[tuple[float, Declared]]] = field(default_factory=dict)
    n_rules: int = 0
    room: int = MOST_CSS
    layers: dict[str, int] = field(default_factory=dict)

    def read(self, css: str, *, sure: bool = True, depth: int = 0) -> None:
        css = css[: max(self.room, 0)]
        self.room -= len(css)
        parsed = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
        self._take(parsed, (), UNLAYERED, "", sure, depth)

    def _take(self, parsed: Iterable[Any], parents: tuple[str, ...], layer: int, path: str, sure: bool, depth: int) -> None:
        """`parents` are the selectors of the rules around, which one may stand for another; `path` names the layer."""
        if depth > DEEPEST:
            return
        declared = [part for part in parsed if part.type == "declaration"] if parents else []
        if declared:  # straight in a condition inside of a rule
            self._add(parents[-1], declarations_of(declared), layer, sure)
        for rule in parsed:
            if self.n_rules >= MOST_RULES:
                return
            if rule.type == "qualified-rule":
                selector = _nested(tinycss2.serialize(rule.prelude), parents)
                content = tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True)
                self._add(selector, declarations_of(content), layer, sure)
                inner = [part for part in content if part.type in ("qualified-rule", "at-rule")]
                if inner and len(selector) <= MOST_SELECTOR:
                    self._take(inner, (*parents, selector), layer, path, sure, depth + 1)
            elif rule.type == "at-rule":
                self._at(rule, parents, layer, path, sure, depth)

    def _at(self, rule: Any, parents: tuple[str, ...], layer: int, path: str, sure: bool, depth: int) -> None:
        word, prelude = rule.lower_at_keyword, tinycss2.serialize(rule.prelude).strip()
        if word.endswith("keyframes") and rule.content:
            self._keep_frames(prelude, rule.content)
        elif word == "import":
            given = [one for part in rule.prelude for one in (part.arguments if part.type == "function" else (part,))]
            url = next((part.value for part in given if part.type in ("url", "string")), "")
            self.read(_of_data(url), sure=sure, depth=depth + 1)
        elif word == "layer" and not rule.content:
            for name in prelude.split(","):
                self._layer(f"{path}.{name.strip()}")
        elif word in _MEDIA and rule.content:
            held = _held(word, prelude)
            if held is False:
                return
            if word == "layer":
                path = f"{path}.{prelude or f'({len(self.layers)})'}"
                layer = self._layer(path)
            if word == "scope":
                scope = re.match(r"\s*\((.*?)\)\s*(?:to\b.*)?$", prelude, re.DOTALL)
                parents = (*parents, f":is({scope[1]})") if scope else parents
            parse = tinycss2.parse_blocks_contents if parents else tinycss2.parse_rule_list
            content = parse(rule.content, skip_comments=True, skip_whitespace=True)
            self._take(content, parents, layer, path, sure and held is True, depth + 1)

    def _layer(self, path: str) -> int:
        return self.layers.setdefault(path, len(self.layers))

    def _keep_frames(self, name: str, content: list[Any]) -> None:
        frames = []
        for rule in tinycss2.parse_rule_list(content, skip_comments=True, skip_whitespace=True)[:50]:
            if rule.type == "qualified-rule":
                declared = declarations_of(tinycss2.parse_blocks_contents(rule.content))
                for at in tinycss2.serialize(rule.prelude).lower().split(","):
                    share = {"from": "0", "to": "100"}.get(at.strip(), at.strip().removesuffix("%"))
                    if re.fullmatch(r"\d{1,3}(?:\.\d+)?", share):
                        frames.append((float(share), declared))
        self.frames[name.strip("\"'").lower()] = sorted(frames, key=lambda frame: frame[0])

    def _add(self, selector: str, declared: Declared, layer: int, sure: bool) -> None:
        if len(selector) > MOST_SELECTOR or not any(name in self.told or name.startswith("--") for name in declared):
            return
        compiled, understood = compiled_selectors(selector)
        for one in compiled:
            self.matcher.add(one, Rule(declared, layer, sure and understood))
            self.n_rules += 1


def sheets_of(tree: HtmlElement, told: frozenset[str], effects: Callable[[Rule], frozenset[str]]) -> Sheets:
    """Of `<style>` elements and of links to `data:` addresses, in the page's order. `told` are the properties that matter;
    `effects` says how a rule, matched or not, could make text invisible."""
    sheets = Sheets(told, Matcher(effects))
    for element in tree.iter("style", "link"):
        kind = str(element.get("type") or "text/css").strip().lower()
        if kind != "text/css" or any(one.tag in ("template", "noscript") for one in element.iterancestors()):
            continue
        is_link = element.tag == "link"
        if is_link and "stylesheet" not in str(element.get("rel") or "").lower().split():
            continue
        held = holds(str(element.get("media") or ""))
        if held is not False and (css := _of_data(str(element.get("href") or "")) if is_link else element.text or ""):
            sheets.read(css, sure=held is True)
    return sheets


def declarations_of(parsed: Iterable[Any]) -> dict[str, tuple[str, bool]]:
    """The last value of each property, with white space made one space; an important one stays."""
    found: dict[str, tuple[str, bool]] = {}
    for part in parsed:
        if part.type != "declaration":
            continue
        name = part.name if part.name.startswith("--") else part.lower_name
        value = " ".join(tinycss2.serialize(part.value).split())
        value = value if name.startswith("--") else value.lower()
        before = found.get(name)
        if before is not None and before[1] and not part.important:
            continue
        if before is not None and before[1] == part.important:
            value = f"{before[0]}{AGAIN}{value}"  # a browser takes the last that it understands
        found[name] = (value[-2_000:], part.important)
    return found


AGAIN = "\x1e"
"""Between the values of a property that was declared several times."""


def compiled_selectors(selector: str) -> tuple[list[Any], bool]:
    """The parts of a selector list that could be compiled, and whether all of it was understood: what a pseudo-class of an
    unknown name holds for is not known, and a rule with one is taken as if it held."""
    try:
        return cssselect2.compile_selector_list(selector), True
    except (cssselect2.SelectorError, RecursionError):
        pass
    if _PSEUDO_ELEMENT.search(selector):
        parts = [part for part in selector.split(",") if not _PSEUDO_ELEMENT.search(part)]
        return compiled_selectors(",".join(parts)) if 0 < len(parts) < selector.count(",") + 1 else ([], True)
    loose = _PSEUDO_CLASS.sub(lambda match: match[0] if _is_known(match) else "", selector)
    try:
        return cssselect2.compile_selector_list(",".join(part.strip() or "*" for part in loose.split(","))), False
    except (cssselect2.SelectorError, RecursionError):
        return [], False


def _is_known(match: re.Match[str]) -> bool:
    """Without what `:nth-child(... of ...)` counts among, which `cssselect2` does not know."""
    return match[1].lower() in _KNOWN_CLASSES and not (match[1].lower().startswith("nth") and " of " in (match[2] or ""))


def _nested(selector: str, parents: tuple[str, ...]) -> str:
    """https://www.w3.org/TR/css-nesting-1/: `&` stands for the rule around, and a selector without it is below it."""
    if not parents:
        return re.sub(r":scope\b|&", ":root", selector)
    around = f":is({parents[-1]})"
    parts = []
    for part in _list(selector):
        part = re.sub(r":scope\b", "&", part).strip()
        parts.append(part.replace("&", around) if "&" in part else f"{around} {part}")
    return ", ".join(parts)


def _list(selector: str) -> Iterator[str]:
    part, depth = "", 0
    for char in selector:
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            yield part
            part = ""
        else:
            part += char
    yield part


def _held(word: str, prelude: str) -> bool | None:
    """Whether the rules of a conditional group apply."""
    if word == "media":
        return holds(prelude)
    if word == "supports":
        return None if re.search(r"\bnot\b", prelude.lower()) else True
    return None if word == "container" or (word == "scope" and (" to " in prelude or not prelude)) else True


def _of_data(url: str) -> str:
    """The sheet in a `data:` address; "" for any other."""
    if not url.strip().lower().startswith("data:text/css") or len(url) > MOST_CSS:
        return ""
    head, _, body = url.strip().partition(",")
    content = unquote_to_bytes(body)
    if head.lower().endswith(";base64"):
        try:
            content = b64decode(content, validate=False)
        except (NoBase64, ValueError):
            return ""
    return content.decode("utf-8", "replace")
