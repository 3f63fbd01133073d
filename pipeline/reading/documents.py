"""The bytes of a fetched page -> a document: its text, who wrote it, when, and what speaks against using it.

`read_document` does the work; a `DocumentReader` does it in processes that may be killed. `cleaning.clean_pages` then
judges the documents of one run together, with `LIVE_MIN_WORDS`.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Literal, Self

from data import codec
from data.errors import UserError
from data.pages.cleaning import LIVE_MIN_WORDS, MAX_BROKEN, Extracted, addresses_model, binary_detail, clean_title
from data.types import DropReason, Origin, PageFlag, RawPage, Strict
from pipeline.reading.charset import decode, kind_of
from pipeline.reading.dates import PublishedSource, find_dates
from pipeline.reading.extract import Reading, examine
from pipeline.reading.pdf.pdf_pages import MAX_PDF_BYTES, paragraphs, read_pdf
from pipeline.reading.sandbox import Lost, WorkerPool, serve
from pipeline.reading.seen.turned_text import without_turned

TextKind = Literal["article", "jsonld", "script", "pdf", "plain"]
MAX_NAME = 200
"""Characters of an author's or a site's name: a longer one is a text in the wrong place."""
HIDDEN_LETTERS = 60
"""Of a PDF, from which on it is told that there were some."""


@dataclass(frozen=True, slots=True)
class Document(Strict):
    """What one fetched page holds. `extracted` goes on to cleaning; the rest is for the record and for citations.

    `extracted.published` is a day; `published_at` the whole time stamp with its zone, where the page gives one.
    `published_source` says who dated it; a `pdf` date is a hint only. `text_kind` is `jsonld` or `script` where the text is in
    the page's metadata or scripts and not on the page. `alternate` is where the site has the same page for phones or printers,
    given where this one has too little text. `canonical_url` is the page's own name for its address, else that address.
    """

    extracted: Extracted
    author: str = ""
    site: str = ""
    published_source: PublishedSource = ""
    published_at: str = ""
    modified: str = ""
    charset: str = ""
    content_type: str = ""
    text_kind: TextKind = "article"
    extractor: str = ""
    canonical_url: str = ""
    alternate: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """The arguments of one `read_document`."""

    body: bytes
    url: str
    content_type: str
    origin: Origin
    run_date: str
    title: str = ""
    provider_date: str = ""


def read_document(
    body: bytes,
    *,
    url: str,
    content_type: str,
    origin: Origin,
    title: str = "",
    provider_date: str = "",
    run_date: str,
) -> Document:
    """One page, read in this process; never raises for a bad page.

    `url` is the address it came from after all redirects, `content_type` the header as sent ("" for none). `title` and
    `provider_date` are the search provider's and replace what the page does not say. `run_date` (YYYY-MM-DD) is the
    latest day on which it can have been published, "" for any.
    """
    job = Job(body, url, content_type, origin, run_date, title, provider_date)
    try:
        return _read(job)
    except Exception as error:  # parsers of hostile bytes fail in any way; the fault is the page's
        return _dropped(job, "extract_none", f"{type(error).__name__}: {error}"[:300])


class DocumentReader:
    """`read_document` in up to `workers` processes of at most `memory_mb` MiB of address space each; close it at the end.

    They start with the first pages and stay for all that follow; threads may share them. A page that takes longer than
    `timeout_s` is dropped `extract_timeout` and its process killed; one that takes its process with it is dropped
    `extract_none`.
    """

    def __init__(self, *, workers: int = 2, timeout_s: float = 20.0, memory_mb: int = 1024) -> None:
        self._pool = WorkerPool("pipeline.reading.documents", workers=workers, timeout_s=timeout_s, memory_mb=memory_mb)

    def submit(self, job: Job) -> Future[Document]:
        """Its result is there when the page was read; it is cancelled when the reader is closed before."""
        about = replace(job, body=b"")  # what waits for the answer holds no second copy
        return self._pool.submit(_packed(job), lambda answer: _received(about, answer))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()


def _received(job: Job, answer: bytes | Lost) -> Document:
    if isinstance(answer, Lost):
        return _dropped(job, "extract_timeout" if answer.reason == "timeout" else "extract_none", answer.detail)
    try:
        return codec.from_json(Document, answer, where=f"the text of {job.url}")
    except UserError as error:
        return _dropped(job, "extract_none", str(error)[:300])


def _dropped(job: Job, reason: DropReason, detail: str) -> Document:
    extracted = Extracted(
        url=job.url, title=clean_title(job.title), text="", origin=job.origin, drop_reason=reason, drop_detail=detail
    )
    return Document(extracted, content_type=job.content_type, canonical_url=job.url)


# --- by kind -----------------------------------------------------------------------------------------------------------


def _read(job: Job) -> Document:
    kind, refused = kind_of(job.body, job.content_type)
    if kind is None:
        return _dropped(job, "bad_type", refused)
    if kind == "pdf":
        return _read_pdf(job)
    decoded = decode(job.body, job.content_type, kind)
    if decoded.broken > MAX_BROKEN and not binary_detail(decoded.text.replace("\ufffd", "")):
        detail = f"{decoded.broken:.1%} of its characters are unreadable as {decoded.charset} ({decoded.source})"
        return _dropped(job, "bad_charset", detail)
    # an encoding named here would make a parser decode a second time
    body = _XML_DECLARATION.sub("", decoded.text, count=1) if kind == "html" else _unwrapped(without_turned(decoded.text))
    # engines cut titles: the page's own comes first
    raw = RawPage(url=job.url, title="" if kind == "html" else job.title, body=body, media=kind, origin=job.origin)
    reading = examine(raw, run_date=job.run_date, provider_date=job.provider_date, min_words=LIVE_MIN_WORDS)
    if reading.index_detail and reading.extracted.drop_reason is None:
        listed = replace(reading.extracted, drop_reason="index_page", drop_detail=reading.index_detail)
        reading = replace(reading, extracted=listed)
    if reading.text_kind == "plain":
        reading = replace(
            reading, dates=find_dates(None, {}, url=job.url, provider_date=job.provider_date, latest=job.run_date)
        )
    return _document(job, reading, decoded.charset, _made_by("trafilatura") if kind == "html" else "plain")


_WRAPPED_WIDTH = 100
_XML_DECLARATION = re.compile(r"\A\s*<\?xml\b[^>]{0,200}\?>")


def _unwrapped(text: str) -> str:
    """Plain text whose lines end where a typewriter's would -> one paragraph a line, as cleaning expects it."""
    lines = [line.strip() for line in text.splitlines()]
    lengths = sorted(len(line) for line in lines if line)
    wrapped = len(lengths) >= 5 and lengths[-1] <= _WRAPPED_WIDTH and lengths[len(lengths) // 2] >= _WRAPPED_WIDTH // 2
    return "\n".join(paragraphs(lines)) if wrapped else text


def _read_pdf(job: Job) -> Document:
    if len(job.body) > MAX_PDF_BYTES:
        return _dropped(job, "too_large", f"{len(job.body):,} bytes, limit {MAX_PDF_BYTES:,}")
    found = read_pdf(job.body)
    if found.problem:
        return _dropped(job, "extract_none", found.problem)
    # the menus of a text are no business of a PDF: an extractor has made this one
    hidden: tuple[PageFlag, ...] = ("hidden_text",) if found.n_hidden >= HIDDEN_LETTERS else ()
    flags: tuple[PageFlag, ...] = (*hidden, "scan_text") if found.n_scans else hidden
    extracted = Extracted(url=job.url, title=found.title, text=found.text, origin=job.origin, flags=flags, media="html")
    dates = find_dates(None, {}, url=job.url, provider_date=job.provider_date, pdf_date=found.created, latest=job.run_date)
    reading = Reading(extracted, replace(dates, modified=found.modified), author=found.author)
    return replace(_document(job, reading, "", _made_by("pypdf")), text_kind="pdf")


def _document(job: Job, reading: Reading, charset: str, extractor: str) -> Document:
    page, dates = reading.extracted, reading.dates
    author, site = _name(reading.author), _name(reading.site)
    flags: set[PageFlag] = {*page.flags} - {"no_date"}
    if not dates.day:
        flags.add("no_date")
    if addresses_model(f"{author}\n{site}"):
        flags.add("suspicious")
    page = replace(
        page,
        title=page.title or clean_title(job.title),
        published=dates.day or None,
        flags=tuple(sorted(flags)),
    )
    return Document(
        extracted=page,
        author=author,
        site=site,
        published_source=dates.source,
        published_at=dates.timestamp,
        modified=dates.modified,
        charset=charset,
        content_type=job.content_type,
        text_kind=reading.text_kind,
        extractor=extractor,
        canonical_url=page.canonical or job.url,
        alternate=reading.alternate,
    )


def _name(text: str) -> str:
    """A name from metadata: one line, no address."""
    text = clean_title(text)
    return "" if "://" in text or len(text) > MAX_NAME else text


@cache
def _made_by(library: str) -> str:
    return f"{library}/{version(library)}"


# --- in the worker -----------------------------------------------------------------------------------------------------


def _packed(job: Job) -> bytes:
    told = {field.name: getattr(job, field.name) for field in dataclasses.fields(job) if field.name != "body"}
    return json.dumps(told).encode() + b"\n" + job.body  # JSON on one line has no line break


def _answer(message: bytes) -> bytes:
    told, _, body = message.partition(b"\n")
    document = read_document(body, **json.loads(told))
    # half a surrogate pair can come out of an escaped JSON-LD: no file could be written with it
    return json.dumps(dataclasses.asdict(document), ensure_ascii=False).encode("utf-8", "replace")


def main() -> None:
    """The worker's program. What most pages need is loaded before the clock of the first one starts."""
    # trafilatura loads the language detector, and numpy with it, where it finds it; without it, a third of the start is saved
    sys.modules["py3langid"] = None  # type: ignore[assignment]
    import trafilatura  # noqa: F401

    serve(_answer, int(sys.argv[1]))


if __name__ == "__main__":
    main()
