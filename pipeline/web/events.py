"""Live pages for the events of a run: the links that a benchmark has of them fetched anew, or what a search finds for their
titles.

    events/<id>/evidence/    a bundle (`pipeline.web.bundle`), from which pages.jsonl is made

An event's pages are fetched once. Whoever asks again, scoring above all, is given those of its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from data.errors import StageError, UserError
from data.pages.cleaning import LeakCheck
from data.runs import EVIDENCE, EventFolder, RunFolder
from data.settings import Settings, WebSettings
from data.types import Event, Page, RawPage
from pipeline.planning.kinds import KindRecogniser
from pipeline.web.bundle import Bundle, pages_of
from pipeline.web.cache import PageCache
from pipeline.web.fetching import Fetcher
from pipeline.web.live import LiveEvidence, SearchUnanswered
from pipeline.web.pacing import Clock, Hosts
from pipeline.web.search.chain import ProviderChain
from pipeline.web.search.provider import Provider, plain_query
from pipeline.web.search.sharing import SharedProvider


def event_web(settings: Settings) -> WebSettings:
    """The settings of the web as they hold for events that are scored: the leak filter drops known copies of Wikipedia, and
    links need no search engine."""
    evidence, web = settings.evidence, settings.web
    return replace(
        web, leak_hosts=web.leak_hosts or evidence.leak_filter, search=web.search if evidence.source == "search" else ""
    )


def kept_pages(folder: EventFolder) -> tuple[Page, ...] | None:
    """The pages of the event's bundle, None where there is no whole one. Raises StageError for one that was changed."""
    bundle = Bundle(folder.path / EVIDENCE)
    if not bundle.is_whole:
        return None
    try:
        return pages_of(bundle.records())
    except UserError as error:  # someone else's edit: this event's trouble, not the run's
        raise StageError("evidence", str(error)) from None


class EventEvidence:
    """Implements `pipeline.evidence.EvidenceSource`. Threads may share it: their events then share the pace at which hosts and
    search engines are asked.

    `providers` are the search engines in order of preference; without one, `links` gives the pages whose addresses are
    fetched. Each event begins with the first engine again, as what failed for one event may be up for the next. `leak_check`
    and `recogniser` are as for `SnapshotEvidence` and `LiveEvidence`; `tell` is given lines that begin with the event's title.
    """

    def __init__(
        self,
        settings: Settings,
        run: RunFolder,
        *,
        links: Callable[[Event], Sequence[RawPage]] = lambda event: (),
        providers: Sequence[Provider] = (),
        leak_check: Callable[[Event], LeakCheck] | None = None,
        recogniser: Callable[[], KindRecogniser] | None = None,
        cache: PageCache | None = None,
        clock: Clock | None = None,
        fetcher: Callable[[WebSettings, Hosts], Fetcher] = lambda web, hosts: Fetcher(web, hosts=hosts),
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._web = event_web(settings)
        self._evidence = settings.evidence
        self._run = run
        self._links = links
        self._providers = tuple(SharedProvider(provider, clock=clock) for provider in providers)
        self._leak_check = leak_check if settings.evidence.leak_filter else None
        self._recogniser = recogniser
        self._cache = cache or PageCache()
        self._clock = clock
        hosts = Hosts(self._web.at_once)
        self._fetcher = lambda web: fetcher(web, hosts)
        self._tell = tell

    def collect(self, event: Event) -> tuple[Page, ...]:
        """All pages, also when none can be used. Raises StageError when no search engine answered."""
        folder = self._run.event(event.id)
        kept = kept_pages(folder)
        if kept is not None:
            return kept
        if self._providers and not plain_query(event.title):
            raise StageError("search", f"the title {event.title!r} holds no word to search for")
        live = LiveEvidence(
            self._web,
            provider=ProviderChain(self._providers, min_delay_s=0, clock=self._clock) if self._providers else None,
            links=() if self._providers else self._links(event),
            languages=self._evidence.languages,
            leak=self._leak_check(event) if self._leak_check is not None else None,
            cache=self._cache,
            bundle=folder.path / EVIDENCE,
            recogniser=self._recogniser,
            clock=self._clock,
            fetcher=self._fetcher,
            tell=lambda line: self._tell(f"{event.title}: {line}"),
        )
        try:
            return live.gather(event.title).pages
        except SearchUnanswered as error:  # the next event may be luckier
            raise StageError("search", error.why) from None
