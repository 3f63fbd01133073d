"""SHA-256 of model files, read again only when a file is another, or of another size or time of change, than the last time.

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
    inode: int
    sha256: str


def state_of(file: Path) -> tuple[int, int, int]:
    """What changes with a file: size, time of change, inode."""
    status = file.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


def file_sha256(file: Path) -> str:
    """The hash of a file's bytes; read again only when it is another file, or of another size or time of change, than the last
    time."""
    state, where = state_of(file), str(file.resolve())
    memo = _hash_memo(where)
    if memo.is_file():
        try:
            known = codec.read(KnownHash, memo)
        except UserError:  # damaged: made anew below
            pass
        else:
            if (known.path, known.size, known.mtime_ns, known.inode) == (where, *state):
                return known.sha256
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    codec.write_atomic(memo, codec.to_json(KnownHash(where, *state, digest)) + "\n")
    return digest


def model_sha256(file: Path) -> str:
    """The hash of a model by its first file: of that file's bytes, or of the hashes of all its parts."""
    hashes = [file_sha256(part) for part in parts_of(file)]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256(" ".join(hashes).encode()).hexdigest()


def remember_sha256(file: Path, digest: str) -> None:
    """Spare `file_sha256` the reading: `digest` was computed while the file was written."""
    where = str(file.resolve())
    codec.write_atomic(_hash_memo(where), codec.to_json(KnownHash(where, *state_of(file), digest)) + "\n")


def _hash_memo(where: str) -> Path:
    return cache_folder() / "gguf" / "hashes" / f"{codec.sha256(where)[:16]}.json"
