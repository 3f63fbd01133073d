"""What every format says of where an article comes from: the notice, and how a source is linked, named and quoted."""

from __future__ import annotations

import re
from datetime import date
from urllib.parse import quote, urlsplit

from data.pages.page_urls import registrable_domain
from data.types import Article

NOTICE = (
    "It was written from the web pages listed below and may be wrong or incomplete: "
    "a person must check every statement against its source before it is used."
)
_HASH = re.compile(r"\A[0-9a-f]{16}-(?=.)")
"""Before the name of a file that was uploaded."""


def notice_of(article: Article) -> str:
    """What follows the words "Machine-written draft.": that it must be checked, and how thin its evidence is."""
    return f"{NOTICE} {one_line(article.notice)}".rstrip()


QUOTE_LENGTH = 280
"""Characters of a passage that a reference list repeats: enough to find the place, little enough to be a quotation."""

_AUTHORITY = re.compile(r"(?:[\w-][\w.-]*|\[[0-9A-Fa-f:.]+\])(?::\d*)?")  # no user name: `https://paper.org@evil.org/`
_SAFE = "%/:?#@!$&()*+,;=-._~"


def web_link(url: str) -> str | None:
    """`url` as it may be in a link, or None where it is no plain http(s) address: a page's address is not ours to trust.

    After the host, everything outside the plain URL characters is percent-encoded, so quotes, brackets, pipes and spaces
    cannot end an attribute, a wiki link or a template value.
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not _AUTHORITY.fullmatch(parts.netloc):
        return None
    query = f"?{parts.query}" if parts.query else ""
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{parts.scheme}://{parts.netloc}{quote(parts.path + query + fragment, safe=_SAFE)}"


def host_of(url: str) -> str:
    """The host a link leads to, without `www.`; "" where `url` may not be a link."""
    link = web_link(url)
    host = (urlsplit(link).hostname or "") if link else ""
    return host.removeprefix("www.")


def file_of(url: str) -> str:
    """The name of a page that was a file, as a person gave it; "" for any other. What was uploaded has its hash before it."""
    name = url.removeprefix("file:").rpartition("/")[2] if url.startswith("file:") else ""
    return _HASH.sub("", name)


def name_of(title: str, url: str, k: int) -> str:
    """What source number `k` is called."""
    return title or host_of(url) or file_of(url) or f"Source {k}"


def publisher_of(url: str, site: str = "") -> str:
    """Who answers for a page, so that pages of one publisher can be told from those of several: the domain of its address, of a
    file the site that its page names, else the file itself. `site` is what the page says of itself."""
    return registrable_domain(url) or host_of(url) or " ".join(site.lower().split()) or url


def day_of(published: str | None) -> date | None:
    """The day of an ISO date or time stamp; None where there is none or it is written otherwise."""
    try:
        return date.fromisoformat((published or "")[:10])
    except ValueError:
        return None


_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def one_line(text: str) -> str:
    """`text` on one line, without what steers a terminal or turns the direction of the words around it."""
    return " ".join(_CONTROLS.sub("", " ".join(text.split())).split())


def shortened(text: str, length: int = QUOTE_LENGTH) -> str:
    """`text` on one line, cut after a whole word with an ellipsis where it is longer than `length` characters."""
    line = one_line(text)
    if len(line) <= length:
        return line
    cut = line[: length - 1]
    words, _, _ = cut.rpartition(" ")
    return (words or cut).rstrip(" ,;:–—-") + "…"
