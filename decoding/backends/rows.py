"""Logits of some positions as a torch tensor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from data.errors import StageError

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

_BUNDLES = 768
"""The columns of a row are searched in so many bundles: the fastest for a vocabulary of 49,152."""


def not_numbers(dtype: object) -> StageError:
    """What to raise when a logit is NaN. `dtype`: that of the model."""
    name = str(dtype).removeprefix("torch.")
    return StageError(
        "generate",
        f"the model's logits are not numbers (NaN) in {name}; load it with dtype {_wider(name)}, or download it again",
    )


def _wider(dtype: str) -> str:
    return "bfloat16 or float32" if dtype == "float16" else "float32" if dtype == "bfloat16" else "auto"


class TorchRows:
    """Implements `decoding.backend.Rows`. The tensor is the backend's own: read it, do not change it."""

    def __init__(self, logits: torch.Tensor) -> None:
        """`logits`: (T, V), in the model's dtype."""
        self._logits = logits

    def __len__(self) -> int:
        return self._logits.shape[0]

    @property
    def logits(self) -> torch.Tensor:
        return self._logits

    def argmax(self) -> list[int]:
        """T token ids, the lowest of equals, with one read from the device. Raises StageError when a logit is NaN."""
        if (plain := self._in_memory()) is not None:  # a tenth of torch's time for a step of one row
            found: list[int] = plain.argmax(axis=-1).tolist()  # the first of equals; NaN wins over every number
            if any(math.isnan(plain[row, token]) for row, token in enumerate(found)):
                raise not_numbers(self._logits.dtype)
            return found
        values, ids = self._logits.max(dim=-1)  # likewise
        tokens = ids.masked_fill(values.isnan(), -1).tolist()
        if -1 in tokens:
            raise not_numbers(self._logits.dtype)
        return tokens

    def top(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Ids (T, k), best first, and their softmax probabilities at temperature 1, computed in float32."""
        logits = self._logits.float()
        best = logits.topk(min(k, logits.shape[-1]), dim=-1)
        probabilities = (best.values - logits.logsumexp(dim=-1, keepdim=True)).exp()
        return best.indices.cpu().numpy(), probabilities.cpu().numpy()

    def top_ids(self, k: int) -> NDArray[np.int64]:
        """Ids (T, k) of `top`, without its probabilities, which take longer than the ids."""
        plain = self._in_memory()
        if plain is None or plain.shape[1] < 4 * _BUNDLES or not 0 < k < _BUNDLES:
            best = self._logits.topk(min(k, self._logits.shape[-1]), dim=-1)
            return best.indices.cpu().numpy()
        return highest(plain, k)

    def _in_memory(self) -> NDArray[np.float32] | None:
        """The logits as numpy has them; None of another device or precision."""
        import torch

        is_plain = self._logits.device.type == "cpu" and self._logits.dtype == torch.float32
        return self._logits.detach().numpy() if is_plain else None


def highest(rows: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Columns (T, k) of the largest numbers of rows (T, V), best first; which of equals is one of them is not said.

    The k largest lie in those k bundles of columns whose largest are largest: no row is sorted, and whole vectors are compared.
    V has to be at least `_BUNDLES`, k less than that.
    """
    import numpy as np

    n_rows, width = rows.shape
    each = width // _BUNDLES
    whole = _BUNDLES * each
    best = rows[:, :whole].reshape(n_rows, each, _BUNDLES).max(axis=1)
    bundles = np.argpartition(best, _BUNDLES - k, axis=-1)[:, _BUNDLES - k :]
    columns = (np.arange(each)[None, :, None] * _BUNDLES + bundles[:, None, :]).reshape(n_rows, -1)
    if whole < width:
        rest = np.broadcast_to(np.arange(whole, width), (n_rows, width - whole))
        columns = np.concatenate([columns, rest], axis=1)
    values = np.take_along_axis(rows, columns, axis=1)
    found = np.argpartition(values, values.shape[1] - k, axis=-1)[:, values.shape[1] - k :]
    columns, values = np.take_along_axis(columns, found, axis=1), np.take_along_axis(values, found, axis=1)
    return np.take_along_axis(columns, np.argsort(-values, axis=-1), axis=1)
