"""Low-bit matrices: what they hold, and how near it is to what was rounded."""

from __future__ import annotations

import numpy as np
import pytest

from decoding.lowbit.matrix import LowBitMatrix


@pytest.mark.parametrize(
    ("numbers", "bits", "group", "words"),
    [(np.full((1, 32), 16), 4, 32, "not of 4 bits"), (np.full((1, 32), -128), 8, 32, "not of 8 bits"),
     (np.zeros((1, 40)), 8, 32, "no matrix"), (np.zeros((1, 32)), 4, 16, "no matrix")],
)  # fmt: skip
def test_what_does_not_fit_is_refused(numbers: np.ndarray, bits: int, group: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        LowBitMatrix.of(
            numbers.astype(np.int8), np.ones((1, numbers.shape[1] // group), np.float32), None, bits=bits, group=group
        )
