"""PDF files with text, columns and ruled tables, written out by hand: what tests and measurements of reading need."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

_LEFT, _TOP, _LINE = 50, 790, 14
_COLUMN = 120


@dataclass(slots=True)
class Drawn:
    """A page in the making, from the top down. Lengths are points."""

    y: int = _TOP
    operators: list[str] = field(default_factory=list)

    def text(self, x: int, y: int, text: str, size: int = 10) -> None:
        escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        self.operators.append(f"BT /F1 {size} Tf {x} {y} Td ({escaped}) Tj ET")

    def heading(self, text: str) -> Drawn:
        self.text(_LEFT, self.y, text, 14)
        self.y -= 2 * _LINE
        return self

    def prose(self, sentences: Sequence[str], *, x: int = _LEFT, width: int = 95) -> Drawn:
        for line in textwrap.wrap(" ".join(sentences), width):
            self.text(x, self.y, line)
            self.y -= _LINE
        self.y -= _LINE
        return self

    def columns(self, left: Sequence[str], right: Sequence[str]) -> Drawn:
        top = self.y
        self.prose(left, width=46)
        bottom, self.y = self.y, top
        self.prose(right, x=310, width=46)
        self.y = min(bottom, self.y)
        return self

    def table(self, rows: Sequence[Sequence[str]], *, ruled: bool = False) -> Drawn:
        top = self.y + _LINE - 3
        for row in rows:
            for column, cell in enumerate(row):
                self.text(_LEFT + 4 + column * _COLUMN, self.y, cell)
            self.y -= _LINE + 2
        n = max(map(len, rows))
        if ruled:
            right, height = _LEFT + n * _COLUMN, _LINE + 2
            for at in range(len(rows) + 1):
                self.operators.append(f"{_LEFT} {top - at * height} m {right} {top - at * height} l S")
            for at in range(n + 1):
                x = _LEFT + at * _COLUMN
                self.operators.append(f"{x} {top} m {x} {top - len(rows) * height} l S")
        self.y -= _LINE
        return self

    def box(self) -> Drawn:
        """A grey rectangle, as a scanned page is a picture."""
        self.operators.append("0.8 g 50 50 490 740 re f")
        return self


def pdf(pages: Sequence[Drawn]) -> bytes:
    """A file of these pages, in a font that every reader has."""
    n = len(pages)
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(n))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {n} >>"]
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    for i, page in enumerate(pages):
        content = "\n".join(page.operators)
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * i} 0 R >>"
        )
        objects.append(f"<< /Length {len(content.encode('cp1252'))} >>\nstream\n{content}\nendstream")
    body, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n".encode("cp1252")
    table = "".join(f"{at:010} 00000 n \n" for at in places)
    start = len(body)
    size = len(objects) + 1
    body += f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n".encode()
    return body + f"startxref\n{start}\n%%EOF\n".encode()
