"""How numba compiles the functions of this package: when first called, for this CPU, and kept in our cache folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from data.download import cache_folder


def _sources() -> str:
    """numba itself looks at the file of a function alone, not at those whose functions go into it."""
    here = Path(__file__).parent
    names = ("compiling.py", "kernels.py", "superblocks.py", "team.py", "vector_code.py")
    return hashlib.sha256(b"".join((here / name).read_bytes() for name in names)).hexdigest()[:16]


_CACHE = str(cache_folder() / "kernels" / _sources())


def compiled(function: Any) -> Any:
    """The function as numba compiles it when first called, for this CPU; kept in our cache folder, by the sources' hash."""
    return kept(lambda cache: numba.njit(cache=cache, nogil=True, boundscheck=False)(function))


def kept(compile_: Callable[[bool], Any]) -> Any:
    """What `compile_` gives when told to keep it in our cache folder, or not to where nothing can be written there. The folder
    is numba's setting for the whole process: not for several threads at once."""
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, _CACHE
    try:
        return compile_(True)
    except (RuntimeError, OSError):  # a folder that may not be written to: compiled anew in each process
        return compile_(False)
    finally:
        config.CACHE_DIR = before
