"""The package ddgs, which reads the result pages of public search engines and needs no key.

It has its own HTTP client, follows the proxy variables of the environment, and says neither refusals nor rate limits from
"nothing found". Engines are named always: left to itself it asks two encyclopedias first, and so it does when none of the
names is known to it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

from data.errors import MissingExtra, UserError
from pipeline.web.search.provider import SearchFailed, SearchHit, hits_of, recent_span

ENGINES = ("duckduckgo", "brave", "mojeek", "yahoo", "startpage")
_REGIONS = {
    "en": "us-en", "de": "de-de", "fr": "fr-fr", "es": "es-es", "it": "it-it", "pt": "br-pt", "nl": "nl-nl", "pl": "pl-pl",
    "sv": "se-sv", "da": "dk-da", "no": "no-no", "fi": "fi-fi", "cs": "cz-cs", "hu": "hu-hu", "ro": "ro-ro", "el": "gr-el",
    "ru": "ru-ru", "uk": "ua-uk", "tr": "tr-tr", "ja": "jp-jp", "ko": "kr-kr", "zh": "cn-zh",
}  # fmt: skip
_EVERYWHERE = "wt-wt"
_NOTHING = "No results found."


class DdgsProvider:
    """Raises MissingExtra at construction when the package is not installed, UserError when it knows none of `engines`."""

    name = "ddgs"

    def __init__(
        self, *, engines: tuple[str, ...] = ENGINES, timeout_s: int = 10, today: Callable[[], date] = date.today
    ) -> None:
        try:
            from ddgs.engines import ENGINES as known
        except ModuleNotFoundError:
            raise MissingExtra("ddgs", "ddgs", "the search provider 'ddgs'") from None
        self._engines = tuple(name for name in engines if name in known["text"])
        if not self._engines:
            raise UserError(
                f"the installed ddgs knows none of {', '.join(engines)}; run: pip install --upgrade 'wikigenben[ddgs]'"
            )
        self._timeout_s = timeout_s
        self._today = today

    def search(
        self, query: str, *, max_results: int, since: date | None = None, until: date | None = None, language: str | None = None
    ) -> list[SearchHit]:
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

        span = recent_span(since, until, self._today())
        try:
            found: list[dict[str, Any]] = DDGS(timeout=self._timeout_s).text(
                query,
                region=_REGIONS.get(language or "en", _EVERYWHERE),
                timelimit=span[0] if span else None,
                max_results=max_results,
                backend=",".join(self._engines),
            )
        except RatelimitException:
            raise SearchFailed("ddgs: the engines ask to slow down", passing=True) from None
        except TimeoutException:
            raise SearchFailed(f"ddgs: no answer within {self._timeout_s} s", passing=True) from None
        except DDGSException as error:
            if str(error) == _NOTHING:
                raise SearchFailed("ddgs: nothing found, or refused: the package does not tell which") from None
            raise SearchFailed("ddgs: the engines did not answer", passing=True) from None
        entries = [entry for entry in found[:max_results] if isinstance(entry, dict)]
        return hits_of(entries, provider=self.name, query=query, url="href", title="title", snippet="body")
