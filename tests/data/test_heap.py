"""Free pages of the C heap go back to the system, where the C library can."""

from __future__ import annotations

import ctypes
import platform

import pytest

from data import heap
from data.runs import footprint

CHUNK = 32 * 1024
"""Below any size from which malloc maps pages of their own."""
N_CHUNKS = 2048


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="no malloc_trim(3)")
def test_what_is_free_below_something_in_use_goes_back() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, (ctypes.c_size_t,), (ctypes.c_void_p,)
    heap.trim()
    chunks = [libc.malloc(CHUNK) for _ in range(N_CHUNKS)]
    for chunk in chunks:
        ctypes.memset(chunk, 1, CHUNK)
    for chunk in chunks[:-1]:
        libc.free(chunk)
    before = footprint()
    given_back = heap.trim()
    after = footprint()
    libc.free(chunks[-1])
    assert given_back and before is not None and after is not None
    assert before.resident_mib - after.resident_mib > 0.8 * N_CHUNKS * CHUNK / 2**20


def test_a_c_library_without_it_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    heap._malloc_trim.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    try:
        assert heap.trim() is False
    finally:
        heap._malloc_trim.cache_clear()
