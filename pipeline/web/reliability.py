"""How far a publisher can be trusted, by Wikipedia's perennial-sources list. A label for readers; nothing is dropped by it."""

from __future__ import annotations

from typing import Literal

from data.pages.page_urls import listed

Reliability = Literal["reliable", "unreliable", "deprecated", ""]
LABELS: tuple[Reliability, ...] = ("deprecated", "unreliable", "reliable")


def reliability(url: str) -> Reliability:
    """The label of an address's host, "" for the many that nobody has discussed. Lists: `data/pages/*_hosts.txt`, dated."""
    return next((label for label in LABELS if listed(url, f"{label}_hosts.txt")), "")
