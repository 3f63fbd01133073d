"""Prompt vectors and how they are compared. No torch here.

A vector is the mean over the prompt's positions of the states after the final norm (KNN-SSD, section 3.2); a backend gives
it with the prefill. Raw means share a large common part (every prompt of a task has the same template), so inside a task
they are compared after the task's mean is taken off. KNN-SSD compares them raw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from decoding.api import Vectors


def unit(vectors: Vectors) -> Vectors:
    """Rows of length 1, (N, D) float32; a row of zeros stays so. Their inner products are the original's cosines."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return scaled


def centred(vectors: Vectors, mean: Vectors) -> Vectors:
    """Rows without their common part, of length 1: (N, D) and (D,) -> (N, D) float32."""
    return unit(vectors - mean)


def nearest(queries: Vectors, anchors: Vectors) -> NDArray[np.int64]:
    """For each of (N, D) unit rows the index of the anchor, of (K, D) unit rows, of the largest cosine."""
    import numpy as np

    found: NDArray[np.int64] = np.argmax(queries @ anchors.T, axis=1)
    return found
