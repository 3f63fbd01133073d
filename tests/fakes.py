"""Small deterministic stand-ins for what needs weights, shared by the tests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class FixedEncoder:
    """Unit vectors from hashed character n-grams: equal texts agree, texts that share letters are near, no cosine is below 0.

    `seen` lists every text it was asked for, in order.
    """

    def __init__(self, dimension: int = 256) -> None:
        self._dimension = dimension
        self.seen: list[str] = []

    @property
    def name(self) -> str:
        return f"fixed-{self._dimension}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.seen.extend(texts)
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in zip(vectors, texts):
            padded = f" {text.lower()} "
            for n in (2, 3):
                for i in range(len(padded) - n + 1):
                    digest = hashlib.blake2b(padded[i : i + n].encode(), digest_size=4).digest()
                    row[int.from_bytes(digest, "big") % self._dimension] += 1.0
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(norms > 0, norms, 1.0)
