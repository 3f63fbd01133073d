"""Brave's web search API (`GET /res/v1/web/search`): 20 results a page, 10 pages; asks for one request a second."""

from __future__ import annotations

from datetime import date
from typing import Any

from pipeline.web.search.asking import Timeouts, ask_json, key_from, keyed
from pipeline.web.search.paging import search_pages
from pipeline.web.search.provider import SearchHit, entries_of, hits_of

KEY_VARIABLE = "BRAVE_API_KEY"
PAGE_SIZE = 20
PAGES = 10
_OWN_CODES = {"ja": "jp", "zh": "zh-hans", "pt": "pt-pt"}
"""Languages whose code at Brave is not that of ISO 639-1."""
_FIRST_DAY = date(1970, 1, 1)
_LAST_DAY = date(2100, 1, 1)


class BraveProvider:
    """Raises UserError at construction when BRAVE_API_KEY is not set."""

    name = "brave"

    def __init__(self, base_url: str = "https://api.search.brave.com", *, timeouts: Timeouts | None = None) -> None:
        key = key_from(KEY_VARIABLE, self.name)
        self._url = base_url.rstrip("/") + "/res/v1/web/search"
        self._service = keyed(self.name, KEY_VARIABLE, key, {"X-Subscription-Token": key}, timeouts or Timeouts())

    def search(
        self, query: str, *, max_results: int, since: date | None = None, until: date | None = None, language: str | None = None
    ) -> list[SearchHit]:
        params = {"q": query, "count": str(min(max_results, PAGE_SIZE)), "text_decorations": "false", "spellcheck": "false"}
        if since or until:
            params["freshness"] = f"{since or _FIRST_DAY}to{until or _LAST_DAY}"
        if language:
            params["search_lang"] = _OWN_CODES.get(language, language)

        def page(n: int) -> tuple[list[SearchHit], bool]:
            answer = ask_json(self._service, "GET", self._url, params={**params, "offset": str(n)})
            hits = hits_of(
                entries_of(answer, "web", "results", required=False),
                provider=self.name,
                query=query,
                url="url",
                title="title",
                snippet=("description", "extra_snippets"),
                published="page_age",
            )
            return hits, _has_more(answer)

        return search_pages(page, max_results, most_pages=PAGES)


def _has_more(answer: dict[str, Any]) -> bool:
    query = answer.get("query")
    return isinstance(query, dict) and query.get("more_results_available") is True
