"""Several texts in one KV cache of the compiled low-bit step: how all prompts begin is there once, then each has a segment.

A row sees the shared beginning and its own segment, in the order of positions, so that its logits are the bits that it would
have alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from data.errors import StageError
from decoding.backends.places import Places, Placing
from decoding.backends.rows import TorchRows
from decoding.backends.torch_backend import PREFILL_TOKENS
from decoding.machine import available_bytes

if TYPE_CHECKING:
    import torch

_LANES = 16
"""Keys are read in whole vectors: what lies behind the last segment must exist."""


class LowBitTexts:
    """Implements `decoding.backend.ManyTexts`."""

    def __init__(self, backend: Placing, prompts: Sequence[Sequence[int]], rooms: Sequence[int]) -> None:
        """Reads the prompts. Raises StageError as `ManyBackend.together` says."""
        if not prompts or len(prompts) != len(rooms) or not all(prompts):
            raise ValueError("each text has a prompt of at least one token, and a room")
        self._backend = backend
        same = _common([tuple(prompt) for prompt in prompts])
        # texts of one prompt begin at its end; others read at least their last token themselves, for its logits
        self._shared = same if all(len(prompt) == same for prompt in prompts) else min(same, min(map(len, prompts)) - 1)
        sizes = [len(prompt) - self._shared + room for prompt, room in zip(prompts, rooms, strict=True)]
        self._starts = np.cumsum([0, *sizes[:-1]]).tolist()
        self._ends = np.cumsum(sizes).tolist()
        self._lengths = [0] * len(prompts)
        """Committed tokens of each segment."""
        self._stepped = [0] * len(prompts)
        capacity = self._shared + sum(sizes) + _LANES
        self._check_memory(capacity, len(prompts))
        self.last = self._read(prompts, capacity)

    def step(self, ids: Sequence[Sequence[int]]) -> tuple[TorchRows, ...]:
        import torch

        with torch.inference_mode():
            logits = self._run(ids)
        self._stepped = [len(tokens) for tokens in ids]
        return tuple(TorchRows(rows) for rows in torch.split(logits, self._stepped))

    def commit(self, counts: Sequence[int]) -> None:
        for i, (count, stepped) in enumerate(zip(counts, self._stepped, strict=True)):
            if not 0 <= count <= stepped:
                raise ValueError(f"{count} tokens cannot be committed: the last step had {stepped} for text {i}")
            self._lengths[i] += count
        self._stepped = [0] * len(self._lengths)

    def _check_memory(self, capacity: int, n_texts: int) -> None:
        needed, free = self._backend.bytes_for(capacity), available_bytes()
        if free is not None and needed > free + self._backend.bytes_for(self._backend.reserved):
            raise StageError(
                "generate",
                f"{n_texts} texts together need {needed >> 20:,} MiB for the keys and values of {capacity:,} tokens, and "
                f"{free >> 20:,} MiB of memory are free; ask for fewer at once, or lower max_new_tokens",
            )

    def _read(self, prompts: Sequence[Sequence[int]], capacity: int) -> tuple[TorchRows, ...]:
        import torch

        backend = self._backend
        for prompt in prompts:
            backend.check(prompt, capacity)
        with torch.inference_mode():
            if self._shared:
                first = TorchRows(backend.prefill(prompts[0][: self._shared], capacity=capacity).last.logits)
            else:
                backend.begin(capacity)
            found = []
            for i, prompt in enumerate(prompts):
                rest, last = list(prompt[self._shared :]), None
                for at in range(0, len(rest), PREFILL_TOKENS):
                    piece = rest[at : at + PREFILL_TOKENS]
                    last = self._run([piece if j == i else () for j in range(len(prompts))], last_only=True)
                    self._lengths[i] += len(piece)
                found.append(TorchRows(last) if last is not None else first)
        return tuple(found)

    def _run(self, ids: Sequence[Sequence[int]], *, last_only: bool = False) -> torch.Tensor:
        import torch

        n, lengths = self._shared, self._lengths
        own: list[int] = []
        starts: list[int] = []
        for i, tokens in enumerate(ids):
            if self._starts[i] + lengths[i] + len(tokens) > self._ends[i]:
                raise ValueError(f"text {i} has no room for {len(tokens)} more tokens")
            own += range(lengths[i], lengths[i] + len(tokens))
            starts += [self._starts[i]] * len(tokens)
        depths, gaps = np.array(own, dtype=np.int64), np.array(starts, dtype=np.int64)
        longest = int(depths.max()) + 1
        paths = np.repeat(np.arange(longest, dtype=np.int64)[None], len(depths), axis=0)
        places = Places(n, n + gaps + depths, gaps, n + depths, paths, depths)
        flat = torch.tensor([[token for text in ids for token in text]])
        return self._backend.run_at(flat, places, last_only=last_only, may_spread=True)[0]


def _common(prompts: Sequence[tuple[int, ...]]) -> int:
    """Tokens with which all of them begin."""
    first, others = prompts[0], prompts[1:]
    for at, token in enumerate(first):
        if any(at >= len(other) or other[at] != token for other in others):
            return at
    return len(first)
