"""Serper (`POST /search`), which returns what Google shows. Its knowledge panels and answers are not evidence."""

from __future__ import annotations

from datetime import date

from pipeline.web.search.asking import Timeouts, ask_json, key_from, keyed
from pipeline.web.search.paging import search_pages
from pipeline.web.search.provider import SearchHit, entries_of, hits_of

KEY_VARIABLE = "SERPER_API_KEY"
PAGES = 5


class SerperProvider:
    """Raises UserError at construction when SERPER_API_KEY is not set."""

    name = "serper"

    def __init__(self, base_url: str = "https://google.serper.dev", *, timeouts: Timeouts | None = None) -> None:
        key = key_from(KEY_VARIABLE, self.name)
        self._url = base_url.rstrip("/") + "/search"
        self._service = keyed(self.name, KEY_VARIABLE, key, {"X-API-KEY": key}, timeouts or Timeouts())

    def search(
        self, query: str, *, max_results: int, since: date | None = None, until: date | None = None, language: str | None = None
    ) -> list[SearchHit]:
        body: dict[str, object] = {"q": query, "autocorrect": False}
        if since or until:
            first, last = (f"{day.month}/{day.day}/{day.year}" if day else "" for day in (since, until))
            body["tbs"] = f"cdr:1,cd_min:{first},cd_max:{last}"
        if language:
            body["hl"] = language

        def page(n: int) -> tuple[list[SearchHit], bool]:
            answer = ask_json(self._service, "POST", self._url, body={**body, "page": n + 1})
            hits = hits_of(
                entries_of(answer, "organic", required=False),
                provider=self.name,
                query=query,
                url="link",
                title="title",
                snippet="snippet",
                published="date",
            )
            return hits, bool(hits)

        return search_pages(page, max_results, most_pages=PAGES)
