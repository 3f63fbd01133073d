"""Whole numbers from -7 to 7, two in a byte: how trained files are kept small."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST = 7


def in_pairs(whole: NDArray[np.int8]) -> NDArray[np.uint8]:
    """(..., D) as (..., D / 2): of each two numbers the first in the lower bits."""
    bits = (whole + LARGEST + 1).astype(np.uint8)
    return np.asarray(bits[..., ::2] + 16 * bits[..., 1::2], dtype=np.uint8)


def out_of_pairs(pairs: NDArray[np.uint8]) -> NDArray[np.int8]:
    """What `in_pairs` was given."""
    bits = np.stack((pairs & 15, pairs >> 4), axis=-1).reshape(*pairs.shape[:-1], -1)
    return bits.astype(np.int8) - np.int8(LARGEST + 1)
