"""Reading a body no further than its kind allows; what kind it is, its first bytes say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipeline.reading.charset import kind_of
from pipeline.web.addresses import Refused

if TYPE_CHECKING:
    import requests

CHUNK = 16_384
SNIFFED = 1_024
"""A server may send its body in pieces of one byte; so many bytes say its kind."""

DRAINED = 65_536
"""A body that nobody needs is read up to here, so that its connection can be used again."""

CODINGS = frozenset({"gzip", "x-gzip", "deflate", "identity", ""})
"""Those asked for. Their decoders yield no more at a time than they are asked for, which others may not."""


def read_page(response: requests.Response, *, html_bytes: int, pdf_bytes: int) -> bytes:
    """The decoded body of a page or PDF. Raises Refused: `bad_type`, `too_large`."""
    chunks = _decoded(response)
    body = bytearray()
    while len(body) < SNIFFED and (chunk := next(chunks, b"")):
        body += chunk
    kind, why = kind_of(bytes(body), response.headers.get("Content-Type", ""))
    if kind is None:
        raise Refused("bad_type", why)
    most = pdf_bytes if kind == "pdf" else html_bytes
    declared = response.headers.get("Content-Length", "")
    if "Content-Encoding" not in response.headers and declared.isdecimal() and int(declared[:20]) > most:
        raise Refused("too_large", f"{declared[:20]} bytes; the most is {most}")
    while len(body) <= most and (chunk := next(chunks, b"")):
        body += chunk
    if len(body) > most:
        raise Refused("too_large", f"more than {most} bytes")
    return bytes(body)


def read_head(response: requests.Response, most: int) -> bytes:
    """The first `most` decoded bytes, whatever they are. Raises Refused: `bad_type`."""
    body = bytearray()
    for chunk in _decoded(response):
        body += chunk
        if len(body) >= most:
            break
    return bytes(body[:most])


def drain(response: requests.Response) -> None:
    """Reads the rest of a short body. A longer one is left, and its connection with it."""
    left = DRAINED
    for chunk in response.raw.stream(CHUNK, decode_content=False):
        left -= len(chunk)
        if left < 0:
            return


def _decoded(response: requests.Response) -> Iterator[bytes]:
    coding = response.headers.get("Content-Encoding", "").lower()
    if not CODINGS.issuperset(name.strip() for name in coding.split(",")):
        raise Refused("bad_type", f"Content-Encoding {coding[:40]!r} was not asked for")
    return response.raw.stream(CHUNK, decode_content=True)
