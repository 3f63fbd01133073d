"""The rules of a page's own stylesheets: nested and scoped ones made plain, in the order in which they win.

Sheets at other addresses are not fetched; those in `data:` addresses are part of the page.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NoBase64
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote_to_bytes

import cssselect2
import tinycss2
from lxml.html import HtmlElement

from pipeline.reading.media import holds, is_supported
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
_FIRST = ("charset", "import", "layer")
"""Rules that may stand before an import; anywhere else it does not count."""
_WITHOUT_SHEETS = frozenset(("template", "noscript", "textarea", "title", "xmp", "iframe", "noembed", "noframes"))
"""In which a browser finds no elements, or none that count."""
_PSEUDO_ELEMENT = re.compile(r"::|:(?:before|after|first-line|first-letter)\b")
_PSEUDO_CLASS = re.compile(r"(?<!\\):([a-z-]+)(\((?:[^()]|\([^()]*\))*\))?", re.IGNORECASE)
_KNOWN_CLASSES = frozenset(
    ("is", "where", "not", "has", "root", "first-child", "last-child", "nth-child", "nth-last-child", "only-child",
     "first-of-type", "last-of-type", "nth-of-type", "nth-last-of-type", "only-of-type", "empty", "lang", "link", "any-link",
     "hover", "active", "focus", "visited", "target", "checked", "scope", "focus-within", "focus-visible", "dir")
)  # fmt: skip
_NOT_OF_BROWSERS = frozenset(
    ("local-link", "target-within", "current", "past", "future", "playing", "paused", "seeking", "buffering", "stalled",
     "muted", "volume-locked", "user-valid", "user-invalid", "host")
)  # fmt: skip
"""Which cssselect2 knows, and of which a browser throws the whole rule away, or finds an element."""
_IN_BRACKETS = re.compile(r"\[[^\]]*\]")
_NAME = re.compile(r"(?<![\\:]):([a-z-]+)", re.IGNORECASE)
_ANY_CASE = re.compile(
    r"\[\s*((?:accept|accept-charset|align|alink|axis|bgcolor|charset|checked|clear|codetype|color|compact|declare|defer|dir|"
    r"direction|disabled|enctype|face|frame|hreflang|http-equiv|lang|language|link|media|method|multiple|nohref|noresize|"
    r"noshade|nowrap|readonly|rel|rev|rules|scope|scrolling|selected|shape|target|text|type|valign|valuetype|vlink)"
    r"\s*[~|^$*]?=\s*(?:\"[^\"]*\"|'[^']*'|[\w-]+))\s*\]",
    re.IGNORECASE,
)
"""https://html.spec.whatwg.org/multipage/semantics-other.html#case-sensitivity-of-selectors"""

Declared = Mapping[str, tuple[str, bool]]
"""By property: its value, in small letters, and whether it is `!important`."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`sure` is False where a condition or a selector could not be understood: it may hold. `is_contained`: not outside of a
    container, an element whose size is asked for."""

    declared: Declared
    layer: int = UNLAYERED
    sure: bool = True
    is_contained: bool = False


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands around a rule. `parents` are the selectors of the rules that it is in, which one may stand for another;
    `path` names the layer."""

    parents: tuple[str, ...] = ()
    layer: int = UNLAYERED
    path: str = ""
    sure: bool = True
    is_contained: bool = False
    is_first: bool = True
    """Nothing stands before it that ends imports."""


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
    is_quirky: bool = False
    unknown_states: frozenset[str] = frozenset()
    """Names of pseudo-classes of which nobody knows what they hold for."""

    def read(self, css: str, *, sure: bool = True, depth: int = 0) -> None:
        if depth > DEEPEST:
            return
        css = css[: max(self.room, 0)]
        self.room -= len(css)
        parsed = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
        around = _Around(sure=sure and not any(_is_default_namespace(rule) for rule in parsed))
        rest = deque(parsed)
        while rest and rest[0].type == "at-rule" and not rest[0].content and rest[0].lower_at_keyword in _FIRST:
            self._at(rest.popleft(), around, depth)
        around = replace(around, is_first=False)
        self._take(rest, around, depth)

    def _take(self, parsed: Iterable[Any], around: _Around, depth: int) -> None:
        if depth > DEEPEST:
            return
        declared = [part for part in parsed if part.type == "declaration"] if around.parents else []
        if declared:  # straight in a condition inside of a rule
            self._add(around.parents[-1], declarations_of(declared), around)
        for rule in parsed:
            if self.n_rules >= MOST_RULES:
                return
            if rule.type == "qualified-rule":
                selector = _nested(tinycss2.serialize(rule.prelude), around.parents)
                content = tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True)
                self._add(selector, declarations_of(content), around)
                inner = [part for part in content if part.type in ("qualified-rule", "at-rule")]
                if inner and len(selector) <= MOST_SELECTOR:
                    self._take(inner, replace(around, parents=(*around.parents, selector)), depth + 1)
            elif rule.type == "at-rule":
                self._at(rule, around, depth)

    def _at(self, rule: Any, around: _Around, depth: int) -> None:
        word, prelude = rule.lower_at_keyword, tinycss2.serialize(rule.prelude).strip()
        if word.endswith("keyframes") and rule.content:
            self._keep_frames(prelude, rule.content)
        elif word == "import" and not rule.content:
            self._import(rule, around, depth)
        elif word == "layer" and not rule.content:
            for name in prelude.split(","):
                self._layer(f"{around.path}.{name.strip()}")
        elif word in _MEDIA and rule.content:
            held = _held(word, prelude)
            if held is False:
                return
            inside = replace(around, sure=around.sure and held is True)
            if word == "layer":
                path = f"{around.path}.{prelude or f'({len(self.layers)})'}"
                inside = replace(inside, path=path, layer=self._layer(path))
            if word == "container" and "(" in prelude and not re.search(r"[\w-]\(", prelude):  # it asks for no style
                inside = replace(inside, is_contained=True)
            if word == "scope" and (scope := re.match(r"\s*\((.*?)\)\s*(?:to\b.*)?$", prelude, re.DOTALL)):
                inside = replace(inside, parents=(*around.parents, f":is({scope[1]})"))
            parse = tinycss2.parse_blocks_contents if inside.parents else tinycss2.parse_rule_list
            self._take(parse(rule.content, skip_comments=True, skip_whitespace=True), inside, depth + 1)

    def _import(self, rule: Any, around: _Around, depth: int) -> None:
        """A sheet in a `data:` address. What stands behind the address says on which screens it holds."""
        given = [part for part in rule.prelude if part.type not in ("whitespace", "comment")]
        if not given:
            return
        of_url = given[0].arguments if given[0].type == "function" else given[:1]
        url = next((part.value for part in of_url if part.type in ("url", "string")), "")
        behind = tinycss2.serialize(given[1:]).strip()
        held = (
            None
            if any(part.type == "function" or (part.type == "ident" and part.lower_value == "layer") for part in given[1:])
            else holds(behind)
        )
        if held is not False:
            self.read(_of_data(url), sure=around.sure and around.is_first and held is True, depth=depth + 1)

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

    def _add(self, selector: str, declared: Declared, around: _Around) -> None:
        if len(selector) > MOST_SELECTOR or not any(name in self.told or name.startswith("--") for name in declared):
            return
        compiled, understood = compiled_selectors(_small_names(selector) if self.is_quirky else selector, self.unknown_states)
        for one in compiled:
            self.matcher.add(one, Rule(declared, around.layer, around.sure and understood, around.is_contained))
            self.n_rules += 1


def sheets_of(tree: HtmlElement, told: frozenset[str], effects: Callable[[Rule], frozenset[str]]) -> Sheets:
    """Of `<style>` elements and of links to `data:` addresses, in the page's order. `told` are the properties that matter;
    `effects` says how a rule, matched or not, could make text invisible."""
    is_quirky = _is_quirky(tree)
    sheets = Sheets(
        told, Matcher(effects, has_small_names=is_quirky), is_quirky=is_quirky, unknown_states=_unknown_states(tree)
    )
    preferred = ""
    for element in tree.iter("style", "link"):
        kind = str(element.get("type") or "text/css").strip().lower()
        if kind != "text/css" or any(one.tag in _WITHOUT_SHEETS for one in element.iterancestors()):
            continue
        is_link = element.tag == "link"
        rel = str(element.get("rel") or "").lower().split()
        if is_link and ("stylesheet" not in rel or "alternate" in rel or element.get("disabled") is not None):
            continue
        title = str(element.get("title") or "")
        preferred = preferred or title
        if title not in ("", preferred):  # one of several sets, of which the first is on
            continue
        held = holds(str(element.get("media") or ""))
        css = _of_data(str(element.get("href") or ""), any_kind=is_quirky) if is_link else element.text or ""
        if held is not False and css:
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
        found.pop(name, None)  # the order is that of the last values
        found[name] = (value[-2_000:], part.important)
    return found


AGAIN = "\x1e"
"""Between the values of a property that was declared several times."""


def compiled_selectors(selector: str, unknown: frozenset[str] = frozenset()) -> tuple[list[Any], bool]:
    """The parts of a selector list that could be compiled, and whether all of it was understood: what a pseudo-class of an
    unknown name holds for is not known, and a rule with one is taken as if it held. `unknown` are further names."""
    selector = re.sub(r"::details-content\b", " > :not(summary)", selector, flags=re.IGNORECASE)
    selector = _ANY_CASE.sub(r"[\1 i]", selector)
    if not _NOT_OF_BROWSERS.union(unknown).intersection(_states_in(selector)):
        try:
            return cssselect2.compile_selector_list(selector), True
        except (cssselect2.SelectorError, RecursionError):
            pass
    if _PSEUDO_ELEMENT.search(selector):
        parts = [part for part in selector.split(",") if not _PSEUDO_ELEMENT.search(part)]
        return compiled_selectors(",".join(parts), unknown) if 0 < len(parts) < selector.count(",") + 1 else ([], True)
    loose = _PSEUDO_CLASS.sub(lambda match: match[0] if _is_known(match, unknown) else "", selector)
    try:
        return cssselect2.compile_selector_list(",".join(part.strip() or "*" for part in loose.split(","))), False
    except (cssselect2.SelectorError, RecursionError):
        return [], False


def _is_known(match: re.Match[str], unknown: frozenset[str]) -> bool:
    """Without what `:nth-child(... of ...)` counts among, which `cssselect2` does not know."""
    name = match[1].lower()
    counts_some = name.startswith("nth") and " of " in (match[2] or "")
    inner = _states_in(match[2] or "")
    return name in _KNOWN_CLASSES and not unknown.intersection((name, *inner)) and inner <= _KNOWN_CLASSES and not counts_some


def _states_in(selector: str) -> set[str]:
    """Names of the pseudo-classes in it, at any depth."""
    return {name.lower() for name in _NAME.findall(_IN_BRACKETS.sub("", selector))}


def _small_names(selector: str) -> str:
    """With classes and ids in small letters."""
    return re.sub(
        r"\[[^\]]*\]|[.#](?:[\w-]|\\.)+", lambda match: match[0] if match[0][0] == "[" else match[0].lower(), selector
    )


def _is_quirky(tree: HtmlElement) -> bool:
    """Whether a browser reads the page as those of the last century, in which classes have no case
    (https://html.spec.whatwg.org/multipage/parsing.html#the-initial-insertion-mode). Where a page says nothing, libxml2 puts
    a type of its own in the place."""
    kept = tree.getroottree().docinfo
    if kept.internalDTD is None or str(kept.internalDTD.name).lower() != "html":
        return True
    public = (kept.public_id or "").lower()
    if "rec-html40/loose.dtd" in (kept.system_url or "").lower():
        return True
    return bool(public) and not ("xhtml 1" in public or ("html 4.0" in public and (kept.system_url or "strict" in public)))


def _unknown_states(tree: HtmlElement) -> frozenset[str]:
    """Of fields, where the page as it stands does not say which one has them."""
    states = {"enabled", "disabled"}
    if tree.xpath("boolean(//*[@autofocus])"):
        states |= {"focus", "focus-within", "focus-visible"}
    names = tree.xpath("//input[@checked and @type='radio']/@name")
    if len(set(names)) < len(names) or tree.xpath("boolean(//select)"):
        states.add("checked")
    return frozenset(states)


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


def _is_default_namespace(rule: Any) -> bool:
    """Whether rules of the sheet may mean elements of another language than HTML alone."""
    if rule.type != "at-rule" or rule.lower_at_keyword != "namespace":
        return False
    return not any(part.type == "ident" for part in rule.prelude)


def _held(word: str, prelude: str) -> bool | None:
    """Whether the rules of a conditional group apply."""
    if word == "media":
        return holds(prelude)
    if word == "supports":
        return is_supported(prelude)
    return None if word == "container" or (word == "scope" and (" to " in prelude or not prelude)) else True


def _of_data(url: str, *, any_kind: bool = False) -> str:
    """The sheet in a `data:` address; "" for any other. Pages of the last century may call it what they like."""
    if not url.strip().lower().startswith("data:" if any_kind else "data:text/css") or len(url) > MOST_CSS:
        return ""
    head, _, body = url.strip().partition(",")
    content = unquote_to_bytes(body)
    if head.lower().endswith(";base64"):
        try:
            content = b64decode(content, validate=False)
        except (NoBase64, ValueError):
            return ""
    return content.decode("utf-8", "replace")
