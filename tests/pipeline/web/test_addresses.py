"""Which addresses are admitted, and that what is admitted is requested character by character."""

from __future__ import annotations

import pytest
import requests
from hypothesis import example, given
from hypothesis import strategies as st

from data.errors import UserError
from pipeline.web.addresses import MAX_LENGTH, Address, Refused, admit, exempt

ADMITTED = [
    ("https://news.site.org/a/b?x=1&y=2#part", "https://news.site.org/a/b?x=1&y=2"),
    ("HTTPS://News.Site.ORG", "https://news.site.org/"), ("http://site.org./a", "http://site.org/a"),
    ("http://site.org:80/", "http://site.org/"), ("https://site.org:443/a", "https://site.org/a"),
    ("http://site.org:443/a", "http://site.org:443/a"), ("http://site.org:/a", "http://site.org/a"),
    ("http://site.org?q=1", "http://site.org/?q=1"), ("http://site.org/?", "http://site.org/?"),
    ("http://site.org//a//b", "http://site.org/a//b"), ("http://site.org/a/../b/./c/..", "http://site.org/b/"),
    ("http://site.org/a/%2E%2e/%41%7e", "http://site.org/A~"),
    ("http://site.org/100%/%zz/%2f", "http://site.org/100%25/%25zz/%2F"),
    ("http://site.org/Überflutung?q=é[1]|", "http://site.org/%C3%9Cberflutung?q=%C3%A9%5B1%5D%7C"),
    ("http://site.org/a'b\"<c>;d,e@f:g", "http://site.org/a'b%22%3Cc%3E;d,e@f:g"),
    ("https://münchen.de/ß", "https://xn--mnchen-3ya.de/%C3%9F"), ("https://ニュース。日本/", "https://xn--zck9awe6d.xn--wgv71a/"),
    # as they are
    *((url, url) for url in ("https://xn--mnchen-3ya.de/", "https://r3---sn-4g5.site.org/", "https://1.site.org/",
                             "https://localhost.site.org/", "https://testing.org/")),
]  # fmt: skip
REFUSED = {
    "scheme": ("", "site.org/a", "ftp://site.org/a", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,x",
               "http:/site.org", "http:\\\\site.org", " http://site.org/"),
    "port": ("http://site.org:22/", "http://site.org:8080/", "http://site.org:0/", "http://site.org:65536/"),
    "host_rule": (
        # no host, or a host that parsers read differently
        "http://", "http:///a", "http://user@site.org/", "http://user:word@site.org/", "http://good.site.org\\@127.0.0.1/",
        "http://good.site.org\\.evil.org/", "http://local%68ost/", "http://%6c%6fcalhost.org/", "http://si te.org/",
        "http://site.org:8a/", "http://site.org:٨٠/", "http://site.org:80:80/",
        # blanks and controls
        "http://site.org/a b", "http://site.org/a\tb", "http://site.org/a\r\nHost: x", "http://site.org/\x00",
        "http://site.org/\x85", "http://site.org/\u3000", "http://site.org/\ud800",
        # addresses of IPv4 in each spelling, and of IPv6
        "http://127.0.0.1/", "http://8.8.8.8/", "http://127.1/", "http://2130706433/", "http://0x7f.0.0.1/",
        "http://0x7f000001/", "http://0177.0.0.1/", "http://a.b.0x7f/", "http://１２７.０.０.１/", "http://127。0。0。1/",
        "http://127.0.0.1./", "http://[::1]/", "http://[2606:4700::1111]/", "http://[::ffff:127.0.0.1]/",
        "http://[fe80::1%25eth0]/", "http://[::1/", "http://::1/",
        # names of this machine and of networks
        "http://localhost/", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://intranet/", "http://wiki.local/", "http://a.localhost/",
        "http://x.internal/", "http://router.home.arpa/", "http://hidden.onion/", "http://a.test/", "http://a.example/",
        "http://a.invalid./",
        # what is no name
        "http://a..org/", "http://.site.org/", "http://-a.org/", "http://my_site.org/", "http://xn--a-ecp.xn--b/",
        "http://" + "a" * 64 + ".org/", "http://" + "a." * 127 + "org/",
        # what is too long
        "http://site.org/" + "a" * MAX_LENGTH, "http://site.org/" + "é" * (MAX_LENGTH // 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("url", "asked"), ADMITTED)
def test_admitted_addresses_are_rebuilt(url: str, asked: str) -> None:
    assert admit(url).url == asked
    assert admit(asked) == admit(url)


@pytest.mark.parametrize(("reason", "url"), [(reason, url) for reason, urls in REFUSED.items() for url in urls])
def test_refused_addresses(reason: str, url: str) -> None:
    with pytest.raises(Refused) as refused:
        admit(url)
    assert refused.value.reason == reason
    assert refused.value.detail


_TEXT = st.text(alphabet=st.one_of(st.sampled_from("/.?%&=+;:@!$'()*,[]|^`{}<>\"2eEfF~-_#aé"), st.characters()), max_size=40)


@given(_TEXT)
@example("/../..//x/%2e%2e/?a=%2e&%%41")
@example("//?/../")
def test_what_is_admitted_is_what_libraries_request(rest: str) -> None:
    """requests quotes, urllib3 removes dots, its adapter drops slashes: none of them may find anything to do."""
    try:
        address = admit(f"http://site.org/{rest}")
    except Refused:
        return
    prepared = requests.Request("GET", address.url).prepare()
    assert prepared.url == address.url
    assert prepared.path_url == address.target
    assert not address.target.startswith("//")
    assert admit(address.url) == address


@given(st.text(max_size=30))
def test_no_spelling_of_a_host_breaks_or_escapes(host: str) -> None:
    try:
        address = admit(f"http://{host}/")
    except Refused:
        return
    assert "." in address.host and address.host.isascii() and address.port in (80, 443)
    assert requests.Request("GET", address.url).prepare().url == address.url


def test_origins_by_exemption() -> None:
    allowed = exempt(["http://127.0.0.1:8080/", "HTTPS://Wiki.Corp.LAN:443", "http://[::1]:9", "http://my_wiki"])
    assert allowed == {"http://127.0.0.1:8080", "https://wiki.corp.lan", "http://[::1]:9", "http://my_wiki"}
    assert admit("http://127.0.0.1:8080/a", allow_origins=allowed) == Address("http", "127.0.0.1", 8080, "/a")
    assert admit("https://wiki.corp.lan/a", allow_origins=allowed).origin == "https://wiki.corp.lan"
    assert admit("http://[0:0::1]:9/", allow_origins=allowed).host == "[::1]"
    for near in ("http://127.0.0.1:8081/", "https://127.0.0.1:8080/", "http://127.0.0.1/", "http://wiki.corp.lan:8080/"):
        with pytest.raises(Refused):
            admit(near, allow_origins=allowed)
    with pytest.raises(Refused, match="host_rule"):
        admit("http://u:p@127.0.0.1:8080/", allow_origins=allowed)


@pytest.mark.parametrize(
    "text", ["", "wiki.corp.lan", "ftp://a.org", "http://", "http://a.org/path", "http://u@a.org", "http://a.org:99999"]
)
def test_an_exemption_that_is_no_origin_is_a_user_error(text: str) -> None:
    with pytest.raises(UserError, match="allow_origins") as told:
        exempt([text])
    assert repr(text) in str(told.value)
