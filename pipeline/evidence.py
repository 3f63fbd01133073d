"""Where an event's pages come from, and how they become passages: pages -> passages.

Every system gets the same pages. Pages are collected once per event and stored with the run, dropped ones included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from data.errors import NoEvidence
from data.pages.cleaning import LeakCheck, clean_pages
from data.passages import cut_passages
from data.settings import EvidenceSettings, RetrievalSettings
from data.snapshot import Snapshot
from data.types import Event, Page, Passage, Source
from pipeline.drop_words import dropped_in_words
from pipeline.reading.extract import extract


class EvidenceSource(Protocol):
    """Gives all pages of an event, cleaned, kept and dropped, in an order that does not depend on timing."""

    def collect(self, event: Event) -> tuple[Page, ...]: ...


class SnapshotEvidence:
    """Pages of a benchmark snapshot.

    `leak_check` compares a page with the human article of an event. It is handed in from outside, because nothing in
    this package may see that article; None switches the comparison off.
    """

    def __init__(
        self, snapshot: Snapshot, settings: EvidenceSettings, leak_check: Callable[[Event], LeakCheck] | None = None
    ) -> None:
        self._snapshot = snapshot
        self._settings = settings
        self._leak_check = leak_check

    def collect(self, event: Event) -> tuple[Page, ...]:
        raw = self._snapshot.raw_pages(event.id, self._settings.track)
        check = self._leak_check(event) if self._leak_check is not None and self._settings.leak_filter else None
        return clean_pages(
            [extract(page) for page in raw],
            leak=check,
            leak_hosts=self._settings.leak_filter,
            languages=self._settings.languages,
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a writer works from: the event, its pages, and the passages of the usable ones."""

    event: Event
    pages: tuple[Page, ...]
    passages: tuple[Passage, ...]

    @classmethod
    def cut(cls, event: Event, pages: Sequence[Page], settings: RetrievalSettings) -> Evidence:
        """Raises NoEvidence when no page is usable: without evidence there is no article."""
        passages = cut_passages(pages, words=settings.passage_words, overlap=settings.passage_overlap)
        if not passages:
            empty = sum(page.drop_reason is None for page in pages)
            reasons = Counter(sorted(page.drop_reason for page in pages if page.drop_reason))
            told = (
                "; ".join(filter(None, (dropped_in_words(reasons), f"empty ({empty})" if empty else ""))) or "none were found"
            )
            raise NoEvidence(f"no usable page for {event.title!r} among {len(pages)} ({told})")
        return cls(event=event, pages=tuple(pages), passages=passages)

    @classmethod
    def unlapped(cls, event: Event, pages: Sequence[Page], settings: RetrievalSettings) -> Evidence:
        """As `cut`, but no sentence is in two passages: it would be said twice."""
        return cls.cut(event, pages, replace(settings, passage_overlap=0))

    def source(self, passage: Passage) -> Source:
        page = self.pages[passage.page]
        return Source(
            passage,
            page.url,
            page.title,
            page.published,
            page.retrieved_at,
            page.archive_url,
            page.archive_date,
            page.author,
            page.site,
        )
