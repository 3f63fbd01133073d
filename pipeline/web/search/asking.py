"""One request to a search service, with everything that can go wrong with it as `SearchFailed`.

For the services themselves only, whose addresses come from this project or its user. Pages are fetched elsewhere, behind
the guard. Proxy variables and .netrc are ignored, redirects are not followed, and neither a key nor the address of a private
instance gets into an error.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from data.pages.cleaning import clean_title
from pipeline.web.pacing import retry_after
from pipeline.web.search.provider import SearchFailed

if TYPE_CHECKING:
    import requests

MAX_ANSWER = 4_000_000
"""Decoded bytes; twenty results are some tens of kilobytes."""
_EXCERPT = 160
_HEADERS = {
    "User-Agent": "wikigenben",
    "Accept": "application/json",
    "Accept-Encoding": "gzip, deflate",
    "Accept-Language": "en",  # SearXNG's limiter takes who sends none for a bot
}


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds to wait: for a connection, for the next bytes, and for an answer in all."""

    connect_s: float = 5.0
    read_s: float = 15.0
    total_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Service:
    """Whom to ask. `secrets` never appear in an error; `hints` says what to do about a status."""

    name: str
    headers: Mapping[str, str]
    secrets: tuple[str, ...]
    hints: Mapping[int, str]
    timeouts: Timeouts

    def __repr__(self) -> str:
        return f"Service({self.name!r})"  # the headers hold the key


def key_from(variable: str, provider: str) -> str:
    """The value of an environment variable that a provider cannot do without. Raises UserError naming the variable."""
    value = os.environ.get(variable, "").strip()
    if not value:
        raise UserError(f"the search provider {provider!r} needs {variable} in the environment; set it and run again")
    if not (value.isascii() and value.isprintable()):
        raise UserError(f"{variable} holds characters that do not belong there (a line break?); set it again")
    return value


def keyed(provider: str, variable: str, key: str, header: Mapping[str, str], timeouts: Timeouts) -> Service:
    """A hosted service that refuses a wrong key or a used-up plan with one of the usual statuses."""
    wrong = f"check {variable}"
    used_up = f"the plan behind {variable} is used up"
    hints = {401: wrong, 403: wrong, 402: used_up, 432: used_up, 433: used_up}
    return Service(provider, header, (key,), hints, timeouts)


def ask_json(
    service: Service, method: str, url: str, *, params: Mapping[str, str] | None = None, body: object = None
) -> dict[str, Any]:
    """The JSON object that a service answers with.

    Raises:
        SearchFailed: anything else; `passing` for 429, 5xx, timeouts and broken connections.
    """
    import requests

    deadline = time.monotonic() + service.timeouts.total_s
    with requests.Session() as session:
        session.trust_env = False
        try:
            response = session.request(
                method,
                url,
                params=params,
                json=body,
                headers={**_HEADERS, **service.headers},
                timeout=(service.timeouts.connect_s, service.timeouts.read_s),
                stream=True,
                allow_redirects=False,
            )
        except requests.exceptions.SSLError:
            raise SearchFailed(f"{service.name}: no secure connection; its certificate is not valid") from None
        except requests.Timeout:
            raise SearchFailed(f"{service.name}: no answer in time", passing=True) from None
        except requests.ConnectionError:
            raise SearchFailed(f"{service.name}: no connection", passing=True) from None
        except (requests.RequestException, ValueError) as error:  # the text of either would repeat the address
            raise SearchFailed(f"{service.name}: the request cannot be sent ({type(error).__name__})") from None
        with response:
            return _object(service, response, deadline)


def _object(service: Service, response: requests.Response, deadline: float) -> dict[str, Any]:
    content, status = _body(service, response, deadline), response.status_code
    if status != 200:
        raise _refusal(service, response, content)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise SearchFailed(f"{service.name}: the answer is not JSON: {_excerpt(service, content)!r}") from None
    if not isinstance(value, dict):
        raise SearchFailed(f"{service.name}: the answer is not a JSON object: {_excerpt(service, content)!r}")
    return value


def _body(service: Service, response: requests.Response, deadline: float) -> bytes:
    """Read as it arrives, so that neither a slow drip nor a compressed bomb outgrows its limit by much."""
    import urllib3

    content = b""
    while True:
        try:
            chunk = response.raw.read1(1 << 16, decode_content=True)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise SearchFailed(f"{service.name}: the answer broke off ({type(error).__name__})", passing=True) from None
        if not chunk:
            return content
        content += chunk
        if len(content) > MAX_ANSWER:
            raise SearchFailed(f"{service.name}: the answer is longer than {MAX_ANSWER:,} bytes")
        if time.monotonic() > deadline:
            raise SearchFailed(f"{service.name}: the answer took longer than {service.timeouts.total_s:g} s", passing=True)


def _refusal(service: Service, response: requests.Response, content: bytes) -> SearchFailed:
    status = response.status_code
    if 300 <= status < 400:
        return SearchFailed(f"{service.name}: status {status}, a redirect, which is not followed")
    said = _excerpt(service, content)
    parts = [f"status {status}", *([f"{said!r}"] if said else []), *([hint] if (hint := service.hints.get(status)) else [])]
    passing = status == 429 or status >= 500
    return SearchFailed(
        f"{service.name}: {', '.join(parts)}",
        passing=passing,
        retry_after_s=retry_after(response.headers.get("Retry-After", ""), datetime.now(UTC)),
    )


def _excerpt(service: Service, content: bytes) -> str:
    """The first characters of an answer, printable, without a secret that it may repeat."""
    text = content[:4_000].decode("utf-8", errors="replace")
    for secret in service.secrets:
        text = text.replace(secret, "[secret]")
    return clean_title(text)[:_EXCERPT].strip()
