"""A SearXNG instance of one's own (`GET /search?format=json`), at the address in WIKIGEN_SEARXNG_URL.

That address may be private: it comes from the user and from nobody else, and exactly it is asked. The instance must
allow JSON: `search: formats: [html, json]` in its settings.yml.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from data.errors import UserError
from data.pages.cleaning import clean_title
from pipeline.web.search.asking import Service, Timeouts, ask_json, key_from
from pipeline.web.search.paging import search_pages
from pipeline.web.search.provider import SearchFailed, SearchHit, entries_of, hits_of, recent_span

logger = logging.getLogger(__name__)

URL_VARIABLE = "WIKIGEN_SEARXNG_URL"
PAGES = 5
_HINTS = {
    403: "is JSON among its search.formats in settings.yml?",
    429: "its limiter is on: let it pass this machine (limiter.toml, pass_ip)",
}


class SearxngProvider:
    """Raises UserError at construction when the address is not set or no address. It may hold a password, so no error shows it.

    Filters by date only back from today (day, week, month, year), since SearXNG knows no other ranges; it then leaves out
    those of its engines that cannot filter.
    """

    name = "searxng"

    def __init__(self, base_url: str = "", *, timeouts: Timeouts | None = None, today: Callable[[], date] = date.today) -> None:
        base_url = base_url or key_from(URL_VARIABLE, self.name)
        parts = _checked(base_url)
        self._url = base_url.rstrip("/").removesuffix("/search") + "/search"
        secrets = (self._url, base_url, parts.netloc, *filter(None, (parts.hostname, parts.password)))
        self._service = Service(self.name, {}, secrets, _HINTS, timeouts or Timeouts())
        self._today = today

    def search(
        self, query: str, *, max_results: int, since: date | None = None, until: date | None = None, language: str | None = None
    ) -> list[SearchHit]:
        params = {"q": query, "format": "json", "categories": "general"}
        if language:
            params["language"] = language
        if span := recent_span(since, until, self._today()):
            params["time_range"] = span

        def page(n: int) -> tuple[list[SearchHit], bool]:
            answer = ask_json(self._service, "GET", self._url, params={**params, "pageno": str(n + 1)})
            hits = hits_of(
                entries_of(answer, "results", required=True),
                provider=self.name,
                query=query,
                url="url",
                title="title",
                snippet="content",
                published="publishedDate",
            )
            _note_silent_engines(answer, any_hits=bool(hits))
            return hits, bool(hits)

        return search_pages(page, max_results, most_pages=PAGES)


def _note_silent_engines(answer: dict[str, Any], *, any_hits: bool) -> None:
    """An empty list because the engines behind the instance were blocked is a failure, not an answer."""
    listed = answer.get("unresponsive_engines")
    silent = [
        clean_title(": ".join(part for part in entry if isinstance(part, str)))[:60]
        for entry in (listed if isinstance(listed, list) else [])[:20]
        if isinstance(entry, list)
    ]
    if not silent:
        return
    told = f"searxng: no answer from {', '.join(silent)}"
    if not any_hits:
        raise SearchFailed(told, passing=True)
    logger.info("%s", told)


def _checked(base_url: str) -> Any:
    wrong = UserError(f"{URL_VARIABLE} is not the address of a SearXNG instance; set one such as http://127.0.0.1:8080")
    try:
        parts = urlsplit(base_url)
        _ = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise wrong
    return parts
