"""The guard inside requests and urllib3. Import this late: it loads both.

`_new_conn` is private to urllib3, and so the only place below all of its public doors; its major version is pinned, and
tests count that every connection a server accepts was made here.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from data.errors import UserError
from pipeline.web.guard import DNS_S, Guard, Resolve, look_up

log = logging.getLogger(__name__)

PROXY_VARIABLE = "WIKIGEN_PROXY"
HEADERS = {
    "Accept": "text/html,application/xhtml+xml,application/pdf;q=0.8,text/plain;q=0.5",
    "Accept-Language": "en,*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}
_HOSTS = 64


class TimeLimit:
    """Ends a request that outlives its time, from another thread: a socket's own timeout starts anew with each byte."""

    def __init__(self) -> None:
        self.expired = False
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def hold(self, connection: socket.socket | None) -> None:
        with self._lock:
            self._socket = connection
            if self.expired:
                self._hang_up()

    def expire(self) -> None:
        with self._lock:
            self.expired = True
            self._hang_up()

    def release(self) -> None:
        with self._lock:
            self._socket = None

    def _hang_up(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it is closed already
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # not the TLS method, which is not thread-safe


class _Limits(threading.local):
    """The limit of the request that this thread makes."""

    current: TimeLimit | None = None


class _Limited:
    """Mixed into urllib3's connections: says the time limit which socket is used, also when it is used again."""

    sock: socket.socket | None

    def __init__(self, *words: Any, limits: _Limits, **more: Any) -> None:
        self._limits = limits
        super().__init__(*words, **more)

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        self._hold()

    def request(self, *words: Any, **more: Any) -> None:
        self._hold()
        super().request(*words, **more)  # type: ignore[misc]

    def _hold(self) -> None:
        if self._limits.current is not None:
            self._limits.current.hold(self.sock)


class _Guarded(_Limited):
    """Mixed into urllib3's connections: the guard makes the socket. Host header, SNI and certificate keep the name."""

    def __init__(self, *words: Any, guard: Guard, scheme: str, **more: Any) -> None:
        self._guard = guard
        self._scheme = scheme
        super().__init__(*words, **more)

    def _new_conn(self) -> socket.socket:
        connection: Any = self
        host, port = connection._dns_host, connection.port
        try:
            made = self._guard.connect(self._scheme, connection.host, port, connection.timeout, connection.socket_options or ())
        except TimeoutError as error:
            raise ConnectTimeoutError(connection, f"connecting to {host} timed out") from error
        except OSError as error:
            raise NewConnectionError(connection, str(error)) from error
        sys.audit("http.client.connect", connection, connection.host, port)
        if self._limits.current is not None:
            self._limits.current.hold(made)
        return made


class _LimitedHTTP(_Limited, HTTPConnection): ...


class _LimitedHTTPS(_Limited, HTTPSConnection): ...


class _GuardedHTTP(_Guarded, HTTPConnection): ...


class _GuardedHTTPS(_Guarded, HTTPSConnection): ...


def _pool(kind: type[HTTPConnectionPool], connect: Any, *words: Any, **more: Any) -> HTTPConnectionPool:
    pool = kind(*words, **more)
    pool.ConnectionCls = connect
    return pool


class _GuardedAdapter(HTTPAdapter):
    def __init__(self, guard: Guard, limits: _Limits) -> None:
        self._classes = {
            "http": partial(_pool, HTTPConnectionPool, partial(_GuardedHTTP, guard=guard, scheme="http", limits=limits)),
            "https": partial(_pool, HTTPSConnectionPool, partial(_GuardedHTTPS, guard=guard, scheme="https", limits=limits)),
        }
        super().__init__(pool_connections=_HOSTS, pool_maxsize=2)

    def init_poolmanager(self, *words: Any, **more: Any) -> None:
        super().init_poolmanager(*words, **more)
        self.poolmanager.pool_classes_by_scheme = self._classes

    def proxy_manager_for(self, proxy: str, **more: Any) -> Any:
        raise RuntimeError(f"a guarded session was given a proxy by the way; use {PROXY_VARIABLE}")


class _ProxyAdapter(HTTPAdapter):
    """All requests over one proxy."""

    def __init__(self, proxy: str, limits: _Limits) -> None:
        self._proxies = {"http": proxy, "https": proxy}
        self._classes = {
            "http": partial(_pool, HTTPConnectionPool, partial(_LimitedHTTP, limits=limits)),
            "https": partial(_pool, HTTPSConnectionPool, partial(_LimitedHTTPS, limits=limits)),
        }
        super().__init__(pool_connections=_HOSTS, pool_maxsize=2)

    def send(self, request: requests.PreparedRequest, *words: Any, **more: Any) -> requests.Response:
        return super().send(request, *words, **(more | {"proxies": self._proxies}))

    def proxy_manager_for(self, proxy: str, **more: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **more)
        manager.pool_classes_by_scheme = self._classes
        return manager


class GuardedSession(requests.Session):
    """See `guarded_session`. `is_proxied` says that a proxy resolves names, and must filter them."""

    def __init__(self, guard: Guard, user_agent: str, *, proxy: str, direct: frozenset[str]) -> None:
        super().__init__()
        self._limits = _Limits()
        self.is_proxied = bool(proxy)
        self.trust_env = False  # else proxy variables lead around the guard, and .netrc gives passwords away
        self.headers.clear()
        self.headers.update({**HEADERS, "User-Agent": user_agent})
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self.adapters.clear()
        guarded = _GuardedAdapter(guard, self._limits)
        if proxy:
            others = _ProxyAdapter(_checked_proxy(proxy), self._limits)
            for origin in sorted(direct):
                self.mount(f"{origin}/", guarded)
            log.warning("pages are asked for over the proxy %s: it must refuse private addresses", urlsplit(proxy).hostname)
        for scheme in ("http://", "https://"):
            self.mount(scheme, others if proxy else guarded)

    def get_redirect_target(self, resp: requests.Response) -> None:
        """None: callers follow by hand. Asked for the target, requests would read a redirect's body whole, however long."""
        return

    @contextlib.contextmanager
    def time_limit(self, seconds: float) -> Iterator[TimeLimit]:
        """Within it, this thread's requests are broken off after `seconds`, headers and body together."""
        limit = TimeLimit()
        timer = threading.Timer(seconds, limit.expire)
        timer.daemon = True
        self._limits.current = limit
        timer.start()
        try:
            yield limit
        finally:
            self._limits.current = None
            timer.cancel()
            limit.release()


def guarded_session(
    user_agent: str,
    *,
    allow_origins: frozenset[str] = frozenset(),
    resolve: Resolve | None = None,
    dns_s: float = DNS_S,
    proxy: str | None = None,
) -> GuardedSession:
    """A `requests.Session` whose every connection goes through a `Guard`.

    It reads no environment, keeps no cookies, sends no credentials of its own and follows no redirect: its callers admit each
    address first. Raises `Refused` beside what requests raises. `proxy` (default: WIKIGEN_PROXY) is asked instead of all
    hosts but `allow_origins`; it then has to do the filtering. Raises UserError for a proxy that cannot be used.
    """
    guard = Guard(allow_origins=allow_origins, resolve=resolve or look_up, dns_s=dns_s)
    chosen = os.environ.get(PROXY_VARIABLE, "") if proxy is None else proxy
    return GuardedSession(guard, user_agent, proxy=chosen.strip(), direct=allow_origins)


def _checked_proxy(proxy: str) -> str:
    try:
        parts = urlsplit(proxy)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or True)
    except ValueError:
        usable = False
    if not usable:  # not shown whole: it may hold a password
        raise UserError(
            f"{PROXY_VARIABLE} is not http://HOST:PORT (it begins with {proxy.partition(':')[0]!r}); set it so, or unset it"
        )
    return proxy
