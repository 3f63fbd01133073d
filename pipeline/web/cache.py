"""Fetched pages on disk: bodies by their sha256, one JSON file for each address, so that nothing is asked for twice a day.

    web/bodies/ab/abcd...   raw bytes        web/fetches/12/1234....json   how they came, by the sha256 of the address

An address is all that a page is found by; no header and no key of a provider gets here. A file's time of change is when it
was last used: pages unused for long go, and the rest when there is too much. Nothing else depends on the folder; while
nothing runs, it may be deleted as a whole.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from data import codec
from data.download import cache_folder
from data.errors import UserError
from data.settings import WebSettings
from data.types import Strict
from pipeline.web.addresses import Refused, admit, exempt
from pipeline.web.fetched import Fetched
from pipeline.web.fetching import Fetcher
from pipeline.web.pacing import Clock, SystemClock

_PRUNED_EVERY_S = 3600.0
_DIGEST = re.compile(r"[0-9a-f]{64}")
MOST_BODY = 256 * 2**20
"""Bytes; pages of no kind are fetched so long."""


@dataclass(frozen=True, slots=True)
class StoredFetch(Strict):
    """What came of one address; `fetched` is without its body, which has the digest `sha256` ("" where there is none)."""

    fetched: Fetched
    sha256: str = ""
    n_bytes: int = 0

    @classmethod
    def of(cls, fetched: Fetched) -> StoredFetch:
        if not fetched.body:
            return cls(fetched)
        return cls(replace(fetched, body=b""), codec.sha256_bytes(fetched.body), len(fetched.body))


@dataclass(frozen=True, slots=True)
class Bodies:
    """Raw bytes by their sha256. A file appears whole or not at all."""

    root: Path

    def put(self, body: bytes) -> str:
        """The digest by which it is found again. Raises UserError when the disk refuses it."""
        digest = codec.sha256_bytes(body)
        path = self._path(digest)
        if not path.exists():
            try:
                _write_bytes(path, body)
            except OSError as error:
                raise UserError(f"cannot write {path}: {error.strerror}; make room there, or name another folder") from None
        return digest

    def get(self, digest: str) -> bytes | None:
        """None when it is not there, or not as it was put there. Digest and folder may be anybody's: no pipe is waited for, and
        no name leads out of the folder."""
        if not _DIGEST.fullmatch(digest):
            return None
        try:
            body = codec.read_bounded(self._path(digest), MOST_BODY)
        except UserError:
            return None
        return body if codec.sha256_bytes(body) == digest else None

    def drop(self, digest: str) -> None:
        self._path(digest).unlink(missing_ok=True)

    def touch(self, digest: str) -> None:
        _touch(self._path(digest))

    def _path(self, digest: str) -> Path:
        return self.root / digest[:2] / digest


@dataclass(frozen=True, slots=True)
class _Kept:
    path: Path
    used_at: float
    size: int


def _expendable(files: Iterable[_Kept], most_bytes: int, oldest: float) -> list[_Kept]:
    """Those last used before `oldest`, and of the others the longest unused beyond `most_bytes` together."""
    gone, left = [], most_bytes
    for file in sorted(files, key=lambda file: (-file.used_at, file.path)):
        left -= file.size
        if left < 0 or file.used_at < oldest:
            gone.append(file)
    return gone


class PageCache:
    """Pages of earlier fetches, for all runs of one user. Processes and threads may share it."""

    def __init__(self, root: Path | None = None) -> None:
        """`root` of None: the folder `web` in WIKIGEN_CACHE, else in the user's cache folder."""
        self.root = root or cache_folder() / "web"
        self._bodies = Bodies(self.root / "bodies")

    def find(self, url: str) -> Fetched | None:
        """The newest fetch of an address (in the form of `Address.url`) with its body, however old it is."""
        path = self._path(url)
        try:
            stored = codec.read(StoredFetch, path)
            body = self._bodies.get(stored.sha256)
        except (OSError, UserError):  # not there, or broken: then it is fetched again, and written anew
            return None
        if body is None:
            with contextlib.suppress(OSError):  # a damaged one would never be replaced
                self._bodies.drop(stored.sha256)
            return None
        _touch(path)
        self._bodies.touch(stored.sha256)
        return replace(stored.fetched, body=body)

    def put(self, url: str, fetched: Fetched) -> None:
        """Keep a page that was fetched, which has a body. Raises UserError when the disk refuses it."""
        from filelock import FileLock

        stored = StoredFetch.of(fetched)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with FileLock(self.root / ".lock"):  # body and record of two processes must not mix
                self._bodies.touch(self._bodies.put(fetched.body))  # it may be there of old
                codec.write_atomic(self._path(url), codec.to_json(stored, indent=1) + "\n")
        except OSError as error:
            raise UserError(f"cannot write to {self.root}: {error.strerror}; set WIKIGEN_CACHE to another folder") from None

    def prune(self, most_mb: int, most_days: float) -> None:
        """At most once an hour: delete pages not used for `most_days`, then the least recently used beyond `most_mb` MiB.

        Any process may do so at any time: a page is read whole before it is used, and one that is gone is fetched again.
        """
        from filelock import FileLock, Timeout

        try:
            with FileLock(self.root / ".pruning", timeout=0):
                if self._is_due():
                    self._delete(_expendable(self._files(), most_mb * 2**20, time.time() - most_days * 86_400))
        except (Timeout, OSError):  # another one is at it, or nothing can be deleted: no page depends on it
            pass

    def _is_due(self) -> bool:
        stamp = self.root / ".pruned"
        due = not stamp.exists() or abs(time.time() - stamp.stat().st_mtime) > _PRUNED_EVERY_S
        if due:
            stamp.touch()
        return due

    def _files(self) -> Iterator[_Kept]:
        for folder in ("bodies", "fetches"):
            for path in (self.root / folder).glob("*/*"):
                with contextlib.suppress(FileNotFoundError):
                    stat = path.stat()
                    yield _Kept(path, stat.st_mtime, stat.st_size)

    def _delete(self, files: Sequence[_Kept]) -> None:
        """Pages used meanwhile stay."""
        from filelock import FileLock

        with FileLock(self.root / ".lock"):  # no page is being written, so temporary files are left-overs
            for file in files:
                with contextlib.suppress(FileNotFoundError):
                    if file.path.stat().st_mtime == file.used_at:
                        file.path.unlink()

    def _path(self, url: str) -> Path:
        digest = codec.sha256(url)
        return self.root / "fetches" / digest[:2] / f"{digest}.json"


def pages_as_completed(
    fetcher: Fetcher, cache: PageCache, urls: Sequence[str], settings: WebSettings, *, clock: Clock | None = None
) -> Iterator[tuple[int, Fetched]]:
    """`Fetcher.fetch_all` with a memory: a record for each of the distinct addresses, with its place in `urls`.

    Pages fetched within `settings.cache_hours` is not asked for, and comes first; older pages is asked for
    conditionally, and kept when the server says that it is unchanged. Failures are not remembered.
    """
    exempted = exempt(settings.allow_origins)
    oldest = (clock or SystemClock()).now() - timedelta(hours=settings.cache_hours)
    keys = {url: _key(url, exempted) for url in urls}
    asked: list[int] = []
    stale: dict[str, Fetched] = {}
    for i, url in enumerate(urls):
        found = cache.find(keys[url]) if keys[url] else None
        if found is not None and _may_use(found, settings, exempted):
            if datetime.fromisoformat(found.retrieved_at) > oldest:
                yield i, replace(found, url=url)
                continue
            if not found.archive_url:  # what an archive sent with a capture says nothing to the page's own server
                stale[url] = found
        asked.append(i)
    validators = {url: (found.etag, found.last_modified) for url, found in stale.items()}
    for place, fetched in fetcher.fetch_all([urls[i] for i in asked], validators=validators):
        url = urls[asked[place]]
        if fetched.not_modified:
            fetched = replace(stale[url], url=url, retrieved_at=fetched.retrieved_at)
        if fetched.body:
            cache.put(keys[url], fetched)
        yield asked[place], fetched
    cache.prune(settings.cache_mb, settings.cache_days)


def _key(url: str, exempted: frozenset[str]) -> str:
    """What an address is stored under; "" for one that may not be asked."""
    try:
        return admit(url, allow_origins=exempted).url
    except Refused:
        return ""


def _may_use(found: Fetched, settings: WebSettings, exempted: frozenset[str]) -> bool:
    """Whether a run with these settings could have fetched it: what another run was allowed does not count."""
    if settings.respect_robots and "robots_ignored" in found.flags:
        return False
    if found.archive_url and (not settings.archive or (settings.as_of and found.archive_date > settings.as_of)):
        return False
    return all(_key(url, exempted) for url in found.redirects)


def _touch(path: Path) -> None:
    with contextlib.suppress(OSError):  # a cache that cannot be written can still be read
        os.utime(path)


def _write_bytes(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=codec.TEMPORARY)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
