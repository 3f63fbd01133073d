"""Files at a URL, whole and by name: asked for with patience, and never believed to be harmless.

Any store will do that fsspec, or a package made for it, has a protocol for. Credentials are not part of a URL: they come from
the environment, as the store's own package reads it (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, ...), or from fsspec's
(FSSPEC_<PROTOCOL>_<OPTION>).
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from data import codec
from data.errors import MissingExtra, UserError, WikigenError

T = TypeVar("T")

AT_ONCE = 16
"""Files under way at the same time, where the protocol's package allows for that."""
PAUSES_S = (0.3, 1.0, 3.0)
"""Between tries of a request that failed for what may pass."""
TRY_FOR_S = 10.0
"""After which no further try of a request begins."""
S3_WAIT_S = {"connect_timeout": 5, "read_timeout": 8}
"""s3fs tries twice, so a server that takes connections and never answers is given up after twice the sum."""
MOST_NAME_BYTES = 255
MOST_PATH_BYTES = 1024
_RENAMING = frozenset({"file", "local", "sftp", "ssh"})
"""Protocols that write in place and rename over the old file. Stores of objects show only whole ones anyway."""
_LASTING = frozenset({"NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "ParamValidationError"})
"""Exceptions of botocore, by name, after which another try gives the same."""
_STAMPS = ("ETag", "etag", "md5Hash", "content_md5", "mtime", "LastModified", "last_modified", "updated", "modified", "created")
"""What a listing says of an object that is another after it was written again, the surest first."""


@dataclass(frozen=True, slots=True)
class Object:
    """What a listing says of a file: `stamp` changes when it is written again, `md5` is known of some."""

    size: int | None
    stamp: str
    md5: str

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> Object:
        stamp = next((str(info[key]) for key in _STAMPS if info.get(key)), "")
        bare = stamp.strip('"')
        size = info.get("size")
        return cls(size if isinstance(size, int) else None, stamp, bare if re.fullmatch(r"[0-9a-f]{32}", bare) else "")


@dataclass(frozen=True, slots=True)
class Listing:
    """What lies at the URL in the folder or file `within` ("" for all), by name; `began` is when it was asked for."""

    within: str
    began: float
    found: Mapping[str, Object]


class Store:
    """The files at `url`, which messages call `shown`; `kept` says where those are that could not be carried there.

    Threads may share it. Every request is tried again where that may help; one that fails for good raises UserError.
    """

    def __init__(self, url: str, *, shown: str, kept: str) -> None:
        self._shown = shown
        self._kept = kept
        self._fs, self._root = _file_system(url, shown)
        self._walks = _walks(self._fs)
        self._renames = url.partition("://")[0].lower() in _RENAMING
        # packages that are not made for several threads may fail with them
        self._turn: AbstractContextManager[Any] = nullcontext() if self._fs.async_impl else threading.Lock()
        self._lost = threading.Event()

    @property
    def is_lost(self) -> bool:
        """Whether a request failed for good: those that follow are tried once."""
        return self._lost.is_set()

    def read(self, name: str) -> bytes | None:
        """The content of one file, None where there is none."""
        try:
            content: bytes = self._tried(lambda: self._fs.cat_file(self._at(name)))
        except FileNotFoundError:
            return None
        return content

    def put(self, name: str, content: bytes) -> None:
        """Write a file, which appears whole; folders are made."""
        target = self._at(name)
        if not self._renames:
            with suppress(FileNotFoundError):  # no bucket, or a store with folders that have to be made
                self._tried(lambda: self._fs.pipe_file(target, content))
                return
            if self._is_homeless():
                raise self._no_bucket()
        try:
            self._put_in_folder(target, content)
        except FileNotFoundError as error:  # it went meanwhile
            raise self._failed(error) from None

    def _put_in_folder(self, target: str, content: bytes) -> None:
        parent, _, leaf = target.rpartition("/")
        self._tried(lambda: self._fs.makedirs(parent, exist_ok=True))
        if not self._renames:
            self._tried(lambda: self._fs.pipe_file(target, content))
            return
        whole = f"{parent}/.{leaf}.{os.getpid()}-{threading.get_ident()}{codec.TEMPORARY}"
        self._tried(lambda: self._fs.pipe_file(whole, content))
        self._tried(lambda: self._fs.mv(whole, target))

    def delete(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._tried(lambda: self._fs.rm_file(self._at(name)))

    def each(self, do: Callable[[str], None], names: Iterable[str]) -> None:
        """Several at a time. After an error, jobs that have not begun do not begin."""
        names = list(names)
        if len(names) < 2 or not self._fs.async_impl:
            for name in names:
                do(name)
            return
        pool = ThreadPoolExecutor(AT_ONCE)
        try:
            for _ in pool.map(do, names):
                pass
        finally:
            pool.shutdown(cancel_futures=True)

    def check(self) -> None:
        """Raises UserError where nothing can be kept at the URL, which need not exist yet."""
        if self.read("run.json") is None and self._is_homeless():
            raise self._no_bucket()

    # --- listing ----------------------------------------------------------------------------------------------------------

    def listing(self, within: str = "") -> Listing:
        """One request for a thousand files or so. Raises UserError for names that cannot be files of a run."""
        began = time.time()
        self._fs.invalidate_cache()
        try:
            infos: dict[str, dict[str, Any]] = self._tried(lambda: self._find(self._at(within)))
        except FileNotFoundError:
            if self._is_homeless():
                raise self._no_bucket() from None
            infos = {}  # no such folder
        found = {name: Object.of(info) for path, info in infos.items() if (name := self._name(path, info))}
        for name in found:
            if blocking := next((p for p in _parents(name) if p in found), None):
                raise UserError(
                    f"{self._shown} holds {blocking!r} both as a file and as a folder; delete one, or choose another URL"
                )
        return Listing(within, began, found)

    def _find(self, path: str) -> dict[str, dict[str, Any]]:
        # walking leaves out folders that it cannot read, as if they were empty
        strict = {"on_error": "raise"} if self._walks else {}
        found: dict[str, dict[str, Any]] = self._fs.find(path, detail=True, **strict)
        return found

    def _name(self, path: str, info: Mapping[str, Any]) -> str:
        """Its name in the run; "" for files that are no part of it: hidden files, and objects that stand for a folder."""
        name = path.removeprefix(f"{self._root.rstrip('/')}/")
        if name == path and path != self._root:
            raise self._foreign(path)
        if path == self._root or info.get("type") == "directory" or (name.endswith("/") and not name.endswith("//")):
            return ""
        if not _can_be_file(name) or info.get("islink") or info.get("type") == "link":
            raise self._foreign(name)
        return "" if any(part.startswith(".") for part in name.split("/")) else name

    def _foreign(self, name: str) -> UserError:
        return UserError(
            f"{self._shown} holds {name[:120]!r}, which cannot be a file of a run; nothing was fetched: delete it there, or "
            "choose another URL"
        )

    # --- requests ---------------------------------------------------------------------------------------------------------

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _is_homeless(self) -> bool:
        """Whether the bucket is missing. It is not made here, which may cost money; folders are."""
        bucket, _, rest = self._root.strip("/").partition("/")
        return bool(rest) and not self._walks and not self._tried(lambda: self._fs.exists(bucket))

    def _no_bucket(self) -> UserError:
        bucket = self._root.strip("/").partition("/")[0]
        return UserError(
            f"{self._shown}: there is no bucket {bucket!r}; make it, or choose another URL, and run the command again"
        )

    def _tried(self, request: Callable[[], T]) -> T:
        """FileNotFoundError passes; everything else becomes a UserError, after some tries where they may help."""
        until = time.monotonic() + TRY_FOR_S
        for pause in (*PAUSES_S, None):
            try:
                with self._turn:
                    return request()
            except (FileNotFoundError, WikigenError):
                raise
            except Exception as error:  # of packages that we do not know: botocore's, aiohttp's, paramiko's, ...
                if pause is None or _lasts(error) or self.is_lost or time.monotonic() + pause > until:
                    self._lost.set()
                    raise self._failed(error) from None
                time.sleep(pause)
        raise AssertionError("the last try either returns or raises")

    def _failed(self, error: Exception) -> UserError:
        why = _told(error)
        if isinstance(error, PermissionError) or "Credentials" in type(error).__name__:
            return UserError(
                f"{self._shown} is not open to us ({why}); give credentials in the environment (for S3 AWS_ACCESS_KEY_ID, "
                "AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL; for others FSSPEC_<PROTOCOL>_<OPTION>) and run the command again"
            )
        if isinstance(error, NotImplementedError):
            return UserError(f"{self._shown} cannot be used ({why}); choose a store that can be written to and listed")
        return UserError(
            f"{self._shown} does not answer as it should ({why}); what is written lies in {self._kept} and is carried there "
            "when you run the command again"
        )


def _file_system(url: str, shown: str) -> tuple[Any, str]:
    """fsspec's object for the URL, and the path in it. Raises UserError."""
    protocol = url.partition("://")[0].lower()
    from fsspec.core import url_to_fs
    from fsspec.registry import get_filesystem_class

    try:
        get_filesystem_class(protocol)
    except ValueError:
        raise UserError(
            f"{shown}: fsspec knows no protocol {protocol!r}; use s3://, gs://, az://, sftp:// or another one of its list"
        ) from None
    except ImportError as error:
        if protocol in ("s3", "s3a"):
            raise MissingExtra("s3fs", "s3", shown) from None
        raise UserError(f"{shown} needs another package ({error}); install it with pip and run the command again") from None
    try:
        fs, root = url_to_fs(url, **options(protocol))
    except Exception as error:  # a protocol's own check of the URL, or its first connection
        raise UserError(f"{shown} cannot be opened ({_told(error)}); mend it, and run the command again") from None
    if protocol in ("s3", "s3a"):
        fs.retries = 2
    return fs, root.rstrip("/")


def options(protocol: str) -> dict[str, Any]:
    """For fsspec's object: time-outs that end, unless the person's own configuration of fsspec says otherwise."""
    from fsspec.config import conf

    if protocol not in ("s3", "s3a"):
        return {}
    own = conf.get("s3", {})
    chosen: dict[str, Any] = {
        "config_kwargs": {**S3_WAIT_S, "retries": {"total_max_attempts": 1}, **own.get("config_kwargs", {})}
    }
    if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
        chosen["endpoint_url"] = own.get("endpoint_url", endpoint)  # as botocore would; so that fsspec keeps two servers apart
    return chosen


def _walks(fs: Any) -> bool:
    """Whether files are found folder by folder, as fsspec itself does it, and not by a listing of the store's own."""
    from fsspec.asyn import AsyncFileSystem
    from fsspec.spec import AbstractFileSystem

    if fs.async_impl:  # whose `find` is made of `_find`, or replaces it
        return type(fs)._find is AsyncFileSystem._find and type(fs).find is AbstractFileSystem.find
    return type(fs).find is AbstractFileSystem.find


def _can_be_file(name: str) -> bool:
    parts = name.split("/")
    sizes = [len(part.encode("utf-8", "replace")) for part in parts]
    return (
        all(parts)
        and not {".", ".."} & set(parts)
        and "\\" not in name
        and name.isprintable()
        and max(sizes) <= MOST_NAME_BYTES
        and sum(sizes) <= MOST_PATH_BYTES
    )


def _parents(name: str) -> Iterator[str]:
    while name := name.rpartition("/")[0]:
        yield name


def _lasts(error: Exception) -> bool:
    """Whether another try would give the same."""
    known = isinstance(
        error, PermissionError | NotImplementedError | IsADirectoryError | NotADirectoryError | ValueError | TypeError
    )
    return known or type(error).__name__ in _LASTING


def _told(error: Exception) -> str:
    """On one line, without what addresses may hold: names, passwords, signatures."""
    first = (str(error).strip() or "no reason given").splitlines()[0]
    bare = re.sub(r"//[^/\s]*@", "//", re.sub(r"\?[^\s\"']+", "", first))
    return f"{type(error).__name__}: {bare[:300]}"
