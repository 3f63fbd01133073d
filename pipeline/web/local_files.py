"""Pages on disk that a person gives: which files may be read, and by which names they go on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from data import codec
from data.errors import UserError
from pipeline.reading.pdf.pdf_pages import MAX_PDF_BYTES

FILE = "file:"
FILE_TYPES = {
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".txt": "text/plain",
    ".md": "text/plain",
    ".pdf": "application/pdf",
}


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A page on disk. `name` is its path below the folder that all given files share: nothing else of the disk is shown."""

    name: str
    body: bytes = field(repr=False)

    @property
    def content_type(self) -> str:
        return FILE_TYPES[Path(self.name).suffix.lower()]


def local_files(paths: Sequence[Path]) -> tuple[LocalFile, ...]:
    """The files, read. Raises UserError for one that cannot be read, or is no page."""
    resolved = tuple(dict.fromkeys(path.expanduser().resolve() for path in paths))
    root = Path(os.path.commonpath([path.parent for path in resolved])) if resolved else Path()
    return tuple(LocalFile(path.relative_to(root).as_posix(), _read(path)) for path in resolved)


def _read(path: Path) -> bytes:
    if path.suffix.lower() not in FILE_TYPES:
        raise UserError(f"--file {path}: the name must end in one of {', '.join(FILE_TYPES)}")
    try:
        if path.stat().st_size > MAX_PDF_BYTES:
            raise UserError(f"--file {path} has more than {MAX_PDF_BYTES:,} bytes; give a shorter one")
        return codec.plain_bytes(path)
    except OSError as error:
        raise UserError(f"cannot read --file {path}: {error.strerror}") from None
