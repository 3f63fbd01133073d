"""Which addresses may be asked at all. Parsed once; the string that is requested is rebuilt from the parts.

Parsers disagree about odd spellings (`http://good.org\\@127.0.0.1/` is one host to the standard library and another to
urllib3), so odd spellings are refused instead of understood. What a host resolves to is not judged here: see `guard`.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from data.errors import UserError
from data.pages.page_urls import canonical_url as canonical
from data.types import DropReason, Strict

__all__ = ["Address", "Refused", "admit", "canonical", "exempt"]

MAX_LENGTH = 2_048
"""Characters, before and after quoting."""

DEFAULT_PORTS = {"http": 80, "https": 443}
SPECIAL_NAMES = (".local", ".localhost", ".internal", ".home.arpa", ".onion", ".test", ".example", ".invalid")
"""Names that the public DNS does not hold (RFC 6761, 6762, 7686, 8375; `.internal` by ICANN)."""

_SCHEME = re.compile(r"(https?)://", re.I)
_PARTS = re.compile(r"([^/?#]*)([^?#]*)(\?[^#]*)?", re.S)
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:]*)(?::(\d*))?", re.ASCII)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_IN_PATH = "!$&'()*+,;=:@/"
_IN_QUERY = _IN_PATH + "?"


class Refused(Exception):
    """An address is not asked, or gave nothing that may be used. `reason` is from the closed list of drop reasons."""

    def __init__(self, reason: DropReason, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Address(Strict):
    """One address of the web. `host` is ASCII (IDNA) and lower-case, an IPv6 literal in brackets; `target` path and query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> str:
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}"

    @property
    def url(self) -> str:
        """The requested string, character by character: requests and urllib3 change nothing about it."""
        return self.origin + self.target


def admit(url: str, *, allow_origins: frozenset[str] = frozenset()) -> Address:
    """The address, or `Refused` with `scheme`, `host_rule` or `port`.

    `allow_origins` (from `exempt`) names origins whose host and port are not judged; their spelling still is.
    """
    scheme = _SCHEME.match(url)
    if not scheme:
        raise Refused("scheme", f"{_shown(url)} does not begin with http:// or https://")
    if len(url) > MAX_LENGTH:
        raise Refused("host_rule", f"{len(url)} characters; the most is {MAX_LENGTH}")
    if odd := next((c for c in url if c == "\\" or c.isspace() or unicodedata.category(c) in ("Cc", "Cs")), ""):
        raise Refused("host_rule", f"U+{ord(odd):04X} in {_shown(url)}")
    parts = _PARTS.match(url, scheme.end())
    assert parts  # every part may be empty
    host, port = _host_and_port(parts[1], scheme[1].lower())
    query = "" if parts[3] is None else "?" + _quoted(parts[3][1:], _IN_QUERY)
    address = Address(scheme[1].lower(), host, port, _without_dots(_quoted(parts[2], _IN_PATH)) + query)
    if len(address.url) > MAX_LENGTH:
        raise Refused("host_rule", f"{len(address.url)} characters when quoted; the most is {MAX_LENGTH}")
    if address.origin not in allow_origins:
        if wrong := _wrong_host(host):
            raise Refused("host_rule", f"{host!r} {wrong}")
        if port not in DEFAULT_PORTS.values():
            raise Refused("port", f"port {port} of {host}; only 80 and 443 are asked")
    return address


def exempt(origins: Iterable[str]) -> frozenset[str]:
    """`web.allow_origins` as `admit` compares them: lower-case, without default port. Raises UserError."""
    return frozenset(_exempt_origin(text) for text in origins)


def _exempt_origin(text: str) -> str:
    wrong = f"web.allow_origins: {text!r} is not an origin; write it as http://wiki.corp.lan:8080"
    scheme = _SCHEME.match(text)
    if not scheme:
        raise UserError(wrong)
    try:
        host, port = _host_and_port(text[scheme.end() :].removesuffix("/"), scheme[1].lower())
    except Refused as refused:
        raise UserError(f"{wrong} ({refused.detail})") from None
    return Address(scheme[1].lower(), host, port, "/").origin


def _host_and_port(authority: str, scheme: str) -> tuple[str, int]:
    if "@" in authority or "%" in authority:
        raise Refused("host_rule", f"user name, password or % in {_shown(authority)}")
    found = _AUTHORITY.fullmatch(authority)
    if not found or not found[1] or len(found[1]) > 255:
        raise Refused("host_rule", f"{_shown(authority)} is not a host")
    digits = found[2]
    port = int(digits) if digits else DEFAULT_PORTS[scheme]
    if not 0 < port < 65536:
        raise Refused("port", f"there is no port {_shown(digits)}")
    return _ascii_host(found[1]), port


def _ascii_host(host: str) -> str:
    """Lower-case A-labels (IDNA 2008 after the mapping of UTS 46), without the root's dot."""
    if host.startswith("["):
        try:
            return f"[{ipaddress.IPv6Address(host[1:-1]).compressed}]"
        except ValueError:
            raise Refused("host_rule", f"{_shown(host)} is not an IPv6 address") from None
    host = host.lower()
    if not host.isascii() or "xn--" in host:
        import idna

        try:
            host = idna.encode(host, uts46=True, std3_rules=True).decode("ascii")
        except (idna.IDNAError, UnicodeError) as error:
            raise Refused("host_rule", f"{_shown(host)} is not a host name: {error}") from None
    host = host.removesuffix(".")
    if not re.fullmatch(r"[a-z0-9_.-]+", host):
        raise Refused("host_rule", f"{_shown(host)} is not a host name")
    return host


_EXEMPT = "web.allow_origins admits a site of your own"


def _wrong_host(host: str) -> str:
    """Why a host is not one of the public web, or ""."""
    labels = host.split(".")
    if host.startswith("[") or _NUMBER.fullmatch(labels[-1]):
        return f"is an address, not a name; {_EXEMPT}"  # a last label of digits makes it one: 127.1, 2130706433, 0x7f.0.0.1
    if len(labels) == 1:
        return f"is a name without a dot; {_EXEMPT}"
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return "is not a host name"
    if f".{host}".endswith(SPECIAL_NAMES):
        return f"is a name of local networks or of examples; {_EXEMPT}"
    return ""


def _quoted(text: str, safe: str) -> str:
    """Percent-encoded UTF-8 where a character may not be; unreserved characters plain (RFC 3986, 6.2.2)."""
    text = _BARE_PERCENT.sub("%25", text)
    text = _ESCAPE.sub(lambda m: plain if (plain := chr(int(m[1], 16))) in _UNRESERVED else m[0].upper(), text)
    return quote(text, safe=safe + "%")


def _without_dots(path: str) -> str:
    """RFC 3986, 5.2.4; and one slash at the start, because requests would send one."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments and segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept).lstrip("/")


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 80 else text[:77] + "...")
