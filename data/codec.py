"""The one way between frozen values and JSON: strict on reading, stable bytes on writing."""

from __future__ import annotations

import errno
import hashlib
import json
import lzma
import math
import os
import secrets
import stat
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from data.errors import UserError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
TEMPORARY = ".tmp"
MOST_WHOLE = 2**53
"""Whole numbers beyond this are not read: not every reader of JSON keeps them exactly."""


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
        if (older := _of_before(kind, text)) is not None:
            return older
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise UserError(
            f"{where} is not a readable {kind.__name__}: {first['msg']} (at {path}, {error.error_count()} problems in all); "
            "delete the file and run the command again to make it anew"
        ) from None


def _of_before(kind: type[T], text: str | bytes) -> T | None:
    """The value in a file that an earlier version stored (`data.types.Strict.upgraded`), or None."""
    upgraded = getattr(kind, "upgraded", None)
    if upgraded is None:
        return None
    try:
        value: T = _adapter(kind).validate_json(json.dumps(upgraded(json.loads(text))), strict=True)
    except (LookupError, TypeError, ValueError, RecursionError):  # pydantic's ValidationError is a ValueError
        return None
    return value


def faults(kind: type[T], text: str | bytes) -> list[str]:
    """Everything that keeps a text from being read as `kind`, each with its place and value; empty when it can be read."""
    from pydantic import ValidationError

    try:
        _adapter(kind).validate_json(text, strict=True)
        return []
    except ValidationError as error:
        return [
            f"{'.'.join(map(str, fault['loc'])) or 'the whole file'} is {_repr(fault['input'])[:80]}: {fault['msg']}"
            for fault in error.errors()
        ]


def _repr(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # a whole number of thousands of digits
        return "a number too long to be shown"


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
    """Raises UserError, with the path, for anything but a readable file of that kind."""
    try:
        text = plain_bytes(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; remove it and run the command again to make it anew") from None
    return from_json(kind, text, where=str(path))


MOST_PLAIN = 2**30
"""Bytes of one file of a run or bundle; those of the longest events have some tens of millions."""


def plain_bytes(path: Path) -> bytes:
    """The content of a file of a run. Raises OSError, also for a pipe, a socket or a device: to read one may be to wait, or to
    read, without end."""
    status = path.stat()
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):  # of a folder the system itself says what it is
        raise OSError(errno.EINVAL, "it is a pipe, socket or device, not a file", str(path))
    if stat.S_ISREG(status.st_mode) and status.st_size > MOST_PLAIN:
        raise OSError(errno.EFBIG, f"it has {status.st_size:,} bytes, at most {MOST_PLAIN:,} are read", str(path))
    return path.read_bytes()


def read_bounded(path: Path, most: int, *, shown: str = "") -> bytes:
    """The content of a file that anybody may have sent. Raises UserError, calling the file `shown`, for more than `most` bytes
    and for anything but a plain file: to read a pipe is to wait without end."""
    name = shown or str(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UserError(
                f"cannot read {name}: it is a {'folder' if path.is_dir() else 'pipe, socket or device'}, not a file"
            )
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # another may have put a pipe there meanwhile
        with os.fdopen(handle, "rb") as stream:
            content = stream.read(most + 1) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    except OSError as error:
        raise UserError(f"cannot read {name}: {error.strerror}") from None
    except ValueError:  # a path with a null character
        raise UserError(f"cannot read {name!r}: no file has such a name") from None
    if len(content) > most:
        raise UserError(f"{name} has {max(path.stat().st_size, len(content))} bytes, at most {most} are read")
    return content


def json_of(content: bytes, *, where: str, finite: bool = True) -> Any:
    """The JSON value of anybody's text, decoded as UTF-8. Raises UserError for anything but JSON, nested deeper than
    the parser goes, whole numbers beyond MOST_WHOLE, half of a character, an object with a key twice, and, if `finite`, for NaN
    and numbers without end.

    Readers differ in which of two values they take, so a checked file could be read otherwise elsewhere.
    """
    try:
        value = json.loads(
            content.decode("utf-8-sig"),
            object_pairs_hook=_no_key_twice,
            parse_constant=_no_constant if finite else None,
            parse_float=_finite if finite else None,
            parse_int=_exact,
        )
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise UserError(f"{where} is not JSON: it holds {half!r}, which is half of a character") from None
    except RecursionError:
        raise UserError(f"{where} is not JSON: it is nested too deeply") from None
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError among them
        raise UserError(f"{where} is not JSON: {error}") from None
    return value


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        twice = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise ValueError(f"the key {twice[:80]!r} occurs twice in one object")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _finite(digits: str) -> float:
    if not math.isfinite(value := float(digits)):
        raise ValueError(f"{digits[:40]} is too large a number")
    return value


def _exact(digits: str) -> int:
    if len(digits) > 17 or abs(value := int(digits)) > MOST_WHOLE:
        raise ValueError(f"{digits[:40]}{'...' if len(digits) > 40 else ''} is too large a whole number, beyond {MOST_WHOLE}")
    return value


def once(kind: type[T], path: Path, make: Callable[[], T]) -> T:
    """The value that the file holds, or `make()`, stored there: what is done is not done again."""
    if path.exists():
        return read(kind, path)
    value = make()
    write_atomic(path, to_json(value) + "\n")
    return value


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
    # Named before it is made: an interrupt that comes in between leaves nothing behind.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}{TEMPORARY}")
    try:
        with temporary.open("xb") as stream:
            stream.write(text.encode("utf-8") if isinstance(text, str) else text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o644)  # whatever the umask is: a run folder is for sharing
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def is_temporary(path: Path) -> bool:
    """Whether a file is what a killed `write_atomic` left behind: never a result."""
    return path.name.startswith(".") and path.name.endswith(TEMPORARY)


def sha256(text: str) -> str:
    return sha256_bytes(text.encode("utf-8"))


def sha256_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def lines_of(path: Path) -> list[str]:
    """Lines of a text in UTF-8, packed (`.xz`) or not. Raises OSError, and ValueError for what is no such text."""
    if path.suffix != ".xz":
        return path.read_text(encoding="utf-8").splitlines()
    try:
        return lzma.decompress(path.read_bytes()).decode("utf-8").splitlines()
    except lzma.LZMAError as error:
        raise ValueError(f"{path} is broken: {error}") from None
