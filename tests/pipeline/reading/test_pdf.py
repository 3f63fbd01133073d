from __future__ import annotations

import io
import subprocess
import sys

from pypdf import PdfReader, PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from pipeline.reading.documents import read_document
from pipeline.reading.pdf.pdf_pages import MAX_PAGES, read_pdf

WIDE = "The Grenmark dam failed on the morning of 4 May 2031 after a week of rain, and the val-"


def make_pdf(*pages: list[str], password: str | None = None, algorithm: str = "RC4-128", **information: str) -> bytes:
    """A PDF with one line of text below the other, in a font that every reader has; encrypted where there is a password."""
    writer = PdfWriter()
    font = writer._add_object(
        DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
                NameObject("/Encoding"): NameObject("/WinAnsiEncoding"),
            }
        )
    )
    for lines in pages:
        page = writer.add_blank_page(width=595, height=842)
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})})
        escaped = (line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)") for line in lines)
        shown = " ".join(f"({line}) Tj 0 -14 Td" for line in escaped)
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 11 Tf 50 800 Td {shown} ET".encode("cp1252"))
        page[NameObject("/Contents")] = writer._add_object(content)
    if information:
        writer.add_metadata({f"/{name}": value for name, value in information.items()})
    if password is not None:
        writer.encrypt(password, "the owner's", algorithm=algorithm)
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def test_an_empty_page_leaves_no_empty_line() -> None:
    assert read_pdf(make_pdf(["One."], [], ["Three."])).text == "One.\nThree."


def test_what_cannot_be_read_says_why() -> None:
    assert read_pdf(make_pdf([], [])).problem == "a PDF of 2 pages without text"
    assert read_pdf(make_pdf([WIDE], password="secret")).problem == "an encrypted PDF that asks for a password"


def test_a_cipher_that_is_not_installed_is_named() -> None:
    script = (
        "import sys; sys.modules.update({'cryptography': None, 'Crypto': None})\n"
        "from pipeline.reading.pdf.pdf_pages import read_pdf\n"
        "sys.stdout.write(read_pdf(sys.stdin.buffer.read()).problem)"
    )
    for algorithm in ("AES-128", "AES-256"):
        body = make_pdf([WIDE], password="", algorithm=algorithm)
        said = subprocess.run([sys.executable, "-c", script], input=body, capture_output=True, timeout=60, check=True).stdout
        assert said.startswith(b"a PDF that cannot be decoded here: cryptography") and b"AES" in said


def test_pages_beyond_the_limit_are_left() -> None:
    found = read_pdf(make_pdf(*[[f"Word{chr(97 + k % 26)}{chr(97 + k // 26)} is here."] for k in range(MAX_PAGES + 3)]))
    assert len(found.text.splitlines()) == MAX_PAGES


def document(body: bytes, **changes: str):  # type: ignore[no-untyped-def]
    return read_document(body, **{"url": "https://a.example/x", "content_type": "text/html", "origin": "search",
                                  "run_date": "2031-12-31", **changes})  # type: ignore[arg-type]  # fmt: skip


def test_a_pdf_is_a_document_whatever_its_label() -> None:
    body = make_pdf([WIDE], Title="Report\u202e on the dam", Author="Hanne Brucker", CreationDate="D:20310506080000+02'00'")
    found = document(body, provider_date="2 days ago")
    assert (found.text_kind, found.extracted.title, found.author) == ("pdf", "Report on the dam", "Hanne Brucker")
    assert (found.extracted.published, found.published_source) == ("2031-05-06", "pdf")
    assert found.published_at == "2031-05-06T08:00:00+02:00"
    assert found.extractor.startswith("pypdf/")
    dated = document(body, url="https://a.example/2031/05/08/report.pdf")
    assert (dated.extracted.published, dated.published_source) == ("2031-05-08", "url")  # its own date is a hint only


def test_titles_of_programs_are_none() -> None:
    assert document(make_pdf([WIDE], Title="Microsoft Word - final2.docx"), title="Dam report").extracted.title == "Dam report"


def test_dropped_pdfs_have_a_reason() -> None:
    body = make_pdf([WIDE] * 30)
    for broken, detail in (
        (make_pdf([]), "without text"),
        (make_pdf([WIDE], password="secret"), "encrypted"),
        (body[: len(body) // 2], ""),
        (b"%PDF-1.7 and nothing else", ""),
    ):
        found = document(broken).extracted
        if found.drop_reason is None:  # half a file may still hold its pages
            assert "Grenmark" in found.text
        else:
            assert (found.drop_reason, detail in found.drop_detail, bool(found.drop_detail)) == ("extract_none", True, True)
    huge = document(b"%PDF-1.7" + b"x" * 20_000_000).extracted
    assert huge.drop_reason == "too_large"


def test_the_reader_used_here_sees_what_was_written() -> None:
    assert len(PdfReader(io.BytesIO(make_pdf(["a"], ["b"]))).pages) == 2
