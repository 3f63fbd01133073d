"""Addresses of pages: their hosts, the form in which two are the same, and lists of hosts."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

_TRACKING = re.compile(r"^(?:utm_.*|gclid|fbclid|mc_.*|igshid|ref_src|ref|cmpid|smid|ocid)$", re.I)


def host_of(url: str) -> str:
    try:
        host = (urlsplit(url).hostname or "").lower().rstrip(".")
    except ValueError:
        return ""
    return host.removeprefix("www.")


def path_of(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def canonical_url(url: str) -> str:
    """The address by which two links to one page are the same: without fragment, tracking, default port and `www.`."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return url.strip()
    if not parts.hostname:
        return url.strip()
    query = urlencode(sorted((k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if not _TRACKING.match(k)))
    where = host_of(url) + (f":{port}" if port not in (None, 80, 443) else "")
    return f"{where}{parts.path.rstrip('/')}" + (f"?{query}" if query else "")


def registrable_domain(url: str) -> str:
    """The part of the host that somebody registers (bbc.co.uk, name.github.io), by the Public Suffix List; "" without a host.

    An unknown suffix counts as one label. An address in numbers is its own domain.
    """
    host = host_of(url)
    if not host or ":" in host or host.replace(".", "").isdigit():
        return host
    from tld import get_fld

    known = get_fld(host, fix_protocol=True, fail_silently=True, search_private=True)
    return known or ".".join(host.split(".")[-2:])


def listed(url: str, file: str) -> str:
    """The name in `data/<file>` that covers the URL's host, or ""."""
    host = host_of(url)
    names = _host_list(file)
    labels = host.split(".")
    for at in range(len(labels)):
        name = ".".join(labels[at:])
        if name in names:
            return name
        if labels[at] + ".*" in names and 1 <= len(labels) - at - 1 <= 2:
            return labels[at] + ".*"
    return ""


@lru_cache(maxsize=8)
def _host_list(file: str) -> frozenset[str]:
    lines = (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines()
    return frozenset(line.split("#")[0].strip().lower() for line in lines) - {""}
