"""The text of a page that is not in its elements: in its JSON-LD, or in the state of its scripts. Each entry of a live page is
headed by its time, so that the newest fact can be told: "4 May 2031, 14:05: The dam has failed"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pipeline.reading.dates import said_time
from pipeline.reading.embedded.jsonld import Entry, Node, bodies_of, entries_of, headlines
from pipeline.reading.embedded.state_text import article_in
from pipeline.reading.embedded.states import states
from pipeline.reading.fragments import Hidden, lines_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

LIVE_ENTRIES = 2
"""Entries with a text that make a live page."""


@dataclass(frozen=True, slots=True)
class Told:
    """A text in a page's data. `is_live` says that it consists of entries with times."""

    text: str
    kind: Literal["jsonld", "script"]
    is_live: bool = False


def in_jsonld(node: Node, hidden: Hidden) -> Told | None:
    """The text of the page's own node: the entries of a live page after what it says of itself."""
    bodies = [line for body in bodies_of(node) for line in lines_of(body, hidden)]
    entries = entries_of(node)
    told = entry_lines(entries, hidden)
    # some repeat all entries as one body
    text = "\n".join(told if entries and _is_repeat(bodies, told) else [*bodies, *told])
    return Told(text, "jsonld", len(entries) >= LIVE_ENTRIES) if text else None


def in_scripts(tree: HtmlElement, url: str, hidden: Hidden) -> Told | None:
    """The article in the state of the page's scripts."""
    found = article_in(states(tree), headlines(tree), url, hidden)
    lines = entry_lines(found.entries, hidden) if found.entries else found.lines
    return Told("\n".join(lines), "script", len(found.entries) >= LIVE_ENTRIES) if lines else None


def entry_lines(entries: Iterable[Entry], hidden: Hidden) -> list[str]:
    """Each entry's time and headline on one line, and its text below."""
    lines: list[str] = []
    for entry in entries:
        when = said_time(entry.at)
        body = lines_of(entry.body, hidden)
        if body and body[0].rstrip(".") == entry.headline.rstrip("."):
            body = body[1:]
        lines += [": ".join(filter(None, (when, entry.headline))), *body]
    return [line for line in lines if line]


def _is_repeat(bodies: Sequence[str], told: Sequence[str]) -> bool:
    words = {word for line in told for word in line.split()}
    said = [word for line in bodies for word in line.split()]
    return sum(word in words for word in said) >= 0.9 * len(said)
