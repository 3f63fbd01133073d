"""Rows of a step that lie anywhere in one KV cache, and what each of them sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray


class Places(NamedTuple):
    """Where the T rows of a step lie, and what each of them sees: the n committed positions, then its scratch rows
    paths[t, 0..depths[t]], counted from n + gaps[t] on. Row t is stored at slots[t] and is at positions[t] of its text. All
    but `n` int64, (T,), and `paths` (T, longest)."""

    n: int
    slots: NDArray[np.int64]
    gaps: NDArray[np.int64]
    positions: NDArray[np.int64]
    paths: NDArray[np.int64]
    depths: NDArray[np.int64]


class Placing(Protocol):
    """A backend whose rows may lie anywhere."""

    def check(self, prompt: Sequence[int], capacity: int) -> None:
        """Raises StageError for a prompt beyond the context."""
        ...

    def begin(self, capacity: int, beginning: Sequence[int] = ()) -> None:
        """A sequence with room for `capacity` positions, which begins with these tokens."""
        ...

    @property
    def reserved(self) -> int:
        """Tokens for which there is room already."""
        ...

    def bytes_for(self, n_tokens: int) -> int:
        """Of the keys and values of so many tokens."""
        ...

    def copy(self, start: int, count: int, to: int) -> None:
        """Keys and values of positions start..start+count-1 to `to` and behind it."""
        ...

    def run_at(
        self, ids: torch.Tensor, places: Places, *, last_only: bool = False, may_spread: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits (T, V) of ids (1, T), or of the last alone, and states after the final norm (T, D). Many rows may be divided
        among threads."""
        ...
