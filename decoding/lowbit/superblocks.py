"""Matrices of GGUF's K-quants, number for number: blocks of 256 columns whose scales are whole numbers themselves.

    w = d * s * q - dmin * m        4 and 5 bits (Q4_K, Q5_K): q unsigned, s and m 0..63 for each 32 columns
    w = d * s * (q - 32)            6 bits (Q6_K): q 0..63, s -128..127 for each 16 columns

d and dmin are float16, as in the file. A block is summed in whole numbers, s among them, and becomes a float once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from decoding.lowbit.compiling import compiled
from decoding.lowbit.matrix import PANEL, Matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from decoding.lowbit.matrix import Floats, Rows

    Bytes = NDArray[np.uint8]

SuperBits = Literal[4, 5, 6]
BLOCK = 256
"""Columns of a block."""
FILE_BYTES = {4: 144, 5: 176, 6: 210}
"""Bytes of a block of one row in a GGUF file."""


@compiled
def first_scales(bits: Any) -> Any:
    """Where the scales of a block of a panel begin, in bytes: d of sixteen rows (float16) comes first, then their dmin."""
    return 32 if bits == 6 else 64


@compiled
def first_lines(bits: Any) -> Any:
    """Where its numbers begin: behind scales, 16 or 8 for each of sixteen rows, two neighbours of a row side by side; and, of
    4 and 5 bits, least values in the same order."""
    return 288 if bits == 6 else 320


@compiled
def line_bytes(bits: Any) -> Any:
    """Bytes of 32 columns of sixteen rows: four lines of 64 bytes with the lowest 4 bits, one with the fifth bits or two with
    the fifth and sixth."""
    return 64 * bits


@compiled
def block_bytes(bits: Any) -> Any:
    """Bytes of a block of a panel."""
    return first_lines(bits) + 8 * line_bytes(bits)


def panel_lines(bits: SuperBits, n_columns: int) -> int:
    """Lines of 64 bytes of a panel: its blocks one behind the other, filled up to whole lines. Asked while a model is loaded,
    when calling a compiled function would wait for numba to wake up."""
    of_block = first_lines.py_func(bits) + 8 * line_bytes.py_func(bits)
    return -(-(n_columns // BLOCK) * int(of_block) // 64)


@dataclass(frozen=True, slots=True, eq=False)
class SuperMatrix(Matrix):
    """A matrix (N, K), K a multiple of 256, in panels of sixteen rows: `packed` is (panels, lines, 64) uint8.

    Of 32 columns, line i of the first four has columns 4 * i .. 4 * i + 3 of each row in the low halves of its bytes and those
    16 further in the high ones. A line of fifth bits has, in bit u of the same place, that of the four columns from 4 * u on;
    of two lines of fifth and sixth bits the first belongs to the first two of the four lines and the second to the others: two
    bits each for low halves, low halves of the other line, high halves, and high halves of the other line.
    """

    packed: Bytes
    bits: SuperBits
    n_rows: int
    n_columns: int

    @classmethod
    def of_file(cls, blocks: Bytes, bits: SuperBits) -> SuperMatrix:
        """From the rows (N, bytes) of a GGUF file."""
        n, n_columns = len(blocks), blocks.shape[1] // FILE_BYTES[bits] * BLOCK
        packed = np.zeros((-(-n // PANEL), panel_lines(bits, n_columns), 64), dtype=np.uint8)
        pack(np.ascontiguousarray(blocks), bits, packed)
        return cls(packed, bits, n, n_columns)

    @property
    def n_padded(self) -> int:
        return self.n_columns

    @property
    def n_bytes(self) -> int:
        return int(self.packed.nbytes)

    def chosen(self, rows: Rows) -> SuperMatrix:
        wanted = np.arange(self.n_rows)[rows]
        packed = np.zeros((-(-len(wanted) // PANEL), *self.packed.shape[1:]), dtype=np.uint8)
        _choose(self.packed, self.bits, self.n_columns // BLOCK, wanted, packed)
        return SuperMatrix(packed, self.bits, len(wanted), self.n_columns)

    def values(self, rows: Rows = slice(None)) -> Floats:
        wanted = np.arange(self.n_rows)[rows]
        n_blocks = self.n_columns // BLOCK
        numbers = np.empty((len(wanted), n_blocks, 256), dtype=np.uint8)
        scales = np.empty((len(wanted), n_blocks, 16), dtype=np.uint8)
        tops = np.empty((len(wanted), n_blocks, 2), dtype=np.float16)
        _unpack(self.packed, self.bits, wanted, numbers, scales, tops.view(np.uint8).reshape(len(wanted), n_blocks, 4))
        top, low = (tops[..., i, None].astype(np.float32) for i in (0, 1))
        if self.bits == 6:
            over = top * scales.view(np.int8).astype(np.float32)
            found = over[..., None] * (numbers.reshape(len(wanted), n_blocks, 16, 16).astype(np.float32) - np.float32(32))
        else:
            over, least = top * scales[..., :8].astype(np.float32), low * scales[..., 8:].astype(np.float32)
            found = over[..., None] * numbers.reshape(len(wanted), n_blocks, 8, 32).astype(np.float32) - least[..., None]
        return np.ascontiguousarray(found.reshape(len(wanted), self.n_columns))


@compiled
def _read_block(block: Any, bits: Any, numbers: Any, scales: Any) -> Any:
    """A block of a file -> numbers (256,) as unsigned bytes; its scales as bytes, (16,), or 8 scales and 8 least values."""
    if bits == 6:
        for half in range(2):
            for i in range(32):
                low, other, high = block[64 * half + i], block[64 * half + i + 32], block[128 + 32 * half + i]
                at = 128 * half + i
                numbers[at] = (low & 15) | ((high & 3) << 4)
                numbers[at + 32] = (other & 15) | (((high >> 2) & 3) << 4)
                numbers[at + 64] = (low >> 4) | (((high >> 4) & 3) << 4)
                numbers[at + 96] = (other >> 4) | ((high >> 6) << 4)
        for g in range(16):
            scales[g] = block[192 + g]
        return
    for g in range(8):
        if g < 4:
            scales[g], scales[8 + g] = block[4 + g] & 63, block[8 + g] & 63
        else:
            scales[g] = (block[8 + g] & 15) | ((block[g] >> 6) << 4)
            scales[8 + g] = (block[8 + g] >> 4) | ((block[4 + g] >> 6) << 4)
    first = 16 if bits == 4 else 48
    for pair in range(4):
        for i in range(32):
            both = block[first + 32 * pair + i]
            low, high = both & 15, both >> 4
            if bits == 5:
                low |= ((block[16 + i] >> (2 * pair)) & 1) << 4
                high |= ((block[16 + i] >> (2 * pair + 1)) & 1) << 4
            numbers[64 * pair + i], numbers[64 * pair + 32 + i] = low, high


@compiled
def pack(blocks: Any, bits: Any, packed: Any) -> Any:
    """Rows (N, bytes) of a file into panels that hold zeros, N filled up to a multiple of 16."""
    size = 144 if bits == 4 else 176 if bits == 5 else 210
    own = block_bytes(bits)
    numbers, scales = np.empty(256, dtype=np.uint8), np.empty(16, dtype=np.uint8)
    for row in range(blocks.shape[0]):
        panel, lane = packed[row // PANEL].reshape(-1), row % PANEL
        for s in range(blocks.shape[1] // size):
            block, here = blocks[row, s * size : (s + 1) * size], panel[s * own : (s + 1) * own]
            _read_block(block, bits, numbers, scales)
            top = 208 if bits == 6 else 0
            here[2 * lane], here[2 * lane + 1] = block[top], block[top + 1]
            if bits != 6:
                here[32 + 2 * lane], here[33 + 2 * lane] = block[2], block[3]
            for g in range(16):
                here[first_scales(bits) + 32 * (g // 2) + 2 * lane + g % 2] = scales[g]
            for c in range(8):
                lines = here[first_lines(bits) + c * line_bytes(bits) : first_lines(bits) + (c + 1) * line_bytes(bits)]
                of = numbers[32 * c : 32 * c + 32]
                for i in range(4):
                    for k in range(4):
                        low, high = of[4 * i + k], of[16 + 4 * i + k]
                        at = 4 * lane + k
                        lines[64 * i + at] = (low & 15) | ((high & 15) << 4)
                        if bits == 5:
                            lines[256 + at] |= ((low >> 4) << i) | ((high >> 4) << (4 + i))
                        elif bits == 6:
                            two = ((low >> 4) << (2 * (i % 2))) | ((high >> 4) << (4 + 2 * (i % 2)))
                            lines[256 + 64 * (i // 2) + at] |= two


@compiled
def _unpack(packed: Any, bits: Any, rows: Any, numbers: Any, scales: Any, tops: Any) -> Any:
    """The reverse of `pack` for some rows: numbers (R, blocks, 256), scales (R, blocks, 16), and the bytes of d and dmin."""
    own = block_bytes(bits)
    for r in range(len(rows)):
        panel, lane = packed[rows[r] // PANEL].reshape(-1), rows[r] % PANEL
        for s in range(numbers.shape[1]):
            here = panel[s * own : (s + 1) * own]
            for k in range(2):
                tops[r, s, k] = here[2 * lane + k]
                tops[r, s, 2 + k] = here[32 + 2 * lane + k]
            for g in range(16):
                scales[r, s, g] = here[first_scales(bits) + 32 * (g // 2) + 2 * lane + g % 2]
            for c in range(8):
                lines = here[first_lines(bits) + c * line_bytes(bits) : first_lines(bits) + (c + 1) * line_bytes(bits)]
                for i in range(4):
                    for k in range(4):
                        at = 4 * lane + k
                        low, high = lines[64 * i + at] & 15, lines[64 * i + at] >> 4
                        if bits == 5:
                            low |= ((lines[256 + at] >> i) & 1) << 4
                            high |= ((lines[256 + at] >> (4 + i)) & 1) << 4
                        elif bits == 6:
                            two = lines[256 + 64 * (i // 2) + at]
                            low |= ((two >> (2 * (i % 2))) & 3) << 4
                            high |= ((two >> (4 + 2 * (i % 2))) & 3) << 4
                        numbers[r, s, 32 * c + 4 * i + k], numbers[r, s, 32 * c + 16 + 4 * i + k] = low, high


@compiled
def _choose(packed: Any, bits: Any, n_blocks: Any, rows: Any, out: Any) -> Any:
    """The bytes of some rows into panels of their own."""
    own, halves = block_bytes(bits), first_lines(bits) // 32
    for r in range(len(rows)):
        source, target = packed[rows[r] // PANEL].reshape(-1), out[r // PANEL].reshape(-1)
        lane, to = rows[r] % PANEL, r % PANEL
        for s in range(n_blocks):
            for i in range(halves):  # d, dmin, scales and least values: two bytes a row
                for k in range(2):
                    target[s * own + 32 * i + 2 * to + k] = source[s * own + 32 * i + 2 * lane + k]
            first = s * own + first_lines(bits)
            for i in range(8 * bits):
                for k in range(4):
                    target[first + 64 * i + 4 * to + k] = source[first + 64 * i + 4 * lane + k]
