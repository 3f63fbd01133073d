"""Who may ask a server of this package: a program, or a page that the server itself gave. A page of another site may not.

Checked before anything is read: the Host header (against DNS rebinding, where a site's name is made to point at this machine),
and where a request comes from (Origin and Sec-Fetch-Site, https://www.w3.org/TR/fetch-metadata/). Programs send neither of the
latter. Connections that ask for nothing are closed (`impatient_protocol`): each takes one of the files that a process may open.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from decoding.serving.chat_requests import Refused

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def headers_of(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


@dataclass(frozen=True, slots=True)
class OwnNames:
    """What a server may be called by: loopback always, `names`, and with `addresses` any IP address. An address cannot be made
    to point elsewhere, so it is safe wherever other machines may connect; a name that we were not told of is not."""

    names: frozenset[str] = frozenset()
    addresses: bool = False

    def has(self, host: str) -> bool:
        """`host` is a Host header, with or without a port."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return is_loopback(name) or name in self.names or (self.addresses and _is_address(name))


def is_of_another_site(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Whether a browser sent this for a page that is not ours."""
    origin = headers.get("origin")
    own = f"{scope.get('scheme', 'http')}://{headers.get('host', '')}"
    return (origin is not None and origin != own) or headers.get("sec-fetch-site", "none") not in ("same-origin", "none")


def _is_address(name: str) -> bool:
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False


class ProgramsOnly:
    """ASGI middleware of a server that has no pages: whatever comes from another site's page, or by a foreign name, is refused
    in the form of OpenAI's errors."""

    def __init__(self, app: ASGIApp, names: OwnNames) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.responses import JSONResponse

        if scope["type"] == "http" and (refused := self._refusal(scope)) is not None:
            await JSONResponse(refused.body, refused.status)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refused | None:
        headers = headers_of(scope)
        host = headers.get("host", "")
        if not self._names.has(host):
            told = f"this server is not called {host[:80]!r}; start it with --allow-host NAME if it is, or ask by its address"
            return Refused(400, told, code="unknown_host")
        if is_of_another_site(scope, headers):
            return Refused(403, "a page of another site may not ask this server", code="foreign_origin")
        return None


HEADERS_S = 30.0
"""From connecting, or from the last answer, until a request's headers are here; uvicorn waits for the first byte alone."""


def impatient_protocol(seconds: float = HEADERS_S) -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol, which hangs up on who sends no whole headers for `seconds` (at most twice that)."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class Impatient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        _idle_since: object = None
        """What was asked last when the clock last found nothing asked."""

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._clock = self.loop.call_later(seconds, self._tick)

        def connection_lost(self, exc: Exception | None) -> None:
            self._clock.cancel()
            super().connection_lost(exc)

        def _tick(self) -> None:
            is_idle = self.cycle is None or self.cycle.response_complete
            if is_idle and self.cycle is self._idle_since:
                self.transport.close()
                return
            self._idle_since = self.cycle if is_idle else self
            self._clock = self.loop.call_later(seconds, self._tick)

    return Impatient
