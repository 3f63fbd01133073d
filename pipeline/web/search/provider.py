"""What a search engine is to this project: a query goes in, addresses with their titles and snippets come out.

Snippets serve ranking only; what an article may cite comes from a page that was fetched and stored. Everything that a
provider returns was written by strangers: `hits_of` cleans it, and nothing of it is believed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal, Protocol

from data.errors import WikigenError
from data.pages.cleaning import clean_title
from data.types import Strict

MAX_QUERY_CHARS = 380
"""Brave and Tavily refuse queries of more than 400."""
MAX_QUERY_WORDS = 50
"""Brave refuses more."""

_MAX_URL = 2_049
"""One more than any address may have (RFC 9110 asks for 8,000 octets, sitemaps allow 2,048): a longer one stays too long."""
_MAX_PUBLISHED = 100


@dataclass(frozen=True, slots=True)
class SearchHit(Strict):
    """An address that a provider gave for a query; `rank` counts from 1.

    `published` is the provider's own wording, often free text ("3 days ago"), and no date to build upon.
    """

    url: str
    title: str
    snippet: str
    published: str | None
    rank: int
    provider: str
    query: str


class SearchFailed(WikigenError):
    """A provider did not answer one query. `passing` when the same request may succeed soon (429, 5xx, a broken connection);
    `retry_after_s` is how long the provider asks to wait, None when it does not say."""

    def __init__(self, reason: str, *, passing: bool = False, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing
        self.retry_after_s = retry_after_s


class Provider(Protocol):
    @property
    def name(self) -> str: ...

    def search(
        self, query: str, *, max_results: int, since: date | None = None, until: date | None = None, language: str | None = None
    ) -> list[SearchHit]:
        """The best `max_results` addresses or fewer; an empty list when there are none, which is no error. `query` is as
        `plain_query` makes it.

        `since` and `until` (both inclusive) and `language` (ISO 639-1) are wishes: engines without such a filter ignore them.

        Raises:
            SearchFailed: there is no usable answer.
        """
        ...


def _hit_of(entry: Mapping[str, Any], rank: int, *, provider: str, query: str, **names: str | tuple[str, ...]) -> SearchHit:
    def text(part: str) -> str:
        keys = names.get(part, ())
        if isinstance(keys, str):
            return value if isinstance(value := entry.get(keys), str) else ""
        lists = [value if isinstance(value, list) else [value] for value in map(entry.get, keys)]
        return " ".join(one for several in lists for one in several if isinstance(one, str))

    return SearchHit(
        url=storable(text("url").strip())[:_MAX_URL],
        title=_one_line(text("title")),
        snippet=_one_line(text("snippet")),
        published=_one_line(text("published"))[:_MAX_PUBLISHED] or None,
        rank=rank,
        provider=provider,
        query=query,
    )


def hits_of(
    entries: Iterable[Mapping[str, Any]], *, provider: str, query: str, **names: str | tuple[str, ...]
) -> list[SearchHit]:
    """Results as a provider lists them, ranked from 1. `names` maps `url`, `title`, `snippet` and `published` to a key, or to
    several, whose texts and lists of texts are joined. Values of a wrong type count as absent."""
    return [_hit_of(entry, rank, provider=provider, query=query, **names) for rank, entry in enumerate(entries, 1)]


def _one_line(text: str) -> str:
    return clean_title(html.unescape(text[:20_000]))  # unescaped first: what it hides is then cleaned as well


def storable(url: str) -> str:
    """Half a surrogate pair cannot be written to a file; with a backslash in its place no address is admitted."""
    return url.encode("utf-8", "backslashreplace").decode("utf-8")


def entries_of(answer: Mapping[str, Any], *path: str, required: bool) -> list[Mapping[str, Any]]:
    """The list of objects under `path`. Raises SearchFailed when something else is there, or nothing and it is required."""
    value: Any = answer
    for key in path:
        if value is None and not required:
            break
        if not isinstance(value, Mapping):
            raise SearchFailed(f"the answer has no list {'.'.join(path)}")
        value = value.get(key)
    if value is None and not required:
        return []
    if not isinstance(value, list):
        raise SearchFailed(f"the answer has no list {'.'.join(path)}")
    return [entry for entry in value if isinstance(entry, Mapping)]


_OPERATOR = re.compile(
    r"\b(?:site|inurl|intitle|intext|inbody|allin\w+|filetype|ext|lang(?:uage)?|loc(?:ation)?|cache|related|link|before|after):",
    re.IGNORECASE,
)
_SIGN = re.compile(r"(?<!\S)[!?:+~@#/\\|-]+(?=\w)")


def plain_query(text: str) -> str:
    """`text` as words to look for: quotes, brackets and the operators of search engines lose their meaning.

    Queries are partly made of words from pages, and some engines obey them: `site:` limits the search, and `!!g` makes a
    SearXNG instance redirect to another engine. Cut at a word to what every provider takes.
    """
    text = re.sub(r"[\"“”„«»()\[\]{}<>\s\x00-\x1f]+", " ", clean_title(text))
    words = _SIGN.sub("", _OPERATOR.sub(lambda found: found.group()[:-1] + " ", text)).split()
    while len(cut := " ".join(words[:MAX_QUERY_WORDS])) > MAX_QUERY_CHARS and len(words) > 1:
        words = words[:MAX_QUERY_WORDS][:-1]
    return cut[:MAX_QUERY_CHARS]


Recent = Literal["day", "week", "month", "year"]
_SPANS: tuple[tuple[Recent, int], ...] = (("day", 1), ("week", 7), ("month", 30), ("year", 365))


def recent_span(since: date | None, until: date | None, today: date) -> Recent | None:
    """The shortest span up to today that covers the wish, for engines that know no other; None when none does."""
    if since is None or (until is not None and until < today):
        return None
    return next((name for name, days in _SPANS if since >= today - timedelta(days=days)), None)
