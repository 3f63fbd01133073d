"""Small bodies that unpack to hundreds of megabytes: refused, with a reason, by a process of a gigabyte at most."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Mapping

import pytest

from data.pages.cleaning import Extracted
from pipeline.reading.documents import Job
from tests.pipeline.reading.read_together import read_documents

MANY = 300
"""Million characters."""


def _packed(unit: bytes) -> bytes:
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(unit * (1_000_000 // len(unit))) for _ in range(MANY)) + packer.flush()


def _pdf(filters: bytes, content: bytes, more: bytes = b"") -> bytes:
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << >> /Contents 4 0 R >>",
        b"<< /Length %d /Filter %s %s >>\nstream\n%s\nendstream" % (len(content), filters, more, content),
    )
    body = b"%PDF-1.4\n" + b"".join(b"%d 0 obj\n%s\nendobj\n" % (n, one) for n, one in enumerate(objects, 1))
    return body + b"trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n0\n%%EOF\n"


def _zip(content: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("page.html", content)
    return target.getvalue()


@pytest.fixture(scope="module")
def read() -> Mapping[str, Extracted]:
    zeros, much = _packed(b"0"), bytes(2_000_000)
    bodies = {
        "a stream": _pdf(b"/FlateDecode", zeros),
        "a stream packed twice": _pdf(b"[/FlateDecode /FlateDecode]", zlib.compress(zeros, 9)),
        "runs in a stream": _pdf(b"[/FlateDecode /RunLengthDecode]", zlib.compress(b"\x810" * 3_000_000, 9)),
        "columns": _pdf(b"/FlateDecode", zlib.compress(b"q Q"), b"/DecodeParms << /Predictor 12 /Columns 2000000000 >>"),
        "ZIP": _zip(much),
        "gzip": gzip.compress(much),
        "xz": lzma.compress(much),
        "bzip2": bz2.compress(much),
    }
    jobs = [
        Job(body, f"https://a.org/{n}", "application/pdf", "search", "2031-12-31") for n, body in enumerate(bodies.values())
    ]
    return dict(zip(bodies, (document.extracted for document in read_documents(jobs, workers=1)), strict=True))


@pytest.mark.parametrize("way", ["a stream", "a stream packed twice", "runs in a stream", "columns"])
def test_a_pdf_is_refused_at_a_limit(read: Mapping[str, Extracted], way: str) -> None:
    assert read[way].drop_reason == "extract_none" and "imit" in read[way].drop_detail and not read[way].text


@pytest.mark.parametrize("way", ["ZIP", "gzip", "xz", "bzip2"])
def test_an_archive_is_not_unpacked(read: Mapping[str, Extracted], way: str) -> None:
    assert read[way].drop_reason == "bad_type" and way in read[way].drop_detail
