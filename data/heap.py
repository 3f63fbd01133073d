"""What the C allocator keeps though nothing uses it: given back to the system between two events."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


def trim() -> bool:
    """Return free pages of the heap to the system; whether any were, and False where the C library has no malloc_trim(3).

    glibc returns by itself only what lies free at the end of its heap. Whatever lies below something still in use stays with
    the process, so that memory rises with the largest event so far and with how its pieces happened to lie.
    """
    found = _malloc_trim()
    return found is not None and bool(found(0))


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        found = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # no such function (musl, macOS); TypeError: Windows names no library by None
        return None
    found.argtypes, found.restype = (ctypes.c_size_t,), ctypes.c_int
    return found
