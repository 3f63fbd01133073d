"""The values that flow through the project, all frozen: RawPage -> Page -> Passage -> Outline -> Section -> Article.

Nothing here knows the human article; that is `data.gold`, which `pipeline/` may not import. Citations are passage ids;
the numbers `[1]`, `[2]` exist only in rendered text (`data.markup`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

Origin = Literal["search", "cited", "url"]
"""Where a page came from: found by a search for the title, cited by the human article, or named by the user."""

Track = Literal["search", "cited", "both"]
"""Which evidence a system may see. `search` is the headline track."""

DropReason = Literal[
    "scheme", "host_rule", "port", "ip_blocked", "dns", "unreachable", "robots", "rate_limited", "timeout",
    "too_many_redirects", "tls", "http_4xx", "http_5xx", "budget",
    "bad_type", "too_large", "bad_charset", "extract_none", "extract_timeout",
    "too_short", "blocked", "consent", "login", "js_required", "soft_404", "index_page", "social",
    "language", "after_cutoff", "undated", "leak_host", "leak_text", "duplicate",
]  # fmt: skip
"""Why a page is not used, a closed list: what kept it from being fetched, what its bytes are, what its text says.
`unreachable` is a refused or broken connection; `budget` a page that the run had no time or number left for."""

PageFlag = Literal["bare", "suspicious", "leak_flag", "no_date", "hidden_text", "scan_text", "long_table"]
"""Facts about a page that is kept: `bare` text is lower-cased without punctuation, `suspicious` text addresses a model, of a
`long_table` not all rows are read."""


class Strict:
    """Mix-in: when read from JSON, an unknown key is an error (see `data.codec`).

    Fields named in `omitted_if_empty` are written only when they hold something. So a kind of value may get a new optional
    field, and values stored or digested without it keep their bytes.
    """

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}
    omitted_if_empty: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        schema, names = handler(source), cls.omitted_if_empty
        if names:
            from pydantic_core.core_schema import wrap_serializer_function_ser_schema

            schema["serialization"] = wrap_serializer_function_ser_schema(
                lambda value, dump: {key: plain for key, plain in dump(value).items() if plain or key not in names}
            )
        return schema

    @classmethod
    def upgraded(cls, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """Today's form of a JSON object that an earlier version stored: `codec` asks for it when it cannot read the object.
        May raise LookupError, TypeError or ValueError for any other."""
        return plain


_RETRIEVAL = frozenset({"retrieved_at", "archive_url", "archive_date", "author", "site"})


@dataclass(frozen=True, slots=True)
class Event(Strict):
    """All that a writer may know at the start."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class RawPage(Strict):
    """A page as it was found: HTML or text, nothing removed."""

    url: str
    title: str
    body: str
    media: Literal["html", "text"]
    origin: Origin


@dataclass(frozen=True, slots=True)
class Page(Strict):
    """A page after extraction and cleaning, kept or dropped.

    `text` is shown to models, and citations point into it: one block (paragraph or list line) a line.
    A dropped page keeps its text, so that the reason can be checked; `duplicate_of` is the index of the page kept instead.
    A page of the live web has `retrieved_at` (ISO 8601), one that was gone also its capture's `archive_url` and
    `archive_date` (YYYY-MM-DD); `author` and `site` are what the page itself says of them. `rows_left` counts rows of its
    tables that were not read.
    """

    omitted_if_empty: ClassVar[frozenset[str]] = _RETRIEVAL | {"rows_left"}

    url: str
    title: str
    text: str
    origin: Origin
    published: str | None = None
    language: str = "en"
    flags: tuple[PageFlag, ...] = ()
    drop_reason: DropReason | None = None
    drop_detail: str = ""
    duplicate_of: int | None = None
    retrieved_at: str = ""
    archive_url: str = ""
    archive_date: str = ""
    author: str = ""
    site: str = ""
    rows_left: int = 0

    @property
    def usable(self) -> bool:
        return self.drop_reason is None


@dataclass(frozen=True, slots=True)
class Passage(Strict):
    """A run of whole sentences of one page. Invariant: `text == pages[page].text[start:end]`, offsets in characters."""

    page: int
    start: int
    end: int
    text: str

    @property
    def id(self) -> str:
        return f"{self.page}:{self.start}-{self.end}"


@dataclass(frozen=True, slots=True)
class Hit(Strict):
    """A passage found for a query; `rank` counts from 1, `score` is comparable within one query only."""

    passage: Passage
    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class Heading(Strict):
    """A section heading; level 2 is `==Heading==`, level 3 `===Heading===`."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Outline(Strict):
    """The planned headings of an article, without its title and lead."""

    title: str
    headings: tuple[Heading, ...]


@dataclass(frozen=True, slots=True)
class Sentence(Strict):
    """One sentence without markers. `cites` are passage ids; `unsupported` is set when checking found no evidence."""

    text: str
    cites: tuple[str, ...]
    unsupported: bool = False


Paragraph = tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Section(Strict):
    heading: Heading
    paragraphs: tuple[Paragraph, ...]

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        return tuple(sentence for paragraph in self.paragraphs for sentence in paragraph)


@dataclass(frozen=True, slots=True)
class Fact(Strict):
    """One row of the infobox."""

    label: str
    value: str
    cites: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source(Strict):
    """A cited passage with what a reader needs to check it: an article file can be read alone.

    An empty passage says that the text is not known (`is_unknown`). What follows `published` is the page's.
    """

    omitted_if_empty: ClassVar[frozenset[str]] = _RETRIEVAL

    passage: Passage
    url: str
    title: str
    published: str | None
    retrieved_at: str = ""
    archive_url: str = ""
    archive_date: str = ""
    author: str = ""
    site: str = ""

    @property
    def id(self) -> str:
        return self.passage.id


def is_unknown(source: Source) -> bool:
    """Whether nobody knows the text of this source: it is named, with an address perhaps, and its passage is empty.

    So an article made elsewhere cites a page that could not be fetched. A citation that names no source
    (`data.markup.is_invalid`) is another thing: that one is wrong, and this one may be right.
    """
    return not source.passage.text.strip()


RepairKind = Literal[
    "marker_dropped", "citation_attached", "sentence_removed", "sentence_marked", "section_removed", "outline_filled",
    "sentence_replaced", "sentence_added",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Repair(Strict):
    """One thing changed after the model wrote: which section, what text, and why."""

    kind: RepairKind
    section: str
    text: str
    detail: str


@dataclass(frozen=True, slots=True)
class Article(Strict):
    """A finished article. `sources[k - 1]` is what `[k]` means; sources are in order of first use, or, where an article was
    updated, keep the numbers that they had. `notice` says what a reader must know of thin or one-sided evidence."""

    event_id: str
    title: str
    lead: Section
    sections: tuple[Section, ...]
    infobox: tuple[Fact, ...]
    sources: tuple[Source, ...]
    repairs: tuple[Repair, ...] = ()
    notice: str = ""

    @property
    def all_sections(self) -> tuple[Section, ...]:
        return (self.lead, *self.sections)
