"""Evidence from the live web: given addresses and files, and what two rounds of searches find, as pages with a verdict.

Everything that was found is kept with what became of it. The order is that of rounds and ranks, never that in which pages
came in, so the same answers give the same evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from data.errors import UserError
from data.pages.cleaning import LeakCheck
from data.settings import WebSettings
from data.types import Event, Page, RawPage
from pipeline.planning.kinds import KindRecogniser
from pipeline.reading.documents import DocumentReader
from pipeline.web.addresses import exempt
from pipeline.web.bundle import (
    Bundle,
    Candidate,
    FetchRecord,
    Gathered,
    pages_of,
)
from pipeline.web.cache import PageCache
from pipeline.web.collection import Collection, Reading
from pipeline.web.fetching import Fetcher
from pipeline.web.local_files import LocalFile
from pipeline.web.pacing import Clock, SystemClock
from pipeline.web.page_records import usable
from pipeline.web.painting import Painter
from pipeline.web.queries import first_queries, search_window, second_queries
from pipeline.web.search.provider import Provider, storable
from pipeline.web.search.searching import SearchLog, join, search_all

FIRST_SHARE = 2 / 3
"""Of the pages that searches may bring, for the first round; the second knows better what to look for."""


class SearchUnanswered(UserError):
    """No query was answered, and there is nothing else to write from; `why` is what the search says of it."""

    def __init__(self, title: str, why: str) -> None:
        super().__init__(
            f"the search for {title!r} failed: {why}; set another provider with --search, or give pages with --url"
        )
        self.why = why


class LiveEvidence:
    """Implements `pipeline.evidence.EvidenceSource`.

    `provider` answers searches for the event's title; None for given addresses and files only. Of `links`, pages that somebody
    else has named, address, title and origin count. `leak` as in `data.pages.cleaning.clean_pages`. `bundle` is a folder where
    everything is left, raw bodies included unless `keep_bodies` is False. `recogniser` is asked for when a second round of
    queries is made. `tell` is given a line for the person watching, now and then, `fetched` each page as it comes.
    """

    def __init__(
        self,
        settings: WebSettings,
        *,
        provider: Provider | None = None,
        urls: Sequence[str] = (),
        files: Sequence[LocalFile] = (),
        links: Sequence[RawPage] = (),
        languages: tuple[str, ...] = ("en",),
        leak: LeakCheck | None = None,
        cache: PageCache | None = None,
        bundle: Path | None = None,
        keep_bodies: bool = True,
        recogniser: Callable[[], KindRecogniser] | None = None,
        clock: Clock | None = None,
        fetcher: Callable[[WebSettings], Fetcher] = Fetcher,
        tell: Callable[[str], None] = lambda line: None,
        fetched: Callable[[FetchRecord], None] | None = None,
    ) -> None:
        self._settings = settings
        self._provider = provider
        self._urls = tuple(urls)
        self._files = tuple(files)
        self._links = tuple(links)
        self._languages = languages
        self._leak = leak
        self._cache = cache or PageCache()
        self._bundle = Bundle(bundle) if bundle is not None else None
        self._keep_bodies = keep_bodies
        self._recogniser = recogniser
        self._clock: Clock = clock or SystemClock()
        self._fetcher = fetcher
        self._tell = tell
        self._fetched = fetched or (lambda record: None)

    def collect(self, event: Event) -> tuple[Page, ...]:
        """Raises NoEvidence when no page can be used, UserError when nothing could be searched for."""
        pages = self.gather(event.title).pages
        return usable(event, pages)

    def gather(self, title: str) -> Gathered:
        """Everything that is found for a title ("" searches for nothing), written to the bundle if there is one."""
        keep = self._bundle.bodies if self._bundle is not None and self._keep_bodies else None
        painter = Painter(self._settings.render, self._tell)
        with self._fetcher(self._settings) as fetcher, DocumentReader() as reader:
            collection = Collection(
                self._settings,
                self._languages,
                fetcher,
                self._cache,
                self._clock,
                Reading(self._clock.now().date().isoformat(), reader),
                keep,
                self._leak,
                self._fetched,
                painter,
            )
            collection.add_files(self._files)
            collection.add_named([Candidate(url, "url", 0, 0, "url") for url in map(storable, self._urls)])
            collection.add_named([Candidate(p.url, p.origin, 0, 0, "links", title=p.title) for p in self._links])
            log = self._search(title, collection) if self._provider is not None and title else None
            collection.draw_textless()
            collection.add_alternates()
            gathered = collection.gathered(title, log, has_bodies=keep is not None)
        if self._bundle is not None:
            self._bundle.write(gathered)
        return gathered

    def _search(self, title: str, collection: Collection) -> list[SearchLog]:
        queries = first_queries(title)
        first = self._ask(queries)
        self._tell(first.describe())
        if first.failed:
            if not collection.fetches:
                raise SearchUnanswered(title, first.describe())
            return [first]
        share = round(collection.room * FIRST_SHARE) or collection.room
        collection.add_hits(first, 1, most=share)
        if not collection.room:
            return [first]
        pages = pages_of(collection.judged())
        n_usable = sum(page.usable for page in pages)
        self._tell(f"{n_usable} of {len(pages)} pages can be used after the first round")
        recogniser = self._recogniser() if self._recogniser is not None and n_usable else None
        more = second_queries(title, pages, queries, recogniser=recogniser)
        if not more:
            collection.add_hits(first, 1, most=collection.room)
            return [first]
        second = self._ask(more)
        self._tell(second.describe())
        collection.add_hits(join([first, second]), 2, most=collection.room)
        return [first, second]

    def _ask(self, queries: Iterable[str]) -> SearchLog:
        assert self._provider is not None
        since, until = search_window(self._settings.as_of)
        return search_all(
            self._provider,
            queries,
            max_results=self._settings.results,
            since=since,
            until=until,
            language=self._languages[0] if len(self._languages) == 1 else None,
            allow_origins=exempt(self._settings.allow_origins),
        )
