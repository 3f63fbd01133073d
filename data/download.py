"""Fetch the benchmark: `python -m data.download`.

The archive is the repository's tarball at the commit that this project was measured on. The hosting site makes such
archives on demand and does not promise stable bytes, so there is no checksum to compare with: pass `--sha256` if you have
one. Always checked: the gzip CRC, every tar header, no path outside the folder, no links or devices, sizes, and
that the layout holds events; how many of the benchmark's 309 were found is reported, and `manifest.json` records the
sha256 of the archive and of every file, so that two installations can be compared.

A download that breaks off is resumed (Range with If-Range, when the server gives a strong ETag). The snapshot appears whole
or not at all: files are unpacked beside the destination and renamed. Needs about 150 MB of disk.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import logging
import os
import re
import shutil
import sys
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from data import codec
from data.errors import UserError, WikigenError
from data.types import Strict

if TYPE_CHECKING:
    import requests

logger = logging.getLogger(__name__)

URL = "https://codeload.github.com/zhzihao/WikiGenBench/tar.gz/aecded5"
FOLDER = "wikigenbench"
MANIFEST = "manifest.json"

TRIES = 5
WAIT_S = 1.0
TIMEOUT_S = (10.0, 60.0)  # to connect, between two reads
MAX_ARCHIVE = 2_000_000_000
MAX_UNPACKED = 4_000_000_000
MAX_FILE = 200_000_000
MAX_FILES = 50_000
_CHUNK = 1 << 13  # what a broken connection loses at most

BY_HAND = "or fetch the repository by hand and name its data folder with WIKIGEN_DATA"

Progress = Callable[[int, int | None], None]
"""Called with the bytes at hand and the total, if it is known."""


class DownloadError(WikigenError):
    """The network, the server or the archive failed; nothing was installed."""


@dataclass(frozen=True, slots=True)
class Manifest(Strict):
    """The installed files: `files` maps paths below the snapshot to the sha256 of their bytes."""

    url: str
    archive_sha256: str
    n_bytes: int
    n_events: int
    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class Installed:
    """A snapshot on disk. `fetched` is False when it was there already."""

    path: Path
    manifest: Manifest
    inventory: str
    fetched: bool


def cache_folder() -> Path:
    """WIKIGEN_CACHE, else the user's cache folder of the operating system (XDG_CACHE_HOME on Linux)."""
    if chosen := os.environ.get("WIKIGEN_CACHE"):
        return Path(chosen).expanduser()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("wikigenben"))


def installed_snapshot() -> Path | None:
    """The snapshot that an earlier download installed in the cache, or None."""
    path = cache_folder() / FOLDER
    return path if (path / MANIFEST).is_file() else None


def download(
    url: str = URL,
    to: Path | None = None,
    *,
    sha256: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
    wait_s: float = WAIT_S,
) -> Installed:
    """Fetch, check and install a snapshot; one that is already there is returned unless `force`.

    `wait_s` is the pause before the second try, doubled before each further one. Raises DownloadError when the network or the
    archive fails, UserError for a wrong address, checksum form or folder.
    """
    if not re.match(r"https?://[^/\s]+", url):
        raise UserError(f"--url {url!r} is not an http or https address; leave it out for {URL}")
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise UserError(f"--sha256 {sha256!r} is not a checksum of 64 hexadecimal digits; leave it out if you have none")
    target = (to.expanduser() if to is not None else cache_folder() / FOLDER).absolute()
    with _locked(target):
        if (target / MANIFEST).is_file():
            if not force:
                return _describe(target, fetched=False)
        elif target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise UserError(f"{target} exists and was not made by this command; choose another --to")
        part = _part_file(url)
        _fetch(url, part, progress=progress, wait_s=wait_s)
        try:
            _install(part, target, url=url, sha256=sha256)
        finally:
            _forget(part)  # good or bad, it is of no more use: a damaged archive must not be resumed
        return _describe(target, fetched=True)


def _describe(target: Path, *, fetched: bool) -> Installed:
    from data.snapshot import Snapshot

    return Installed(target, codec.read(Manifest, target / MANIFEST), Snapshot(target).inventory.describe(), fetched)


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        cache_folder().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make {error.filename}: {error.strerror}; choose another --to or WIKIGEN_CACHE") from None
    lock = FileLock(cache_folder() / ".download.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(f"another download is running in {cache_folder()}; wait for it to finish") from None
    try:
        yield
    finally:
        lock.release()


# --- fetching --------------------------------------------------------------------------------------------------------


def _part_file(url: str) -> Path:
    return cache_folder() / f"{hashlib.sha256(url.encode()).hexdigest()[:16]}.part"


def _etag_file(part: Path) -> Path:
    return part.with_suffix(".etag")


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _etag_file(part).unlink(missing_ok=True)


def _fetch(url: str, part: Path, *, progress: Progress | None, wait_s: float) -> None:
    """Make `part` the whole body of `url`, going on where an earlier try broke off."""
    import requests

    why = ""
    with requests.Session() as session:
        for attempt in range(TRIES):
            if attempt:
                pause = wait_s * 2 ** (attempt - 1)
                logger.warning("%s: %s; trying again in %.0f s", url, why, pause)
                time.sleep(pause)
            try:
                why = _fetch_once(session, url, part, progress)
            except requests.exceptions.RequestException as error:
                why = _reason(error)
            if not why:
                return
    raise DownloadError(
        f"could not fetch {url} in {TRIES} tries: {why}; {part.stat().st_size if part.exists() else 0:,} bytes are kept, "
        f"run the same command again to go on, {BY_HAND}"
    )


def _fetch_once(session: requests.Session, url: str, part: Path, progress: Progress | None) -> str:
    """One request. Returns why it is not enough, "" when the body is complete."""
    have = part.stat().st_size if part.exists() else 0
    etag = _etag_file(part).read_text(encoding="utf-8") if have and _etag_file(part).exists() else ""
    headers = {"Accept-Encoding": "identity"}  # the archive's own bytes: the length must mean what we count
    if have and etag:
        headers |= {"Range": f"bytes={have}-", "If-Range": etag}
    else:
        have = 0
    with session.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as response:
        status = response.status_code
        if status == 416 and have:
            size = re.fullmatch(r"bytes \*/(\d+)", response.headers.get("Content-Range", ""))
            if size and int(size[1]) == have:
                return ""  # everything had come already; the checks of the archive decide whether it is good
            _forget(part)
            return "the server no longer has what was begun"
        if status in (408, 425, 429) or status >= 500:
            return f"the server answered {status} {response.reason}"
        if status not in (200, 206):
            raise UserError(f"{url} answered {status} {response.reason}; check the address (--url), {BY_HAND}")
        total = _total(response, have)
        if status == 206 and not _continues(response, have, etag):
            _forget(part)
            return "the server went on with another file"
        if status == 200:
            have = 0
            _forget(part)
            strong = response.headers.get("ETag", "")
            if strong.startswith('"'):  # a weak one ("W/...") does not promise the same bytes
                _etag_file(part).write_text(strong, encoding="utf-8")
        if total is not None and total > MAX_ARCHIVE:
            raise DownloadError(f"{url} is {total:,} bytes, more than {MAX_ARCHIVE:,}; check the address (--url)")
        with part.open("ab") as stream:
            for chunk in response.iter_content(_CHUNK):
                stream.write(chunk)
                have += len(chunk)
                if have > MAX_ARCHIVE:
                    raise DownloadError(f"{url} sends more than {MAX_ARCHIVE:,} bytes; check the address (--url)")
                if progress is not None:
                    progress(have, total)
    if total is not None and have != total:
        return f"the connection ended after {have:,} of {total:,} bytes"
    return ""


def _total(response: requests.Response, have: int) -> int | None:
    if response.status_code == 206:
        whole = re.fullmatch(r"bytes \d+-\d+/(\d+)", response.headers.get("Content-Range", ""))
        return int(whole[1]) if whole else None
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdigit() else None


def _continues(response: requests.Response, have: int, etag: str) -> bool:
    """Whether a partial answer begins where we stopped, in the same file (some servers ignore If-Range)."""
    begins = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    return begins and response.headers.get("ETag", etag) == etag


def _reason(error: Exception) -> str:
    """The innermost cause: requests and urllib3 wrap it several times over."""
    inner: BaseException = error
    while (nested := inner.__cause__ or inner.__context__) is not None:
        inner = nested
    told = str(inner) or type(inner).__name__
    return f"the connection failed ({told[:200]})"


# --- unpacking -------------------------------------------------------------------------------------------------------


def _install(archive: Path, target: Path, *, url: str, sha256: str | None) -> None:
    found = _file_sha256(archive)
    if sha256 is not None and found != sha256.lower():
        raise DownloadError(
            f"the archive from {url} has sha256 {found}, not {sha256.lower()} as asked; it was deleted: "
            "check --sha256 and --url, then run the command again"
        )
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
    try:
        unpacked = work / "unpacked"
        unpacked.mkdir()
        files = _unpack(archive, unpacked, url)
        root = _snapshot_root(unpacked, files, url)
        manifest = Manifest(
            url=url,
            archive_sha256=found,
            n_bytes=archive.stat().st_size,
            n_events=_count_events(root, url),
            files={
                str(path.relative_to(root).as_posix()): digest
                for path, digest in sorted((unpacked / name, digest) for name, digest in files.items())
                if path.is_relative_to(root)
            },
        )
        codec.write_atomic(root / MANIFEST, codec.to_json(manifest, indent=1) + "\n")
        old = work / "old"
        if target.exists():
            target.rename(old)
        try:
            root.rename(target)
        except OSError:
            if old.exists():
                old.rename(target)
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _unpack(archive: Path, folder: Path, url: str) -> dict[str, str]:
    """Write the archive's files below `folder`; returns their paths and checksums. Anything but files is refused."""
    with archive.open("rb") as stream:
        start = stream.read(512)
    if not start.startswith(b"\x1f\x8b"):
        looks = "a web page" if b"<" in start[:64] else f"it starts with {start[:8]!r}" if start else "it is empty"
        raise DownloadError(f"{url} did not give a .tar.gz archive ({looks}); check the address (--url), {BY_HAND}")
    files: dict[str, str] = {}
    n_bytes = 0
    try:
        with gzip.open(archive) as unzipped, tarfile.open(fileobj=unzipped, mode="r|") as tar:
            for member in tar:
                if member.isdir():
                    _safe_name(member, folder, url)
                    continue
                name = _safe_name(member, folder, url)
                n_bytes += member.size
                if member.size > MAX_FILE or n_bytes > MAX_UNPACKED or len(files) >= MAX_FILES:
                    raise DownloadError(
                        f"the archive from {url} unpacks to too much (at {name}: {len(files):,} files, {n_bytes:,} bytes); "
                        "check the address (--url)"
                    )
                files[name] = _write(tar, member, folder / name)
            while unzipped.read(1 << 20):  # the gzip checksum is at the very end
                pass
    except (EOFError, tarfile.TarError, zlib.error, gzip.BadGzipFile) as error:
        raise DownloadError(
            f"the archive from {url} is damaged or cut short ({error}); it was deleted: run the command again, {BY_HAND}"
        ) from None
    return files


def _safe_name(member: tarfile.TarInfo, folder: Path, url: str) -> str:
    """The member's path, or an error for a path that leaves the folder, a link or a device."""
    parts = PurePosixPath(member.name).parts
    why = ""
    if not (member.isfile() or member.isdir()):
        why = "is a link or a device"
    elif not parts or member.name.startswith("/") or ".." in parts or "\\" in member.name or ":" in parts[0]:
        why = "leads out of the folder"
    elif hasattr(tarfile, "data_filter"):  # not in the first releases of Python 3.11
        try:
            tarfile.data_filter(member, str(folder))
        except tarfile.FilterError as error:
            why = f"is not safe ({error})"
    if why:
        raise DownloadError(f"the archive from {url} was refused: {member.name!r} {why}; nothing was installed, check --url")
    return str(PurePosixPath(*parts))


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    source: Any = tar.extractfile(member)
    digest = hashlib.sha256()
    with path.open("wb") as stream:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            stream.write(chunk)
    return digest.hexdigest()


def _snapshot_root(unpacked: Path, files: dict[str, str], url: str) -> Path:
    """The uppermost folder that holds `wiki/*.json` and `google/*.json`."""
    parents: dict[str, set[PurePosixPath]] = {"wiki": set(), "google": set()}
    for name in files:
        path = PurePosixPath(name)
        if path.suffix == ".json" and path.parent.name in parents:
            parents[path.parent.name].add(path.parent.parent)
    both = sorted(parents["wiki"] & parents["google"], key=lambda path: (len(path.parts), str(path)))
    if not both:
        raise DownloadError(
            f"the archive from {url} has no folder with wiki/*.json and google/*.json among its {len(files):,} files; "
            f"check the address (--url), {BY_HAND}"
        )
    return unpacked / both[0]


def _count_events(root: Path, url: str) -> int:
    from data.snapshot import N_BENCHMARK_EVENTS, Snapshot

    inventory = Snapshot(root).inventory
    if not inventory.both:
        raise DownloadError(f"the archive from {url} holds no event with both halves: {inventory.describe()}; check --url")
    if len(inventory.both) != N_BENCHMARK_EVENTS:
        logger.warning("%d of the benchmark's %d events: %s", len(inventory.both), N_BENCHMARK_EVENTS, inventory.describe())
    return len(inventory.both)


# --- command ---------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """0 installed (or there already), 1 the download failed, 2 wrong argument, 130 stopped by the user."""
    parser = argparse.ArgumentParser(
        prog="python -m data.download",
        description="Fetch the WikiGenBench events and install them where every command finds them.",
        epilog="A download that was stopped goes on where it ended when the command is run again.",
    )
    parser.add_argument("--to", type=Path, metavar="DIR", help="install here (default: the cache folder, or WIKIGEN_CACHE)")
    parser.add_argument("--url", default=URL, help="a .tar.gz with wiki/*.json and google/*.json (default: %(default)s)")
    parser.add_argument("--sha256", metavar="HEX", help="checksum that the archive must have")
    parser.add_argument("--force", action="store_true", help="fetch again what is installed")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of the path")
    arguments = parser.parse_args(argv)
    try:
        with progress_bar() as progress:
            result = download(arguments.url, arguments.to, sha256=arguments.sha256, force=arguments.force, progress=progress)
    except KeyboardInterrupt:
        sys.stderr.write("stopped; run the same command again to go on\n")
        return 130
    except WikigenError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except OSError as error:
        sys.stderr.write(
            f"error: cannot write {error.filename or 'to disk'}: {error.strerror}; nothing was installed, choose another --to\n"
        )
        return 1
    from data.snapshot import N_BENCHMARK_EVENTS

    told = "installed" if result.fetched else "already installed (--force fetches it again)"
    sys.stderr.write(f"{told}: {result.inventory}; the benchmark has {N_BENCHMARK_EVENTS} events\n")
    if arguments.to is not None:
        sys.stderr.write(f"use it with: --data {result.path}\n")
    if arguments.json:
        line = {
            "path": str(result.path),
            "n_events": result.manifest.n_events,
            "url": result.manifest.url,
            "archive_sha256": result.manifest.archive_sha256,
            "fetched": result.fetched,
        }
        sys.stdout.write(json.dumps(line) + "\n")
    else:
        sys.stdout.write(f"{result.path}\n")
    return 0


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """On a terminal; elsewhere it is None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("fetching"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("fetching", total=None)
        yield lambda have, total: bar.update(task, completed=have, total=total)


if __name__ == "__main__":
    sys.exit(main())
