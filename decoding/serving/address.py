"""The address of a server and its key, checked before anything is sent; what it serves, and why a connection failed."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from data.errors import UserError

if TYPE_CHECKING:
    pass


KEY_VARIABLES = ("WIKIGEN_API_KEY", "OPENAI_API_KEY")


def checked_url(base_url: str) -> tuple[str, bool]:
    """The URL without its trailing slash, and whether it points at this machine."""
    example = "use a URL such as http://127.0.0.1:8000/v1"
    try:
        parts = urlsplit(base_url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise UserError(f"{base_url!r} is not a server URL ({error}); {example}") from None
    if parts.username is not None or parts.password is not None:
        raise UserError(f"the server URL of {host} holds a user name; leave it out and set {KEY_VARIABLES[0]} instead")
    if parts.scheme not in ("http", "https") or not host:
        raise UserError(f"{base_url!r} is not a server URL; {example}")
    if parts.query or parts.fragment:
        raise UserError(f"{base_url!r} has a query or fragment, which a base URL cannot have; {example}")
    path = parts.path.rstrip("/")
    if path.endswith("/chat/completions"):
        raise UserError(f"{base_url!r} is the address of one method; leave out /chat/completions")
    return f"{parts.scheme}://{parts.netloc}{path}", _is_loopback(host)


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def server_key() -> str:
    for variable in KEY_VARIABLES:
        if key := os.environ.get(variable, "").strip():
            if not (key.isascii() and key.isprintable()):
                raise UserError(f"{variable} holds characters that no key has (a line break?); set it again")
            return key
    return ""


def cause(error: BaseException) -> str:
    """The innermost reason; the outer ones repeat the URL and an object's address."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return str(error) or type(error).__name__


@dataclass(frozen=True, slots=True)
class Served:
    """What `/models` says of our model; `identity` is empty when it says nothing."""

    identity: str
    context_tokens: int | None
