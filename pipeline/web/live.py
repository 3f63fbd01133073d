"""Evidence from the live web: given addresses and files, and what two rounds of searches find, as pages with a verdict.

Everything that was found is kept with what became of it. The order is that of rounds and ranks, never that in which pages
came in, so the same answers give the same evidence.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path

from data import codec
from data.cleaning import LIVE_MIN_WORDS, Extracted, LeakCheck, Overlap, clean_pages
from data.errors import UserError
from data.settings import RetrievalSettings, WebSettings
from data.types import Event, Page, RawPage
from pipeline.evidence import Evidence
from pipeline.planning.kinds import KindRecogniser
from pipeline.reading.dates import judge_dates
from pipeline.reading.documents import Document, DocumentReader, Job
from pipeline.reading.pdf import MAX_PDF_BYTES
from pipeline.web.addresses import Refused, admit, canonical, exempt
from pipeline.web.bundle import (
    FORM,
    AskedQuery,
    Bundle,
    Candidate,
    EvidenceRecord,
    FetchRecord,
    Gathered,
    Manifest,
    Published,
    count_reasons,
    lines,
    pages_of,
    versions_here,
)
from pipeline.web.cache import Bodies, PageCache, StoredFetch, pages_as_completed
from pipeline.web.fetching import Fetched, Fetcher
from pipeline.web.pacing import Clock, SystemClock
from pipeline.web.painting import Painter
from pipeline.web.queries import first_queries, search_window, second_queries
from pipeline.web.reliability import reliability
from pipeline.web.search.provider import Provider
from pipeline.web.search.searching import SearchLog, join, search_all

FIRST_SHARE = 2 / 3
"""Of the pages that searches may bring, for the first round; the second knows better what to look for."""
FILE = "file:"
FILE_TYPES = {
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".txt": "text/plain",
    ".md": "text/plain",
    ".pdf": "application/pdf",
}


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A page on disk. `name` is its path below the folder that all given files share: nothing else of the disk is shown."""

    name: str
    body: bytes = field(repr=False)

    @property
    def content_type(self) -> str:
        return FILE_TYPES[Path(self.name).suffix.lower()]


def local_files(paths: Sequence[Path]) -> tuple[LocalFile, ...]:
    """The files, read. Raises UserError for one that cannot be read, or is no page."""
    resolved = tuple(dict.fromkeys(path.expanduser().resolve() for path in paths))
    root = Path(os.path.commonpath([path.parent for path in resolved])) if resolved else Path()
    return tuple(LocalFile(path.relative_to(root).as_posix(), _read(path)) for path in resolved)


def _read(path: Path) -> bytes:
    if path.suffix.lower() not in FILE_TYPES:
        raise UserError(f"--file {path}: the name must end in one of {', '.join(FILE_TYPES)}")
    try:
        if path.stat().st_size > MAX_PDF_BYTES:
            raise UserError(f"--file {path} has more than {MAX_PDF_BYTES:,} bytes; give a shorter one")
        return codec.plain_bytes(path)
    except OSError as error:
        raise UserError(f"cannot read --file {path}: {error.strerror}") from None


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
    else has named, address, title and origin count. `leak` as in `data.cleaning.clean_pages`. `bundle` is a folder where
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
        return _usable(event, pages)

    def gather(self, title: str) -> Gathered:
        """Everything that is found for a title ("" searches for nothing), written to the bundle if there is one."""
        keep = self._bundle.bodies if self._bundle is not None and self._keep_bodies else None
        painter = Painter(self._settings.render, self._tell)
        with self._fetcher(self._settings) as fetcher, DocumentReader() as reader:
            collection = _Collection(
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
            collection.add_named([Candidate(url, "url", 0, 0, "url") for url in map(_storable, self._urls)])
            collection.add_named([Candidate(p.url, p.origin, 0, 0, "links", title=p.title) for p in self._links])
            log = self._search(title, collection) if self._provider is not None and title else None
            collection.draw_textless()
            collection.add_alternates()
            gathered = collection.gathered(title, log, has_bodies=keep is not None)
        if self._bundle is not None:
            self._bundle.write(gathered)
        return gathered

    def _search(self, title: str, collection: _Collection) -> list[SearchLog]:
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
        usable = sum(page.usable for page in pages)
        self._tell(f"{usable} of {len(pages)} pages can be used after the first round")
        recogniser = self._recogniser() if self._recogniser is not None and usable else None
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
            run_date=self.run_date,
            title=candidate.title,
            provider_date=candidate.provider_date,
        )
        self._documents[candidate.url] = self._reader.submit(job)

    def documents(self) -> Mapping[str, Document]:
        """By the address of their candidate, when all of them are read."""
        return {url: document.result() for url, document in self._documents.items()}


class _Collection:
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
        records = self.judged(_noting(self._leak, overlaps) if self._leak is not None else None)
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


def judge(
    fetches: Sequence[FetchRecord],
    documents: Mapping[str, Document],
    settings: WebSettings,
    languages: tuple[str, ...],
    leak: LeakCheck | None = None,
) -> tuple[EvidenceRecord, ...]:
    """The pages together: cut-off, cleaning, duplicates. `documents` by address; where there is none, nothing was fetched."""
    extracted = [_extracted(one, documents.get(one.candidate.url)) for one in fetches]
    dated = judge_dates(extracted, settings.as_of, settings.strict_dates)
    pages = clean_pages(dated, leak=leak, leak_hosts=settings.leak_hosts, languages=languages, min_words=LIVE_MIN_WORDS)
    records = [_record(one, documents.get(one.candidate.url), page) for one, page in zip(fetches, pages, strict=True)]
    return tuple(
        record if page.duplicate_of is None else replace(record, dup_of=records[page.duplicate_of].id)
        for record, page in zip(records, pages, strict=True)
    )


def _noting(check: LeakCheck, overlaps: dict[str, Overlap]) -> LeakCheck:
    """`check`, which leaves what it finds in `overlaps`."""

    def noting(text: str) -> Overlap:
        found = check(text)
        if found.larger:
            overlaps[codec.sha256(text)] = found
        return found

    return noting


def _noted(overlaps: Mapping[str, Overlap]) -> LeakCheck:
    """The check as it went then, for the same texts."""
    return lambda text: overlaps.get(codec.sha256(text), Overlap(0.0, 0.0))


def _extracted(one: FetchRecord, document: Document | None) -> Extracted:
    if document is not None:
        return document.extracted
    fetched = one.stored.fetched
    return Extracted(
        url=fetched.final_url,
        title=one.candidate.title,
        text="",
        origin=one.candidate.origin,
        drop_reason=fetched.drop_reason,
        drop_detail=fetched.drop_detail,
    )


def _record(one: FetchRecord, document: Document | None, page: Page) -> EvidenceRecord:
    candidate, stored, fetched = one.candidate, one.stored, one.stored.fetched
    read = document or Document(_extracted(one, None), text_kind="plain")
    digest = codec.sha256(page.text)
    return EvidenceRecord(
        id=codec.sha256(f"{digest} {candidate.url}")[:16],
        url=candidate.url,
        final_url=fetched.final_url,
        redirects=fetched.redirects,
        origin=candidate.origin,
        round=candidate.round,
        rank=candidate.rank,
        provider=candidate.provider,
        query=candidate.query,
        retrieved_at=fetched.retrieved_at,
        http_status=fetched.status,
        content_type=fetched.content_type,
        charset=read.charset,
        bytes=stored.n_bytes,
        sha256_raw=stored.sha256,
        sha256_text=digest,
        title=page.title,
        author=read.author,
        site=read.site,
        published=Published(page.published or "", read.published_at, read.published_source),
        modified=read.modified,
        language=page.language,
        text=page.text,
        text_kind=read.text_kind if document is not None else "",
        extractor=read.extractor,
        flags=page.flags,
        fetch_flags=fetched.flags,
        reliability=reliability(fetched.final_url),
        dup_of="",
        archive_url=fetched.archive_url,
        archive_date=fetched.archive_date,
        drop_reason=page.drop_reason,
        drop_detail=page.drop_detail,
        rows_left=page.rows_left,
    )


def _usable(event: Event, pages: tuple[Page, ...]) -> tuple[Page, ...]:
    """Raises NoEvidence, with the reasons, when none can be used."""
    if not any(page.usable for page in pages):
        Evidence.cut(replace(event, title=event.title or "the given pages"), pages, RetrievalSettings())
    return pages


def _storable(url: str) -> str:
    """An argument that is not UTF-8 cannot be written to a file; with a backslash in it, no address is admitted."""
    return url.encode("utf-8", "backslashreplace").decode("utf-8")


class BundleEvidence:
    """The evidence of a bundle, without any network. Implements `pipeline.evidence.EvidenceSource`.

    Where the bundle has its raw pages, they are read and judged again, and must give the recorded evidence byte for byte; where
    it has not, the recorded evidence is what there is.
    """

    def __init__(self, folder: Path, *, copy: Path | None = None) -> None:
        """`copy` is a folder where the evidence is left again, raw bodies aside. Raises UserError for anything but a bundle."""
        self.bundle = Bundle(folder)
        self.manifest = self.bundle.manifest()
        self._copy = Bundle(copy) if copy is not None else None

    def collect(self, event: Event) -> tuple[Page, ...]:
        """Raises NoEvidence when no page can be used, UserError when the evidence is not the recorded one."""
        gathered = self.gather()
        if self._copy is not None:
            self._copy.write(replace(gathered, manifest=replace(gathered.manifest, has_bodies=False)))
        return _usable(event, gathered.pages)

    def gather(self) -> Gathered:
        fetches = self.bundle.fetches()
        if not self.manifest.has_bodies:
            return Gathered(self.manifest, fetches, self.bundle.records())
        with DocumentReader() as reader:
            reading = Reading(self.manifest.run_date, reader)
            for one in fetches:
                reading.add(one.candidate, self._with_body(one.stored))
            documents = reading.documents()
        told = self.manifest
        leak = _noted(told.overlaps) if told.overlaps else None
        records = judge(fetches, documents, told.settings, told.languages, leak)
        if lines(records).encode() != self.bundle.evidence_bytes():
            raise UserError(self._difference())
        return Gathered(self.manifest, fetches, records)

    def _with_body(self, stored: StoredFetch) -> Fetched:
        return replace(stored.fetched, body=self.bundle.body(stored.sha256)) if stored.sha256 else stored.fetched

    def _difference(self) -> str:
        here = versions_here()
        changed = [
            f"{name} {then or 'none'} there, {here.get(name) or 'none'} here"
            for name, then in self.manifest.versions.items()
            if here.get(name) != then
        ]
        why = "; ".join(changed) if changed else "with the same versions, so it was changed"
        return (
            f"{self.bundle.folder} does not give its own evidence.jsonl again ({why}); use those versions, or collect the "
            "pages anew without --bundle"
        )
