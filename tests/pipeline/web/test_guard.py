"""No connection without the guard, and none by it to a private network. Servers are real; names are resolved by the tests."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import requests
from requests.adapters import HTTPAdapter

from data.errors import UserError
from pipeline.web.addresses import Refused
from pipeline.web.connections import PROXY_VARIABLE, guarded_session
from pipeline.web.guard import is_public, look_up
from tests.conftest import NetworkRefused
from tests.web_server import Names, Reply, WebServer, serving

PUBLIC = [
    "8.8.8.8", "1.1.1.1", "93.184.215.14", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.1", "192.0.1.1",
    "192.167.255.255", "198.17.255.255", "198.20.0.1", "223.255.255.255", "11.0.0.1", "168.63.129.15",
    "2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450:4001:80b::200e", "2620:fe::fe", "2001:200::1",
    "::ffff:8.8.8.8", "2003::1", "3ffe::1",
]  # fmt: skip
PRIVATE = [
    # this machine and its networks
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255",
    "192.168.0.1", "192.168.255.255", "100.64.0.1", "100.127.255.255", "169.254.0.1",
    # metadata services
    "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254",
    # reserved, documentation, benchmarks, multicast, broadcast
    "192.0.0.1", "192.0.0.9", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
    "224.0.0.1", "233.252.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
    # IPv6: this machine, its networks, multicast, what is retired
    "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "fec0::1", "ff02::1", "ff0e::1", "100::1", "5f00::1",
    # IPv6: IPv4 in disguise
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "::127.0.0.1", "::a9fe:a9fe",
    "::ffff:0:127.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a9fe:a9fe::",
    "2002:808:808::1", "2001::1", "2001:0:53aa:64c::1", "2001:20::1", "2001:db8::1", "3fff::1",
    # no addresses
    "", "localhost", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "1.2.3.4.5", "8.8.8.8 ", "8.8.8.8%1", "[::1]",
]  # fmt: skip


@pytest.mark.parametrize("ip", PUBLIC)
def test_public_addresses(ip: str) -> None:
    assert is_public(ip)


@pytest.mark.parametrize("ip", PRIVATE)
def test_addresses_that_are_not_public(ip: str) -> None:
    assert not is_public(ip)


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving() as server:
        server.put("/", "here")
        yield server


def session_to(server: WebServer, names: Names, *hosts: str) -> requests.Session:
    """A session that may ask these hosts of the server, although it is on loopback."""
    return guarded_session("test/1", allow_origins=frozenset(map(server.origin, hosts)), resolve=names)


def test_each_connection_goes_through_the_guard(server: WebServer) -> None:
    """Only the test's resolver knows these names, and it was asked once for each connection that the server accepted."""
    names = Names()
    hosts = ["one.site.org", "two.site.org", "three.site.org"]
    with session_to(server, names, *hosts) as session:
        for host in hosts * 2:
            assert session.get(server.url("/", host)).text == "here"
        assert names.asked == hosts
        assert server.connections == 3  # kept alive
        server.put_raw(
            "/broken", lambda handler: handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        )
        session.get(server.url("/broken", hosts[0]))
        session.get(server.url("/", hosts[0]))
        assert len(names.asked) == server.connections == 4
    assert [asked.host for asked in server.asked[:3]] == [f"{host}:{server.port}" for host in hosts]


def test_a_session_without_the_hook_is_noticed(server: WebServer) -> None:
    """The check above can fail: an ordinary adapter asks the system for the name, and the tests' network refuses that."""
    names = Names()
    with session_to(server, names, "one.site.org") as session:
        session.mount("http://", HTTPAdapter())
        with pytest.raises(NetworkRefused):
            session.get(server.url("/", "one.site.org"))
    assert names.asked == []


@pytest.mark.parametrize(
    "ip", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "10.0.0.1", "0.0.0.0", "64:ff9b::7f00:1"]
)
def test_names_of_private_addresses_are_refused(server: WebServer, ip: str) -> None:
    names = Names(others=[ip])
    with session_to(server, names) as session, pytest.raises(Refused) as refused:
        session.get(server.url("/", "inner.site.org"))
    assert refused.value.reason == "ip_blocked" and ip in refused.value.detail
    assert server.connections == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "localhost"])
def test_spellings_of_loopback_are_refused_by_what_they_resolve_to(server: WebServer, host: str) -> None:
    """Admission refuses these before; the guard does not rely on it. The system's own resolver reads them."""

    def resolve(name: str, port: int) -> Sequence[str]:
        return (socket.inet_ntoa(socket.inet_aton(name)),) if name[0].isdigit() else look_up(name, port)

    with guarded_session("test/1", resolve=resolve) as session, pytest.raises(Refused, match="ip_blocked"):
        session.get(server.url("/", host))
    assert server.connections == 0


@pytest.mark.parametrize("answer", [["8.8.8.8", "127.0.0.1"], ["127.0.0.1", "8.8.8.8"], ["2606:4700::1", "::1"]])
def test_mixed_answers_are_refused_whole(server: WebServer, answer: list[str]) -> None:
    with session_to(server, Names(others=answer)) as session, pytest.raises(Refused, match="ip_blocked"):
        session.get(server.url("/", "mixed.site.org"))
    assert server.connections == 0


def test_a_name_that_answers_differently_the_second_time_changes_nothing(server: WebServer) -> None:
    """The address that was vetted is the one that is connected to: a public one, which the tests' network refuses to reach."""
    names = Names({"rebound.site.org": [["8.8.8.8"], ["127.0.0.1"]]})
    with session_to(server, names) as session:
        with pytest.raises(NetworkRefused, match=r"8\.8\.8\.8"):
            session.get(server.url("/", "rebound.site.org"))
        assert names.asked == ["rebound.site.org"] and server.connections == 0
        with pytest.raises(Refused, match="ip_blocked"):  # a new connection is vetted anew
            session.get(server.url("/", "rebound.site.org"))
    assert server.connections == 0


def test_whom_it_got_connected_to_is_compared(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.socket.connect
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: real(self, ("127.0.0.1", server.port)))
    with session_to(server, Names(others=["8.8.8.8"])) as session, pytest.raises(Refused) as refused:
        session.get(server.url("/", "diverted.site.org"))
    assert refused.value.reason == "ip_blocked" and "127.0.0.1 instead of the vetted 8.8.8.8" in refused.value.detail
    assert server.asked == []


def test_the_next_address_is_tried_when_one_is_dead(server: WebServer) -> None:
    names = Names(others=["127.0.0.9", "127.0.0.1"])  # nobody listens on the first
    with session_to(server, names, "one.site.org") as session:
        assert session.get(server.url("/", "one.site.org")).text == "here"


def test_an_exemption_is_for_its_origin_alone(server: WebServer) -> None:
    with serving() as other, session_to(server, Names(), "127.0.0.1") as session:
        assert session.get(server.url("/")).ok
        for url in (other.url("/"), server.url("/", "localhost"), server.url("/", "one.site.org")):
            with pytest.raises(Refused, match="ip_blocked"):
                session.get(url)
        assert other.connections == 0


@pytest.mark.parametrize("error", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long")])
def test_a_name_that_is_not_known(error: Exception) -> None:
    def resolve(host: str, port: int) -> Sequence[str]:
        raise error

    for answer in (resolve, Names(others=[])):
        with guarded_session("test/1", resolve=answer) as session, pytest.raises(Refused) as refused:
            session.get("http://unknown.site.org/")
        assert refused.value.reason == "dns" and "unknown.site.org" in refused.value.detail


def test_a_resolver_that_never_answers_is_given_up() -> None:
    answered = threading.Event()

    def resolve(host: str, port: int) -> Sequence[str]:
        answered.wait(10)
        return ("127.0.0.1",)

    try:
        with (
            guarded_session("test/1", resolve=resolve, dns_s=0.05) as session,
            pytest.raises(Refused, match=r"longer than 0\.05 s"),
        ):
            session.get("http://slow.site.org/")
    finally:
        answered.set()


def test_the_systems_resolver_is_the_default() -> None:
    assert "127.0.0.1" in look_up("localhost", 80)
    with guarded_session("test/1") as session, pytest.raises(Refused, match="ip_blocked"):
        session.get("http://localhost/")


# --- what a session sends and keeps ------------------------------------------------------------------------------------


def test_nothing_of_the_environment_is_used(server: WebServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine one.site.org login me password secret\ndefault login me password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    with session_to(server, Names(), "one.site.org") as session:
        assert session.get(server.url("/", "one.site.org")).ok
    headers = {name.lower(): value for name, value in server.asked[0].headers.items()}
    assert not {"authorization", "proxy-authorization", "cookie"} & headers.keys()
    assert headers["user-agent"] == "test/1"
    assert headers["accept-encoding"] == "gzip, deflate"
    assert headers["accept"].startswith("text/html,")


def test_cookies_are_not_kept(server: WebServer) -> None:
    server.put("/", Reply("here", headers=(("Set-Cookie", "a=b; Path=/"), ("Set-Cookie", "c=d"))))
    with session_to(server, Names(), "one.site.org") as session:
        for _ in range(2):
            session.get(server.url("/", "one.site.org"))
        assert not session.cookies
    assert not any("Cookie" in asked.headers for asked in server.asked)


def test_redirects_are_left_to_the_caller(server: WebServer) -> None:
    server.redirect("/away", server.url("/"))
    with session_to(server, Names(), "one.site.org") as session:
        answer = session.get(server.url("/away", "one.site.org"))
    assert answer.status_code == 302 and answer.headers["Location"] == server.url("/")
    assert server.targets() == ["/away"]


def test_a_proxy_by_the_way_is_an_error(server: WebServer) -> None:
    with session_to(server, Names(), "one.site.org") as session, pytest.raises(RuntimeError, match=PROXY_VARIABLE):
        session.get(server.url("/", "one.site.org"), proxies={"http": server.origin()})
    assert server.connections == 0


def test_an_explicit_proxy_is_asked_for_all_but_exempt_origins(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names()
    with serving() as proxy:
        proxy.put("http://one.site.org/page", "by the proxy")
        monkeypatch.setenv(PROXY_VARIABLE, proxy.origin())
        with guarded_session("test/1", allow_origins=frozenset({server.origin()}), resolve=names) as session:
            assert session.is_proxied
            with session.time_limit(5):
                assert session.get("http://one.site.org/page").text == "by the proxy"
            assert session.get(server.url("/")).text == "here"
        assert proxy.targets() == ["http://one.site.org/page"]
    assert names.asked == ["127.0.0.1"] and server.targets() == ["/"]
    monkeypatch.delenv(PROXY_VARIABLE)
    with guarded_session("test/1") as session:
        assert not session.is_proxied


@pytest.mark.parametrize("proxy", ["127.0.0.1:3128", "socks5://me:secret@h:1", "http://", "http://me:secret@h:x"])
def test_a_proxy_that_cannot_be_used_is_a_user_error(proxy: str) -> None:
    with pytest.raises(UserError, match=PROXY_VARIABLE) as told:
        guarded_session("test/1", proxy=proxy)
    assert "secret" not in str(told.value)


@pytest.mark.timeout(60, func_only=True)
def test_a_request_ends_with_its_time(server: WebServer) -> None:
    """Neither in the headers nor in the body. Bytes come one by one, for as long as the connection stands: no socket timeout is
    ever reached, and a request that waits for their end never returns."""
    done = threading.Event()

    def drip(handler: object, start: bytes) -> None:
        for byte in itertools.chain(start, itertools.repeat(ord("x"))):
            handler.wfile.write(bytes([byte]))  # type: ignore[attr-defined]
            handler.wfile.flush()  # type: ignore[attr-defined]
            if done.wait(0.01):
                return

    server.put_raw("/headers", lambda handler: drip(handler, b"HTTP/1.1 200 OK\r\nX-Long: "))
    server.put_raw("/body", lambda handler: drip(handler, b"HTTP/1.1 200 OK\r\n\r\n"))
    with contextlib.ExitStack() as at_end:
        session = at_end.enter_context(session_to(server, Names(), "one.site.org"))
        at_end.callback(done.set)
        for path in ("/headers", "/body"):
            assert session.get(server.url("/", "one.site.org")).ok  # its connection is used again
            with session.time_limit(0.4) as limit:
                with contextlib.suppress(requests.RequestException):
                    session.get(server.url(path, "one.site.org"), timeout=30)
                assert limit.expired
        assert session.get(server.url("/", "one.site.org")).text == "here"  # a later request is not touched


# --- TLS ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PEM file with key and certificate for secure.site.org, signed by itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "secure.site.org")])
    today = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("secure.site.org")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "secure.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


def test_tls_keeps_the_name(certificate: Path) -> None:
    """SNI and the certificate go by the name although an address is connected to."""
    names = Names()
    with serving(certificate=certificate) as server:
        server.put("/", "secret")
        with session_to(server, names, "secure.site.org", "other.site.org") as session:
            url = server.url("/", "secure.site.org")
            assert session.get(url, verify=str(certificate)).text == "secret"
            with session.time_limit(5):
                assert session.get(url, verify=str(certificate)).text == "secret"
            assert server.names == ["secure.site.org"] and server.connections == len(names.asked) == 1
            with pytest.raises(requests.exceptions.SSLError):
                session.get(server.url("/", "other.site.org"), verify=str(certificate))
            with pytest.raises(requests.exceptions.SSLError):
                session.get(url)  # nobody known has signed it
            assert server.connections == len(names.asked) == 3
        with session_to(server, names) as session, pytest.raises(Refused, match="ip_blocked"):
            session.get(url, verify=str(certificate))
        assert server.connections == 3
