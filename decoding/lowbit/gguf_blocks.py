"""The quantized matrices of a GGUF file, number for number: its scales, least values and whole numbers, in our order.

The file's blocks: https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h. A matrix is read a few rows at a time, so
that never more than those lie in memory beside the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from decoding.lowbit.forms import Form
from decoding.lowbit.matrix import Bits, LowBitMatrix, Matrix
from decoding.lowbit.superblocks import BLOCK, FILE_BYTES, SuperBits, SuperMatrix

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from transformers import PreTrainedModel

    Bytes = NDArray[np.uint8]
    Parts = tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32] | None]

_ROWS = 2048
"""Read at a time; a multiple of 16."""


class NotInBlocks(Exception):
    """A weight that the file does not hold in low-bit blocks of a known type; the message says which and why."""


def _half(blocks: Bytes, first: int) -> NDArray[np.float32]:
    """The float16 at byte `first` of each block, (B, 1)."""
    return np.ascontiguousarray(blocks[:, first : first + 2]).view(np.float16).astype(np.float32)


def _halves(numbers: Bytes) -> NDArray[np.int8]:
    """Bytes (B, 16): the low halves are the first sixteen columns of a block, the high ones the others."""
    return np.concatenate([numbers & 15, numbers >> 4], axis=1).view(np.int8)


def _fifth(blocks: Bytes, first: int) -> NDArray[np.int8]:
    """The 32 bits at byte `first` of each block as the fifth bits of its numbers, (B, 32)."""
    bits = np.unpackbits(np.ascontiguousarray(blocks[:, first : first + 4]), axis=1, bitorder="little")
    return (bits << 4).view(np.int8)


def _q4_0(blocks: Bytes) -> Parts:
    scale = _half(blocks, 0)
    return _halves(blocks[:, 2:]), scale, np.float32(-8) * scale


def _q4_1(blocks: Bytes) -> Parts:
    return _halves(blocks[:, 4:]), _half(blocks, 0), _half(blocks, 2)


def _q5_0(blocks: Bytes) -> Parts:
    return (_halves(blocks[:, 6:]) | _fifth(blocks, 2)) - np.int8(16), _half(blocks, 0), None


def _q5_1(blocks: Bytes) -> Parts:
    return _halves(blocks[:, 8:]) | _fifth(blocks, 4), _half(blocks, 0), _half(blocks, 2)


def _q8_0(blocks: Bytes) -> Parts:
    return np.ascontiguousarray(blocks[:, 2:]).view(np.int8), _half(blocks, 0), None


_TYPES: dict[str, tuple[Bits, bool, Callable[[Bytes], Parts]]] = {
    "Q4_0": (4, True, _q4_0),
    "Q4_1": (4, True, _q4_1),
    "Q5_0": (8, False, _q5_0),
    "Q5_1": (8, True, _q5_1),
    "Q8_0": (8, False, _q8_0),
}
"""Types of 32 columns a block -> bits of a `LowBitMatrix`, whether it has least values, and what blocks (B, bytes) hold:
numbers (B, 32), scales and least values (B, 1)."""
_SUPER: dict[str, SuperBits] = {"Q4_K": 4, "Q5_K": 5, "Q6_K": 6}
_KNOWN = (*_TYPES, *_SUPER)
_FLOATS = ("F32", "F16", "BF16", "F64")


@dataclass(frozen=True, slots=True, eq=False)
class StoredMatrix:
    """A matrix of a file, not read yet."""

    name: str
    kind: str
    blocks: Bytes
    """(N, bytes), as they lie in the file."""
    order: NDArray[np.int64] | None = None
    """Which row of the file each row is, where they are not the same."""

    @property
    def form(self) -> Form:
        n, n_bytes = self.blocks.shape
        if self.kind in _SUPER:
            return Form("super", _SUPER[self.kind], n, n_bytes // FILE_BYTES[_SUPER[self.kind]] * BLOCK)
        bits, has_least, _ = _TYPES[self.kind]
        return Form("plain", bits, n, n_bytes // _block_bytes(self.kind) * 32, has_least=has_least)

    def pieces(self) -> Iterator[Matrix]:
        """Some rows after the others, each a matrix. Raises NotInBlocks for numbers that are none."""
        for first in range(0, len(self.blocks), _ROWS):
            rows = slice(first, first + _ROWS)
            blocks = self.blocks[rows] if self.order is None else self.blocks[self.order[rows]]
            yield self._piece(np.ascontiguousarray(blocks))

    def _piece(self, blocks: Bytes) -> Matrix:
        if self.kind in _SUPER:
            kind = _SUPER[self.kind]
            each = blocks.reshape(-1, FILE_BYTES[kind])
            tops = each[:, -2:] if kind == 6 else each[:, :4]
            self._check(np.ascontiguousarray(tops).view(np.float16))
            return SuperMatrix.of_file(blocks, kind)
        bits, _, read = _TYPES[self.kind]
        numbers, scales, least = read(blocks.reshape(-1, _block_bytes(self.kind)))
        n = len(blocks)
        self._check(scales, *(() if least is None else (least,)))
        try:
            return LowBitMatrix.of(
                numbers.reshape(n, -1),
                scales.reshape(n, -1),
                None if least is None else least.reshape(n, -1),
                bits=bits,
            )
        except ValueError as error:
            raise NotInBlocks(f"{self.name}, stored as {self.kind}: {error}") from error

    def _check(self, *scales: NDArray[Any]) -> None:
        if not all(np.isfinite(one).all() for one in scales):
            raise NotInBlocks(f"{self.name}, stored as {self.kind}, has scales that are no numbers")


def _block_bytes(kind: str) -> int:
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    return int(GGML_QUANT_SIZES[GGMLQuantizationType[kind]][1])


def stored(tensor: Any, order: NDArray[np.int64] | None = None) -> StoredMatrix:
    """A tensor of gguf's reader. Raises NotInBlocks for another type."""
    name = tensor.tensor_type.name
    if name not in _KNOWN:
        raise NotInBlocks(f"{tensor.name} is stored as {name}; known are {', '.join(_KNOWN)}")
    n = int(tensor.shape[1])
    return StoredMatrix(tensor.name, name, np.asarray(tensor.data).reshape(n, -1), order)


def is_known(tensor: Any) -> bool:
    return len(tensor.shape) == 2 and tensor.tensor_type.name in _KNOWN


def read_matrices(
    file: Path, model: PreTrainedModel
) -> tuple[dict[str, StoredMatrix], dict[str, torch.Tensor], dict[str, str]]:
    """Of a GGUF file, by the names of the weights in `model`: the matrices in low-bit blocks, and all other weights; and of the
    matrices in blocks that are not known here, and so among the others, their names in the file and its types.

    transformers knows how the file names its tensors, and for some models in which order it has their rows. What it does to a
    matrix is done here to the numbers of its rows.

    Raises NotInBlocks: an architecture whose matrices are changed otherwise; the file then needs `dtype float32`.
    """
    import torch
    from gguf import GGUFReader, dequantize
    from transformers.modeling_gguf_pytorch_utils import TENSOR_PROCESSORS, TensorProcessor, get_gguf_hf_weights_map

    reader = GGUFReader(file)
    architecture = str(reader.fields["general.architecture"].contents())
    processors: Any = TENSOR_PROCESSORS
    processor = processors.get(architecture, TensorProcessor)(config=_about(file))
    weights_map: Any = get_gguf_hf_weights_map
    names: dict[str, str] = weights_map(model, processor)
    matrices: dict[str, StoredMatrix] = {}
    others: dict[str, torch.Tensor] = {}
    unpacked: dict[str, str] = {}
    for tensor in reader.tensors:
        if tensor.name not in names:
            continue
        if len(tensor.shape) > 2:
            raise NotInBlocks(f"{tensor.name} has {len(tensor.shape)} dimensions, and low-bit matrices have two")
        if is_known(tensor):
            n = int(tensor.shape[1])
            order = processor.process(weights=np.arange(n, dtype=np.float64)[:, None], name=tensor.name).weights
            if order.shape != (n, 1) or not np.array_equal(np.sort(order[:, 0]), np.arange(n)):
                raise NotInBlocks(f"{tensor.name} of {architecture} is stored in another form than transformers has it")
            rows = order[:, 0].astype(np.int64)
            matrices[names[tensor.name]] = stored(tensor, None if np.array_equal(rows, np.arange(n)) else rows)
        else:
            kind = tensor.tensor_type.name
            if len(tensor.shape) == 2 and kind not in _FLOATS:
                unpacked[tensor.name] = kind
            try:
                weights = dequantize(tensor.data, tensor.tensor_type)
            except NotImplementedError as error:
                raise NotInBlocks(f"{tensor.name} is stored as {kind}, which nothing here can read") from error
            done = processor.process(weights=weights, name=tensor.name)
            others[names[done.name]] = torch.from_numpy(np.array(done.weights, dtype=np.float32))
    return matrices, others, unpacked


def _about(file: Path) -> dict[str, Any]:
    """What transformers reads of a file besides its tensors."""
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    load: Any = load_gguf_checkpoint
    found: dict[str, Any] = load(str(file), return_tensors=False)["config"]
    return found
