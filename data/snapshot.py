"""A benchmark snapshot on disk -> events and raw pages. What the human article says never leaves through this module.

Layout (WikiGenBench): `wiki/ID.json` holds the reference article, `google/ID.json` the pages a search found. A page of
`google/` has `text`, or, in our bundled sample, `html`: the path of an HTML file below the snapshot.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.errors import StageError, UserError
from data.types import Event, RawPage, Track

N_BENCHMARK_EVENTS = 309
SAMPLE = Path(__file__).parent / "sample"
_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")
DOWNLOAD_HINT = "run: python -m data.download, or name a folder with --data DIR or WIKIGEN_DATA"


@dataclass(frozen=True, slots=True)
class Inventory:
    """Which halves of the benchmark's events a snapshot holds; ids are sorted as numbers."""

    both: tuple[str, ...]
    only_reference: tuple[str, ...]
    only_pages: tuple[str, ...]

    def describe(self) -> str:
        parts = [f"{len(self.both)} events with reference and search pages"]
        if self.only_reference:
            parts.append(f"{len(self.only_reference)} without search pages ({_some(self.only_reference)})")
        if self.only_pages:
            parts.append(f"{len(self.only_pages)} without a reference ({_some(self.only_pages)})")
        return "; ".join(parts)


def _some(ids: tuple[str, ...], limit: int = 3) -> str:
    return ", ".join(ids[:limit]) + (f", and {len(ids) - limit} more" if len(ids) > limit else "")


class Snapshot:
    """Read access to one snapshot folder. Construction checks the layout; a broken file fails only its own event."""

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            if not root.is_dir():
                raise UserError(f"no benchmark folder at {root}; {DOWNLOAD_HINT}")
            references, pages = _ids(root / "wiki"), _ids(root / "google")
        except OSError as error:
            raise UserError(f"cannot read {root}: {error.strerror}; {DOWNLOAD_HINT}") from None
        if not references and not pages:
            raise UserError(f"{root} has neither wiki/*.json nor google/*.json; {DOWNLOAD_HINT}")
        self.inventory = Inventory(
            both=_sorted(references & pages),
            only_reference=_sorted(references - pages),
            only_pages=_sorted(pages - references),
        )

    @property
    def is_sample(self) -> bool:
        return self.root.resolve() == SAMPLE.resolve()

    def ids(self, track: Track) -> tuple[str, ...]:
        """Events that can be written and scored on a track. The title lives in the reference half, so both need it."""
        found = self.inventory
        return _sorted(set(found.both) | set(found.only_reference)) if track == "cited" else found.both

    def event(self, event_id: str) -> Event:
        known = self.ids("cited")
        if event_id not in known:
            span = f"known ids run from {known[0]} to {known[-1]}" if known else "it holds no event"
            raise UserError(
                f"no event {event_id!r} in {self.root} ({span}); list them with: wikigenben events --data {self.root}"
            )
        return Event(id=event_id, title=_text(self.reference(event_id).get("key")) or event_id)

    def reference(self, event_id: str) -> dict[str, Any]:
        """The parsed reference file. Only `data.gold` and this module may look inside."""
        value = _parse(self.root / "wiki" / f"{event_id}.json")
        if not isinstance(value, dict):
            raise StageError("data", f"wiki/{event_id}.json holds a {type(value).__name__}, not an object")
        return value

    def raw_pages(self, event_id: str, track: Track) -> tuple[RawPage, ...]:
        """The pages of a track in file order: search results first, then the pages that the reference cites."""
        pages: list[RawPage] = []
        if track in ("search", "both"):
            pages += self._search_pages(event_id)
        if track in ("cited", "both"):
            pages += self._cited_pages(event_id)
        return tuple(pages)

    def _search_pages(self, event_id: str) -> list[RawPage]:
        listed = _parse(self.root / "google" / f"{event_id}.json")
        if not isinstance(listed, list):
            raise StageError("data", f"google/{event_id}.json holds a {type(listed).__name__}, not a list of pages")
        pages = []
        for item in listed:
            if not isinstance(item, dict):
                raise StageError("data", f"google/{event_id}.json lists a {type(item).__name__} where a page should be")
            url, title = _text(item.get("link")), _text(item.get("title"))
            if "html" in item:
                body, media = self._html(_text(item["html"]), event_id), "html"
            else:
                body, media = _text(item.get("text")), "text"
            pages.append(RawPage(url=url, title=title, body=body, media=media, origin="search"))  # type: ignore[arg-type]
        return pages

    def _html(self, name: str, event_id: str) -> str:
        path = (self.root / name).resolve()
        if not path.is_relative_to(self.root.resolve()):
            raise StageError("data", f"google/{event_id}.json names {name!r}, which lies outside the snapshot")
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise StageError("data", f"cannot read {path}: {error.strerror}") from None

    def _cited_pages(self, event_id: str) -> list[RawPage]:
        pages = []
        for citation, url, text in flatten_references(self.reference(event_id).get("reference")):
            pages.append(RawPage(url=url, title=citation, body=text, media="text", origin="cited"))
        return pages


def flatten_references(value: object) -> list[tuple[str, str, str]]:
    """(citation, url, page text) from the shapes that occur: rows of 2, 3 or more columns, dicts, and lists of those."""
    if isinstance(value, dict):
        return [(_text(value.get("citation") or value.get("title")), _text(value.get("url")), _text(value.get("text")))]
    if not isinstance(value, list):
        return []
    if value and all(isinstance(cell, str) or cell is None for cell in value):
        row = [_text(cell) for cell in value]
        at = next((i for i, cell in enumerate(row) if cell.startswith(("http://", "https://"))), None)
        if at is None:
            return []
        citation = row[at - 1] if at > 0 else ""
        return [(citation, row[at], row[at + 1] if at + 1 < len(row) else "")]
    return [reference for item in value for reference in flatten_references(item)]


def _text(value: object) -> str:
    """JSON may escape half a surrogate pair; no file could be written with it, so it is replaced here, at the door."""
    return _HALF_CHARACTER.sub("\ufffd", value if isinstance(value, str) else "" if value is None else str(value))


def _ids(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.json") if not path.name.startswith(".")}


def _sorted(ids: set[str]) -> tuple[str, ...]:
    return tuple(sorted(ids, key=lambda i: (not i.isdigit(), int(i) if i.isdigit() else 0, i)))


def _parse(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StageError("data", f"cannot read {path}: {error.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StageError("data", f"{path} is not JSON: {error}; fetch it again or remove the file") from None
