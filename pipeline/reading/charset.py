"""The bytes of a page -> what they are, and their characters, as a browser would read them.

Sources: WHATWG MIME Sniffing (section 6, patterns), WHATWG Encoding (labels and what they stand for), WHATWG HTML (section
13.2.3.2, the prescan for `<meta charset>`), RFC 9110 (section 8.3, the header).
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Literal

from data.pages.cleaning import MAX_BROKEN

Kind = Literal["html", "text", "pdf"]
CharsetSource = Literal["bom", "header", "meta", "detected"]

_KINDS: dict[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/plain": "text",
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
}
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", "a PNG image"), (b"GIF8", "a GIF image"), (b"\xff\xd8\xff", "a JPEG image"), (b"RIFF", "RIFF media"),
    (b"II*\x00", "a TIFF image"), (b"MM\x00*", "a TIFF image"), (b"\x00\x00\x01\x00", "an icon"), (b"8BPS", "a Photoshop file"),
    (b"PK\x03\x04", "a ZIP archive"), (b"PK\x05\x06", "a ZIP archive"), (b"\x1f\x8b", "gzip data"), (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"), (b"\x28\xb5\x2f\xfd", "zstd data"), (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"), (b"MZ\x90", "a Windows program"), (b"\x7fELF", "a Linux program"),
    (b"\xcf\xfa\xed\xfe", "a macOS program"), (b"\xca\xfe\xba\xbe", "a compiled program"), (b"\x00asm", "WebAssembly"),
    (b"\xd0\xcf\x11\xe0", "an old Office file"), (b"{\\rtf", "a rich text file"), (b"%!PS", "PostScript"),
    (b"OggS", "Ogg media"), (b"ID3", "an MP3 file"), (b"fLaC", "a FLAC file"), (b"\x1aE\xdf\xa3", "Matroska media"),
    (b"wOFF", "a font"), (b"wOF2", "a font"), (b"SQLite format 3", "a database"),
)  # fmt: skip
_HTML_START = re.compile(
    rb"\s*(?:<!--.{0,500}?-->\s*|<\?xml[^>]{0,200}>\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def kind_of(body: bytes, content_type: str) -> tuple[Kind | None, str]:
    """What the bytes are, or None and why they are refused.

    The first bytes decide before the header does: a server names a PDF whatever it likes, and an image labelled as HTML
    would become text of a kind.
    """
    head = next((body[len(bom) :] for bom, _ in _BOMS if body.startswith(bom)), body)[:1024].lstrip()
    if head.startswith(b"%PDF-"):
        return "pdf", ""
    for magic, name in _MAGIC:
        if body.startswith(magic):
            return None, f"the bytes are {name}"
    if body[4:8] == b"ftyp":
        return None, "the bytes are MP4 media"
    named = content_type.partition(";")[0].strip().lower()
    if named and named not in _KINDS:
        return None, f"content type {named[:60]!r}"
    if _HTML_START.match(head):
        return "html", ""
    if _KINDS.get(named) == "pdf":
        return None, "labelled as PDF, but the bytes are none"
    return _KINDS.get(named, "text"), ""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The characters of a page, by which encoding, and who named it. `broken` is the share of U+FFFD among them."""

    text: str
    charset: str
    source: CharsetSource

    @property
    def broken(self) -> float:
        return self.text.count("\ufffd") / len(self.text) if self.text else 0.0


def decode(body: bytes, content_type: str, kind: Kind) -> Decoded:
    """Byte order mark, then the header, then the page's own declaration (HTML), then detection.

    Where what the header names leaves more than `MAX_BROKEN` of the characters unreadable and the page itself names
    another encoding, that one is tried: some servers send one charset with everything.
    """
    for bom, charset in _BOMS:
        if body.startswith(bom):
            return Decoded(body[len(bom) :].decode(charset, "replace"), charset, "bom")
    declared: list[tuple[str, CharsetSource]] = []
    if found := charset_by_label(_header_label(content_type)):
        declared.append((found, "header"))
    if kind == "html" and (found := charset_by_label(_own_label(body[:1024]))):
        # a page that could be read so far as to find this is not in UTF-16, whatever it says
        declared.append(("utf-8" if found.startswith("utf-16") else found, "meta"))
    if not declared:
        return _detected(body)
    readings = (Decoded(body.decode(charset, "replace"), charset, source) for charset, source in declared)
    first = next(readings)
    if first.broken <= MAX_BROKEN:
        return first
    return min([first, *readings], key=lambda reading: reading.broken)


# --- names of encodings ----------------------------------------------------------------------------------------------

_LABELS = {
    # what browsers read behind a label is often a superset of what the label once meant, and what writers used
    **dict.fromkeys(
        ["ascii", "us-ascii", "ansi_x3.4-1968", "iso-8859-1", "iso8859-1", "iso88591", "iso_8859-1", "latin1", "l1", "cp819",
         "x-user-defined"], "cp1252",
    ),
    **dict.fromkeys(["iso-8859-9", "iso8859-9", "iso_8859-9", "latin5", "l5"], "cp1254"),
    **dict.fromkeys(["iso-8859-11", "iso8859-11", "tis-620", "dos-874", "windows-874"], "cp874"),
    **dict.fromkeys(["gb2312", "gb_2312", "gb_2312-80", "csgb2312", "chinese", "x-gbk", "gbk", "gb18030"], "gb18030"),
    **dict.fromkeys(["shift_jis", "shift-jis", "sjis", "x-sjis", "ms_kanji", "ms932", "windows-31j", "csshiftjis"], "cp932"),
    **dict.fromkeys(["euc-kr", "ks_c_5601-1987", "ksc5601", "ksc_5601", "korean", "windows-949"], "cp949"),
    **dict.fromkeys(["big5", "big5-hkscs", "x-x-big5", "cn-big5", "csbig5"], "big5hkscs"),
    **dict.fromkeys(["x-euc-jp", "cseucpkdfmtjapanese"], "euc_jp"),
    **dict.fromkeys(["iso-8859-8-i", "iso-8859-8-e", "logical", "visual"], "iso8859-8"),
    **dict.fromkeys(["utf-16", "unicode", "ucs-2", "iso-10646-ucs-2", "csunicode", "unicodefeff"], "utf-16-le"),
    **dict.fromkeys(["unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8"], "utf-8"),
    "unicodefffe": "utf-16-be",
    "x-mac-roman": "mac-roman", "macintosh": "mac-roman", "mac": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic", "x-mac-ukrainian": "mac-cyrillic",
    "koi": "koi8-r", "koi8": "koi8-r", "koi8-ru": "koi8-u", "dos-866": "cp866", "866": "cp866",
}  # fmt: skip
_ENCODINGS = frozenset(
    {"utf-8", "utf-16-le", "utf-16-be", "cp866", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "cp874", "gb18030",
     "big5hkscs", "euc_jp", "iso2022_jp", "cp932", "cp949"}
    | {f"cp125{n}" for n in range(9)} | {f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)}
)  # fmt: skip
"""Python's names of the encodings that browsers know. UTF-7 and the like are not among them: they hide markup."""


def charset_by_label(label: str) -> str:
    """Python's name for what browsers read behind `label`; "" for a label they do not know."""
    label = label.strip().strip("\"'").lower()
    if label in _LABELS:
        return _LABELS[label]
    label = re.sub(r"^x-(?=cp125\d$)", "", label)
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):  # ValueError: a null character in the label
        return ""
    return name if name in _ENCODINGS else ""


_HEADER_LABEL = re.compile(r";\s*charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.I)
_COMMENT = re.compile(rb"<!--.*?-->", re.S)
_XML_LABEL = re.compile(rb"\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*[\"']([\w.:-]+)", re.I)
_META = re.compile(rb"<meta[\s/]([^>]*)", re.I)
_ATTRIBUTE = re.compile(rb"([a-z-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.I)
_LABEL_IN_CONTENT = re.compile(rb"charset\s*=\s*[\"']?\s*([^\s\"';]+)", re.I)


def _header_label(content_type: str) -> str:
    found = _HEADER_LABEL.search(content_type)
    return found.group(1) if found else ""


def _own_label(head: bytes) -> str:
    """What the page's first bytes say of its encoding."""
    head = _COMMENT.sub(b"", head)
    for tag in _META.finditer(head):
        attributes: dict[bytes, bytes] = {name.lower(): a or b or c for name, a, b, c in _ATTRIBUTE.findall(tag.group(1))}
        if label := attributes.get(b"charset"):
            return label.decode("ascii", "replace")
        if attributes.get(b"http-equiv", b"").lower() == b"content-type" and (
            found := _LABEL_IN_CONTENT.search(attributes.get(b"content", b""))
        ):
            return found.group(1).decode("ascii", "replace")
    found = _XML_LABEL.match(head)
    return found.group(1).decode("ascii", "replace") if found else ""


_DETECTION_BYTES = 65_536
_LIKELY = [
    "big5hkscs", "cp874", "cp932", "cp949", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257",
    "cp1258", "euc_jp", "gb18030", "koi8-r", "koi8-u",
]  # fmt: skip
"""Those that pages without a declaration are in: the others are too much like one of these to be separated from it."""


def _detected(body: bytes) -> Decoded:
    """UTF-8 where the bytes are valid UTF-8, which other text hardly ever is by chance; else the likeliest encoding."""
    try:
        return Decoded(body.decode("utf-8"), "utf-8", "detected")
    except UnicodeDecodeError:
        pass
    from charset_normalizer import from_bytes

    # ASCII bytes are the same in every encoding, so they decide nothing
    sample = b" ".join(piece for piece in re.split(rb"[<>]", body) if not piece.isascii())[:_DETECTION_BYTES]
    likeliest = from_bytes(sample, cp_isolation=_LIKELY, enable_fallback=False).best()
    charset = charset_by_label(str(likeliest.encoding)) if likeliest is not None else ""
    return Decoded(body.decode(charset or "cp1252", "replace"), charset or "cp1252", "detected")
