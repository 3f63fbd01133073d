"""The addresses of one event: each is asked for once, and everything that was found is kept with what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace

from data.pages.cleaning import LeakCheck, Overlap
from data.settings import WebSettings
from pipeline.reading.documents import Document, DocumentReader, Job
from pipeline.web.addresses import Refused, admit, canonical, exempt
from pipeline.web.bundle import (
    FORM,
    AskedQuery,
    Candidate,
    EvidenceRecord,
    FetchRecord,
    Gathered,
    Manifest,
    count_reasons,
    versions_here,
)
from pipeline.web.cache import Bodies, PageCache, StoredFetch, pages_as_completed
from pipeline.web.fetched import Fetched
from pipeline.web.fetching import Fetcher
from pipeline.web.local_files import FILE, LocalFile
from pipeline.web.pacing import Clock
from pipeline.web.page_records import judge, noting
from pipeline.web.painting import Painter
from pipeline.web.search.searching import SearchLog


class Reading:
    """Documents of fetched bodies, each made once; a body is read while others are still on their way."""

    def __init__(self, run_date: str, reader: DocumentReader) -> None:
        self.run_date = run_date
        self._reader = reader
        self._documents: dict[str, Future[Document]] = {}

    def add(self, candidate: Candidate, fetched: Fetched) -> None:
        if fetched.drop_reason is not None:
            return
        job = Job(
            body=fetched.body,
            url=fetched.final_url,
            content_type=fetched.content_type,
            origin=candidate.origin,
            # a person's own file may be dated ahead: it is under embargo, or about a world that is invented
            run_date="" if candidate.url.startswith(FILE) else self.run_date,
            title=candidate.title,
            provider_date=candidate.provider_date,
        )
        self._documents[candidate.url] = self._reader.submit(job)

    def documents(self) -> Mapping[str, Document]:
        """By the address of their candidate, when all of them are read."""
        return {url: document.result() for url, document in self._documents.items()}


class Collection:
    """All addresses found so far. Addresses are separated by their canonical form; each is asked for once."""

    def __init__(
        self,
        settings: WebSettings,
        languages: tuple[str, ...],
        fetcher: Fetcher,
        cache: PageCache,
        clock: Clock,
        reading: Reading,
        keep: Bodies | None,
        leak: LeakCheck | None,
        tell: Callable[[FetchRecord], None],
        painter: Painter,
    ) -> None:
        self._tell = tell
        self._painter = painter
        self.fetches: list[FetchRecord] = []
        self.room = settings.max_pages
        self._settings = settings
        self._languages = languages
        self._fetcher = fetcher
        self._cache = cache
        self._clock = clock
        self._reading = reading
        self._keep = keep
        self._leak = leak
        self._seen: set[str] = set()
        self._waiting: dict[str, Candidate] = {}
        self._bodies: dict[str, Fetched] = {}
        """Of pages that may still be drawn."""

    def add_files(self, files: Sequence[LocalFile]) -> None:
        for rank, file in enumerate(files, 1):
            url = FILE + file.name
            fetched = Fetched(url, url, content_type=file.content_type, body=file.body, retrieved_at=self._now())
            ((_, painted),) = self._painter.drawn([(rank, fetched)])
            self._take(Candidate(url, "url", 0, rank, "file"), painted)

    def add_named(self, candidates: Sequence[Candidate]) -> None:
        """Addresses that were given come before all that is searched for; those that may not be asked are recorded, too."""
        exempted = exempt(self._settings.allow_origins)
        admitted: list[Candidate] = []
        for rank, named in enumerate(candidates, len(self.fetches) + 1):
            candidate = replace(named, rank=rank)
            if not self._is_new(candidate.url):
                continue
            try:
                admit(candidate.url, allow_origins=exempted)
            except Refused as refused:
                self._drop(candidate, refused)
            else:
                admitted.append(candidate)
        chosen, rest = admitted[: self.room], admitted[self.room :]
        self._waiting |= {canonical(candidate.url): candidate for candidate in rest}
        self._fetch(chosen)

    def add_hits(self, log: SearchLog, n_round: int, *, most: int) -> None:
        """The best `most` addresses that are new; the others wait for a later round."""
        chosen: list[Candidate] = []
        for hit in log.hits:
            candidate = Candidate(hit.url, "search", n_round, hit.rank, hit.provider, hit.query, hit.title, hit.published or "")
            if len(chosen) < most and self._is_new(hit.url):
                self._waiting.pop(canonical(hit.url), None)
                chosen.append(candidate)
            elif canonical(hit.url) not in self._seen:
                self._waiting[canonical(hit.url)] = candidate
        for rank, one in enumerate(log.refused, len(log.hits) + 1):
            if self._is_new(one.hit.url):
                refused = Candidate(one.hit.url, "search", n_round, rank, one.hit.provider, one.hit.query, one.hit.title)
                self._drop(refused, Refused(one.reason, one.detail))
        self._fetch(chosen)

    def draw_textless(self) -> None:
        """Pages without a main text are drawn, where that is asked for, and read again; one that shows none either stays as it
        was fetched."""
        documents = self._reading.documents()
        for n, one in enumerate(self.fetches):
            fetched, document = self._bodies.get(one.candidate.url), documents.get(one.candidate.url)
            if fetched is None or not self._painter.is_wanted(fetched, document):
                continue
            painted = self._painter.draw(fetched)
            if painted is not fetched:
                self._reading.add(one.candidate, painted)
                self._store(painted)
                self.fetches[n] = FetchRecord(one.candidate, StoredFetch.of(painted))

    def add_alternates(self) -> None:
        """What sites have for phones or printers (AMP) in the place of pages without a text of their own. Only a link of such a
        page, and only one on its own site, is followed: by the rules of every other address, and within the same number."""
        documents = self._reading.documents()
        chosen: list[Candidate] = []
        for one in self._sorted():
            document = documents.get(one.candidate.url)
            if document is None or not document.alternate or len(chosen) >= self.room or not self._is_new(document.alternate):
                continue
            candidate = replace(one.candidate, url=document.alternate)
            try:
                admit(candidate.url, allow_origins=exempt(self._settings.allow_origins))
            except Refused as refused:
                self._drop(candidate, refused)
            else:
                chosen.append(candidate)
        self._fetch(chosen)

    def judged(self, leak: LeakCheck | None = None) -> tuple[EvidenceRecord, ...]:
        return judge(self._sorted(), self._reading.documents(), self._settings, self._languages, leak or self._leak)

    def gathered(self, title: str, log: Sequence[SearchLog] | None, *, has_bodies: bool) -> Gathered:
        for candidate in self._waiting.values():
            self._drop(candidate, Refused("budget", f"the run's {self._settings.max_pages} pages are asked for"))
        self._waiting.clear()
        overlaps: dict[str, Overlap] = {}
        records = self.judged(noting(self._leak, overlaps) if self._leak is not None else None)
        logs = log or ()
        manifest = Manifest(
            form=FORM,
            title=title,
            run_date=self._reading.run_date,
            settings=replace(self._settings, contact=""),  # a person's address is nobody else's business
            languages=self._languages,
            queries=tuple(
                AskedQuery(n, answer.query, answer.provider, len(answer.hits))
                for n, one in enumerate(logs, 1)
                for answer in one.answers
            ),
            failures=tuple(failure for one in logs for failure in one.failures),
            switches=tuple(switch for one in logs for switch in one.switches),
            versions=versions_here(),
            counts=count_reasons(records),
            has_bodies=has_bodies,
            overlaps=dict(sorted(overlaps.items())),
        )
        return Gathered(manifest, self._sorted(), records)

    def _fetch(self, candidates: Sequence[Candidate]) -> None:
        self.room -= len(candidates)
        urls = [candidate.url for candidate in candidates]
        came = pages_as_completed(self._fetcher, self._cache, urls, self._settings, clock=self._clock)
        for i, fetched in self._painter.drawn(came):
            self._take(candidates[i], fetched)

    def _take(self, candidate: Candidate, fetched: Fetched) -> None:
        self._reading.add(candidate, fetched)
        self._store(fetched)
        if self._settings.render == "auto":
            self._bodies[candidate.url] = fetched
        self.fetches.append(FetchRecord(candidate, StoredFetch.of(fetched)))
        self._tell(self.fetches[-1])

    def _store(self, fetched: Fetched) -> None:
        if self._keep is not None and fetched.body:
            self._keep.put(fetched.body)

    def _drop(self, candidate: Candidate, refused: Refused) -> None:
        fetched = Fetched(
            candidate.url, candidate.url, retrieved_at=self._now(), drop_reason=refused.reason, drop_detail=refused.detail
        )
        self.fetches.append(FetchRecord(candidate, StoredFetch(fetched)))
        self._tell(self.fetches[-1])

    def _is_new(self, url: str) -> bool:
        address = canonical(url)
        new = address not in self._seen
        self._seen.add(address)
        return new

    def _sorted(self) -> tuple[FetchRecord, ...]:
        return tuple(sorted(self.fetches, key=lambda one: (one.candidate.round, one.candidate.rank, one.candidate.url)))

    def _now(self) -> str:
        return self._clock.now().isoformat(timespec="seconds")
