"""The quantized matrices of a GGUF file, number for number: its scales and least values, and whole numbers that give its weights.

The file's blocks: https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h. `gguf` turns them into weights; with the
scales known, the whole numbers follow by division, and are believed only if they give the same weights, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from decoding.lowbit.matrix import Bits, LowBitMatrix

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    Scales = tuple[NDArray[np.float32], NDArray[np.float32] | None]


class NotInBlocks(Exception):
    """A weight that the file does not hold in low-bit blocks of a known type; the message says which and why."""


def _half(blocks: NDArray[np.uint8], first: int) -> NDArray[np.float32]:
    """The float16 at byte `first` of each block, (N, 1)."""
    return np.ascontiguousarray(blocks[:, first : first + 2]).view(np.float16).astype(np.float32)


def _one(blocks: NDArray[np.uint8]) -> Scales:
    return _half(blocks, 0), None


def _from_eight(blocks: NDArray[np.uint8]) -> Scales:
    scale = _half(blocks, 0)
    return scale, np.float32(-8) * scale


def _two(blocks: NDArray[np.uint8]) -> Scales:
    return _half(blocks, 0), _half(blocks, 2)


def _eight_of_each(blocks: NDArray[np.uint8]) -> Scales:
    from gguf.quants import Q4_K

    scales, least = Q4_K.get_scale_min(np.ascontiguousarray(blocks[:, 4:16]))
    return _half(blocks, 0) * scales.astype(np.float32), -(_half(blocks, 2) * least.astype(np.float32))


def _sixteen(blocks: NDArray[np.uint8]) -> Scales:
    scales = np.ascontiguousarray(blocks[:, -18:-2]).view(np.int8).astype(np.float32)
    return _half(blocks, blocks.shape[1] - 2) * scales, None


_TYPES: dict[str, tuple[Bits, int, Callable[[NDArray[np.uint8]], Scales]]] = {
    "Q4_0": (4, 32, _from_eight),
    "Q4_1": (4, 32, _two),
    "Q5_0": (8, 32, _one),
    "Q5_1": (8, 32, _two),
    "Q8_0": (8, 32, _one),
    "Q4_K": (4, 32, _eight_of_each),
    "Q5_K": (8, 32, _eight_of_each),
    "Q6_K": (8, 16, _sixteen),
}
"""Block type -> bits and groups of a `LowBitMatrix`, and the scales and least values of blocks (B, bytes), (B, groups) each."""


def matrix_of(tensor: Any) -> LowBitMatrix:
    """A tensor of gguf's reader as a matrix. Raises NotInBlocks for another type, or blocks that are not what they should be."""
    from gguf import GGML_QUANT_SIZES, dequantize

    name = tensor.tensor_type.name
    if name not in _TYPES:
        raise NotInBlocks(f"{tensor.name} is stored as {name}; known are {', '.join(_TYPES)}")
    bits, group, scales_of = _TYPES[name]
    weights = dequantize(tensor.data, tensor.tensor_type)
    blocks = np.asarray(tensor.data).reshape(-1, GGML_QUANT_SIZES[tensor.tensor_type][1])
    n = len(weights)
    scales, least = (None if part is None else part.reshape(n, -1) for part in scales_of(blocks))
    assert scales is not None
    grouped = weights.reshape(n, -1, group)
    above = grouped if least is None else grouped - least[..., None]
    numbers = np.rint(above / np.where(scales == 0, np.float32(1), scales)[..., None]).reshape(n, -1)
    try:
        matrix = LowBitMatrix.of(numbers.astype(np.int8), scales, least, bits=bits, group=group)
    except ValueError as error:
        raise NotInBlocks(f"{tensor.name}, stored as {name}: {error}") from error
    if not np.array_equal(matrix.values(), weights):
        raise NotInBlocks(f"{tensor.name}, stored as {name}, is not what its scales and whole numbers give")
    return matrix


class FileMatrices:
    """The matrices of one file, found by their weights: transformers renames them, and puts rows in another order.

    Every block type of `_TYPES` is read when this is made; others are left out.
    """

    def __init__(self, file: Path) -> None:
        from gguf import GGUFReader

        self._matrices: list[LowBitMatrix] = []
        self._places: dict[tuple[int, int], tuple[int, int]] = {}
        """(columns, hash of a row's weights) -> (matrix, row)."""
        for tensor in GGUFReader(file).tensors:
            if tensor.tensor_type.name in _TYPES and len(tensor.shape) == 2:
                matrix = matrix_of(tensor)
                for row, key in enumerate(_row_keys(matrix.values())):
                    self._places.setdefault(key, (len(self._matrices), row))
                self._matrices.append(matrix)

    def chosen(self, name: str, weight: torch.Tensor) -> LowBitMatrix:
        """The file's matrix of these weights, its rows in their order. Raises NotInBlocks if there is none."""
        values = weight.float().numpy()
        places = [self._places.get(key) for key in _row_keys(values)]
        found = {place[0] for place in places if place is not None}
        if None in places or not found:
            raise NotInBlocks(f"{name} is not stored in low-bit blocks of a known type ({', '.join(_TYPES)})")
        parts = [self._matrices[i] for i in sorted(found)]
        if len({(m.bits, m.group, m.n_columns, m.least is None) for m in parts}) > 1:
            raise NotInBlocks(f"{name} is stored in blocks of several types")
        first = dict(zip(sorted(found), np.cumsum([0, *(m.n_rows for m in parts)]).tolist(), strict=False))
        rows = np.array([first[place[0]] + place[1] for place in places if place is not None])
        return _rows_of(parts, rows)


def _rows_of(parts: list[LowBitMatrix], rows: NDArray[np.int64]) -> LowBitMatrix:
    """Rows of matrices that stand one under the other."""
    from decoding.lowbit.matrix import stacked

    whole = parts[0] if len(parts) == 1 else stacked(parts)
    least = None if whole.least is None else whole.least[rows]
    return LowBitMatrix(whole.packed[rows], whole.scales[rows], least, whole.bits, whole.group, whole.n_columns)


def _row_keys(values: NDArray[np.float32]) -> Iterator[tuple[int, int]]:
    for row in np.ascontiguousarray(values + np.float32(0)):  # -0 and 0 are the same weight
        yield len(row), hash(row.tobytes())
