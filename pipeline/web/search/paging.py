"""As many result pages as are needed for the number of results asked for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from pipeline.web.search.provider import SearchFailed, SearchHit

logger = logging.getLogger(__name__)

Page = Callable[[int], tuple[list[SearchHit], bool]]
"""Number of the page from 0 -> its results, and whether there may be more."""


def search_pages(page: Page, max_results: int, *, most_pages: int) -> list[SearchHit]:
    """The first `max_results` distinct addresses; a page that fails after the first one ends the list without error."""
    found: dict[str, SearchHit] = {}
    for n in range(most_pages):
        try:
            hits, more = page(n)
        except SearchFailed as error:
            if n == 0:
                raise
            logger.warning("search: %s; only %d pages of results are used", error.reason, n)
            break  # earlier hits are worth keeping, and the next query shows whether the provider still answers
        n_before = len(found)
        for hit in hits:
            found.setdefault(hit.url, hit)
        if not more or len(found) >= max_results or len(found) == n_before:
            break
    return [replace(hit, rank=rank) for rank, hit in enumerate(list(found.values())[:max_results], 1)]
