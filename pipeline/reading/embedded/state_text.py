"""The article inside the data of a page's scripts (`states`) -> its lines.

Such data holds the article beside menus, teasers of other articles, labels of buttons and settings. Nothing says which is which
but names and shape: what lies under names of other things is left away, and then the place is looked for in which most of
the prose stands together, as with the text density of HTML (Kohlschütter et al. 2010). Where several articles lie side by
side, and none has the page's title or address, there is no text rather than a wrong one.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from data.pages.blocks import has_sentence
from data.pages.cleaning import addresses_model
from pipeline.reading.embedded.jsonld import Entry
from pipeline.reading.fragments import Hidden, lines_of

LEAST_WORDS = 40
"""Fewer are a label or a teaser."""
MOST_NODES = 300_000
MOST_PIECES = 20_000
_STANDS_TOGETHER = 0.6
"""Share of the words from which one part of a value is looked into alone."""

_NAMES = tomllib.loads(Path(__file__).with_name("state_names.toml").read_text(encoding="utf-8"))
_OTHER = frozenset(_NAMES["other"].split())
"""Names, without case, under which data holds something else than the article."""
_OTHER_WORDS = frozenset(_NAMES["other_words"].split())
_OTHER_KINDS = frozenset(_NAMES["other_kinds"].split())
_BODY_KEYS = frozenset(_NAMES["body_keys"].split())
_HEADLINES = ("headline", "title", "heading", "name", "basic")
_ADDRESSES = ("url", "canonical_url", "canonicalUrl", "website_url", "slug", "path", "link", "href", "permalink", "uri")
_TIMES = (
    "datePublished", "published", "publishedAt", "published_at", "publishedDate", "publishDate", "publicationDate",
    "firstPublished", "display_date", "createdAt", "created_at", "created", "timestamp", "time", "date", "dateCreated",
)  # fmt: skip
_INLINE = ("children", "content", "nodes", "spans", "runs", "inlines", "leaves")
_LEAF = ("text", "value", "content")
_ESCAPED_KEY = re.compile(r"[\s_-]")
_CAPITAL = re.compile("[A-Z]")
_CODE = re.compile(r"[{};=<>\\|]|\$(?!\d)")
_ELEMENTS_SKIPPED = frozenset(
    ("header", "footer", "aside", "script", "style", "nav", "button", "form", "title", "meta", "link")
)

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    path: Place
    lines: tuple[str, ...]
    n_words: int


@dataclass(frozen=True, slots=True)
class StateText:
    """`entries` where the text is a list of posts with times, else `lines`; both empty where no article is found."""

    lines: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()


def article_in(values: Iterable[Any], titles: Set[str], url: str, hidden: Hidden) -> StateText:
    """The article of the page among the values of its scripts. `titles` are the page's, in small letters."""
    whole = list(values)
    pieces, named = _pieces(whole, titles, url, hidden)
    if sum(piece.n_words for piece in pieces) < LEAST_WORDS:
        return StateText()
    words = _words_by_place(pieces)
    own = max(named, key=lambda path: (words[path], len(path)), default=None)
    start = own if own is not None and words[own] >= LEAST_WORDS else ()
    at, inside = _densest(start, words, pieces)
    value = _at(whole, at)
    if entries := _posts(value, at, inside):
        return StateText(entries=entries)
    if not start and (_lists_articles(value, at, inside) or _is_another(whole, at, titles, url)):
        return StateText()
    lines = tuple(dict.fromkeys(line for piece in inside for line in piece.lines))
    lines = _without_repeats(lines)
    enough = sum(len(line.split()) for line in lines) >= LEAST_WORDS and sum(map(has_sentence, lines)) >= 2
    long = any(len(line.split()) >= LEAST_WORDS and has_sentence(line) for line in lines)
    return StateText(lines) if enough or long else StateText()


def _pieces(whole: list[Any], titles: Set[str], url: str, hidden: Hidden) -> tuple[list[_Piece], list[Place]]:
    """What is prose in the values, in order, each with its place; and the places that bear the page's title or address."""
    pieces: list[_Piece] = []
    named: list[Place] = []
    path_of_page = urlsplit(url).path.rstrip("/") if "://" in url else ""
    stack: list[tuple[Place, Any]] = [((n,), value) for n, value in reversed(list(enumerate(whole)))]
    left = MOST_NODES
    while stack and left > 0 and len(pieces) < MOST_PIECES:
        path, value = stack.pop()
        left -= 1
        lines: Sequence[str] = ()
        if isinstance(value, str):
            lines = _prose(_name(path), value, hidden)
        elif isinstance(value, Mapping):
            if _is_other(value):
                continue
            if _is_named(value, titles, path_of_page):
                named.append(path)
            block = _block(value) or _of_video(value)
            if block is not None:
                lines = lines_of(block, hidden)
            else:
                stack.extend(((*path, key), one) for key, one in reversed(list(value.items())) if not _leads_elsewhere(key))
        elif isinstance(value, tuple):  # strings of a script that is no JSON
            lines = _strings(value, hidden)
        elif isinstance(value, list):
            if _is_element(value):
                lines = [line for line in lines_of(_markup(value), hidden) if has_sentence(line) and len(line.split()) >= 5]
            else:
                stack.extend(((*path, n), one) for n, one in reversed(list(enumerate(value))))
        if lines:
            pieces.append(_Piece(path, tuple(lines), sum(len(line.split()) for line in lines)))
    return pieces, named


def _name(path: Place) -> str:
    return next((_folded(key) for key in reversed(path) if isinstance(key, str)), "")


def _folded(key: str) -> str:
    return _ESCAPED_KEY.sub("", key).lower()


def _leads_elsewhere(key: str) -> bool:
    """Also "Comment:17" of a store that lists everything by its kind and number."""
    name = key.partition(":")[0]
    if _folded(name) in _OTHER:
        return True
    words = _CAPITAL.sub(_dashed, name).lower()
    return any(word in _OTHER_WORDS for word in re.split(r"[\s_-]+", words))


def _is_other(value: Mapping[str, Any]) -> bool:
    kinds = (value.get(key) for key in ("type", "_type", "__typename", "kind", "nodeType", "subtype"))
    hidden = value.get("hidden") is True or value.get("isHidden") is True or value.get("visible") is False
    return hidden or any(isinstance(kind, str) and _folded(kind) in _OTHER_KINDS for kind in kinds)


def _is_named(value: Mapping[str, Any], titles: Set[str], path_of_page: str) -> bool:
    for key in _ADDRESSES:
        address = value.get(key)
        if isinstance(address, str) and path_of_page.strip("/") and _path_of(address) == path_of_page:
            return True
    said = (value.get(key) for key in _HEADLINES)
    said = (one.get("basic") or one.get("rendered") if isinstance(one, Mapping) else one for one in said)
    return any(isinstance(one, str) and " ".join(re.findall(r"\w+", one.casefold())) in titles for one in said)


def _path_of(address: str) -> str:
    try:
        return urlsplit(address).path.rstrip("/")
    except ValueError:
        return ""


def _prose(key: str, text: str, hidden: Hidden) -> list[str]:
    if len(text) < 12 or " " not in text.strip() or text.startswith(("http://", "https://", "data:")):
        return []
    lines = lines_of(text, hidden)
    n_words = sum(len(line.split()) for line in lines)
    least = 3 if key in _BODY_KEYS else 8
    sentences = any(has_sentence(line) for line in lines)
    if n_words < least or not (sentences or n_words >= 25):
        return []
    joined = " ".join(lines)
    return lines if len(_CODE.findall(joined)) <= 0.02 * len(joined) or addresses_model(joined) else []


def _strings(keyed: tuple[tuple[str, str], ...], hidden: Hidden) -> list[str]:
    """Those of the key that holds most of the prose."""
    told = [(key, lines) for key, text in keyed if not _leads_elsewhere(key) and (lines := _prose(_folded(key), text, hidden))]
    words: Counter[str] = Counter()
    for key, lines in told:
        words[key] += sum(len(line.split()) for line in lines)
    if not words:
        return []
    best = max(words, key=lambda key: words[key])
    return [line for key, lines in told if key == best for line in lines]


# --- rich text -----------------------------------------------------------------------------------------------------------


def _block(value: Mapping[str, Any]) -> str | None:
    """The text of a paragraph that is kept in pieces: `{"children": [{"text": "The "}, {"text": "mayor", "bold": true}]}`."""
    for key in _INLINE:
        parts = value.get(key)
        if isinstance(parts, list) and parts and any(_is_leaf(part) for part in parts):
            return escape("".join(_inline(part, 0) for part in parts), quote=False)
    return None


def _of_video(value: Mapping[str, Any]) -> str | None:
    """What a page for one video says of it: elsewhere such a key holds the beginning of another text."""
    told = value.get("shortDescription")
    return escape(told, quote=False) if isinstance(told, str) and isinstance(value.get("videoId"), str) else None


def _is_leaf(part: object) -> bool:
    if not isinstance(part, Mapping):
        return False
    text = next((part[key] for key in _LEAF if isinstance(part.get(key), str)), None)
    kind = str(part.get("type") or part.get("_type") or part.get("nodeType") or "text").lower()
    return text is not None and "<p" not in text and kind in ("text", "span", "leaf", "string")


def _inline(part: object, depth: int) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or depth > 12 or _is_other(part):
        return ""
    if text := next((part[key] for key in _LEAF if isinstance(part.get(key), str)), ""):
        return str(text)
    return "".join(_inline(one, depth + 1) for key in _INLINE if isinstance(part.get(key), list) for one in part[key])


def _is_element(value: list[Any]) -> bool:
    return len(value) >= 4 and value[0] == "$" and isinstance(value[1], str) and isinstance(value[3], Mapping)


def _markup(value: Any, depth: int = 0) -> str:
    """An element of React's stream as HTML, so that what it hides is not read."""
    if isinstance(value, str):
        return "" if value.startswith("$") else escape(value, quote=False)
    if not isinstance(value, list) or depth > 100:
        return ""
    if not _is_element(value):
        return "".join(_markup(one, depth + 1) for one in value)
    tag, props = value[1], value[3]
    inner = "".join(
        _markup(props.get(key), depth + 1) for key in ("children", "content", "body") if isinstance(props.get(key), (str, list))
    )
    raw = props.get("dangerouslySetInnerHTML")
    if isinstance(raw, Mapping) and isinstance(raw.get("__html"), str):
        inner += raw["__html"]
    if tag in _ELEMENTS_SKIPPED:
        return ""
    if not re.fullmatch(r"[a-z][a-z0-9]{0,15}", tag):
        return f"<div>{inner}</div>"
    shown = f' class="{escape(str(props.get("className") or ""))}"'
    if isinstance(style := props.get("style"), Mapping):
        told = ";".join(f"{_CAPITAL.sub(_dashed, str(name))}:{one}" for name, one in style.items())
        shown += f' style="{escape(told)}"'
    if props.get("hidden") or str(props.get("aria-hidden", "")).lower() == "true":
        shown += " hidden"
    return f"<{tag}{shown}>{inner}</{tag}>"


def _dashed(match: re.Match[str]) -> str:
    return f"-{match.group().lower()}"


# --- which part is the article -------------------------------------------------------------------------------------------


def _words_by_place(pieces: Sequence[_Piece]) -> Counter[Place]:
    words: Counter[Place] = Counter()
    for piece in pieces:
        for depth in range(len(piece.path) + 1):
            words[piece.path[:depth]] += piece.n_words
    return words


def _densest(start: Place, words: Counter[Place], pieces: Sequence[_Piece]) -> tuple[Place, list[_Piece]]:
    """The place below `start` where most of the prose stands together, and its pieces."""
    at = start
    inside = [piece for piece in pieces if piece.path[: len(at)] == at]
    while True:
        parts = dict.fromkeys(piece.path[: len(at) + 1] for piece in inside if len(piece.path) > len(at))
        best = max(parts, key=lambda part: words[part], default=None)
        if best is None or words[best] < _STANDS_TOGETHER * words[at]:
            return at, inside
        at = best
        inside = [piece for piece in inside if piece.path[: len(at)] == at]


def _at(whole: Any, path: Place) -> Any:
    value: Any = whole
    for key in path:
        value = value[key]
    return value


def _items(value: Any, at: Place, inside: Sequence[_Piece]) -> list[tuple[Mapping[str, Any], list[_Piece]]]:
    """The parts of a place that are objects with prose, each with its own."""
    by_key: dict[str | int, list[_Piece]] = {}
    for piece in inside:
        if len(piece.path) > len(at):
            by_key.setdefault(piece.path[len(at)], []).append(piece)
    parts: Any = value if isinstance(value, (list, Mapping)) else ()
    found = [(parts[key], own) for key, own in by_key.items()] if parts else []
    return [(one, own) for one, own in found if isinstance(one, Mapping)]


def _posts(value: Any, at: Place, inside: Sequence[_Piece]) -> tuple[Entry, ...]:
    """Where the place is a list whose items have a time each: the posts of a live page, oldest first."""
    items = _items(value, at, inside)
    timed = [(_time(item), item, own) for item, own in items]
    if len(items) < 2 or not isinstance(value, list) or sum(bool(time) for time, _, _ in timed) < len(items):
        return ()
    # posts are parts of this page: at most they have an anchor on it
    if len({_path_of(str(item.get(key))) for item, _ in items for key in _ADDRESSES if item.get(key)}) > 1:
        return ()
    entries = (
        Entry(_headline(item), "\n".join(f"<p>{escape(line)}</p>" for piece in own for line in piece.lines), time)
        for time, item, own in timed
    )
    return tuple(sorted(entries, key=lambda entry: entry.at))


def _headline(item: Mapping[str, Any]) -> str:
    return next((" ".join(item[key].split()) for key in _HEADLINES if isinstance(item.get(key), str)), "")


def _time(item: Mapping[str, Any]) -> str:
    for key in _TIMES:
        value = item.get(key)
        if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d", value):
            return value
        if isinstance(value, int) and not isinstance(value, bool) and 10**9 < value < 10**14:
            return datetime.fromtimestamp(value / 1000 if value > 10**11 else value, UTC).isoformat()
    return ""


def _lists_articles(value: Any, at: Place, inside: Sequence[_Piece]) -> bool:
    items = [item for item, _ in _items(value, at, inside)]
    linked = [item for item in items if _headline(item) and any(isinstance(item.get(key), str) for key in _ADDRESSES)]
    return len(linked) >= 2 and 2 * len(linked) >= len(items)


def _is_another(whole: Sequence[Any], at: Place, titles: Set[str], url: str) -> bool:
    """Whether the nearest object with a headline and an address around a place is an article that is not this page's."""
    page = urlsplit(url).path.rstrip("/") if "://" in url else ""
    if not titles or not page:
        return False
    for depth in range(len(at), 0, -1):
        value = _at(whole, at[:depth])
        if isinstance(value, Mapping) and _headline(value):
            given = [value[key] for key in _ADDRESSES if isinstance(value.get(key), str)]
            if paths := [path for path in map(_path_of, given) if path.strip("/")]:
                last = page.rpartition("/")[2]
                return all(path.rpartition("/")[2] not in last for path in paths) and not _is_named(value, titles, page)
    return False


def _without_repeats(lines: Sequence[str]) -> tuple[str, ...]:
    """States hold a text as HTML and plain, and its beginning again: what is part of a line that stands elsewhere goes."""
    longest = sorted(lines, key=len, reverse=True)[:50]
    return tuple(
        line for line in lines if not any(line != other and len(line) < len(other) and line in other for other in longest)
    )
