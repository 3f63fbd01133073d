"""Keys and values of one sequence, in buffers that are allocated once, and the one length that everything else goes by.

Every layer keeps all positions, those with a sliding window too: the window is in the attention mask, so taking tokens back
is only a smaller length, and no ring buffer overwrites positions needed again (decoding note, pitfalls 2, 3 and 10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from data.errors import StageError

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

_GRAIN = 256
"""Capacities are multiples of this, so that texts of about one length share their buffers."""
_SPREAD = 64
"""What a `StepCache` has more: lines of keys, multiples of 1 KiB from each other, would share a few sets of a CPU's cache."""


@dataclass(frozen=True, slots=True)
class _Shape:
    heads: int
    key_size: int
    value_size: int
    dtype: torch.dtype

    @property
    def bytes_per_token(self) -> int:
        return self.heads * (self.key_size + self.value_size) * self.dtype.itemsize


class KVCache:
    """Positions 0..n-1 are committed; what lies behind them is scratch.

    A layer's shape is learnt when it first writes; layers may differ. Buffers are (1, H_kv, capacity, D) and begin as zeros:
    an attention kernel may multiply a masked value by 0, and 0 * NaN of fresh memory would be NaN.
    """

    def __init__(self, n_layers: int, device: torch.device) -> None:
        self.n = 0
        self.capacity = 0
        self.allocations = 0
        """Goes up whenever buffers are replaced: whoever keeps their addresses (a CUDA graph) has to start again."""
        self._device = device
        self._shapes: list[_Shape | None] = [None] * n_layers
        self._buffers: list[tuple[torch.Tensor, torch.Tensor] | None] = [None] * n_layers

    def __len__(self) -> int:
        return len(self._buffers)

    @property
    def bytes_per_token(self) -> int:
        """Over the layers that have written so far."""
        return sum(shape.bytes_per_token for shape in self._shapes if shape)

    def reset(self) -> None:
        self.n = 0

    def reserve(self, capacity: int) -> None:
        """Make room for `capacity` positions; larger buffers are kept. Growing loses the stored values, so it empties the
        cache.

        Raises:
            StageError: there is no memory for that many. The old buffers are gone, and a smaller number may be reserved.
        """
        if capacity <= self.capacity:
            return
        wanted = -(-capacity // _GRAIN) * _GRAIN
        self.n, self.capacity = 0, wanted
        self._buffers = [None] * len(self._buffers)  # before the new ones are allocated: both might not fit
        self.allocations += 1
        for layer, shape in enumerate(self._shapes):
            if shape is not None:
                self._allocate(layer, shape)

    def need(self, end: int) -> None:
        """Raises ValueError if positions up to `end` (exclusive) were not reserved: a mistake of the caller."""
        if end > self.capacity:
            raise ValueError(
                f"positions up to {end} are needed but only {self.capacity} were reserved; prefill with a larger capacity"
            )

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor, at: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Store keys and values (1, H_kv, T, D) at positions at..at+T-1; returns views of positions 0..at+T-1."""
        end = at + keys.shape[2]
        all_keys, all_values = self.buffers(layer, keys, values)
        all_keys[:, :, at:end].copy_(keys)
        all_values[:, :, at:end].copy_(values)
        return all_keys[:, :, :end], all_values[:, :, :end]

    def buffers(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The whole buffers of a layer, (1, H_kv, capacity, D), allocated for tensors like these if they are not there."""
        buffers = self._buffers[layer]
        if buffers is None:
            shape = _Shape(keys.shape[1], keys.shape[3], values.shape[3], keys.dtype)
            self._shapes[layer] = shape
            buffers = self._allocate(layer, shape)
        return buffers

    def put(self, keys: NDArray[np.float32], values: NDArray[np.float32], dtype: torch.dtype) -> None:
        """Those of positions 0..N-1, each (layers, H_kv, N, D), into every layer; room for them is reserved."""
        import torch

        for layer, pair in enumerate(zip(keys, values, strict=True)):
            made = [torch.from_numpy(one)[None].to(self._device, dtype) for one in pair]
            self.write(layer, made[0], made[1], 0)

    def commit(self, k: int, path: Sequence[int] | None = None) -> None:
        """n += k. With `path` (k ascending indices) rows n+path[i] move to n+i in every layer first."""
        if path is not None:
            self._gather(path)
        self.n += k

    def _gather(self, path: Sequence[int]) -> None:
        import torch

        moved = next((i for i, row in enumerate(path) if row != i), len(path))
        if moved == len(path):
            return
        rows = torch.tensor([self.n + row for row in path[moved:]], device=self._device)
        for buffers in self._buffers:
            for buffer in buffers or ():
                # index_select copies: source and destination overlap
                buffer[:, :, self.n + moved : self.n + len(path)] = buffer.index_select(2, rows)

    def _allocate(self, layer: int, shape: _Shape) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        def zeros(size: int) -> torch.Tensor:
            return torch.zeros(1, shape.heads, self.capacity, size, dtype=shape.dtype, device=self._device)

        try:
            buffers = zeros(shape.key_size), zeros(shape.value_size)
        except RuntimeError as error:  # torch.OutOfMemoryError is one; the CPU's allocator raises the plain class
            tokens, total = self.capacity, self.capacity * self.bytes_per_token
            self._buffers, self.capacity = [None] * len(self), 0
            raise StageError(
                "generate",
                f"no memory on {self._device} for the keys and values of {tokens} tokens ({total:,} bytes); "
                "lower max_new_tokens, shorten the prompt, or choose a smaller model or another device",
            ) from error
        self._buffers[layer] = buffers
        return buffers


def transformers_cache(kv: KVCache) -> Any:
    """`kv` as a `transformers.Cache`: the model's own attention modules then write into our buffers.

    Set `start` to the position of the first new token before each forward. Seams used, the same in 5.17 and 5.23: `update`
    for keys and values, `get_query_offset`, `get_mask_sizes`, `get_seq_length` and `is_sliding` for masks.
    """
    from transformers import Cache

    class BufferCache(Cache):
        start = 0

        def __init__(self) -> None:
            super().__init__(layers=[])

        def __len__(self) -> int:
            return len(kv)

        def update(
            self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args: object, **kwargs: object
        ) -> tuple[torch.Tensor, torch.Tensor]:
            return kv.write(layer_idx, key_states, value_states, self.start)

        def get_seq_length(self, layer_idx: int = 0) -> int:
            return self.start

        def get_query_offset(self, layer_idx: int = 0) -> int:
            return self.start

        def get_mask_sizes(self, query_length: int, layer_idx: int = 0) -> tuple[int, int]:
            """Keys that an attention module will see, and the position of the first."""
            return self.start + query_length, 0

        def get_max_length(self, layer_idx: int | None = None) -> int:
            return kv.capacity

        @property
        def is_compileable(self) -> bool:
            return False

        @property
        def is_sliding(self) -> list[bool]:
            return [False] * len(kv)

        @property
        def is_linear(self) -> list[bool]:
            return [False] * len(kv)

        @property
        def is_dummy(self) -> list[bool]:
            return [False] * len(kv)

    return BufferCache()


class StepCache:
    """Keys (layers, H_kv, D, capacity), by dimension, and values (layers, H_kv, capacity, D); committed are 0..n-1.

    The part of `KVCache` that backends use, for one shape known beforehand.
    """

    def __init__(self, n_layers: int, n_heads: int, size: int) -> None:
        self.n = 0
        self.capacity = 0
        self.allocations = 0
        """Goes up whenever the arrays are replaced."""
        self._shape = (n_layers, n_heads, size)
        self.keys: NDArray[np.float32] = np.zeros((n_layers, n_heads, size, 0), dtype=np.float32)
        self.values: NDArray[np.float32] = np.zeros((n_layers, n_heads, 0, size), dtype=np.float32)

    def reset(self) -> None:
        self.n = 0

    def bytes_for(self, n_tokens: int) -> int:
        n_layers, n_heads, size = self._shape
        return 8 * n_layers * n_heads * size * n_tokens

    def reserve(self, capacity: int) -> None:
        """Room for `capacity` positions; growing empties the cache. Raises StageError where there is no memory for it."""
        if capacity <= self.capacity:
            return
        n_layers, n_heads, size = self._shape
        wanted = -(-capacity // _GRAIN) * _GRAIN + _SPREAD
        self.n, self.capacity, self.allocations = 0, 0, self.allocations + 1
        self.keys = self.values = np.zeros((0, 0, 0, 0), dtype=np.float32)  # freed before the new ones are allocated
        try:
            self.keys = np.zeros((n_layers, n_heads, size, wanted), dtype=np.float32)
            self.values = np.zeros((n_layers, n_heads, wanted, size), dtype=np.float32)
        except MemoryError as error:
            raise StageError(
                "generate",
                f"no memory for the keys and values of {wanted} tokens ({self.bytes_for(wanted):,} bytes); "
                "lower max_new_tokens, shorten the prompt, or choose a smaller model",
            ) from error
        self.capacity = wanted

    def need(self, end: int) -> None:
        if end > self.capacity:
            raise ValueError(
                f"positions up to {end} are needed but only {self.capacity} were reserved; prefill with a larger capacity"
            )

    def put(self, keys: NDArray[np.float32], values: NDArray[np.float32], dtype: torch.dtype | None = None) -> None:
        """Those of positions 0..N-1, each (layers, H_kv, N, D); room for them is reserved."""
        n = keys.shape[2]
        self.keys[..., :n] = keys.swapaxes(2, 3)
        self.values[:, :, :n] = values

    def commit(self, k: int, path: Sequence[int] | None = None) -> None:
        """n += k. With `path` (k ascending indices) rows n+path[i] move to n+i first."""
        if path is not None and list(path) != list(range(len(path))):
            rows = [self.n + row for row in path]  # indexing by a list copies: source and destination overlap
            self.keys[..., self.n : self.n + k] = self.keys[..., rows]
            self.values[:, :, self.n : self.n + k] = self.values[:, :, rows]
        self.n += k

    def copy(self, start: int, count: int, to: int) -> None:
        """Keys and values of positions start..start+count-1 to `to` and behind it, which may overlap."""
        self.keys[..., to : to + count] = self.keys[..., start : start + count]
        self.values[:, :, to : to + count] = self.values[:, :, start : start + count]
