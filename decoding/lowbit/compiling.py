"""How numba compiles the functions of this package: when first called, for this CPU, and kept in our cache folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from filelock import FileLock
from numba.core.caching import UserProvidedCacheLocator

from data.download import cache_folder


def _sources() -> str:
    """numba itself looks at the file of a function alone, not at those whose functions and numbers go into it."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()[:16]


SOURCES = _sources()
_CACHE = str(cache_folder() / "kernels" / SOURCES)
_TURN = FileLock(f"{_CACHE}.lock")


class KeptBySources(UserProvidedCacheLocator):
    """Where numba keeps a compiled function: by the hash of all sources, wherever they lie. numba's own way is by the folder of
    the source file, so each checkout of the same sources would compile for half a minute. CPUs stay apart: numba's index names
    them."""

    def get_cache_path(self) -> str:
        return _CACHE

    def get_source_stamp(self) -> str:
        return SOURCES


def compiled(function: Any) -> Any:
    """The function as numba compiles it when first called, for this CPU; kept in our cache folder, by the sources' hash."""
    return kept(lambda cache: numba.njit(cache=cache, nogil=True, boundscheck=False)(function))


def kept(compile_: Callable[[bool], Any]) -> Any:
    """What `compile_` gives when told to keep it in our cache folder, or not to where nothing can be written there. What is set
    is numba's for the whole process: not for several threads at once."""
    config: Any = numba.config
    wanted = {"CACHE_DIR": _CACHE, "CACHE_LOCATOR_CLASSES": f"{__name__}.{KeptBySources.__name__}"}
    before = {name: getattr(config, name) for name in wanted}
    try:
        for name, value in wanted.items():
            setattr(config, name, value)
        with _in_turn():
            return _saving_in_turn(compile_(True))
    except (RuntimeError, OSError):  # a folder that may not be written to: compiled anew in each process
        return compile_(False)
    finally:
        for name, value in before.items():
            setattr(config, name, value)


def _saving_in_turn(made: Any) -> Any:
    """numba looks for a free name for compiled code and takes it some time later: of two processes that compile one function
    for two kinds of matrices at once, one would find the other's code under its own name, from then on."""
    file = getattr(getattr(made, "_cache", None), "_cache_file", None)
    if file is not None:
        save = file.save

        def in_turn(key: Any, code: Any) -> None:
            with _in_turn():
                save(key, code)

        file.save = in_turn
    return made


@contextmanager
def _in_turn() -> Iterator[None]:
    """No other process saves compiled code meanwhile. Where no lock can be had, nothing can be saved either."""
    try:
        Path(_CACHE).parent.mkdir(parents=True, exist_ok=True)
        _TURN.acquire()
    except OSError:
        yield
        return
    try:
        yield
    finally:
        _TURN.release()
