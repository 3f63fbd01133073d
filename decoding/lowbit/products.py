"""Products of rows of numbers and low-bit weights, compiled by numba when first called and kept in its cache folder.

Numbers that meet low-bit weights are rounded to 8 bits first, each row by itself in blocks of 64 (as llama.cpp does, in blocks
of 32). Everything is computed row by row in one order, so that a row's results do not depend on the other rows.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from decoding.lowbit import product_code, superblock_code, tile_code, vector_code
from decoding.lowbit.compiling import compiled, kept
from decoding.lowbit.matrix import PANEL, LowBitMatrix, Matrix
from decoding.lowbit.superblocks import SuperMatrix
from decoding.lowbit.team import Team, new_work, run_together, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Weights(NamedTuple):
    """A matrix as compiled code takes it; `form` is 4, 8, or 16 for 8 bits in groups of 16, of a `LowBitMatrix`, and 104, 105
    or 106 of a `SuperMatrix` of 4, 5 or 6 bits, whose `packed` holds all of it."""

    packed: Any
    scales: Any
    least: Any
    form: int
    n_padded: int
    code: int
    """Where `_panels` is. Called by its address it is compiled once, not into each function that multiplies."""
    may_tile: bool
    """Whether many rows go through AMX: of a `SuperMatrix`, where this process may use it."""


def weights_of(matrix: Matrix) -> Weights:
    nothing = np.zeros((0, 0, 0), dtype=np.float32)
    code = _compiled_panels().address
    if isinstance(matrix, SuperMatrix):
        return Weights(matrix.packed, nothing, nothing, 100 + matrix.bits, matrix.n_padded, code, tile_code.has_tiles())
    assert isinstance(matrix, LowBitMatrix)
    form = 16 if matrix.group == 16 else int(matrix.bits)
    least = nothing if matrix.least is None else matrix.least
    return Weights(matrix.packed, matrix.scales, least, form, matrix.n_padded, code, False)


class Tiled(NamedTuple):
    """Rows (T, K) in 8 bits as AMX takes them, of each block of 256 columns the tiles of all rows; empty where it is not used.

    T is filled up to whole tiles, R rows."""

    numbers: Any
    """(K / 256, R / 16, 4, 16, 8) int64, each of 8 bytes: 64 columns of 16 rows are a tile."""
    scales: Any
    """(K / 256, R)"""
    shorts: Any
    """(K / 256, R, 16) int16: sums of each 16 numbers."""
    wide_shorts: Any
    """(K / 256, R, 8): of each 32."""


class Rounded(NamedTuple):
    """Rows (T, K) in 8 bits."""

    numbers: Any
    """(T, P) int8."""
    scales: Any
    """One a stretch of `blocks_a_scale` blocks of 64 numbers."""
    sums: Any
    """Of each 16 numbers, times their scale."""
    starts: Any
    """-128 times the sum of each 16 numbers, int32."""
    shorts: Any
    """The sum of each 16 numbers, int16."""
    wide_sums: Any
    wide_starts: Any
    wide_shorts: Any
    """The same of each 32."""
    tiled: Tiled


@compiled
def blocks_a_scale(blocks):
    """Blocks of 64 numbers that share a scale: up to four, so that as few products as possible are scaled one by one."""
    for n in (4, 3, 2):
        if blocks % n == 0:
            return n
    return 1


@compiled
def rounded(rows, n_padded, may_tile):
    """Rows (T, K) float32 as `Rounded`; with `may_tile` many of them are laid as tiles, too."""
    n, k = rows.shape
    blocks = n_padded // 64
    each = blocks_a_scale(blocks)
    numbers = np.zeros((n, n_padded), dtype=np.int8)
    scales = np.zeros((n, blocks // each), dtype=np.float32)
    sums = np.zeros((n, blocks * 4), dtype=np.float32)
    starts = np.zeros((n, blocks * 4), dtype=np.int32)
    if k < n_padded:
        wide = np.zeros((n, n_padded), dtype=np.float32)
        wide[:, :k] = rows
        rows = wide
    for t in range(n):
        for s in range(blocks // each):
            most = product_code.largest(rows[t, 64 * each * s :].ctypes.data, 64 * each)
            scale = most / np.float32(127)
            scales[t, s] = scale  # of NaN, too: it goes on to the logits, where it is an error
            if not scale > 0:
                continue
            over = np.float32(1) / scale
            for i in range(s * each, (s + 1) * each):
                product_code.rounded_block(
                    rows[t, 64 * i :].ctypes.data,
                    over,
                    scale,
                    numbers[t, 64 * i :].ctypes.data,
                    sums[t, 4 * i :].ctypes.data,
                    starts[t, 4 * i :].ctypes.data,
                )
    shorts = np.empty((n, blocks * 4), dtype=np.int16)
    wide_sums = np.empty((n, blocks * 2), dtype=np.float32)
    wide_starts = np.empty((n, blocks * 2), dtype=np.int32)
    wide_shorts = np.empty((n, blocks * 2), dtype=np.int16)
    for t in range(n):
        for g in range(blocks * 4):
            shorts[t, g] = -(starts[t, g] >> 7)
        for g in range(blocks * 2):
            wide_sums[t, g] = sums[t, 2 * g] + sums[t, 2 * g + 1]
            wide_starts[t, g] = starts[t, 2 * g] + starts[t, 2 * g + 1]
            wide_shorts[t, g] = -(wide_starts[t, g] >> 7)
    is_tiled = may_tile and n >= tile_code.FEWEST_ROWS and scales.shape[1] * 256 == n_padded
    tiled = _tiled(numbers, scales, shorts, wide_shorts, -(-n // tile_code.ROWS) if is_tiled else 0)
    return Rounded(numbers, scales, sums, starts, shorts, wide_sums, wide_starts, wide_shorts, tiled)


@compiled
def _tiled(numbers, scales, shorts, wide_shorts, n_tiles):
    n_blocks, n_room = scales.shape[1], tile_code.ROWS * n_tiles
    tiles = np.zeros((n_blocks, n_tiles, 4, tile_code.ROWS, 8), dtype=np.int64)
    own_scales = np.zeros((n_blocks, n_room), dtype=np.float32)
    own_shorts = np.zeros((n_blocks, n_room, 16), dtype=np.int16)
    own_wide_shorts = np.zeros((n_blocks, n_room, 8), dtype=np.int16)
    for t in range(min(len(numbers), n_room)):
        row, tile, line = numbers[t].view(np.int64), t // tile_code.ROWS, t % tile_code.ROWS
        for s in range(n_blocks):
            for k in range(4):
                for i in range(8):
                    tiles[s, tile, k, line, i] = row[32 * s + 8 * k + i]
            own_scales[s, t] = scales[t, s]
            for g in range(16):
                own_shorts[s, t, g] = shorts[t, 16 * s + g]
            for g in range(8):
                own_wide_shorts[s, t, g] = wide_shorts[t, 8 * s + g]
    return Tiled(tiles, own_scales, own_shorts, own_wide_shorts)


@compiled
def n_out(weights):
    """Rows of a matrix, filled up: the numbers that a product gives for each row."""
    return weights.packed.shape[0] * PANEL


@compiled
def multiply(rows, weights, out, first, team):
    """out (T, ...), `n_out` of its columns from column `first` on, = `Rounded` rows times the transposed weights.

    Threads of a team take some panels each; what the others took is there when all have met."""
    n_panels = weights.packed.shape[0]
    if team.n == 1:
        multiply_panels(rows, weights, out, first, 0, n_panels)
        return
    work, each = new_work(team), panels_at_once(n_panels, team)
    at = taken(team, work) * each
    while at < n_panels:
        multiply_panels(rows, weights, out, first, at, min(at + each, n_panels))
        at = taken(team, work) * each


@compiled
def panels_at_once(n_panels, team):
    """Few enough that no thread waits long for the last ones."""
    return max(1, n_panels // (16 * team.n))


@compiled
def multiply_panels(rows, weights, out, first, begin, end):
    """`multiply` for some panels. numba frees an array after the last use of its name, and its address does not count as one:
    the caller holds the arrays while `_panels` reads them."""
    if weights.may_tile and len(rows.tiled.scales) and rows.tiled.scales.shape[1]:
        _multiply_tiled(rows.tiled, weights, out, first, begin, end)
    elif weights.form == 16 or weights.form == 106:
        _multiply(rows.numbers, rows.scales, rows.sums, rows.starts, rows.shorts, weights, out, first, begin, end)
    else:
        _multiply(
            rows.numbers, rows.scales, rows.wide_sums, rows.wide_starts, rows.wide_shorts, weights, out, first, begin, end
        )  # fmt: skip


_ARGUMENTS = 20


@compiled
def _multiply(numbers, scales, sums, starts, shorts, weights, out, first, begin, end):
    n_groups = starts.shape[1]
    panel_bytes, scale_bytes = 64 * weights.packed.shape[1], 64 * n_groups
    arguments = np.empty(_ARGUMENTS, dtype=np.int64)  # in the order in which `_panels` takes them
    arguments[0], arguments[1], arguments[2] = weights.form, end - begin, len(out)
    arguments[3], arguments[4] = scales.shape[1], n_groups // scales.shape[1]
    arguments[5] = weights.packed.ctypes.data + begin * panel_bytes
    arguments[6] = weights.scales.ctypes.data + begin * scale_bytes
    arguments[7] = weights.least.ctypes.data + begin * scale_bytes if len(weights.least) else 0
    arguments[8], arguments[9] = numbers.ctypes.data, scales.ctypes.data
    arguments[10], arguments[11] = sums.ctypes.data, starts.ctypes.data
    arguments[12] = out.ctypes.data + 4 * (first + PANEL * begin)
    arguments[13], arguments[14] = numbers.shape[1], 4 * scales.shape[1]
    arguments[15], arguments[16], arguments[17] = 4 * n_groups, 4 * out.shape[1], panel_bytes
    arguments[18], arguments[19] = scale_bytes, shorts.ctypes.data
    _call(weights.code, arguments)


@compiled
def _multiply_tiled(rows, weights, out, first, begin, end):
    """`_multiply` of `Tiled` rows with a `SuperMatrix`, with AMX."""
    panel_bytes, shorts = 64 * weights.packed.shape[1], rows.shorts.ctypes.data
    if weights.form != 106:
        shorts = rows.wide_shorts.ctypes.data
    room = np.empty(tile_code.ROOM + tile_code.A_ROW * len(out) + 64, dtype=np.uint8)
    arguments = np.empty(_ARGUMENTS, dtype=np.int64)  # in the order in which `_tiled_panels` takes them
    arguments[0], arguments[1], arguments[2] = -weights.form, end - begin, len(out)
    arguments[3] = weights.packed.ctypes.data + begin * panel_bytes
    arguments[4], arguments[5], arguments[6] = rows.numbers.ctypes.data, rows.scales.ctypes.data, shorts
    arguments[7] = out.ctypes.data + 4 * (first + PANEL * begin)
    arguments[8], arguments[9] = rows.numbers.shape[0], rows.numbers.shape[1]
    arguments[10], arguments[11] = 4 * out.shape[1], panel_bytes
    arguments[12] = (room.ctypes.data + 63) // 64 * 64  # a line of a tile never lies in two cache lines
    _call(weights.code, arguments)
    room[0] = 0  # in use until here


@compiled
def _call(code, arguments):
    product_code.call(code, arguments.ctypes.data)


if tile_code.HAS_CODE:

    @compiled
    def _tiled_panels(a):
        """Panels two by two; where one is left, the one before it is computed once more."""
        n_panels, panel_bytes = a[1], a[11]
        tile_code.begin_tiles()
        for p in range(0, n_panels, 2):
            other = p + 1 if p + 1 < n_panels else p
            tile_code.tile_product(
                -a[0] - 100, a[2], a[3] + p * panel_bytes, a[3] + other * panel_bytes, a[4], a[5], a[6], a[7] + 4 * PANEL * p,
                4 * PANEL * (other - p), a[8], a[9], a[10], a[12],
            )  # fmt: skip
        tile_code.end_tiles()

else:

    @compiled
    def _tiled_panels(a):
        """Nobody asks for it without AMX."""


def _panels(arguments):
    """Some panels of sixteen rows of weights times all rows of numbers; `arguments` are those of `_multiply`."""
    a = numba.carray(arguments, _ARGUMENTS)
    if a[0] < 0:  # those of `_multiply_tiled`
        _tiled_panels(a)
        return
    form, n_panels, n_tokens, stretches, each = a[0], a[1], a[2], a[3], a[4]
    weights, scales, least, numbers, row_scales, sums, starts, out = a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]
    to_row, to_scale, to_group, to_out, panel_bytes, scale_bytes, shorts = a[13], a[14], a[15], a[16], a[17], a[18], a[19]
    for p in range(n_panels):
        t = 0
        while t < n_tokens:
            left = n_tokens - t
            size = -(-left // -(-left // vector_code.MOST_ROWS))  # 9 rows as 5 and 4: one alone would wait for its own sums
            to = out + t * to_out + 4 * PANEL * p
            if form > 100:
                superblock_code.super_product(
                    form - 100, size, weights + p * panel_bytes, numbers + t * to_row, row_scales + t * to_scale,
                    shorts + t * to_group // 2, to, stretches, to_row, to_scale, to_group // 2, to_out,
                )  # fmt: skip
            else:
                product_code.product(
                    form, size, weights + p * panel_bytes, scales + p * scale_bytes, least + p * scale_bytes if least else 0,
                    numbers + t * to_row, row_scales + t * to_scale, sums + t * to_group, starts + t * to_group,
                    to, stretches, each, to_row, to_scale, to_group, to_out,
                )  # fmt: skip
            t += size


@functools.cache
def _compiled_panels() -> Any:
    """`_panels`, compiled when first asked for. Kept, since its address is good as long as it is."""
    signature = numba.void(numba.types.CPointer(numba.int64))
    return kept(lambda cache: numba.cfunc(signature, cache=cache)(_panels))


_WORTH_A_THREAD = 1 << 24
"""Weights times rows below which a product takes about as long as waking a thread on a busy machine."""


def product(rows: NDArray[np.float32], matrix: Weights, n_rows: int, n_padded: int, threads: int = 1) -> NDArray[np.float32]:
    """rows (T, K) times the transposed matrix (N, K): (T, N). `n_rows` is N, `n_padded` K filled up."""
    out = np.empty((len(rows), len(matrix.packed) * PANEL), dtype=np.float32)
    given = rounded(rows, n_padded, matrix.may_tile)
    if n_rows * n_padded * len(rows) < _WORTH_A_THREAD:
        threads = 1

    def multiplied(team: Team) -> None:
        multiply(given, matrix, out, 0, team)

    run_together(threads, multiplied, 1)
    return out if out.shape[1] == n_rows else np.ascontiguousarray(out[:, :n_rows])
