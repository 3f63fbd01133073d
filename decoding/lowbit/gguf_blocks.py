"""The quantized matrices of a GGUF file, number for number: its scales, least values, and whole numbers that give its weights.

The file's blocks: https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h. `gguf` turns them into weights; with the
scales known, the whole numbers follow by division, and are believed only if they give the same weights, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from decoding.lowbit.matrix import Bits, LowBitMatrix

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from transformers import PreTrainedModel

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
    """A tensor of gguf's reader as a matrix. Raises NotInBlocks for another type, or blocks that do not give its weights."""
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


def is_known(tensor: Any) -> bool:
    return len(tensor.shape) == 2 and tensor.tensor_type.name in _TYPES


def read_matrices(file: Path, model: PreTrainedModel) -> tuple[dict[str, LowBitMatrix], dict[str, torch.Tensor]]:
    """Of a GGUF file, by the names of the weights in `model`: the matrices in low-bit blocks, and all other weights.

    transformers knows how the file names its tensors, and for some models in which order it has their rows. What it does to a
    matrix is done here to the numbers of its rows.

    Raises NotInBlocks: an architecture whose matrices are changed otherwise, or blocks as of `matrix_of`; the file then needs
    `dtype float32`.
    """
    import torch
    from gguf import GGUFReader, dequantize
    from transformers.modeling_gguf_pytorch_utils import (
        TENSOR_PROCESSORS,
        TensorProcessor,
        get_gguf_hf_weights_map,
        load_gguf_checkpoint,
    )

    reader = GGUFReader(file)
    load: Any = load_gguf_checkpoint
    about = load(str(file), return_tensors=False)["config"]
    architecture = str(reader.fields["general.architecture"].contents())
    processors: Any = TENSOR_PROCESSORS
    processor = processors.get(architecture, TensorProcessor)(config=about)
    weights_map: Any = get_gguf_hf_weights_map
    names: dict[str, str] = weights_map(model, processor)
    matrices: dict[str, LowBitMatrix] = {}
    others: dict[str, torch.Tensor] = {}
    for tensor in reader.tensors:
        if tensor.name not in names:
            continue
        if len(tensor.shape) > 2:
            raise NotInBlocks(f"{tensor.name} has {len(tensor.shape)} dimensions, and low-bit matrices have two")
        if is_known(tensor):
            matrix = matrix_of(tensor)
            order = processor.process(weights=np.arange(matrix.n_rows, dtype=np.float64)[:, None], name=tensor.name).weights
            if order.shape != (matrix.n_rows, 1) or sorted(order[:, 0]) != list(range(matrix.n_rows)):
                raise NotInBlocks(f"{tensor.name} of {architecture} is stored in another form than transformers has it")
            matrices[names[tensor.name]] = _in_order(matrix, order[:, 0].astype(np.int64))
        else:
            weights = dequantize(tensor.data, tensor.tensor_type)
            done = processor.process(weights=weights, name=tensor.name)
            others[names[done.name]] = torch.from_numpy(np.array(done.weights, dtype=np.float32))
    return matrices, others


def _in_order(matrix: LowBitMatrix, rows: NDArray[np.int64]) -> LowBitMatrix:
    if np.array_equal(rows, np.arange(len(rows))):
        return matrix
    return matrix.chosen(rows)
