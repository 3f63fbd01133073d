"""SHA-256 of model files, read again only when a file's size or time of change is another than the last time.

gguf/hashes/<hash of a path>.json     in the cache folder
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from data import codec
from data.download import cache_folder
from data.errors import UserError
from data.types import Strict
from decoding.models.gguf_reading import parts_of


@dataclass(frozen=True, slots=True)
class KnownHash(Strict):
    path: str
    size: int
    mtime_ns: int
    sha256: str


def file_sha256(file: Path) -> str:
    """The hash of a file's bytes; read again only when its size or time of change is another than the last time."""
    status, where = file.stat(), str(file.resolve())
    memo = _hash_memo(where)
    if memo.is_file():
        try:
            known = codec.read(KnownHash, memo)
        except UserError:  # damaged: made anew below
            pass
        else:
            if (known.path, known.size, known.mtime_ns) == (where, status.st_size, status.st_mtime_ns):
                return known.sha256
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    codec.write_atomic(memo, codec.to_json(KnownHash(where, status.st_size, status.st_mtime_ns, digest)) + "\n")
    return digest


def model_sha256(file: Path) -> str:
    """The hash of a model by its first file: of that file's bytes, or of the hashes of all its parts."""
    hashes = [file_sha256(part) for part in parts_of(file)]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256(" ".join(hashes).encode()).hexdigest()


def remember_sha256(file: Path, digest: str) -> None:
    """Spare `file_sha256` the reading: `digest` was computed while the file was written."""
    status, where = file.stat(), str(file.resolve())
    codec.write_atomic(_hash_memo(where), codec.to_json(KnownHash(where, status.st_size, status.st_mtime_ns, digest)) + "\n")


def _hash_memo(where: str) -> Path:
    return cache_folder() / "gguf" / "hashes" / f"{codec.sha256(where)[:16]}.json"
