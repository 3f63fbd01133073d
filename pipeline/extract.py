"""A raw page -> its text (section 8 of the retrieval notes). One bad page never stops an event: it comes back with a reason."""

from __future__ import annotations

from data.cleaning import Extracted
from data.types import RawPage


def extract(raw: RawPage, *, run_date: str | None = None) -> Extracted:
    return Extracted(url=raw.url, title=raw.title, text=raw.body, origin=raw.origin, media="text")
