"""What a page's scripts hold as data: the state from which a framework draws the page in a browser.

Nothing is run. JSON is parsed where it stands: alone in a script (Next.js, Nuxt 3, SvelteKit), behind an assignment
(`window.__PRELOADED_STATE__ = {...}`, `Fusion.globalContent = {...}`), inside a string (`JSON.parse("...")`), in a queue
(`self.__next_f.push([1, "..."])`), or in an attribute (Inertia, Astro). Of a state that is JavaScript and no JSON (Nuxt 2) the
strings are read, with their keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MOST_CHARACTERS = 5_000_000
"""Of all scripts of a page together."""
_LEAST = 300
"""Characters of data that can hold an article."""
_STARTS = 60
"""Places in one script where data may begin; each is tried once."""
_DEEPEST = 60
_FAILURES = 1_000
"""Rows of React's stream that are no JSON; some name a module."""
_MOST_VALUES = 200_000
"""Of a flat Nuxt 3 state."""

_BEGINS = re.compile(
    r"(?:[=:(,]|\breturn)\s*(?=[{\[])"
    r"""|(?:=|JSON\.parse\(|decodeURIComponent\()\s*(?=["'`]\s*(?:[{\[]|\\?%7B|%5B))"""
)
_PUSH = re.compile(r"__next_f\s*(?:=\s*self\.__next_f\s*\|\|\s*\[\]\)?)?\.push\(\s*")
_STRING = re.compile(r""""((?:[^"\\\n]|\\.)*+)"|'((?:[^'\\\n]|\\.)*+)'|`((?:[^`\\$]|\\.)*+)`""", re.S)
_KEYED = re.compile(
    r"""(?:([A-Za-z_$][\w$]{0,40})|"([\w$-]{1,40})")\s*:\s*"((?:[^"\\\n]|\\.){40,}+)"|"((?:[^"\\\n]|\\.){40,}+)"(?=\s*[,)\]])"""
)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.S)
_PLAIN = {"n": "\n", "r": "\n", "t": " ", "b": " ", "f": " ", "v": " ", "0": ""}
_FLIGHT = re.compile(r"^([0-9a-f]{1,6}):(?:T([0-9a-f]{1,8}),|[A-Z]{1,2}(?=[\[{\"])|)", re.M)
_ATTRIBUTES = ("data-page", "data-props", "data-state", "data-react-props", "data-initial-state", "data-store", "props")

Keyed = tuple[tuple[str, str], ...]
"""Strings of a script that is no JSON, each with its key ("" where it has none)."""


def states(tree: HtmlElement) -> Iterator[Any]:
    """The values of a page's scripts that are JSON, in their order; for a script that holds none its strings (`Keyed`)."""
    room = MOST_CHARACTERS
    flight: list[str] = []
    for script in tree.iter("script"):
        kind = str(script.get("type") or "").partition(";")[0].strip().lower()
        text = str(script.text or "").strip()
        if (len(text) < _LEAST and not _PUSH.search(text)) or kind == "application/ld+json" or script.get("src"):
            continue
        if next(script.iterancestors("template"), None) is not None:
            continue
        room -= len(text)
        if room < 0:
            break
        if kind.endswith("json"):
            value = _parsed(text)
            yield _unflattened(value) if str(script.get("id") or "").startswith("__NUXT_DATA__") else value
        elif kind in ("", "text/javascript", "application/javascript", "module", "text/plain"):
            if pushed := list(_pushed(text)):
                flight += pushed
            else:
                yield from _in_script(text)
    if flight:
        yield from _flown("".join(flight))
    yield from _in_attributes(tree, room)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return _keyed(text)


def _in_script(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(strict=False)
    at, tried, found = 0, 0, False
    while tried < _STARTS and (match := _BEGINS.search(text, at)):
        at = match.end()
        tried += 1
        try:
            if text[at] in "{[":
                value, at = decoder.raw_decode(text, at)
            elif (string := _STRING.match(text, at)) is not None:
                at = string.end()
                inner = _unescaped(next(part for part in string.groups() if part is not None))
                value = json.loads(unquote(inner) if inner.lstrip().startswith("%") else inner, strict=False)
            else:
                continue
        except (ValueError, RecursionError):
            continue
        if isinstance(value, (dict, list)) and value:
            tried -= 1
            found = True
            yield value
    if not found and (strings := _keyed(text)):
        yield strings


def _keyed(text: str) -> Keyed:
    found = ((m[1] or m[2] or "", _unescaped(m[3] if m[3] is not None else m[4])) for m in _KEYED.finditer(text))
    return tuple((key, string) for key, string in found if " " in string)


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code:
            n = int(code, 16)
            return chr(n) if n <= 0x10FFFF else ""
        return _PLAIN.get(match[4], match[4])

    return _ESCAPE.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# --- frameworks ----------------------------------------------------------------------------------------------------------


def _pushed(text: str) -> Iterator[str]:
    """The pieces of React's stream in a script of the Next.js app router: `self.__next_f.push([1, "..."])`."""
    decoder = json.JSONDecoder(strict=False)
    failed = 0
    for match in _PUSH.finditer(text):
        try:
            value, _ = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            failed += 1  # an error counts the lines above it
            if failed > _STARTS:
                return
            continue
        if isinstance(value, list) and len(value) > 1 and isinstance(value[1], str):
            yield value[1]


def _flown(stream: str) -> Iterator[Any]:
    """The rows of React's stream: `id:JSON`, and `id:Tlength,text` with the length in bytes of UTF-8."""
    decoder = json.JSONDecoder(strict=False)
    at, failed = 0, 0
    while failed <= _FAILURES and (match := _FLIGHT.search(stream, at)):
        at = match.end()
        if match[2]:
            # no text has fewer bytes than characters: so many characters are enough
            size = int(match[2], 16)
            text = stream[at : at + size].encode("utf-8", "surrogatepass")[:size].decode("utf-8", "ignore")
            at += len(text)
            yield {"text": text}
            continue
        try:
            value, at = decoder.raw_decode(stream, at)
        except (ValueError, RecursionError):
            failed += 1
            continue
        if isinstance(value, (dict, list)):
            yield value


def _unflattened(value: Any) -> Any:
    """The state of Nuxt 3, whose values are listed one after the other and name each other by their places."""
    if not isinstance(value, list) or not value or len(value) > _MOST_VALUES:
        return value
    left = _MOST_VALUES

    def made(at: Any, depth: int, inside: frozenset[int]) -> Any:
        nonlocal left
        left -= 1
        known = isinstance(at, int) and not isinstance(at, bool) and 0 <= at < len(value)
        if not known or at in inside or depth > _DEEPEST or left < 0:
            return None
        item = value[at]
        within = inside | {at}
        if isinstance(item, dict):
            return {key: made(to, depth + 1, within) for key, to in item.items()}
        if isinstance(item, list):
            if len(item) == 2 and isinstance(item[0], str):  # ["ShallowReactive", 1], ["Ref", 4]
                return made(item[1], depth + 1, within)
            return [made(to, depth + 1, within) for to in item]
        return item

    return made(0, 0, frozenset())


def _in_attributes(tree: HtmlElement, room: int) -> Iterator[Any]:
    for element in tree.xpath(f"//*[{' or '.join(f'@{name}' for name in _ATTRIBUTES)}]")[:_STARTS]:
        for name in _ATTRIBUTES:
            text = str(element.get(name) or "").strip()
            if len(text) < _LEAST or text[0] not in "{[":
                continue
            room -= len(text)
            if room < 0:
                return
            value = _parsed(text)
            yield _astro(value) if name == "props" else value


def _astro(value: Any) -> Any:
    """Astro writes each value of its islands beside a number for its kind: `[0, "text"]`, `[1, [...]]`."""

    def made(item: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            return None
        if isinstance(item, list) and len(item) == 2 and isinstance(item[0], int):
            return made(item[1], depth + 1)
        if isinstance(item, dict):
            return {key: made(one, depth + 1) for key, one in item.items()}
        return [made(one, depth + 1) for one in item] if isinstance(item, list) else item

    return made(value, 0)
