"""What was fetched and read -> evidence records with a verdict, all pages of an event together.

The same fetches and documents give the same records, whether they came today or lie in a bundle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from data import codec
from data.pages.cleaning import LIVE_MIN_WORDS, Extracted, LeakCheck, Overlap, clean_pages
from data.settings import RetrievalSettings, WebSettings
from data.types import Event, Page
from pipeline.evidence import Evidence
from pipeline.reading.dates import judge_dates
from pipeline.reading.documents import Document
from pipeline.web.bundle import (
    EvidenceRecord,
    FetchRecord,
    Published,
)
from pipeline.web.reliability import reliability


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


def noting(check: LeakCheck, overlaps: dict[str, Overlap]) -> LeakCheck:
    """`check`, which leaves what it finds in `overlaps`."""

    def noting(text: str) -> Overlap:
        found = check(text)
        if found.larger:
            overlaps[codec.sha256(text)] = found
        return found

    return noting


def noted(overlaps: Mapping[str, Overlap]) -> LeakCheck:
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


def usable(event: Event, pages: tuple[Page, ...]) -> tuple[Page, ...]:
    """Raises NoEvidence, with the reasons, when none can be used."""
    if not any(page.usable for page in pages):
        Evidence.cut(replace(event, title=event.title or "the given pages"), pages, RetrievalSettings())
    return pages
