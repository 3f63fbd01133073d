"""A web of many hosts on loopback, in a thread: what fetching is tested against. Any host name may be asked for.

A page is found by host and path, else by its path alone; what nobody put there is a 404. Names lead here by `Names`, a
resolver that remembers what it was asked. With `serving(certificate=...)` it speaks TLS.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.servers import in_thread


@dataclass(frozen=True)
class Asked:
    """One request as it came in. `connection` counts the accepted connections from 1; `at` is time.monotonic()."""

    host: str
    target: str
    headers: Mapping[str, str]
    connection: int
    at: float

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


@dataclass(frozen=True)
class Reply:
    """Sent with its length, on a connection that stays open."""

    body: bytes | str = b""
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


Route = Callable[[Asked], Reply]
RawRoute = Callable[["Handler"], None]


class WebServer(ThreadingHTTPServer):
    """`asked` keeps all requests, `connections` counts what was accepted, `names` what TLS clients asked for (SNI)."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: str = "127.0.0.1") -> None:
        super().__init__((address, 0), Handler)
        self.port: int = self.server_address[1]
        self.scheme = "http"
        self.asked: list[Asked] = []
        self.connections = 0
        self.names: list[str | None] = []
        self._routes: dict[str, Route] = {}
        self._raw: dict[str, RawRoute] = {}
        self._tls: ssl.SSLContext | None = None
        self._lock = threading.Lock()

    # --- what there is ------------------------------------------------------------------------------------------------

    def put(self, where: str, reply: Reply | Sequence[Reply] | bytes | str | Route) -> None:
        """`where` is `/path` on all hosts, or `host/path`. Of a sequence each request gets the next, and the last again."""
        self._routes[where] = _route(reply)

    def redirect(self, where: str, location: str, status: int = 302) -> None:
        self.put(where, Reply(status=status, headers=(("Location", location),)))

    def put_raw(self, where: str, write: RawRoute) -> None:
        """The function writes the whole answer, well-formed or not; the connection is closed after it."""
        self._raw[where] = write

    # --- where it is --------------------------------------------------------------------------------------------------

    def origin(self, host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}"

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return self.origin(host) + path

    def targets(self, host: str = "") -> list[str]:
        """What was asked for, in order; of one host, or of all."""
        return [asked.target for asked in self.asked if not host or asked.host.partition(":")[0] == host]

    # --- how it runs --------------------------------------------------------------------------------------------------

    def speak_tls(self, certificate: Path) -> None:
        """`certificate` is a PEM file that holds the key as well."""
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificate)
        self._tls.sni_callback = lambda _socket, name, _context: self.names.append(name)
        self.scheme = "https"

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        with self._lock:
            self.connections += 1
            number = self.connections
        return connection, (*address, number)

    def finish_request(self, request: Any, client_address: Any) -> None:
        with suppress(OSError):  # clients hang up, as they should
            if self._tls is not None:
                request = self._tls.wrap_socket(request, server_side=True)
            super().finish_request(request, client_address)
            if self._tls is not None:
                request.close()

    def find(self, host: str, path: str) -> Route | RawRoute | None:
        for table in (self._raw, self._routes):
            if found := table.get(f"{host}{path}") or table.get(path):
                return found
        return None

    def is_raw(self, route: Route | RawRoute) -> bool:
        return route in self._raw.values()


class Handler(BaseHTTPRequestHandler):
    server: WebServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        host = self.headers.get("Host", "")
        asked = Asked(host, self.path, dict(self.headers.items()), self.client_address[2], time.monotonic())
        self.server.asked.append(asked)
        route = self.server.find(host.partition(":")[0], asked.path)
        if route is not None and self.server.is_raw(route):
            self.close_connection = True
            with suppress(OSError):
                route(self)  # type: ignore[arg-type]
            return
        self._send(route(asked) if route is not None else Reply("no such page", 404))  # type: ignore[arg-type]

    def _send(self, reply: Reply) -> None:
        body = reply.body.encode() if isinstance(reply.body, str) else reply.body
        self.send_response(reply.status)
        if reply.content_type:
            self.send_header("Content-Type", reply.content_type)
        for name, value in reply.headers:
            self.send_header(name, value)
        if reply.status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None: ...


class Names:
    """A resolver: host -> addresses, one answer a look-up, and the last again and again. `asked` keeps the look-ups."""

    def __init__(
        self, known: Mapping[str, Sequence[Sequence[str]]] | None = None, *, others: Sequence[str] = ("127.0.0.1",)
    ) -> None:
        self._known = {host: list(answers) for host, answers in (known or {}).items()}
        self._others = others
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self._known.get(host)
        if answers is None:
            return self._others
        return answers.pop(0) if len(answers) > 1 else answers[0]


class QuickClock:
    """Time passes only by sleeping, and that takes none. `slept` keeps how long, in order."""

    def __init__(self, now: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)) -> None:
        self._start = now
        self._lock = threading.Lock()
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.slept.append(seconds)

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.monotonic())


@contextmanager
def serving(*, address: str = "127.0.0.1", certificate: Path | None = None) -> Iterator[WebServer]:
    server = WebServer(address)
    if certificate is not None:
        server.speak_tls(certificate)
    with in_thread(server):
        yield server


def _route(reply: Reply | Sequence[Reply] | bytes | str | Route) -> Route:
    if callable(reply):
        return reply
    if isinstance(reply, bytes | str):
        reply = Reply(reply)
    if isinstance(reply, Reply):
        only = reply
        return lambda _asked: only
    left = list(reply)
    return lambda _asked: left.pop(0) if len(left) > 1 else left[0]
