from __future__ import annotations

import codecs

import pytest

from pipeline.reading.charset import charset_by_label, decode, kind_of

STORIES = {
    "utf-8": "Le barrage a cédé à l'aube, et la vallée fut inondée en une heure. Łódź, Þórshöfn, 北京. " * 4,
    "windows-1252": "Le barrage a cédé à l'aube, et la vallée fut inondée en une heure. Les ingénieurs l’avaient prédit. " * 4,
    "windows-1251": "Плотина прорвалась утром после недели дождей, и долину затопило за час. Мэр города сообщил о жертвах. "
    * 4,
    "shift_jis": "堤防は一週間の雨の後、五月四日の朝に決壊し、下流の谷は一時間以内に水没した。市長は警報を聞かなかった。" * 4,
    "gb18030": "大坝在连续一周的降雨之后于五月四日早晨溃决，下游的山谷在一小时之内被淹没。市长说许多人没有听到警报。" * 4,
}
HTML = "<!DOCTYPE html><html><head>{}<title>x</title></head><body><p>{}</p></body></html>"


@pytest.mark.parametrize("charset", STORIES)
@pytest.mark.parametrize("named", ["bom", "header", "meta", "http-equiv", "none"])
def test_every_way_to_name_an_encoding(charset: str, named: str) -> None:
    """A byte order mark exists for Unicode only: there the others are written in UTF-16."""
    story = STORIES[charset]
    head = {
        "meta": f"<meta charset='{charset}'>",
        "http-equiv": f'<meta http-equiv="Content-Type" content="text/html; charset={charset}">',
    }.get(named, "")
    page = HTML.format(head, story)
    header = f"text/html; charset={charset.upper()}" if named == "header" else "text/html"
    if named == "bom":
        body = codecs.BOM_UTF8 + page.encode() if charset == "utf-8" else codecs.BOM_UTF16_LE + page.encode("utf-16-le")
    else:
        body = page.encode(charset)
    found = decode(body, header, "html")
    assert found.text == page, found.charset
    assert found.broken == 0
    assert found.source == {"http-equiv": "meta", "none": "detected"}.get(named, named)


def test_the_order_is_mark_header_page_detection() -> None:
    page = HTML.format("<meta charset='windows-1251'>", "café")
    assert decode(codecs.BOM_UTF8 + page.encode(), "text/html; charset=koi8-r", "html").text == page
    assert decode(page.encode(), "text/html; charset=utf-8", "html").source == "header"
    assert decode(page.encode("cp1251", "replace"), "text/html; charset=nonsense", "html").charset == "cp1251"
    assert decode(b"<meta charset=koi8-r>abc", "text/plain", "text").source == "detected"  # plain text declares nothing


def test_a_header_that_is_wrong_gives_way_to_the_page() -> None:
    page = HTML.format("<meta charset='windows-1251'>", STORIES["windows-1251"])
    found = decode(page.encode("cp1251"), "text/html; charset=utf-8", "html")
    assert (found.text, found.source) == (page, "meta")
    lost = decode(HTML.format("", STORIES["windows-1251"]).encode("cp1251"), "text/html; charset=utf-8", "html")
    assert lost.broken > 0.3 and lost.charset == "utf-8"


@pytest.mark.parametrize(
    "head",
    [
        b"<!-- <meta charset='koi8-r'> --><title>x</title>",
        b"<meta name='description' content='charset=koi8-r'>",
        b" " * 1100 + b"<meta charset='koi8-r'>",
    ],
)
def test_what_is_no_declaration(head: bytes) -> None:
    assert decode(b"<html>" + head + "é".encode(), "text/html", "html").charset == "utf-8"


@pytest.mark.parametrize(
    ("label", "charset"),
    [
        ("ISO-8859-1", "cp1252"), ("latin1", "cp1252"), ("us-ascii", "cp1252"), ("gb2312", "gb18030"), ("GBK", "gb18030"),
        ("Shift_JIS", "cp932"), ("euc-kr", "cp949"), ("ISO-8859-9", "cp1254"), ("tis-620", "cp874"), ("big5", "big5hkscs"),
        ("utf8", "utf-8"), ("UTF-16", "utf-16-le"), (' "utf-8" ', "utf-8"), ("iso-8859-2", "iso8859-2"), ("x-cp1250", "cp1250"),
        ("utf-7", ""), ("rot13", ""), ("base64", ""), ("idna", ""), ("unicode_escape", ""), ("", ""), ("\x00", ""), ("é", ""),
        ("utf-32", ""), ("nonsense", ""),
    ],
)  # fmt: skip
def test_labels_mean_what_browsers_read(label: str, charset: str) -> None:
    assert charset_by_label(label) == charset


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (b"%PDF-1.7 ...", "text/html", "pdf"),
        (b"\n%PDF-1.7 ...", "application/octet-stream", "pdf"),
        (b"\xef\xbb\xbf%PDF-1.7", "", "pdf"),
        (b"<html>", "text/html; charset=utf-8", "html"),
        (b"plain words", "text/plain", "text"),
        (b"<!doctype html><p>x", "text/plain", "html"),
        (b"<!-- a comment --><html>", "", "html"),
        (b"just words", "", "text"),
        (b"no tags here", "text/html", "html"),
        (b"<html>Sign in", "application/pdf", "html"),
        (b"words", "application/pdf", None),
        (b"\x89PNG\r\n\x1a\n", "text/html", None),
        (b"PK\x03\x04rest", "text/html", None),
        (b"MZ\x90\x00", "text/html", None),
        (b"\x1f\x8b\x08", "text/plain", None),
        (b"\x00\x00\x00\x18ftypmp42", "text/html", None),
        (b'{"a": 1}', "application/json", None),
        (b"<rss>", "application/rss+xml", None),
        (b"", "image/png", None),
    ],
)
def test_the_first_bytes_decide_before_the_header(body: bytes, content_type: str, kind: str | None) -> None:
    found, why = kind_of(body, content_type)
    assert found == kind
    assert (why != "") == (kind is None)
