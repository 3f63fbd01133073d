"""Who may ask: the person at this machine, or one with the token. A page of another site may not, whatever it sends.

Checked before anything is read: the Host header and where a request comes from, by the rules of `decoding.serving.visitors`,
the token where one is asked for, and the size of uploads.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from decoding.serving.visitors import OwnNames, headers_of, is_of_another_site

COOKIE = "wikigenben"
_SAFE = ("GET", "HEAD")
_HEADERS = (
    (b"content-security-policy", b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
     b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Admission:
    """`token` of None: only this machine can connect, so none is asked for. `names` are hosts that may be asked by."""

    token: str | None
    names: frozenset[str] = frozenset()

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """(status, why), or None."""
        headers = headers_of(scope)
        host = headers.get("host", "")
        if not OwnNames(self.names, addresses=self.token is not None).has(host):
            return 400, f"this page is not called {host[:80]!r}; open the address that `wikigenben web` printed"
        arriving = scope["method"] in _SAFE and scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
        if is_of_another_site(scope, headers) and not arriving:
            return 403, "another site may not ask this"
        if self.token is not None and not hmac.compare_digest(_cookie(headers.get("cookie", "")), self.token):
            return 401, "open the whole address that `wikigenben web` printed: it ends with the token"
        return None


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None and found.value.isascii() else ""


class Gate:
    """ASGI middleware: refuses, or passes on with the headers that keep the page to itself."""

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        self._app = app
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if entering := self._entering(scope):
            await entering(scope, receive, send)
            return
        if refused := self._admission.refusal(scope):
            status, why = refused
            await PlainTextResponse(f"{why}\n", status, {"X-Content-Type-Options": "nosniff"})(scope, receive, send)
            return

        async def with_headers(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                set_already = {name for name, _ in message["headers"]}  # type: ignore[attr-defined]
                message["headers"] = [*message["headers"], *(h for h in _HEADERS if h[0] not in set_already)]  # type: ignore[misc]
            await send(message)

        await self._app(scope, receive, with_headers)  # type: ignore[arg-type]

    def _entering(self, scope: Scope) -> RedirectResponse | None:
        """The address with the token becomes a cookie, so that the token stays out of links and histories."""
        token = self._admission.token
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if token is None or scope["path"] != "/" or not given.isascii() or not hmac.compare_digest(given, token):
            return None
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        return answer
