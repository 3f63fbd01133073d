"""Why a page was dropped, in words for a person."""

from __future__ import annotations

from collections.abc import Mapping

from data.types import DropReason

DROP_REASONS: Mapping[DropReason, str] = {
    "scheme": "not an address of the web",
    "host_rule": "an address that is not asked",
    "port": "a port that is not asked",
    "ip_blocked": "not on the public internet",
    "dns": "its host was not found",
    "unreachable": "no connection",
    "robots": "its site does not allow programs",
    "rate_limited": "its site asked for patience",
    "timeout": "no answer in time",
    "too_many_redirects": "sent on too often",
    "tls": "no trustworthy certificate",
    "http_4xx": "refused, or gone",
    "http_5xx": "its server failed",
    "budget": "the run had no time or number left for it",
    "bad_type": "not a page of text",
    "too_large": "too large",
    "bad_charset": "unreadable characters",
    "extract_none": "no article text was found on it",
    "extract_timeout": "reading its text took too long",
    "too_short": "too little text",
    "blocked": "access was blocked",
    "consent": "only a consent dialogue",
    "login": "behind a login",
    "js_required": "empty without JavaScript",
    "soft_404": "page not found",
    "index_page": "a list of links",
    "social": "a social media page",
    "language": "not in the language asked for",
    "after_cutoff": "published after the cut-off",
    "undated": "of unknown date",
    "leak_host": "an encyclopedia, or a mirror of one",
    "leak_text": "copies the encyclopedia article",
    "duplicate": "the same text as another page",
}


def dropped_in_words(reasons: Mapping[DropReason, int]) -> str:
    """Why pages were dropped, and how many each: "too little text (2); behind a login (1)"."""
    return "; ".join(f"{DROP_REASONS[reason]} ({n})" for reason, n in reasons.items())
