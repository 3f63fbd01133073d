"""Buffers of keys and values: what is written where, what a commit moves, and what happens at the edges."""

from __future__ import annotations

import pytest
import torch

from data.errors import StageError
from decoding.backends.kv_cache import KVCache, transformers_cache

SIZES = ((2, 4, 4), (1, 3, 5))
"""Heads, key size and value size of two layers that differ."""


def cache(capacity: int) -> KVCache:
    kv = KVCache(len(SIZES), torch.device("cpu"))
    kv.reserve(capacity)
    return kv


def rows(layer: int, *values: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and values that hold one number per position, negative in the values."""
    heads, key_size, value_size = SIZES[layer]
    numbers = torch.tensor(values, dtype=torch.float32).view(1, 1, -1, 1)
    return numbers.expand(1, heads, -1, key_size), -numbers.expand(1, heads, -1, value_size)


def seen(kv: KVCache, layer: int, end: int) -> tuple[torch.Tensor, torch.Tensor]:
    keys, values = kv.buffers(layer, *rows(layer, 0))
    return keys[:, :, :end], values[:, :, :end]


def held(kv: KVCache, layer: int, end: int) -> list[float]:
    keys, values = seen(kv, layer, end)
    assert torch.equal(keys[..., :1], -values[..., :1])
    assert all(torch.equal(keys[:, :1], keys[:, head : head + 1]) for head in range(keys.shape[1]))
    return keys[0, 0, :, 0].tolist()


def test_what_is_written_is_seen_up_to_its_end() -> None:
    kv = cache(16)
    for layer in range(2):
        keys, values = kv.write(layer, *rows(layer, 1, 2, 3), 0)
        assert keys.shape[2] == values.shape[2] == 3
        assert (keys.shape[1], keys.shape[3], values.shape[3]) == SIZES[layer]
    kv.commit(2)
    keys, _ = kv.write(1, *rows(1, 9, 10), kv.n)
    assert keys[0, 0, :, 0].tolist() == [1, 2, 9, 10]
    assert held(kv, 0, 3) == [1, 2, 3]  # the other layer keeps what it had
    assert kv.bytes_per_token == 4 * (2 * 8 + 8)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((0, 1, 2), [1, 10, 11, 12]),
        ((1, 2, 3), [1, 11, 12, 13]),  # source and destination overlap
        ((0, 2, 4), [1, 10, 12, 14]),
        ((4,), [1, 14]),
        ((), [1]),
    ],
)
def test_commit_moves_a_path_together_in_every_layer(path: tuple[int, ...], expected: list[float]) -> None:
    kv = cache(16)
    for layer in range(2):
        kv.write(layer, *rows(layer, 1, 10, 11, 12, 13, 14), 0)
    kv.commit(1)
    kv.commit(len(path), path)
    assert kv.n == 1 + len(path)
    assert held(kv, 0, kv.n) == held(kv, 1, kv.n) == expected


def test_buffers_are_reused_until_more_is_needed() -> None:
    kv = cache(16)
    kv.write(0, *rows(0, 1, 2), 0)
    first, allocations = seen(kv, 0, 1)[0].data_ptr(), kv.allocations
    kv.commit(2)
    kv.reset()
    kv.reserve(8)
    assert kv.n == 0
    assert (seen(kv, 0, 1)[0].data_ptr(), kv.allocations) == (first, allocations)
    kv.reserve(kv.capacity + 1)
    assert kv.allocations == allocations + 1
    assert kv.capacity > 16
    assert held(kv, 0, kv.capacity) == [0.0] * kv.capacity  # never memory that might hold NaN


def test_positions_that_were_not_reserved_are_refused() -> None:
    kv = cache(16)
    kv.need(kv.capacity)
    with pytest.raises(ValueError, match=f"{kv.capacity + 1} .*{kv.capacity} were reserved"):
        kv.need(kv.capacity + 1)


def test_too_large_a_capacity_says_how_many_bytes_and_a_smaller_one_works_afterwards() -> None:
    kv = cache(16)
    for layer in range(2):
        kv.write(layer, *rows(layer, 1), 0)
    tokens = 1 << 42
    with pytest.raises(StageError) as caught:
        kv.reserve(tokens)
    for part in (f"{tokens} tokens", f"{tokens * kv.bytes_per_token:,} bytes", "cpu", "max_new_tokens"):
        assert part in caught.value.why
    kv.reserve(32)
    kv.write(0, *rows(0, 5), 31)
    assert held(kv, 0, 32) == [0.0] * 31 + [5.0]


def test_as_a_transformers_cache_it_tells_masks_the_position_and_not_the_layer() -> None:
    kv = cache(16)
    adapter = transformers_cache(kv)
    kv.write(0, *rows(0, 1, 2, 3, 4, 5), 0)
    adapter.start = 5
    assert adapter.get_seq_length() == adapter.get_query_offset(1) == 5  # layer 1 has written nothing
    assert adapter.get_mask_sizes(3, 1) == (8, 0)
    assert not any(adapter.is_sliding)
    keys, _ = adapter.update(*rows(0, 6), 0, {"ignored": True}, also="ignored")
    assert keys[0, 0, :, 0].tolist() == [1, 2, 3, 4, 5, 6]
    assert kv.n == 0  # commits are the backend's
