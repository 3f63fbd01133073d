"""Tavily (`POST /search`): at most 20 results, no pages and no filter by language. Its answers are a model's, not evidence."""

from __future__ import annotations

from datetime import date

from pipeline.web.search.asking import Timeouts, ask_json, key_from, keyed
from pipeline.web.search.paging import search_pages
from pipeline.web.search.provider import SearchHit, entries_of, hits_of

KEY_VARIABLE = "TAVILY_API_KEY"
PAGE_SIZE = 20


class TavilyProvider:
    """Raises UserError at construction when TAVILY_API_KEY is not set."""

    name = "tavily"

    def __init__(self, base_url: str = "https://api.tavily.com", *, timeouts: Timeouts | None = None) -> None:
        key = key_from(KEY_VARIABLE, self.name)
        self._url = base_url.rstrip("/") + "/search"
        self._service = keyed(self.name, KEY_VARIABLE, key, {"Authorization": f"Bearer {key}"}, timeouts or Timeouts())

    def search(
        self, query: str, *, max_results: int, since: date | None = None, until: date | None = None, language: str | None = None
    ) -> list[SearchHit]:
        body: dict[str, object] = {
            "query": query,
            "search_depth": "basic",
            "max_results": min(max_results, PAGE_SIZE),
            "include_answer": False,
            "include_raw_content": False,
        }
        if since:
            body["start_date"] = since.isoformat()
        if until:
            body["end_date"] = until.isoformat()

        def page(_: int) -> tuple[list[SearchHit], bool]:
            answer = ask_json(self._service, "POST", self._url, body=body)
            hits = hits_of(
                entries_of(answer, "results", required=True),
                provider=self.name,
                query=query,
                url="url",
                title="title",
                snippet="content",
                published="published_date",
            )
            return hits, False

        return search_pages(page, max_results, most_pages=1)
