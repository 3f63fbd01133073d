"""When a page was published, and who says so. No date is better than a wrong one: the text of a page is never searched.

The sources in their order: JSON-LD, meta elements, `<time>`, the address, the search provider. Forms that can be read in
two ways (03/04/2023) give no date.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Literal, TypeVar
from urllib.parse import urlsplit

from data.errors import UserError
from data.pages.cleaning import Extracted
from data.types import Page
from pipeline.reading.embedded.jsonld import Node, entries_of, text_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

P = TypeVar("P", Extracted, Page)
PublishedSource = Literal["jsonld", "meta", "time", "url", "provider", "pdf", ""]
Candidate = tuple[PublishedSource, str]

_YEARS = range(1800, 2201)
"""Archives of newspapers go back so far; other years are mistakes of the page's software."""


@dataclass(frozen=True, slots=True)
class Dates:
    """`day` (YYYY-MM-DD, in the page's own zone), `timestamp` (ISO 8601, "" where only a day is given), and their source."""

    day: str = ""
    timestamp: str = ""
    source: PublishedSource = ""
    modified: str = ""


def find_dates(
    tree: HtmlElement | None, node: Node, *, url: str, provider_date: str = "", pdf_date: str = "", latest: str | None = None
) -> Dates:
    """The first source that has a date, not after `latest` (YYYY-MM-DD). `node` is the page's own in its JSON-LD."""
    entries = [entry.at for entry in entries_of(node) if entry.at]
    published: list[Candidate] = [("jsonld", text_of(node, key)) for key in ("datePublished", "coverageStartTime")]
    published += [("jsonld", min(entries))] if entries else []
    # the newest entry is newer than what a live page says of itself
    modified = [max([text_of(node, "dateModified"), *entries])]
    if tree is not None:
        meta = _metas(tree)
        published += [("meta", meta[name]) for name in _PUBLISHED if name in meta]
        published += [("time", value) for value in _times(tree)]
        modified += [meta[name] for name in _MODIFIED if name in meta]
        modified += _updates(tree)
    published += [("url", _url_date(url)), ("provider", provider_date), ("pdf", pdf_date)]
    found = _first(published, latest)
    changed = _first((("", value) for value in modified), latest)
    return replace(found, modified=changed.timestamp or changed.day)


def judge_dates(pages: Sequence[P], as_of: str, strict: bool) -> tuple[P, ...]:
    """The pages in their order; those published after `as_of` (YYYY-MM-DD, "" for no cut-off) are dropped `after_cutoff`.

    Those without a date stay, unless `strict`: then they are dropped `undated`. Pages dropped before keep their reason.
    Raises UserError for a cut-off that is not a day.
    """
    if not as_of:
        return tuple(pages)
    try:
        last = date.fromisoformat(as_of)
    except ValueError:
        raise UserError(f"the cut-off {as_of!r} is not a day; write it as --set web.as_of=2024-06-30") from None
    return tuple(_judged(page, last, strict) for page in pages)


def _judged(page: P, last: date, strict: bool) -> P:
    if page.drop_reason is not None:
        return page
    moment = read_moment(page.published or "")
    if moment is None:
        return replace(page, drop_reason="undated", drop_detail=f"no date, and the cut-off is {last}") if strict else page
    if moment.day > last:
        return replace(page, drop_reason="after_cutoff", drop_detail=f"published {moment.day}, the cut-off is {last}")
    return page


# --- reading one date --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Moment:
    """A day, and the time where it was given."""

    day: date
    time: datetime | None = None

    def is_after(self, latest: str) -> bool:
        """Whether it lies after the day `latest`, which is one somewhere on Earth: zones count in the page's favour."""
        day = self.time.astimezone(UTC).date() if self.time is not None and self.time.tzinfo is not None else self.day
        return min(day, self.day) > date.fromisoformat(latest)


_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:$|[T\s]\s*(.*)$)")
_SLASHED = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})(?:$|\s)")
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:$|T\d)")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_MONTHS = {name: n for n, name in enumerate(re.findall("[a-z]{3}", _MONTH), 1)}
_DAY_MONTH = re.compile(rf"(?:[a-z]+,?\s+)?(\d{{1,2}})(?:st|nd|rd|th)?\s+{_MONTH},?\s+(\d{{4}})\b", re.I)
_MONTH_DAY = re.compile(rf"(?:[a-z]+,?\s+)?{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b", re.I)
_ZONE = re.compile(r"\s*(?:UTC|GMT|Z)$", re.I)


def read_moment(text: str) -> Moment | None:
    """ISO 8601, RFC 5322 and days with the English name of the month. None for all else, and for days that do not exist."""
    text = text.strip()[:80]
    if iso := _ISO.match(text):
        day = _day(*iso.groups()[:3])
        clock = _ZONE.sub("+00:00", re.sub(r"\s+(?=[+-]\d)", "", iso[4] or ""))
        try:
            return Moment(day, datetime.fromisoformat(f"{day}T{clock}")) if day and clock else Moment(day) if day else None
        except ValueError:
            return Moment(day) if day else None
    for pattern in (_SLASHED, _COMPACT):
        if found := pattern.match(text):
            day = _day(*found.groups())
            return Moment(day) if day else None
    try:
        moment = parsedate_to_datetime(text)
        return Moment(moment.date(), moment) if _plausible(moment.date()) else None
    except (ValueError, IndexError, TypeError, OverflowError):
        pass
    if found := _DAY_MONTH.match(text):
        day = _day(found[3], str(_MONTHS[found[2].lower()]), found[1])
    elif found := _MONTH_DAY.match(text):
        day = _day(found[3], str(_MONTHS[found[1].lower()]), found[2])
    else:
        return None
    return Moment(day) if day else None


def said_time(at: str) -> str:
    """ "2031-05-04T14:05:00+02:00" as the page's readers see it: "4 May 2031, 14:05"; "" for what is no time."""
    moment = read_moment(at)
    if moment is None:
        return ""
    day = f"{moment.day.day} {calendar.month_name[moment.day.month]} {moment.day.year}"
    if moment.time is None:
        return day
    zone = " UTC" if moment.time.utcoffset() == timedelta(0) else ""
    return f"{day}, {moment.time:%H:%M}{zone}"


def _day(year: str, month: str, day: str) -> date | None:
    try:
        found = date(int(year), int(month), int(day))
    except ValueError:
        return None
    return found if _plausible(found) else None


def _plausible(day: date) -> bool:
    return day.year in _YEARS and day != date(1970, 1, 1)  # the zero of Unix clocks means "no date"


def _first(candidates: Iterable[Candidate], latest: str | None) -> Dates:
    for source, text in candidates:
        moment = read_moment(text) if text else None
        if moment is not None and not (latest and moment.is_after(latest)):
            return Dates(moment.day.isoformat(), moment.time.isoformat() if moment.time else "", source)
    return Dates()


# --- where pages write it ------------------------------------------------------------------------------------------------

_PUBLISHED = (
    "article:published_time", "og:article:published_time", "og:published_time", "datepublished", "article:published",
    "article.published", "publication_date", "publication-date", "publicationdate", "publish_date", "publish-date",
    "publishdate", "published_date", "published-date", "pubdate", "parsely-pub-date", "sailthru.date",
    "cxenseparse:recs:publishtime", "citation_publication_date", "citation_online_date", "dc.date.issued", "dcterms.issued",
    "dc.date.created", "dcterms.created", "article_date_original", "originalpublicationdate", "dc.date", "dcterms.date", "date",
)  # fmt: skip
_MODIFIED = ("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "dc.date.modified", "lastmod")


def _metas(tree: HtmlElement) -> dict[str, str]:
    """Values of meta elements by property, name or itemprop, lower-cased; the first of each that has one."""
    found: dict[str, str] = {}
    for element in tree.iter("meta"):
        value = str(element.get("content") or "").strip()
        for attribute in ("property", "name", "itemprop"):
            if value and (name := element.get(attribute)):
                found.setdefault(str(name).strip().lower(), value)
    return found


_ASIDE = re.compile(r"comment|related|teaser|recommend|sidebar|popular", re.I)
_MARKED = re.compile(r"publi|entry-date|posted", re.I)
_CHANGED = re.compile(r"updat|modif", re.I)
_PROSE_WORDS = 12


def _times(tree: HtmlElement) -> Iterator[str]:
    """The day of the page's `<time>` elements: those marked as its publication, else those with a class that says so, else all.

    Not counted are those in comments and teasers, those of an update and those in a sentence, which report an event. Where
    the rest disagree, the page lists several articles, and none of the days is its own.
    """
    elements = [e for e in tree.xpath("//time | //*[@itemprop and not(self::meta)]") if not is_aside(e)]
    tiers = (
        [e for e in elements if e.get("pubdate") is not None or "datePublished" in str(e.get("itemprop") or "")],
        [e for e in elements if e.tag == "time" and _MARKED.search(str(e.get("class") or ""))],
        [e for e in elements if e.tag == "time" and e.get("datetime") and not _is_of_an_event(e)],
    )
    for tier in tiers:
        values = [str(e.get("datetime") or e.get("content") or e.text_content()).strip() for e in tier]
        days = {moment.day for value in values if (moment := read_moment(value)) is not None}
        if len(days) == 1:
            yield from values
        if days:
            return


def _updates(tree: HtmlElement) -> list[str]:
    """The day of "updated" beside the page's text, if there is one."""
    marked = (e for e in tree.xpath("//time[@datetime] | //*[contains(@itemprop, 'dateModified') and not(self::meta)]"))
    values = [
        str(e.get("datetime") or e.get("content") or e.text_content()).strip()
        for e in marked
        if _CHANGED.search(f"{e.get('class') or ''} {e.get('itemprop') or ''}") and not is_aside(e)
    ]
    return values if len({moment.day for value in values if (moment := read_moment(value))}) == 1 else []


def _is_of_an_event(element: HtmlElement) -> bool:
    parent = element.getparent()
    words = str(parent.text_content()).split() if parent is not None and parent.tag != "body" else []
    changed = _CHANGED.search(f"{element.get('class') or ''} {element.get('itemprop') or ''}")
    return changed is not None or (parent is not None and parent.tag in ("p", "li", "td") and len(words) > _PROSE_WORDS)


def is_aside(element: HtmlElement) -> bool:
    """Whether an element belongs to comments, teasers or what else is beside the page's text."""
    return any(
        above.tag in ("aside", "nav", "footer") or _ASIDE.search(f"{above.get('class') or ''} {above.get('id') or ''}")
        for above in element.iterancestors()
        if isinstance(above.tag, str) and above.tag not in ("body", "html")
    )


_IN_PATH = re.compile(
    rf"/(\d{{4}})/(?:(\d{{1,2}})|{_MONTH})/(\d{{1,2}})(?=/|$)|/(\d{{4}})-(\d\d)-(\d\d)(?=[/-]|$)|/(\d{{4}})(\d\d)(\d\d)(?=/|$)",
    re.I,
)


def _url_date(url: str) -> str:
    """The day in an address such as /2031/05/04/title, /2031/may/04/title, /2031-05-04-title or /20310504/title."""
    try:
        found = _IN_PATH.search(urlsplit(url).path)
    except ValueError:
        return ""
    if found is None:
        return ""
    a, b, name, c, *others = found.groups()
    year, month, day = (a, b or str(_MONTHS[name.lower()]), c) if a else [part for part in others if part]
    return f"{year}-{month:0>2}-{day:0>2}" if int(year) >= 1990 else ""
