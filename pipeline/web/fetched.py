"""What came of asking for an address: the record of it, what it is made from on the way, and what answers and failures mean."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from data.types import DropReason, Strict
from pipeline.web.addresses import Address, Refused
from pipeline.web.pacing import Clock

FetchFlag = Literal["downgraded", "proxied", "robots_ignored", "painted"]
"""`downgraded`: a redirect led from https to http. `proxied`: a proxy resolved the names. `robots_ignored`: as it says."""


@dataclass(frozen=True, slots=True)
class Fetched(Strict):
    """One address that was asked for, and what came of it.

    `redirects` lists where it led, in order; `final_url` is the last of them, or `url` as it was requested. `content_type`,
    `etag` and `last_modified` are headers as sent. `status` is None when no answer came. `retrieved_at` is ISO 8601 in UTC.
    With `not_modified` the caller's stored body still holds. An archived body has `archive_url` and `archive_date`
    (YYYY-MM-DD). Without `drop_reason` the body is there, or `not_modified`.
    """

    url: str
    final_url: str
    redirects: tuple[str, ...] = ()
    status: int | None = None
    content_type: str = ""
    etag: str = ""
    last_modified: str = ""
    body: bytes = field(default=b"", repr=False)
    retrieved_at: str = ""
    not_modified: bool = False
    archive_url: str = ""
    archive_date: str = ""
    drop_reason: DropReason | None = None
    drop_detail: str = ""
    flags: tuple[FetchFlag, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class Trail:
    """Everything known so far of one address that is being fetched: enough for its record, however it ends."""

    def __init__(self, url: str, clock: Clock, flags: Sequence[FetchFlag] = ()) -> None:
        self.url = url
        self.final_url = url
        self.redirects: list[str] = []
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.flags = list(flags)
        self._clock = clock

    def lead_to(self, address: Address) -> None:
        self.final_url = address.url
        self.redirects.append(address.url)
        self.status, self.headers = None, {}

    def record(self, answer: Answer | None = None) -> Fetched:
        return Fetched(
            url=self.url,
            final_url=self.final_url,
            redirects=tuple(self.redirects),
            status=self.status,
            content_type=self.headers.get("Content-Type", ""),
            etag=self.headers.get("ETag", ""),
            last_modified=self.headers.get("Last-Modified", ""),
            body=answer.body if answer else b"",
            retrieved_at=self._clock.now().isoformat(timespec="seconds"),
            flags=tuple(self.flags),
        )

    def dropped(self, refused: Refused) -> Fetched:
        return replace(self.record(), drop_reason=refused.reason, drop_detail=refused.detail)


class Unconnected(Refused):
    """No byte of an answer came, so the same may be asked again."""


def check_status(answer: Answer) -> None:
    """Raises Refused unless there is a page."""
    status = answer.status
    if 200 <= status < 300:
        return
    reason: DropReason = "rate_limited" if status == 429 else "http_4xx" if 400 <= status < 500 else "http_5xx"
    raise Refused(reason, f"status {status}")


def location_text(value: str) -> str:
    """A Location header as browsers read it: its bytes, which come as Latin-1, are UTF-8, else quoted; spaces are quoted."""
    sent = value.encode("latin-1", "replace")
    try:
        return sent.decode().replace(" ", "%20")
    except UnicodeDecodeError:
        return "".join(chr(byte) if 0x20 < byte < 0x80 else f"%{byte:02X}" for byte in sent)


def refusal_of(error: Exception, began: bool) -> Refused:
    """What a failed request means. Only one that got no answer may be made again."""
    import requests
    import urllib3

    causes = list(_causes(error))
    root = causes[-1]
    detail = f"{type(root).__name__}: {root}"[:300]
    if any(isinstance(cause, ssl.SSLError | requests.exceptions.SSLError) for cause in causes):
        return Refused("tls", detail)
    not_http = next((c for c in causes if isinstance(c, http.client.HTTPException) and not isinstance(c, OSError)), None)
    if isinstance(not_http, http.client.LineTooLong) or "got more than" in str(not_http):
        return Refused("too_large", f"its headers: {not_http}")
    if any(isinstance(cause, urllib3.exceptions.DecodeError) for cause in causes):
        return Refused("bad_type", f"the body is not what Content-Encoding says: {detail}")
    timeouts = (
        TimeoutError,
        requests.Timeout,
        urllib3.exceptions.ReadTimeoutError,
    )  # NewConnectionError is not one, but inherits it
    is_timeout = any(isinstance(cause, timeouts) for cause in causes)
    reason: DropReason = "timeout" if is_timeout else "unreachable"
    was_sent = is_timeout and not isinstance(error, requests.ConnectTimeout)
    return Refused(reason, detail) if began or was_sent or not_http else Unconnected(reason, detail)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what lies behind it, the innermost last. Libraries keep it in various places."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        inner = [getattr(following, "reason", None), *following.args, following.__cause__, following.__context__]
        following = next((e for e in inner if isinstance(e, BaseException)), None)
