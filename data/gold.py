"""The human article of an event, parsed once. Writers may not import this module; a test enforces it.

Text views follow the evaluation notes: prose without headings, markers and reference sections on the one side, the
outline on the other. The `text` field is used, not `contents`, where links are glued to their neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from data.snapshot import Snapshot
from data.types import Strict

EXCLUDED_SECTIONS = frozenset({
    "references", "notes", "citations", "see_also", "external_links", "bibliography", "further_reading", "sources", "footnotes",
    "gallery",
})  # fmt: skip
"""Left out of prose and outline, on both sides of every comparison (names with spaces as underscores)."""


def is_excluded(heading: str) -> bool:
    return heading.strip().lower().replace(" ", "_") in EXCLUDED_SECTIONS


@dataclass(frozen=True, slots=True)
class GoldSection(Strict):
    heading: str
    prose: str


@dataclass(frozen=True, slots=True)
class GoldArticle(Strict):
    """`raw` is the file's text (for the `wgb` scores); everything else is cleaned."""

    event_id: str
    title: str
    raw: str
    lead: str
    sections: tuple[GoldSection, ...]
    infobox: tuple[tuple[str, str], ...]
    cited_urls: tuple[str, ...]

    @property
    def headings(self) -> tuple[str, ...]:
        return tuple(section.heading for section in self.sections)

    @property
    def prose(self) -> str:
        return "\n".join(part for part in (self.lead, *(s.prose for s in self.sections)) if part)


def load_gold(snapshot: Snapshot, event_id: str) -> GoldArticle:
    from data.snapshot import flatten_references

    value = snapshot.reference(event_id)
    raw = str(value.get("text") or "")
    outlines = [str(name) for name in value.get("outlines") or []]
    lead, sections = _split_at_headings(normalise(raw), [normalise(name.replace("_", " ")) for name in outlines])
    infobox = value.get("info_kv")
    return GoldArticle(
        event_id=event_id,
        title=str(value.get("key") or event_id),
        raw=raw,
        lead=lead,
        sections=tuple(s for s in sections if not is_excluded(s.heading)),
        infobox=tuple((normalise(str(k)), normalise(str(v))) for k, v in infobox.items()) if isinstance(infobox, dict) else (),
        cited_urls=tuple(url for _, url, _ in flatten_references(value.get("reference"))),
    )


def normalise(text: str) -> str:
    """NFKC, and without the `[1]` markers that summaries and infoboxes carry."""
    return re.sub(r"\[\d+\]", "", unicodedata.normalize("NFKC", text)).strip()


def _split_at_headings(text: str, outline: list[str]) -> tuple[str, list[GoldSection]]:
    """Cut the text where a line equals the next heading of the outline; headings are in reading order.

    A heading whose line is missing (emptied sections) still counts as a heading, with empty prose.
    """
    lines = [line.strip() for line in text.split("\n")]
    positions: list[int | None] = []
    at = 0
    for heading in outline:
        found = next((i for i in range(at, len(lines)) if lines[i] == heading), None)
        positions.append(found)
        at = at if found is None else found + 1
    starts = [p for p in positions if p is not None]
    lead = _prose(lines[: starts[0] if starts else len(lines)])
    sections = []
    for heading, position in zip(outline, positions, strict=True):
        following = [p for p in starts if position is not None and p > position]
        body = [] if position is None else lines[position + 1 : following[0] if following else len(lines)]
        sections.append(GoldSection(heading=heading, prose=_prose(body)))
    return lead, sections


def _prose(lines: list[str]) -> str:
    return "\n".join(line for line in lines if line)
