"""The one way between frozen values and JSON: strict on reading, stable bytes on writing."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from data.errors import UserError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
TEMPORARY = ".tmp"


def _adapter(kind: type[T]) -> TypeAdapter[T]:
    key: Any = kind  # mypy takes a type variable for unhashable
    adapter: TypeAdapter[T] = _made_once(key)
    return adapter


@cache
def _made_once(kind: Any) -> Any:
    from pydantic import TypeAdapter  # loaded on use: `--help` should not pay for it

    return TypeAdapter(kind)


def to_json(value: object, *, indent: int | None = None) -> str:
    """JSON text of a value; field order is declaration order, so equal values give equal bytes."""
    plain = _adapter(type(value)).dump_python(value, mode="json")
    return json.dumps(plain, ensure_ascii=False, indent=indent, allow_nan=False)


def from_json(kind: type[T], text: str | bytes, *, where: str) -> T:
    """Read a value of `kind`; `where` names the file in the error. Unknown keys and wrong types are refused."""
    from pydantic import ValidationError

    try:
        value: T = _adapter(kind).validate_json(text, strict=True)
        return value
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise UserError(
            f"{where} is not a readable {kind.__name__}: {first['msg']} (at {path}, {error.error_count()} problems in all); "
            "delete the file and run the command again to make it anew"
        ) from None


def faults(kind: type[T], text: str | bytes) -> list[str]:
    """Everything that keeps a text from being read as `kind`, each with its place and value; empty when it can be read."""
    from pydantic import ValidationError

    try:
        _adapter(kind).validate_json(text, strict=True)
        return []
    except ValidationError as error:
        return [
            f"{'.'.join(str(part) for part in fault['loc']) or 'the whole file'} is {repr(fault['input'])[:80]}: {fault['msg']}"
            for fault in error.errors()
        ]


def from_plain(kind: type[T], value: object, *, where: str) -> T:
    """Like `from_json`, from parsed TOML or JSON; numbers written as text ("8") are accepted."""
    from pydantic import ValidationError

    try:
        read: T = _adapter(kind).validate_python(value)
        return read
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{where}: {path} = {first.get('input')!r}: {first['msg']}") from None


def to_plain(value: object) -> Any:
    """The JSON-ready form of a value: dicts, lists, strings, numbers."""
    return _adapter(type(value)).dump_python(value, mode="json")


def read(kind: type[T], path: Path) -> T:
    return from_json(kind, path.read_bytes(), where=str(path))


def write_atomic(path: Path, text: str | bytes) -> None:
    """Write so that the file is either absent, old, or whole, also after kill -9 or a power cut.

    A disk that is full or read-only is for the caller to mend: UserError.
    """
    try:
        _write_atomic(path, text)
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror}; make room there or choose another folder, and run the command again"
        ) from None


def _write_atomic(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=TEMPORARY)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8") if isinstance(text, str) else text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)  # mkstemp makes 0600; a run folder is for sharing
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def is_temporary(path: Path) -> bool:
    """Whether a file is what a killed `write_atomic` left behind: never a result."""
    return path.name.startswith(".") and path.name.endswith(TEMPORARY)


def sha256(text: str) -> str:
    return sha256_bytes(text.encode("utf-8"))


def sha256_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
