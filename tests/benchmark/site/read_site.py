"""The leaderboard's pages, as its tests read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lxml.html


def page(path: Path) -> lxml.html.HtmlElement:
    return lxml.html.fromstring(path.read_text(encoding="utf-8"))


def words(element: lxml.html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


def boards(site: Path) -> list[lxml.html.HtmlElement]:
    return page(site / "index.html").xpath("//table[contains(@class, 'board')]")


def board_rows(board: lxml.html.HtmlElement) -> list[lxml.html.HtmlElement]:
    return board.xpath("./tbody[1]/tr")


def system_page(site: Path, prefix: str) -> Path:
    (found,) = (site / "systems").glob(f"{prefix}-*.html")
    return found


def against(site: Path, prefix: str) -> dict[str, list[str]]:
    """What the page of a system says of the others: metric, difference, interval, p, verdict."""
    return {
        words(row.xpath("./th")[0]): [words(cell) for cell in row.xpath("./td")]
        for row in page(system_page(site, prefix)).xpath("//section[@aria-labelledby='against']//tbody/tr")
    }


def edited(folder: Path, change: Callable[[Any], object]) -> None:
    path = folder / "submission.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value), encoding="utf-8")
