"""Matrices of low-bit weights: whole numbers in groups along each row, with a scale, and maybe a least value, for each group.

    w = scale * q + least        q in 0..15 (4 bits) or -127..127 (8 bits), groups of 32 (or 16 of 8 bits)

`LowBitMatrix` holds what GGUF's simple block types hold, exactly (`decoding.lowbit.gguf_blocks`), and what `quantised` makes
of any matrix by rounding to nearest (as Q4_1 and Q8_0: https://github.com/ggml-org/ggml/blob/master/src/ggml-quants.c).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64] | slice

Bits = Literal[4, 8]
GROUP = 32
PADDED = 64
"""Columns are filled up with zeros to a multiple of this."""
PANEL = 16
"""Rows that lie together, and to a multiple of which rows are filled up."""


class Matrix(ABC):
    """What all low-bit matrices (N, K) do. They are `LowBitMatrix` and `superblocks.SuperMatrix`."""

    __slots__ = ()
    n_rows: int
    n_columns: int

    @property
    @abstractmethod
    def n_padded(self) -> int:
        """Columns, filled up."""

    @property
    @abstractmethod
    def n_bytes(self) -> int: ...

    @abstractmethod
    def chosen(self, rows: Rows) -> Matrix:
        """The matrix of some rows, in their order."""

    @abstractmethod
    def values(self, rows: Rows = slice(None)) -> Floats:
        """The weights of some rows as float32, (R, K)."""


@dataclass(frozen=True, slots=True, eq=False)
class LowBitMatrix(Matrix):
    """A matrix (N, K), K filled up to a multiple of 64, P, in panels of sixteen rows: what compiled products read in one line.

    `packed` is (panels, P / 4, 64) uint8: line q of a panel holds four neighbours, columns 4 * q on, of each row, int8. Of 4
    bits it is (panels, P / 8, 64): line q of the four lines of a group holds columns 4 * q on in the low halves of its bytes,
    and those 16 further in the high ones. `scales` and `least` are (panels, P / group, 16) float32; no `least` means 0.
    """

    packed: NDArray[np.uint8]
    scales: Floats
    least: Floats | None
    bits: Bits
    group: int
    n_rows: int
    n_columns: int

    @classmethod
    def of(
        cls,
        numbers: NDArray[np.int8],
        scales: Floats,
        least: Floats | None,
        *,
        bits: Bits,
        group: int = GROUP,
        n_columns: int | None = None,
    ) -> LowBitMatrix:
        """From numbers (N, K) and a scale and least value a group; `n_columns` where the last ones only fill up.

        Raises ValueError for shapes or numbers that do not fit."""
        n, k = numbers.shape
        if group not in (16, 32) or (bits, group) == (4, 16) or k % group or scales.shape != (n, k // group):
            raise ValueError(f"{bits} bits, numbers {numbers.shape}, scales {scales.shape}, groups of {group} make no matrix")
        if least is not None and least.shape != scales.shape:
            raise ValueError(f"scales {scales.shape} and least values {least.shape} are of different shapes")
        if numbers.size and (numbers.min() < (0 if bits == 4 else -127) or numbers.max() > (15 if bits == 4 else 127)):
            raise ValueError(f"numbers from {numbers.min()} to {numbers.max()} are not of {bits} bits")
        rows, columns = -n % PANEL, -k % PADDED
        if rows or columns:
            numbers = np.pad(numbers, ((0, rows), (0, columns)))
        lines: NDArray[np.uint8] = numbers.view(np.uint8).reshape(-1, PANEL, numbers.shape[1] // 4, 4).swapaxes(1, 2)
        if bits == 4:
            halves = lines.reshape(len(lines), -1, 2, 4, PANEL, 4)
            lines = (halves[:, :, 0] | (halves[:, :, 1] << 4)).astype(np.uint8)
        packed = np.ascontiguousarray(lines).reshape(len(lines), -1, 4 * PANEL)

        def in_panels(values: Floats) -> Floats:
            values = np.pad(values.astype(np.float32, copy=False), ((0, rows), (0, columns // group)))
            return np.ascontiguousarray(values.reshape(-1, PANEL, values.shape[1]).swapaxes(1, 2))

        own = None if least is None else in_panels(least)
        return cls(packed, in_panels(scales), own, bits, group, n, k if n_columns is None else n_columns)

    @property
    def n_padded(self) -> int:
        return int(self.scales.shape[1]) * self.group

    @property
    def n_bytes(self) -> int:
        return int(self.packed.nbytes + self.scales.nbytes + (0 if self.least is None else self.least.nbytes))

    def parts(self, rows: Rows = slice(None)) -> tuple[NDArray[np.int8], Floats, Floats | None]:
        """Numbers (R, P) of some rows, their scales, and their least values (R, P / group), as `of` takes them."""
        panel, lane = np.divmod(np.arange(self.n_rows)[rows], PANEL)
        lines = self.packed.reshape(*self.packed.shape[:2], PANEL, 4)[panel, :, lane]  # (R, lines, 4)
        if self.bits == 4:
            lines = lines.reshape(len(lines), -1, 1, 16)
            lines = np.concatenate([lines & 15, lines >> 4], axis=2).astype(np.uint8)
        numbers = lines.reshape(len(lines), -1).view(np.int8)
        return numbers, self.scales[panel, :, lane], None if self.least is None else self.least[panel, :, lane]

    def chosen(self, rows: Rows) -> LowBitMatrix:
        """The matrix of some rows, in their order."""
        numbers, scales, least = self.parts(rows)
        return LowBitMatrix.of(numbers, scales, least, bits=self.bits, group=self.group, n_columns=self.n_columns)

    def values(self, rows: Rows = slice(None)) -> Floats:
        """The weights of some rows as float32, (R, K)."""
        numbers, scales, least = self.parts(rows)
        grouped = numbers.reshape(len(numbers), -1, self.group).astype(np.float32)
        grouped *= scales[..., None]
        if least is not None:
            grouped += least[..., None]
        return grouped.reshape(len(numbers), -1)[:, : self.n_columns]


def matrices_in(model: Any) -> list[tuple[Any, Matrix]]:
    """Modules of a torch model that hold a low-bit matrix, with it."""
    found = ((module, getattr(module, "matrix", None)) for module in model.modules())
    return [(module, matrix) for module, matrix in found if isinstance(matrix, Matrix)]


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
    return LowBitMatrix.of(numbers.astype(np.int8).reshape(n, -1), scales, least, bits=bits, n_columns=k)


def _nonzero(scales: Floats) -> Floats:
    return np.where(scales > 0, scales, np.float32(1))
