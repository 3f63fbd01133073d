"""Beginnings of prompts are kept as they are, as many as fit, and the longest one is found."""

from __future__ import annotations

import numpy as np
import pytest

from decoding.backends.beginnings import LEAST, Beginnings
from decoding.backends.kv_cache import StepCache

LAYERS, HEADS, SIZE = 2, 1, 4


def cache_of(ids: list[int]) -> StepCache:
    """Keys and values that tell their tokens."""
    cache = StepCache(LAYERS, HEADS, SIZE)
    cache.reserve(len(ids))
    cache.keys[..., : len(ids)] = np.array(ids, dtype=np.float32)
    cache.values[:, :, : len(ids)] = np.array(ids, dtype=np.float32)[:, None]
    return cache


def held(beginnings: Beginnings, ids: list[int]) -> list[int]:
    """The tokens that are put into an empty cache."""
    cache = cache_of([-1] * len(ids))
    count = beginnings.put(ids, cache)
    for found in (cache.keys[0, 0, 0], cache.keys[1, 0, SIZE - 1], cache.values[0, 0, :, 0], cache.values[1, 0, :, SIZE - 1]):
        assert found[: len(ids)].tolist() == ids[:count] + [-1] * (len(ids) - count)
    return ids[:count]


def kept(*several: list[int], most_bytes: int = 1 << 20) -> Beginnings:
    beginnings = Beginnings(most_bytes)
    for ids in several:
        beginnings.keep(ids, cache_of(ids))
    return beginnings


FIRST, SECOND = list(range(100)), list(range(1000, 1090))


def test_a_prompt_finds_as_much_as_it_shares() -> None:
    beginnings = kept(FIRST, SECOND)
    assert held(beginnings, [*FIRST[:60], 7, 8]) == FIRST[:60]
    assert held(beginnings, [*SECOND, 5]) == SECOND
    assert held(beginnings, [5, 6]) == []


def test_little_more_than_is_known_is_not_kept() -> None:
    beginnings = kept(FIRST, FIRST + SECOND[: LEAST - 1], FIRST[:50])
    assert beginnings.n_bytes == cache_of([]).bytes_for(100)


def test_a_longer_one_takes_the_place_of_its_beginning() -> None:
    beginnings = kept(FIRST, FIRST + SECOND)
    assert beginnings.n_bytes == cache_of([]).bytes_for(190)
    assert held(beginnings, FIRST + SECOND) == FIRST + SECOND


@pytest.mark.parametrize("used_last", [FIRST, SECOND])
def test_what_was_not_used_for_longest_goes(used_last: list[int]) -> None:
    beginnings = kept(FIRST, SECOND, most_bytes=cache_of([]).bytes_for(200))
    held(beginnings, used_last)
    third = list(range(2000, 2060))
    beginnings.keep(third, cache_of(third))
    assert held(beginnings, third) == third
    assert [bool(held(beginnings, one)) for one in (FIRST, SECOND)] == [used_last is FIRST, used_last is SECOND]


def test_one_that_is_too_large_pushes_nothing_out() -> None:
    beginnings = kept(FIRST, SECOND * 30, most_bytes=cache_of([]).bytes_for(200))
    assert held(beginnings, FIRST) == FIRST
    assert held(beginnings, SECOND) == []


def test_what_is_kept_is_a_copy() -> None:
    beginnings, cache = Beginnings(), cache_of(FIRST)
    beginnings.keep(FIRST, cache)
    cache.keys[:], cache.values[:] = 0, 0
    assert held(beginnings, FIRST) == FIRST
