"""No request reaches a private network, whatever its address says: checked when a connection is made, not on the string.

For each new connection the name is resolved once, all its addresses are vetted, and one of them is connected to. A name that
answers differently a moment later changes nothing, because nobody asks again.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from pipeline.web.addresses import Address, Refused

Resolve = Callable[[str, int], Sequence[str]]
"""(host, port) -> IP addresses as text. Raises OSError, as `socket.getaddrinfo` does."""

DNS_S = 5.0
CONNECT_S = 5.0

_IPV6_GLOBAL = ipaddress.IPv6Network("2000::/3")
_IPV6_EXCEPT = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
_IPV4_EXCEPT = tuple(map(ipaddress.IPv4Network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")))


def is_public(ip: str) -> bool:
    """Whether an IP address belongs to the public internet.

    `ipaddress.is_global` alone also accepts multicast, NAT64 and 6to4 spellings of private addresses, and differs between
    versions of Python; so networks are listed here.
    """
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        if address.ipv4_mapped is not None:
            return is_public(str(address.ipv4_mapped))
        if address not in _IPV6_GLOBAL or any(address in network for network in _IPV6_EXCEPT):
            return False
    elif any(address in network for network in _IPV4_EXCEPT):
        return False
    special = (
        address.is_multicast
        or address.is_reserved
        or address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_unspecified
    )
    return address.is_global and not special


def look_up(host: str, port: int) -> Sequence[str]:
    """All addresses of a name, in the order in which the system prefers them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


class Guard:
    """Makes the connections of one session; `allow_origins` (of `addresses.exempt`) may have private addresses."""

    def __init__(
        self,
        *,
        allow_origins: frozenset[str] = frozenset(),
        resolve: Resolve = look_up,
        dns_s: float = DNS_S,
    ) -> None:
        self._allow_origins = allow_origins
        self._resolve = resolve
        self._dns_s = dns_s

    def connect(
        self, scheme: str, host: str, port: int, timeout_s: float | None, options: Iterable[tuple[int, int, int | bytes]] = ()
    ) -> socket.socket:
        """A socket to a vetted address. Raises Refused (`dns`, `ip_blocked`), and OSError as `socket.connect` does."""
        ends = time.monotonic() + (timeout_s or CONNECT_S)
        vetted = self._vetted(scheme, host.strip("[]"), port)
        problem: OSError = OSError(f"{host} has no address")
        for i, ip in enumerate(vetted):
            share = max(0.05, (ends - time.monotonic()) / (len(vetted) - i))  # one dead address must not eat the others' time
            try:
                connection = _connected(ip, port, share, options)
            except OSError as error:
                problem = error
            else:
                connection.settimeout(timeout_s or CONNECT_S)  # for the TLS handshake
                return connection
        raise problem

    def _vetted(self, scheme: str, host: str, port: int) -> Sequence[str]:
        found = self._look_up_in_time(host, port)
        if not found:
            raise Refused("dns", f"{host} has no address")
        written = f"[{host}]" if ":" in host else host
        if Address(scheme, written.lower(), port, "/").origin in self._allow_origins:
            return found
        # all of them: a private address among public ones is how a name is rebound
        if private := [ip for ip in found if not is_public(ip)]:
            raise Refused("ip_blocked", f"{host} is {', '.join(private)}, which is not public")
        return found

    def _look_up_in_time(self, host: str, port: int) -> Sequence[str]:
        """In a daemon thread, because `getaddrinfo` knows no timeout and a waiting one must not hold up the end of the run."""
        found: list[Sequence[str] | BaseException] = []

        def work() -> None:
            try:
                found.append(self._resolve(host, port))
            except BaseException as error:
                found.append(error)

        worker = threading.Thread(target=work, name=f"look-up-{host}", daemon=True)
        worker.start()
        worker.join(self._dns_s)
        if not found:
            raise Refused("dns", f"looking up {host} took longer than {self._dns_s:g} s")
        if isinstance(found[0], OSError | UnicodeError):
            raise Refused("dns", f"{host}: {found[0]}") from found[0]
        if isinstance(found[0], BaseException):
            raise found[0]
        return found[0]


def _connected(ip: str, port: int, timeout_s: float, options: Iterable[tuple[int, int, int | bytes]]) -> socket.socket:
    connection = socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM)
    try:
        for option in options:
            connection.setsockopt(*option)
        connection.settimeout(timeout_s)
        connection.connect((ip, port))
        peer = str(connection.getpeername()[0])
        if ipaddress.ip_address(peer) != ipaddress.ip_address(ip):
            raise Refused("ip_blocked", f"connected to {peer} instead of the vetted {ip}")
    except BaseException:
        connection.close()
        raise
    return connection
