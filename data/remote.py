"""A run folder at a URL: worked on in a local copy, and carried there and back, one whole file at a time.

    s3://bucket/runs/x  <->  runs/remote/bucket-runs-x-0123456789/

The URL is the truth: its files replace those of the copy, and a file missing there though it was carried once was
deleted there. Only new files go the other way. `.carried.sqlite` in the copy remembers which files were the same
on both sides, so that one listing says what differs. Hidden files (locks, what a killed write left) stay where they are.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from data import codec
from data.errors import UserError
from data.store import Listing, Object, Store

_log = logging.getLogger(__name__)

SEALS = ("manifest.json", "pages.jsonl", "article.json")
"""Names of files that are written when what they rest on is whole. They are carried after it, in this order, so that what a
killed command leaves at the URL is what it could have left here."""
_PASSWORD = re.compile(r"//[^/@]*:(?!\d*/).*@")
"""In a URL: also one with a slash or an @, as keys of S3 have it. Digits up to a slash are a port."""


@dataclass(frozen=True, slots=True)
class RunUrl:
    """Where a run lies, as a person gave it. It may turn out to be wrong when it is opened, not before."""

    text: str = field(repr=False)

    def __str__(self) -> str:
        """Without what may be secret: a password, a signature."""
        return re.split(r"[?#]", _PASSWORD.sub("//", self.text))[0].rstrip("/")

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
        if _PASSWORD.search(self.text):
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
class _Carried:
    """A file when it was the same on both sides. `stamp` is "" until a listing says it."""

    size: int
    mtime_ns: int
    stamp: str
    at: float

    def differs(self, local: os.stat_result) -> bool:
        return (local.st_size, local.st_mtime_ns) != (self.size, self.mtime_ns)


class Carrier:
    """Between a URL and its local copy. Used by several threads; of each process its own.

    Everything that asks the URL raises UserError when that fails, after some tries: the copy keeps its files.
    """

    def __init__(self, url: RunUrl) -> None:
        self.url = url
        self.copy = url.copy()
        self.store = Store(url.checked(), shown=str(url), kept=str(self.copy))
        self._records = _Records(self.copy / ".carried.sqlite")
        self.fetched = False
        """Whether the whole copy was compared with the URL since this was made."""

    # --- both ways --------------------------------------------------------------------------------------------------------

    def fetch(self) -> None:
        """Make the copy equal to the URL, once; new files are carried now."""
        if not self.fetched:
            self._sync(self.store.listing())
            self.fetched = True

    def refresh(self, within: str) -> None:
        """The same for a folder, also when others write to the URL meanwhile."""
        self._sync(self.store.listing(within))

    def _sync(self, listing: Listing) -> None:
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
                    self._records.forget(name)
                elif local is not None:
                    push.append(name)
            elif local is None or self._is_newer_there(name, remote, local, record):
                pull.append(name)
            elif record is not None and record.differs(local):
                push.append(name)
            elif record is None or not record.stamp:
                same[name] = _Carried(local.st_size, local.st_mtime_ns, remote.stamp, listing.began)
        self._records.keep(same)
        self.store.each(lambda name: self._pull(name, there[name]), pull)
        self._push_all(push)

    def _is_newer_there(self, name: str, remote: Object, local: os.stat_result, record: _Carried | None) -> bool:
        """Whether the file at the URL is another than that which was carried last, or than the local one if none was."""
        if record is not None and record.stamp:
            return remote.stamp != record.stamp
        if record is not None and (record.differs(local) or not remote.md5):
            return remote.size not in (None, record.size)
        content = (self.copy / name).read_bytes()
        return remote.md5 != hashlib.md5(content, usedforsecurity=False).hexdigest()

    def _pull(self, name: str, remote: Object) -> None:
        content = self.store.read(name)
        if content is not None:  # else it was deleted since it was listed
            self.keep(name, content, remote.stamp if len(content) == remote.size else "")

    def keep(self, name: str, content: bytes, stamp: str = "") -> None:
        """Put files read from the URL into the copy."""
        codec.write_atomic(self.copy / name, content)
        now = (self.copy / name).stat()
        self._records.keep({name: _Carried(now.st_size, now.st_mtime_ns, stamp, time.time())})

    def push(self, path: Path) -> None:
        """Carry one file of the copy to the URL."""
        self._push(path.relative_to(self.copy).as_posix())

    def _push(self, name: str) -> None:
        try:
            before = (self.copy / name).stat()
            content = (self.copy / name).read_bytes()
        except FileNotFoundError:  # deleted meanwhile
            return
        self.store.put(name, content)
        self._records.keep({name: _Carried(len(content), before.st_mtime_ns, "", time.time())})

    def _push_all(self, names: Iterable[str]) -> None:
        """Seals after all others."""
        by_seal: dict[str, list[str]] = {seal: [] for seal in ("", *SEALS)}
        for name in names:
            leaf = name.rpartition("/")[2]
            by_seal[leaf if leaf in SEALS else ""].append(name)
        for some in by_seal.values():
            self.store.each(self._push, some)

    def push_changed(self, within: str = "") -> None:
        """Carry what other code has written into the copy; of the whole copy, once it was fetched, also what it has deleted."""
        carried = self._records.all(within)  # first: what another process carries meanwhile is not taken for deleted
        here = self._local(within)
        self._push_all(name for name, local in here.items() if name not in carried or carried[name].differs(local))
        if self.fetched and not within:
            self.store.each(self._delete, [name for name in carried if name not in here])
            self._remember_stamps()

    def _remember_stamps(self) -> None:
        """Of the pushed files: the next command then sees whether others wrote there after us."""
        carried = {name: record for name, record in self._records.all().items() if not record.stamp}
        if not carried:
            return
        listing = self.store.listing()
        known = {name: listing.found[name] for name in carried if name in listing.found}
        self._records.keep(
            {
                name: replace(carried[name], stamp=there.stamp)
                for name, there in known.items()
                if carried[name].at < listing.began and there.size == carried[name].size
            }
        )

    def rescue(self) -> None:
        """`push_changed` on the way out of something that failed: says what it cannot do, and raises nothing."""
        if self.store.is_lost:
            return
        try:
            self.push_changed()
        except (UserError, OSError) as error:
            _log.warning("%s", error)

    def delete(self, path: Path) -> None:
        """A file or folder of the copy, at the URL."""
        within = path.relative_to(self.copy).as_posix()
        names = self.store.listing(within).found.keys() | self._records.all(within).keys()
        self.store.each(self._delete, sorted(names))

    def _delete(self, name: str) -> None:
        self.store.delete(name)
        self._records.forget(name)

    # --- the copy ---------------------------------------------------------------------------------------------------------

    def clear_copy(self) -> None:
        """Empty the copy, but for locks that are held."""
        for path in self.copy.iterdir() if self.copy.is_dir() else ():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif not path.name.endswith(".lock") and not path.name.startswith(".carried."):
                path.unlink()
        self._records.clear()

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

    def all(self, within: str = "") -> dict[str, _Carried]:
        """Of the file or folder `within`, by name."""
        below = (within, f"{within}/", f"{within}0") if within else ("", "", "\U0010ffff")  # 0 is what comes after /
        asked = "SELECT name, size, mtime_ns, stamp, at FROM carried WHERE name = ? OR (name > ? AND name < ?)"
        with self._open() as database:
            return {name: _Carried(*row) for name, *row in database.execute(asked, below)}

    def keep(self, records: Mapping[str, _Carried]) -> None:
        rows = [(name, one.size, one.mtime_ns, one.stamp, one.at) for name, one in records.items()]
        with self._open() as database:
            database.execute("BEGIN")
            database.executemany("INSERT OR REPLACE INTO carried VALUES (?, ?, ?, ?, ?)", rows)
            database.execute("COMMIT")

    def forget(self, name: str) -> None:
        with self._open() as database:
            database.execute("DELETE FROM carried WHERE name = ?", (name,))

    def clear(self) -> None:
        with self._open() as database:
            database.execute("DELETE FROM carried")
