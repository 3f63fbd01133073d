"""What one collection of evidence was and found, as a folder that can be read alone: it can be handed on and replayed.

manifest.json    the request, who answered it, with which settings and versions
fetches.jsonl    every address with how it was found and what came of it
evidence.jsonl   every page as it was judged, kept or dropped with its reason: what a system is given
bodies/          the raw pages by their sha256, where rights allow to hand them on
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import ClassVar, TypeVar

from data import codec
from data.errors import UserError
from data.pages.cleaning import CLEANING_VERSION, Overlap
from data.settings import WebSettings
from data.types import DropReason, Origin, Page, PageFlag, Strict
from pipeline.reading.dates import PublishedSource
from pipeline.web.cache import Bodies, StoredFetch
from pipeline.web.fetched import FetchFlag
from pipeline.web.reliability import Reliability
from pipeline.web.search.chain import ProviderSwitch, SearchFailure

T = TypeVar("T")
FORM = "wikigenben-evidence/1"
LIBRARIES = ("wikigenben", "trafilatura", "lxml", "pypdf", "charset-normalizer", "py3langid", "requests", "urllib3")
"""Whose versions may change what a page says."""
CLEANING_RULES = "rules of cleaning"
"""Under which name the version of our own rules stands among them."""


@dataclass(frozen=True, slots=True)
class Candidate(Strict):
    """An address and how it got here. Round 0 is what the user named, 1 and 2 are searches; `rank` counts within a round.

    `title` and `provider_date` are the search provider's words.
    """

    url: str
    origin: Origin
    round: int
    rank: int
    provider: str
    query: str = ""
    title: str = ""
    provider_date: str = ""


@dataclass(frozen=True, slots=True)
class FetchRecord(Strict):
    candidate: Candidate
    stored: StoredFetch


@dataclass(frozen=True, slots=True)
class Published(Strict):
    """`day` is YYYY-MM-DD, `timestamp` the whole time where the page gives one; both "" where nobody says it."""

    day: str = ""
    timestamp: str = ""
    source: PublishedSource = ""


@dataclass(frozen=True, slots=True)
class EvidenceRecord(Strict):
    """One page of the evidence, kept or dropped.

    `id` follows from address and text: the same page has the same id in every run. `text` is exactly what a model is shown
    and citations point into, or, of a dropped page, what there is to check the reason by; `dup_of` is the id of the page that
    says the same and was kept. `rows_left` counts rows of its tables that were not read.
    """

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"rows_left"})
    id: str
    url: str
    final_url: str
    redirects: tuple[str, ...]
    origin: Origin
    round: int
    rank: int
    provider: str
    query: str
    retrieved_at: str
    http_status: int | None
    content_type: str
    charset: str
    bytes: int
    sha256_raw: str
    sha256_text: str
    title: str
    author: str
    site: str
    published: Published
    modified: str
    language: str
    text: str
    text_kind: str
    extractor: str
    flags: tuple[PageFlag, ...]
    fetch_flags: tuple[FetchFlag, ...]
    reliability: Reliability
    dup_of: str
    archive_url: str
    archive_date: str
    drop_reason: DropReason | None
    drop_detail: str
    rows_left: int = 0


@dataclass(frozen=True, slots=True)
class AskedQuery(Strict):
    """`provider` is who answered, "" if nobody did."""

    round: int
    query: str
    provider: str
    n_hits: int


@dataclass(frozen=True, slots=True)
class Manifest(Strict):
    """`run_date` is the latest day on which a page can have been published. `counts` says how many pages were kept and dropped,
    by reason; `has_bodies` whether the raw pages are part of the bundle. `overlaps` is what pages, by the SHA-256 of their
    cleaned text, share with a text that must not be among them, for a replay without that text."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"overlaps"})
    form: str
    title: str
    run_date: str
    settings: WebSettings
    languages: tuple[str, ...]
    queries: tuple[AskedQuery, ...]
    failures: tuple[SearchFailure, ...]
    switches: tuple[ProviderSwitch, ...]
    versions: dict[str, str]
    counts: dict[str, int] = field(default_factory=dict)
    has_bodies: bool = True
    overlaps: dict[str, Overlap] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gathered:
    """A whole collection, raw bodies aside; fetches and records are in the same order."""

    manifest: Manifest
    fetches: tuple[FetchRecord, ...]
    records: tuple[EvidenceRecord, ...]

    @property
    def pages(self) -> tuple[Page, ...]:
        return pages_of(self.records)


def pages_of(records: Sequence[EvidenceRecord]) -> tuple[Page, ...]:
    """The records as the pages that systems are given, in the same order."""
    index = {record.id: i for i, record in enumerate(records)}
    return tuple(
        Page(
            url=record.final_url,
            title=record.title,
            text=record.text,
            origin=record.origin,
            published=record.published.day or None,
            language=record.language,
            flags=record.flags,
            drop_reason=record.drop_reason,
            drop_detail=record.drop_detail,
            duplicate_of=index[record.dup_of] if record.dup_of else None,
            retrieved_at=record.retrieved_at,
            archive_url=record.archive_url,
            archive_date=record.archive_date,
            author=record.author,
            site=record.site,
            rows_left=record.rows_left,
        )
        for record in records
    )


def count_reasons(records: Iterable[EvidenceRecord]) -> dict[str, int]:
    counted = Counter(record.drop_reason or "kept" for record in records)
    return dict(sorted(counted.items()))


def versions_here() -> dict[str, str]:
    found = {"python": platform.python_version(), CLEANING_RULES: CLEANING_VERSION}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # run from its sources
            found[name] = ""
    return found


def lines(values: Iterable[object]) -> str:
    return "".join(codec.to_json(value) + "\n" for value in values)


class Bundle:
    """A folder with one collection; `manifest.json` is written last, so sentences without one is not whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bodies = Bodies(folder / "bodies")

    @property
    def is_whole(self) -> bool:
        return (self.folder / "manifest.json").is_file()

    def write(self, gathered: Gathered) -> None:
        """Everything but the bodies, which were put there as they came."""
        codec.write_atomic(self.folder / "fetches.jsonl", lines(gathered.fetches))
        codec.write_atomic(self.folder / "evidence.jsonl", lines(gathered.records))
        codec.write_atomic(self.folder / "manifest.json", codec.to_json(gathered.manifest, indent=1) + "\n")

    def manifest(self) -> Manifest:
        if not self.is_whole:
            raise UserError(f"{self.folder} is no bundle: it has no manifest.json; name the folder `evidence` of a run")
        manifest = codec.read(Manifest, self.folder / "manifest.json")
        if manifest.form != FORM:
            raise UserError(f"{self.folder} is a bundle of form {manifest.form!r}; this version reads {FORM!r}")
        return manifest

    def fetches(self) -> tuple[FetchRecord, ...]:
        return self._read("fetches.jsonl", FetchRecord)

    def records(self) -> tuple[EvidenceRecord, ...]:
        """Raises UserError for a text that is not the one that was recorded."""
        records = self._read("evidence.jsonl", EvidenceRecord)
        for record in records:
            if record.sha256_text != codec.sha256(record.text):
                raise UserError(f"the text of {record.url} in {self.folder}/evidence.jsonl was changed; get the bundle again")
        return records

    def body(self, digest: str) -> bytes:
        body = self.bodies.get(digest)
        if body is None:
            raise UserError(f"{self.folder}/bodies lacks {digest}, or it was changed; get the whole bundle again")
        return body

    def evidence_bytes(self) -> bytes:
        return self._bytes("evidence.jsonl")

    def _bytes(self, name: str) -> bytes:
        try:
            return codec.plain_bytes(self.folder / name)
        except OSError as error:
            raise UserError(f"cannot read {self.folder / name}: {error.strerror}; get the whole bundle again") from None

    def _read(self, name: str, kind: type[T]) -> tuple[T, ...]:
        where = self.folder / name
        return tuple(
            codec.from_json(kind, line, where=f"{where}:{n}") for n, line in enumerate(self._bytes(name).splitlines(), 1)
        )
