"""A second set of saved pages, in `tools/quality/second_pages`: written by somebody who had not seen the code that reads them.

Each file has the shape of a real kind of page, with all that such pages carry around their text; `pages.toml` says what a
reader finds on it, and what must not be read. Towns, people and figures are made up.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from data.types import DropReason, Page

FOLDER = Path(__file__).with_name("second_pages")


@dataclass(frozen=True, slots=True)
class WholePage:
    """`facts` stand in its text in any order, those of `once` a single time, the pieces of each of `rows` in one line; `absent`
    do not. `reason` says why it cannot be read, None where it can."""

    name: str
    kind: str
    body: bytes
    url: str
    content_type: str
    facts: tuple[str, ...]
    once: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    absent: tuple[str, ...]
    reason: DropReason | None


def whole_pages() -> tuple[WholePage, ...]:
    listed = tomllib.loads((FOLDER / "pages.toml").read_text(encoding="utf-8"))
    files = {path.stem: path for path in FOLDER.iterdir() if path.suffix in (".html", ".pdf")}
    if unlisted := files.keys() ^ listed.keys():
        raise ValueError(f"{', '.join(sorted(unlisted))}: a page without its entry in pages.toml, or an entry without its page")
    return tuple(_page(name, files[name], told) for name, told in listed.items())


def _page(name: str, path: Path, told: dict[str, object]) -> WholePage:
    def texts(key: str) -> tuple[str, ...]:
        found = told.get(key, [])
        return tuple(str(one) for one in found) if isinstance(found, list) else ()

    rows = told.get("rows", [])
    reason = next((one for one in get_args(DropReason) if one == told.get("reason")), None)
    return WholePage(
        name=name,
        kind=str(told["kind"]),
        body=path.read_bytes(),
        url=str(told["url"]),
        content_type=str(told.get("content_type", "text/html; charset=utf-8")),
        facts=texts("facts"),
        once=texts("once"),
        rows=tuple(tuple(str(piece) for piece in row) for row in rows) if isinstance(rows, list) else (),
        absent=texts("absent"),
        reason=reason,
    )


def faults(saved: WholePage, page: Page) -> list[str]:
    """All that is wrong with a page that was read."""
    if page.drop_reason != saved.reason:
        return [f"{page.drop_reason or 'read'}, and should be {saved.reason or 'read'} ({page.drop_detail})"]
    if saved.reason is not None:
        return []
    lines = page.text.casefold().split("\n")
    missing = [f"{fact!r} is missing" for fact in (*saved.facts, *saved.once) if fact not in page.text]
    twice = [f"{fact!r} stands there {n} times" for fact in saved.once if (n := page.text.count(fact)) > 1]
    rows = [
        f"no line has {row}" for row in saved.rows if not any(all(piece.casefold() in line for piece in row) for line in lines)
    ]
    return [*missing, *twice, *rows, *(f"{words!r} is no part of it" for words in saved.absent if words in page.text)]
