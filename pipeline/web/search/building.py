"""Providers by name, as `web.search` names them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from data.errors import UserError
from pipeline.web.search.chain import ProviderChain
from pipeline.web.search.provider import Provider

NAMES = ("searxng", "brave", "serper", "tavily", "ddgs")


def build_provider(name: str, *, min_delay_s: float = 1.0, base_urls: Mapping[str, str] | None = None) -> ProviderChain:
    """The provider `name`, or several in order of preference ("brave,searxng"). `base_urls` replaces addresses by name.

    Raises:
        UserError: an unknown name, or a missing key or address in the environment, of the second choice too.
        MissingExtra: ddgs is asked for and not installed.
    """
    names = [part for part in (part.strip().lower() for part in name.split(",")) if part]
    if not names:
        raise UserError(f"web.search names no provider; choose among {', '.join(NAMES)}")
    if len(set(names)) < len(names):
        raise UserError(f"web.search = {name!r} names a provider twice; name each one once")
    return ProviderChain([_build(one, (base_urls or {}).get(one, "")) for one in names], min_delay_s=min_delay_s)


def _build(name: str, base_url: str) -> Provider:
    given = (base_url,) if base_url else ()
    match name:
        case "searxng":
            from pipeline.web.search.searxng import SearxngProvider

            return SearxngProvider(*given)
        case "brave":
            from pipeline.web.search.brave import BraveProvider

            return BraveProvider(*given)
        case "serper":
            from pipeline.web.search.serper import SerperProvider

            return SerperProvider(*given)
        case "tavily":
            from pipeline.web.search.tavily import TavilyProvider

            return TavilyProvider(*given)
        case "ddgs":
            from pipeline.web.search.ddgs import DdgsProvider

            return DdgsProvider()
    near = difflib.get_close_matches(name, NAMES, n=1)
    raise UserError(
        f"there is no search provider {name!r}{f'; did you mean {near[0]!r}?' if near else ''}; known: {', '.join(NAMES)}"
    )
