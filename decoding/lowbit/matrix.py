"""Matrices of low-bit weights: whole numbers in groups along each row, with a scale, and maybe a least value, for each group.

    w = scale * q + least        q in 0..15 (4 bits) or -127..127 (8 bits), groups of 32 (or 16 of 8 bits)

This holds what GGUF's common block types hold, exactly (`decoding.lowbit.gguf_blocks`), and what `quantised` makes of any
matrix by rounding to nearest (as Q4_1 and Q8_0: https://github.com/ggml-org/ggml/blob/master/src/ggml-quants.c).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

Bits = Literal[4, 8]
GROUP = 32
PADDED = 64
"""Rows are filled up with zeros to a multiple of this."""


@dataclass(frozen=True, slots=True, eq=False)
class LowBitMatrix:
    """A matrix (N, K), K filled up to a multiple of 64, P.

    `packed` is (N, P) int8, or (N, P / 2) uint8 of 4 bits: byte b of block i holds weight 64 * i + b in its low half and
    64 * i + 32 + b in its high one. `scales` and `least` are (N, P / group) float32; no `least` means 0.
    """

    packed: NDArray[np.int8] | NDArray[np.uint8]
    scales: Floats
    least: Floats | None
    bits: Bits
    group: int
    n_columns: int

    @classmethod
    def of(
        cls, numbers: NDArray[np.int8], scales: Floats, least: Floats | None, *, bits: Bits, group: int = GROUP
    ) -> LowBitMatrix:
        """From numbers (N, K) and a scale and least value a group. Raises ValueError for shapes or numbers that do not fit."""
        n, k = numbers.shape
        if group not in (16, 32) or (bits, group) == (4, 16) or k % group or scales.shape != (n, k // group):
            raise ValueError(f"{bits} bits, numbers {numbers.shape}, scales {scales.shape}, groups of {group} make no matrix")
        if least is not None and least.shape != scales.shape:
            raise ValueError(f"scales {scales.shape} and least values {least.shape} are of different shapes")
        if numbers.size and (numbers.min() < (0 if bits == 4 else -127) or numbers.max() > (15 if bits == 4 else 127)):
            raise ValueError(f"numbers from {numbers.min()} to {numbers.max()} are not of {bits} bits")
        more = -k % PADDED
        if more:
            numbers = np.pad(numbers, ((0, 0), (0, more)))
            scales = np.pad(scales, ((0, 0), (0, more // group)))
            least = None if least is None else np.pad(least, ((0, 0), (0, more // group)))
        packed: NDArray[np.int8] | NDArray[np.uint8] = np.ascontiguousarray(numbers)
        if bits == 4:
            pairs = numbers.view(np.uint8).reshape(n, -1, 2, 32)
            packed = np.ascontiguousarray((pairs[:, :, 0] | (pairs[:, :, 1] << 4)).reshape(n, -1))
        single = np.ascontiguousarray(scales, dtype=np.float32)
        return cls(packed, single, None if least is None else np.ascontiguousarray(least, dtype=np.float32), bits, group, k)

    @property
    def n_rows(self) -> int:
        return int(self.scales.shape[0])

    @property
    def n_padded(self) -> int:
        return int(self.scales.shape[1]) * self.group

    @property
    def n_bytes(self) -> int:
        return int(self.packed.nbytes + self.scales.nbytes + (0 if self.least is None else self.least.nbytes))

    def values(self, rows: NDArray[np.int64] | slice = slice(None)) -> Floats:
        """The weights of some rows as float32, (R, K)."""
        packed = self.packed[rows]
        if self.bits == 4:
            halves = packed.reshape(len(packed), -1, 32)
            packed = np.stack([halves & 15, halves >> 4], axis=2).reshape(len(packed), -1)
        grouped = packed.reshape(len(packed), -1, self.group).astype(np.float32)
        grouped *= self.scales[rows][..., None]
        if self.least is not None:
            grouped += self.least[rows][..., None]
        return grouped.reshape(len(packed), -1)[:, : self.n_columns]


def matrices_in(model: Any) -> list[tuple[Any, LowBitMatrix]]:
    """Modules of a torch model that hold a low-bit matrix, with it."""
    found = ((module, getattr(module, "matrix", None)) for module in model.modules())
    return [(module, matrix) for module, matrix in found if isinstance(matrix, LowBitMatrix)]


def quantised(weights: Floats, bits: Bits) -> LowBitMatrix:
    """The nearest matrix of so many bits: 8 with scale = max |w| / 127, 4 with scale = (max - min) / 15 and least = min."""
    n, k = weights.shape
    padded = np.pad(weights.astype(np.float32, copy=False), ((0, 0), (0, -k % GROUP))).reshape(n, -1, GROUP)
    if bits == 8:
        scales = np.abs(padded).max(axis=-1) / np.float32(127)
        numbers = np.rint(padded / _nonzero(scales)[..., None])
        least = None
    else:
        least = padded.min(axis=-1)
        scales = (padded.max(axis=-1) - least) / np.float32(15)
        numbers = np.rint((padded - least[..., None]) / _nonzero(scales)[..., None]).clip(0, 15)
    matrix = LowBitMatrix.of(numbers.astype(np.int8).reshape(n, -1), scales, least, bits=bits)
    return LowBitMatrix(matrix.packed, matrix.scales, matrix.least, bits, GROUP, k)


def _nonzero(scales: Floats) -> Floats:
    return np.where(scales > 0, scales, np.float32(1))


def stacked(matrices: list[LowBitMatrix]) -> LowBitMatrix:
    """Matrices of one form (bits, groups, columns), one under the other. Raises ValueError for others."""
    first = matrices[0]
    if any((m.bits, m.group, m.n_columns) != (first.bits, first.group, first.n_columns) for m in matrices):
        raise ValueError("matrices of different forms cannot be stacked")
    has_least = any(m.least is not None for m in matrices)
    least = [np.zeros_like(m.scales) if m.least is None else m.least for m in matrices] if has_least else None
    return LowBitMatrix(
        np.concatenate([m.packed for m in matrices]),
        np.concatenate([m.scales for m in matrices]),
        None if least is None else np.concatenate(least),
        first.bits,
        first.group,
        first.n_columns,
    )
