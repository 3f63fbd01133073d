"""A run folder at a URL: worked on in a local copy, and carried there and back, one whole file at a time.

    s3://bucket/runs/x  <->  runs/remote/bucket-runs-x-0123456789/

Any store will do that fsspec, or a package made for it, has a protocol for. The URL is the truth: what is there replaces what
lies in the copy, and what is missing there though it was carried once was deleted there. Only what was never carried goes the
other way. `.carried.sqlite` in the copy remembers which files were the same on both sides, so that one listing tells what
differs. Hidden files (locks, what a killed write left) stay where they are.

Credentials are not part of a URL: they come from the environment, as the store's own package reads it (AWS_ACCESS_KEY_ID,
AWS_ENDPOINT_URL, ...), or from fsspec's (FSSPEC_<PROTOCOL>_<OPTION>).
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from data import codec
from data.errors import MissingExtra, UserError, WikigenError

T = TypeVar("T")
_log = logging.getLogger(__name__)

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
"""Protocols that write in place and rename over what is there. Stores of objects show only whole ones anyway."""
_LASTING = frozenset({"NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "ParamValidationError"})
"""Exceptions of botocore, by name, after which another try gives the same."""
_STAMPS = ("ETag", "etag", "md5Hash", "content_md5", "mtime", "LastModified", "last_modified", "updated", "modified", "created")
"""What a listing says of an object that is another after it was written again, the surest first."""


@dataclass(frozen=True, slots=True)
class RunUrl:
    """Where a run lies, as a person gave it. It may turn out to be wrong when it is opened, not before."""

    text: str = field(repr=False)

    def __str__(self) -> str:
        """Without what may be secret: a password, a signature."""
        return re.sub(r"//[^/@]*:[^/@]*@", "//", re.split(r"[?#]", self.text)[0].rstrip("/"))

    @property
    def name(self) -> str:
        return str(self).rpartition("/")[2]

    def beside(self, name: str) -> RunUrl:
        """Another run in the same folder."""
        return RunUrl(f"{self.text.rstrip('/').rpartition('/')[0]}/{name}")

    def copy(self) -> Path:
        """The local folder in which the run is worked on."""
        readable = re.sub(r"[^\w.-]+", "-", str(self).partition("://")[2])[-60:].strip("-.")
        folder = f"{readable}-{codec.sha256(str(self))[:10]}"
        return Path(os.environ.get("WIKIGEN_RUNS", "runs")) / "remote" / folder

    def checked(self) -> str:
        """The text to open it by. Raises UserError, which does not repeat a password."""
        try:
            parts = urlsplit(self.text)
        except ValueError as error:
            raise UserError(f"{self} is no URL ({error}); give one such as s3://bucket/runs/x") from None
        if "@" in parts.netloc and ":" in parts.netloc.rpartition("@")[0]:
            raise UserError(
                f"{self} was given with a password, which would be kept in many places; leave it out and set "
                f"FSSPEC_{parts.scheme.upper()}_PASSWORD in the environment"
            )
        path = self.text.partition("://")[2]
        if set("?#*[]\\") & set(path) or "::" in self.text or ".." in path.split("/") or not path.isprintable():
            raise UserError(f"{self}: ?, #, *, [, ], \\, :: and .. have no place in a run's URL; leave them out")
        if not path.strip("/"):
            raise UserError(f"{self} names no folder; give one such as {parts.scheme}://bucket/runs/x")
        return self.text.rstrip("/")


Place: TypeAlias = Path | RunUrl
"""Where a run lies: a folder of this machine, or a URL."""


def place(text: str) -> Place:
    """What stands for a run on a command line or in a form."""
    return RunUrl(text) if re.match(r"[A-Za-z][A-Za-z0-9+.:-]*://", text) else Path(text)


@dataclass(frozen=True, slots=True)
class _Object:
    """What a listing says of a file: `stamp` changes when it is written again, `md5` is known of some."""

    size: int | None
    stamp: str
    md5: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What lies at the URL in the folder or file `within` ("" for all), by name; `began` is when it was asked for."""

    within: str
    began: float
    found: Mapping[str, _Object]


@dataclass(frozen=True, slots=True)
class _Carried:
    """A file when it was the same on both sides. `stamp` is "" until a listing tells it."""

    size: int
    mtime_ns: int
    stamp: str
    at: float


class Carrier:
    """Between a URL and its local copy. Used by several threads; of each process its own.

    Everything that asks the URL raises UserError when that fails, after some tries: what is in the copy stays there.
    """

    def __init__(self, url: RunUrl) -> None:
        self.url = url
        self.copy = url.copy()
        url.checked()
        from fsspec.spec import AbstractFileSystem

        self._fs, self._root = _file_system(url)
        self._has_folders = type(self._fs).find is AbstractFileSystem.find
        self._renames = url.text.partition("://")[0].lower() in _RENAMING
        self._records = _Records(self.copy / ".carried.sqlite")
        self._lost = threading.Event()
        self.fetched = False
        """Whether the whole copy was compared with the URL since this was made."""

    # --- asking -----------------------------------------------------------------------------------------------------------

    def read(self, name: str) -> bytes | None:
        """The content of one file, None where there is none."""
        try:
            content: bytes = self._tried(lambda: self._fs.cat_file(self._at(name)))
        except FileNotFoundError:
            return None
        return content

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
        found = {name: _object(info) for path, info in infos.items() if (name := self._name(path, info))}
        for name in found:
            if blocking := next((p for p in _parents(name) if p in found), None):
                raise UserError(
                    f"{self.url} holds {blocking!r} both as a file and as a folder; delete one, or choose another URL"
                )
        return Listing(within, began, found)

    def _find(self, path: str) -> dict[str, dict[str, Any]]:
        # the common implementation leaves out folders that it cannot read, as if they were empty
        strict = {"on_error": "raise"} if self._has_folders else {}
        found: dict[str, dict[str, Any]] = self._fs.find(path, detail=True, **strict)
        return found

    def _name(self, path: str, info: Mapping[str, Any]) -> str:
        """Its name in the run; "" for what is no part of it: hidden files, and objects that stand for a folder."""
        name = path.removeprefix(f"{self._root.rstrip('/')}/")
        if name == path and path != self._root:
            raise self._foreign(path)
        if path == self._root or info.get("type") == "directory" or (name.endswith("/") and not name.endswith("//")):
            return ""
        parts = name.split("/")
        sizes = [len(part.encode("utf-8", "replace")) for part in parts]
        if (
            not all(parts)
            or {".", ".."} & set(parts)
            or "\\" in name
            or not name.isprintable()
            or max(sizes) > MOST_NAME_BYTES
            or sum(sizes) > MOST_PATH_BYTES
            or info.get("islink")
            or info.get("type") == "link"
        ):
            raise self._foreign(name)
        return "" if _is_hidden(name) else name

    def _foreign(self, name: str) -> UserError:
        return UserError(
            f"{self.url} holds {name[:120]!r}, which cannot be a file of a run; nothing was fetched: delete it there, or "
            "choose another URL"
        )

    def check(self) -> None:
        """Raises UserError where nothing can be kept at the URL, which need not exist yet."""
        if self.read("run.json") is None and self._is_homeless():
            raise self._no_bucket()

    # --- both ways --------------------------------------------------------------------------------------------------------

    def fetch(self) -> None:
        """Make the copy what the URL is, once; what was never carried is carried now."""
        if not self.fetched:
            self.sync(self.listing())
            self.fetched = True

    def refresh(self, within: str) -> None:
        """The same for a folder, also when others write to the URL meanwhile."""
        self.sync(self.listing(within))

    def sync(self, listing: Listing) -> None:
        there, here, carried = listing.found, self._local(listing.within), self._records.all(listing.within)
        pull: list[str] = []
        push: list[str] = []
        same: dict[str, _Carried] = {}
        for name in sorted(there.keys() | here.keys() | carried.keys()):
            remote, local, record = there.get(name), here.get(name), carried.get(name)
            if record is not None and record.at >= listing.began:
                continue  # it was carried while the listing was on its way
            if remote is None:
                if record is not None:  # deleted there
                    (self.copy / name).unlink(missing_ok=True)
                    self._records.forget([name])
                elif local is not None:
                    push.append(name)
            elif local is None or self._is_newer_there(name, remote, local, record):
                pull.append(name)
            elif record is not None and _differs(local, record):
                push.append(name)
            elif record is None or not record.stamp:
                same[name] = _Carried(local.st_size, local.st_mtime_ns, remote.stamp, listing.began)
        self._records.keep(same)
        self._each(lambda name: self._pull(name, there[name]), pull)
        self._each(self._push, push)

    def _is_newer_there(self, name: str, remote: _Object, local: os.stat_result, record: _Carried | None) -> bool:
        """Whether the file at the URL is another than that which was carried last, or than the local one if none was."""
        if record is not None and record.stamp:
            return remote.stamp != record.stamp
        if record is not None and (_differs(local, record) or not remote.md5):
            return remote.size not in (None, record.size)
        content = (self.copy / name).read_bytes()
        return remote.md5 != hashlib.md5(content, usedforsecurity=False).hexdigest()

    def _pull(self, name: str, remote: _Object) -> None:
        content = self.read(name)
        if content is None:  # deleted since it was listed
            return
        codec.write_atomic(self.copy / name, content)
        stamp = remote.stamp if len(content) == remote.size else ""
        self._record(name, stamp)

    def keep(self, name: str, content: bytes) -> None:
        """Put what was read from the URL into the copy."""
        codec.write_atomic(self.copy / name, content)
        self._record(name, "")

    def push(self, path: Path) -> None:
        """Carry one file of the copy to the URL."""
        self._push(path.relative_to(self.copy).as_posix())

    def _push(self, name: str) -> None:
        try:
            before = (self.copy / name).stat()
            content = (self.copy / name).read_bytes()
        except FileNotFoundError:  # deleted meanwhile
            return
        self._put(name, content)
        self._records.keep({name: _Carried(len(content), before.st_mtime_ns, "", time.time())})

    def _record(self, name: str, stamp: str) -> None:
        now = (self.copy / name).stat()
        self._records.keep({name: _Carried(now.st_size, now.st_mtime_ns, stamp, time.time())})

    def push_changed(self, within: str = "") -> None:
        """Carry what other code has written into the copy; of the whole copy, once it was fetched, also what it has deleted."""
        carried = self._records.all(within)  # first: what another process carries meanwhile is not taken for deleted
        here = self._local(within)
        self._each(self._push, [n for n, local in here.items() if n not in carried or _differs(local, carried[n])])
        if self.fetched and not within:
            self._each(self._delete, [name for name in carried if name not in here])
            self._remember_stamps()

    def _remember_stamps(self) -> None:
        """Of what was pushed: the next command then sees whether others wrote there after us."""
        carried = {name: record for name, record in self._records.all("").items() if not record.stamp}
        if not carried:
            return
        listing = self.listing()
        known = {name: listing.found[name] for name in carried if name in listing.found}
        self._records.keep(
            {
                name: replace(carried[name], stamp=there.stamp)
                for name, there in known.items()
                if carried[name].at < listing.began and there.size == carried[name].size
            }
        )

    def rescue(self) -> None:
        """`push_changed` on the way out of something that failed: tells what it cannot do, and raises nothing."""
        if self._lost.is_set():
            return
        try:
            self.push_changed()
        except UserError as error:
            _log.warning("%s", error)

    def delete(self, within: str) -> None:
        """A folder, at the URL."""
        names = self.listing(within).found.keys() | self._records.all(within).keys()
        self._each(self._delete, sorted(names))

    def _delete(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._tried(lambda: self._fs.rm_file(self._at(name)))
        self._records.forget([name])

    def clear_copy(self) -> None:
        """Empty the copy, but for locks that are held."""
        for path in self.copy.iterdir() if self.copy.is_dir() else ():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif not path.name.endswith(".lock") and not path.name.startswith(".carried."):
                path.unlink()
        self._records.clear()

    # --- the copy ---------------------------------------------------------------------------------------------------------

    def _local(self, within: str) -> dict[str, os.stat_result]:
        """Its files but the hidden ones and links, by name."""
        top = self.copy / within
        if top.is_file():
            return {within: top.stat()}
        found = {}
        for folder, folders, files in os.walk(top):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for path in (Path(folder, name) for name in files if not name.startswith(".")):
                try:
                    status = path.lstat()
                except FileNotFoundError:
                    continue
                if stat.S_ISREG(status.st_mode):
                    found[path.relative_to(self.copy).as_posix()] = status
        return found

    # --- the store --------------------------------------------------------------------------------------------------------

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _put(self, name: str, content: bytes) -> None:
        target = self._at(name)
        parent, _, leaf = target.rpartition("/")
        if self._renames:
            whole = f"{parent}/.{leaf}.{os.getpid()}-{threading.get_ident()}{codec.TEMPORARY}"
            self._tried(lambda: self._fs.makedirs(parent, exist_ok=True))
            self._tried(lambda: self._fs.pipe_file(whole, content))
            self._tried(lambda: self._fs.mv(whole, target))
            return
        try:
            self._tried(lambda: self._fs.pipe_file(target, content))
        except FileNotFoundError:  # no bucket, or a store with folders that have to be made
            if self._is_homeless():
                raise self._no_bucket() from None
            self._tried(lambda: self._fs.makedirs(parent, exist_ok=True))
            self._tried(lambda: self._fs.pipe_file(target, content))

    def _is_homeless(self) -> bool:
        """Whether the bucket is missing. It is not made here, which may cost money; folders are."""
        bucket, _, rest = self._root.strip("/").partition("/")
        return bool(rest) and not self._has_folders and not self._tried(lambda: self._fs.exists(bucket))

    def _no_bucket(self) -> UserError:
        bucket = self._root.strip("/").partition("/")[0]
        return UserError(
            f"{self.url}: there is no bucket {bucket!r}; make it, or choose another URL, and run the command again"
        )

    def _each(self, do: Callable[[str], None], names: Iterable[str]) -> None:
        """The first error ends it; what has not begun by then does not begin."""
        names = list(names)
        if len(names) < 2 or not self._fs.async_impl:  # other packages may not stand several threads
            for name in names:
                do(name)
            return
        pool = ThreadPoolExecutor(AT_ONCE)
        try:
            for _ in pool.map(do, names):
                pass
        finally:
            pool.shutdown(cancel_futures=True)

    def _tried(self, request: Callable[[], T]) -> T:
        """FileNotFoundError passes; everything else becomes a UserError, after some tries where they may help."""
        until = time.monotonic() + TRY_FOR_S
        for pause in (*PAUSES_S, None):
            try:
                return request()
            except (FileNotFoundError, WikigenError):
                raise
            except Exception as error:  # of packages that we do not know: botocore's, aiohttp's, paramiko's, ...
                if pause is None or _lasts(error) or self._lost.is_set() or time.monotonic() + pause > until:
                    self._lost.set()
                    raise self._failed(error) from None
                time.sleep(pause)
        raise AssertionError("the last try either returns or raises")

    def _failed(self, error: Exception) -> UserError:
        why = _told(error)
        if isinstance(error, PermissionError) or "Credentials" in type(error).__name__:
            return UserError(
                f"{self.url} is not open to us ({why}); give credentials in the environment (for S3 AWS_ACCESS_KEY_ID, "
                "AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL; for others FSSPEC_<PROTOCOL>_<OPTION>) and run the command again"
            )
        if isinstance(error, NotImplementedError):
            return UserError(f"{self.url} cannot be used ({why}); choose a store that can be written to and listed")
        return UserError(
            f"{self.url} does not answer as it should ({why}); what is written lies in {self.copy} and is carried there when "
            "you run the command again"
        )


class _Records:
    """Which files were the same on both sides, in a database that all processes of a run share."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=60, isolation_level=None)) as database:
                database.execute("PRAGMA synchronous = OFF")  # without a record a file is compared, or carried once more
                database.execute(
                    "CREATE TABLE IF NOT EXISTS carried (name TEXT PRIMARY KEY, size INT, mtime_ns INT, stamp TEXT, at REAL)"
                )
                yield database
        except OSError as error:
            raise UserError(f"cannot write {self._path.parent}: {error.strerror}; set WIKIGEN_RUNS to another folder") from None
        except sqlite3.Error as error:
            raise UserError(
                f"cannot use {self._path} ({error}); make room there, or delete it if it is damaged, and run the command again"
            ) from None

    def all(self, within: str) -> dict[str, _Carried]:
        with self._open() as database:
            rows = database.execute("SELECT name, size, mtime_ns, stamp, at FROM carried ORDER BY name").fetchall()
        return {name: _Carried(*row) for name, *row in rows if not within or name == within or name.startswith(f"{within}/")}

    def keep(self, records: Mapping[str, _Carried]) -> None:
        rows = [(name, one.size, one.mtime_ns, one.stamp, one.at) for name, one in records.items()]
        with self._open() as database:
            database.execute("BEGIN")
            database.executemany("INSERT OR REPLACE INTO carried VALUES (?, ?, ?, ?, ?)", rows)
            database.execute("COMMIT")

    def forget(self, names: Iterable[str]) -> None:
        with self._open() as database:
            database.executemany("DELETE FROM carried WHERE name = ?", [(name,) for name in names])

    def clear(self) -> None:
        with self._open() as database:
            database.execute("DELETE FROM carried")


def _file_system(url: RunUrl) -> tuple[Any, str]:
    """fsspec's object for the URL, and the path in it. Raises UserError."""
    text = url.checked()
    protocol = text.partition("://")[0].lower()
    from fsspec.core import url_to_fs
    from fsspec.registry import get_filesystem_class

    try:
        get_filesystem_class(protocol)
    except ValueError:
        raise UserError(
            f"{url}: fsspec knows no protocol {protocol!r}; use s3://, gs://, az://, sftp:// or another one of its list"
        ) from None
    except ImportError as error:
        if protocol in ("s3", "s3a"):
            raise MissingExtra("s3fs", "s3", str(url)) from None
        raise UserError(f"{url} needs another package ({error}); install it with pip and run the command again") from None
    try:
        fs, root = url_to_fs(text, **options(protocol))
    except Exception as error:  # a protocol's own check of the URL, or its first connection
        raise UserError(f"{url} cannot be opened ({_told(error)}); mend it, and run the command again") from None
    if protocol in ("s3", "s3a"):
        fs.retries = 2
    return fs, root.rstrip("/")


def options(protocol: str) -> dict[str, Any]:
    """For fsspec's object: time-outs that end, unless the person's own configuration of fsspec says otherwise."""
    from fsspec.config import conf

    if protocol not in ("s3", "s3a"):
        return {}
    own = conf.get("s3", {})
    told: dict[str, Any] = {
        "config_kwargs": {**S3_WAIT_S, "retries": {"total_max_attempts": 1}, **own.get("config_kwargs", {})}
    }
    if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
        told["endpoint_url"] = own.get("endpoint_url", endpoint)  # as botocore would; so that fsspec tells two servers apart
    return told


def _object(info: Mapping[str, Any]) -> _Object:
    stamp = next((str(info[key]) for key in _STAMPS if info.get(key)), "")
    bare = stamp.strip('"')
    size = info.get("size")
    return _Object(size if isinstance(size, int) else None, stamp, bare if re.fullmatch(r"[0-9a-f]{32}", bare) else "")


def _differs(local: os.stat_result, record: _Carried) -> bool:
    return (local.st_size, local.st_mtime_ns) != (record.size, record.mtime_ns)


def _parents(name: str) -> Iterator[str]:
    while name := name.rpartition("/")[0]:
        yield name


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _lasts(error: Exception) -> bool:
    """Whether another try would give the same."""
    known = isinstance(
        error, PermissionError | NotImplementedError | IsADirectoryError | NotADirectoryError | ValueError | TypeError
    )
    return known or type(error).__name__ in _LASTING


def _told(error: Exception) -> str:
    """On one line, without what addresses may hold: names, passwords, signatures."""
    first = (str(error).strip() or "no reason given").splitlines()[0]
    bare = re.sub(r"//[^/\s@]*@", "//", re.sub(r"\?[^\s\"']+", "", first))
    return f"{type(error).__name__}: {bare[:300]}"
