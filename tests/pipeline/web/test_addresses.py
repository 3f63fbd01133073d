"""Which addresses are admitted, and that what is admitted is requested character by character."""

from __future__ import annotations

import pytest
import requests
from hypothesis import example, given
from hypothesis import strategies as st

from data.errors import UserError
from data.pages.page_urls import canonical_url
from pipeline.web.addresses import MAX_LENGTH, Address, Refused, admit, canonical, exempt

ADMITTED = [
    ("https://news.site.org/a/b?x=1&y=2#part", "https://news.site.org/a/b?x=1&y=2"),
    ("HTTPS://News.Site.ORG", "https://news.site.org/"),
    ("http://site.org:80/", "http://site.org/"),
    ("https://site.org:443/a", "https://site.org/a"),
    ("http://site.org:443/a", "http://site.org:443/a"),
    ("http://site.org:/a", "http://site.org/a"),
    ("http://site.org./a", "http://site.org/a"),
    ("http://site.org?q=1", "http://site.org/?q=1"),
    ("http://site.org/?", "http://site.org/?"),
    ("http://site.org//a//b", "http://site.org/a//b"),
    ("http://site.org/a/../b/./c/..", "http://site.org/b/"),
    ("http://site.org/a/%2E%2e/%41%7e", "http://site.org/A~"),
    ("http://site.org/100%/%zz/%2f", "http://site.org/100%25/%25zz/%2F"),
    ("http://site.org/Überflutung?q=é[1]|", "http://site.org/%C3%9Cberflutung?q=%C3%A9%5B1%5D%7C"),
    ("http://site.org/a'b\"<c>;d,e@f:g", "http://site.org/a'b%22%3Cc%3E;d,e@f:g"),
    ("https://münchen.de/ß", "https://xn--mnchen-3ya.de/%C3%9F"),
    ("https://xn--mnchen-3ya.de/", "https://xn--mnchen-3ya.de/"),
    ("https://ニュース。日本/", "https://xn--zck9awe6d.xn--wgv71a/"),
    ("https://r3---sn-4g5.site.org/", "https://r3---sn-4g5.site.org/"),
    ("https://1.site.org/", "https://1.site.org/"),
    ("https://site.org/x@y", "https://site.org/x@y"),
    ("https://localhost.site.org/", "https://localhost.site.org/"),
    ("https://testing.org/", "https://testing.org/"),
]
REFUSED = [
    ("", "scheme"),
    ("site.org/a", "scheme"),
    ("ftp://site.org/a", "scheme"),
    ("file:///etc/passwd", "scheme"),
    ("javascript:alert(1)", "scheme"),
    ("data:text/html,x", "scheme"),
    ("http:/site.org", "scheme"),
    ("http:\\\\site.org", "scheme"),
    (" http://site.org/", "scheme"),
    ("http://", "host_rule"),
    ("http:///a", "host_rule"),
    ("http://user@site.org/", "host_rule"),
    ("http://user:word@site.org/", "host_rule"),
    ("http://good.site.org\\@127.0.0.1/", "host_rule"),
    ("http://good.site.org\\.evil.org/", "host_rule"),
    ("http://local%68ost/", "host_rule"),
    ("http://%6c%6fcalhost.org/", "host_rule"),
    ("http://site.org/a b", "host_rule"),
    ("http://site.org/a\tb", "host_rule"),
    ("http://site.org/a\r\nHost: x", "host_rule"),
    ("http://site.org/\x00", "host_rule"),
    ("http://site.org/\x85", "host_rule"),
    ("http://site.org/\u3000", "host_rule"),
    ("http://site.org/\ud800", "host_rule"),
    ("http://si te.org/", "host_rule"),
    ("http://127.0.0.1/", "host_rule"),
    ("http://8.8.8.8/", "host_rule"),
    ("http://127.1/", "host_rule"),
    ("http://2130706433/", "host_rule"),
    ("http://0x7f.0.0.1/", "host_rule"),
    ("http://0x7f000001/", "host_rule"),
    ("http://0177.0.0.1/", "host_rule"),
    ("http://a.b.0x7f/", "host_rule"),
    ("http://１２７.０.０.１/", "host_rule"),
    ("http://127。0。0。1/", "host_rule"),
    ("http://127.0.0.1./", "host_rule"),
    ("http://[::1]/", "host_rule"),
    ("http://[2606:4700::1111]/", "host_rule"),
    ("http://[::ffff:127.0.0.1]/", "host_rule"),
    ("http://[fe80::1%25eth0]/", "host_rule"),
    ("http://[::1/", "host_rule"),
    ("http://::1/", "host_rule"),
    ("http://localhost/", "host_rule"),
    ("http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "host_rule"),
    ("http://intranet/", "host_rule"),
    ("http://wiki.local/", "host_rule"),
    ("http://a.localhost/", "host_rule"),
    ("http://x.internal/", "host_rule"),
    ("http://router.home.arpa/", "host_rule"),
    ("http://hidden.onion/", "host_rule"),
    ("http://a.test/", "host_rule"),
    ("http://a.example/", "host_rule"),
    ("http://a.invalid./", "host_rule"),
    ("http://a..org/", "host_rule"),
    ("http://.site.org/", "host_rule"),
    ("http://-a.org/", "host_rule"),
    ("http://my_site.org/", "host_rule"),
    ("http://xn--a-ecp.xn--b/", "host_rule"),
    ("http://" + "a" * 64 + ".org/", "host_rule"),
    ("http://" + "a." * 127 + "org/", "host_rule"),
    ("http://site.org/" + "a" * MAX_LENGTH, "host_rule"),
    ("http://site.org/" + "é" * (MAX_LENGTH // 3), "host_rule"),
    ("http://site.org:22/", "port"),
    ("http://site.org:8080/", "port"),
    ("http://site.org:0/", "port"),
    ("http://site.org:65536/", "port"),
    ("http://site.org:8a/", "host_rule"),
    ("http://site.org:٨٠/", "host_rule"),
    ("http://site.org:80:80/", "host_rule"),
]


@pytest.mark.parametrize(("url", "asked"), ADMITTED)
def test_admitted_addresses_are_rebuilt(url: str, asked: str) -> None:
    assert admit(url).url == asked
    assert admit(asked) == admit(url)


@pytest.mark.parametrize(("url", "reason"), REFUSED)
def test_refused_addresses(url: str, reason: str) -> None:
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


def test_one_canonical_form() -> None:
    assert canonical is canonical_url
    assert canonical("https://Site.org/a?utm_source=x&b=1") == canonical("https://site.org:443/a?b=1#c")
