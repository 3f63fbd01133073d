"""Logits of some positions as a torch tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from data.errors import StageError

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray


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
        values, ids = self._logits.max(dim=-1)  # the first of equals; NaN wins over every number
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
