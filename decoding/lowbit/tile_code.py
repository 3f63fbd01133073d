"""Products of a `superblocks.SuperMatrix` and many rows of numbers, with AMX: an instruction makes 16 x 16 sums of 64 products.

A line of a panel, four neighbouring columns of sixteen rows of weights, is a row of a tile as AMX takes it. What hinders is the
scale of each group, which a tile knows nothing of. So weights meet their scales first, once for all rows: s * q has 14 bits at
most and is 256 * high + low, the bytes of two tiles. Sums of a block are whole numbers, as in `superblock_code`, and what is
made of them is computed in the same order: the results are the same bits.
"""

from __future__ import annotations

import ctypes
import functools
import platform

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from decoding.lowbit import vector_code
from decoding.lowbit.superblock_code import from_half, unpacked
from decoding.lowbit.vector_code import (
    F32,
    I8,
    I16,
    I32,
    I64,
    LANES,
    call_llvm,
    constant,
    fma,
    item_at,
    load,
    pick,
    splat,
    store,
    vector_of,
)

ROWS = 16
"""Rows of a tile, of 64 bytes each."""
FEWEST_ROWS = 32
"""Rows of numbers below which the weights of a panel would be prepared for too little."""
TILE = 64 * ROWS
"""Bytes of a tile."""
PREPARED = 8 * TILE
"""Bytes of a block of a panel's weights as tiles: 256 columns, low bytes and high ones."""
SUMS = 4 * TILE
"""Bytes of the sums of a tile's rows with two panels."""
ROOM = 2 * PREPARED + 2 * SUMS
A_ROW = 2 * 64
"""Bytes of room that `tile_product` needs, and those for each row of numbers beside them."""

_NUMBERS, _WEIGHTS = 4, (5, 6, 7)
"""Of the eight tiles four hold sums (low and high bytes of one panel, then of the other), one rows, and three weights."""

_ARCH_PRCTL, _REQUEST, _TILE_DATA = 158, 0x1023, 18

HAS_CODE = bool(vector_code.FEATURES.get("amx-int8")) and vector_code.INSTRUCTIONS == "avx512_vnni"
"""Whether this CPU has AMX for bytes."""


@functools.cache
def has_tiles() -> bool:
    """Whether this process may use AMX: Linux has to be asked once, since tiles make a thread's registers 8 KiB larger."""
    if not (HAS_CODE and platform.system() == "Linux"):
        return False
    return int(ctypes.CDLL(None, use_errno=True).syscall(_ARCH_PRCTL, _REQUEST, _TILE_DATA)) == 0


@intrinsic
def begin_tiles(context):
    """Every tile becomes 16 rows of 64 bytes, for this thread, until `end_tiles`."""
    signature = types.void()

    def generate(context, b, signature, arguments):
        shape = [1, 0, *[0] * 14, *[64, 0] * 8, *[0] * 16, *[ROWS] * 8, *[0] * 8]  # palette, start, bytes a row, rows
        kind = ir.ArrayType(I8, 64)
        place = cgutils.alloca_once(b, kind)
        b.store(ir.Constant(kind, shape), place)
        pointer = I8.as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer])
        b.call(cgutils.get_or_insert_function(b.module, function, "llvm.x86.ldtilecfg"), [b.bitcast(place, pointer)])
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def end_tiles(context):
    signature = types.void()

    def generate(context, b, signature, arguments):
        call_llvm(b, "llvm.x86.tilerelease", ir.VoidType())
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def tile_product(context, bits, n_rows, weights, others, tiles, scales, sums, out, to_others, n, n_tiles, to_out, room):
    """Two panels of a `superblocks.SuperMatrix` times rows of numbers as `products.Tiled` has them.

    All but the bits are addresses or counts: rows; the two panels; tiles of the rows; what their blocks of 256 are multiplied
    with (float32), the sums of their groups (int16; 32 numbers, or 16 with 6 bits); the results of the first panel, and bytes
    from there to those of the other; blocks; tiles a block; bytes from one row of results to the next; and room: `ROOM` bytes
    and `A_ROW` for each row.
    """
    signature = types.void(*[types.intp] * 13)

    def generate(context, b, signature, arguments):
        bits, *others = arguments
        for known in (4, 5, 6):
            with b.if_then(b.icmp_signed("==", bits, ir.Constant(I64, known))):
                _tile_product(b, known, *others)
        return context.get_dummy_value()

    return signature, generate


def _tile_product(b, bits, n_rows, weights, others, tiles, scales, sums, out, to_others, n, n_tiles, to_out, room):
    """Blocks one after the other, and of each the tiles of all rows. While a tile is multiplied, what the one before it found
    meets its scales: the unit for tiles is another one than that for vectors."""
    own, a_sum = (288 if bits == 6 else 320) + 512 * bits, 32 if bits == 6 else 16
    floats, zero, one = vector_of(F32, LANES), ir.Constant(I64, 0), ir.Constant(I64, 1)
    found = b.add(room, ir.Constant(I64, 2 * PREPARED))
    totals = b.add(room, ir.Constant(I64, ROOM))
    with cgutils.for_range(b, b.mul(n_rows, ir.Constant(I64, 2))) as loop:
        store(b, constant(floats, 0.0), item_at(b, totals, loop.index, 64))
    with cgutils.for_range(b, n) as blocks:
        s = blocks.index
        panels = [item_at(b, at, s, own) for at in (weights, others)]
        for i, block in enumerate(panels):
            _prepare(b, bits, block, b.add(room, ir.Constant(I64, PREPARED * i)))
        of_block = [_Scales(b, bits, block) for block in panels]
        before = b.mul(s, n_tiles)
        own_tiles = item_at(b, tiles, before, 4 * TILE)
        rows_before = b.mul(before, ir.Constant(I64, ROWS))
        own_scales, own_sums = item_at(b, scales, rows_before, 4), item_at(b, sums, rows_before, a_sum)

        def finish(tile, quarter, n_left):
            """Add what up to four rows of a tile found to their totals."""
            own_found = item_at(b, found, b.and_(tile, one), SUMS)
            first = b.add(b.mul(tile, ir.Constant(I64, ROWS)), ir.Constant(I64, 4 * quarter))
            with cgutils.for_range(b, n_left) as inner:
                r = b.add(first, inner.index)
                line = item_at(b, b.add(own_found, ir.Constant(I64, 4 * 64 * quarter)), inner.index, 64)
                scale_at, group_at = item_at(b, own_scales, r, 4), item_at(b, own_sums, r, a_sum)
                for i, panel in enumerate(of_block):
                    here = b.add(line, ir.Constant(I64, 2 * TILE * i))
                    panel.add(b, here, scale_at, group_at, b.add(item_at(b, totals, r, A_ROW), ir.Constant(I64, 64 * i)))

        with cgutils.for_range(b, n_tiles) as loop:
            tile = loop.index
            last = b.sub(tile, one)
            n_last = b.select(b.icmp_signed("<", last, zero), zero, ir.Constant(I64, 4))
            to = item_at(b, found, b.and_(tile, one), SUMS)
            _multiply(b, bits, item_at(b, own_tiles, tile, 4 * TILE), room, to, lambda k: finish(last, k, n_last))
        last = b.sub(n_tiles, one)
        for quarter in range(4):
            left = b.sub(n_rows, b.add(b.mul(last, ir.Constant(I64, ROWS)), ir.Constant(I64, 4 * quarter)))
            four = ir.Constant(I64, 4)
            few, none = b.icmp_signed("<", left, four), b.icmp_signed("<", left, zero)
            finish(last, quarter, b.select(none, zero, b.select(few, left, four)))
    with cgutils.for_range(b, n_rows) as loop:
        for i, to in enumerate((out, b.add(out, to_others))):
            total = load(b, b.add(item_at(b, totals, loop.index, A_ROW), ir.Constant(I64, 64 * i)), floats, 4)
            store(b, total, b.add(to, b.mul(loop.index, to_out)))


def _prepare(b, bits, block, room):
    """Weights times their scales as eight tiles: of low bytes of each 64 columns, then of high ones."""
    shorts, bytes_ = vector_of(I16, 32), vector_of(I8, 64)
    pairs_at, lines_at = (32, 288) if bits == 6 else (64, 320)
    a_pair = 32 if bits == 6 else 64  # columns whose two scales lie side by side
    with cgutils.for_range(b, ir.Constant(I64, 256 // a_pair)) as inner:
        c = inner.index
        raw = load(b, item_at(b, b.add(block, ir.Constant(I64, pairs_at)), c, 32), vector_of(I8, 32), 1)
        pair = b.sext(raw, shorts) if bits == 6 else b.zext(raw, shorts)
        both = [pick(b, pair, [2 * (i // 2) + which for i in range(32)]) for which in range(2)]
        lines = item_at(b, b.add(block, ir.Constant(I64, lines_at)), c, 2 * a_pair * bits)
        to = item_at(b, room, c, 16 * a_pair)
        for half in range(a_pair // 32):
            for column, line in unpacked(b, bits, b.add(lines, ir.Constant(I64, 64 * bits * half))):
                scale = both[column // 16 if bits == 6 else half]
                wide = b.bitcast(line, shorts)
                eight, low = constant(shorts, 8), constant(shorts, 255)
                even = b.mul(b.and_(wide, low), scale)
                odd = b.mul(b.lshr(wide, eight), scale)
                lows = b.or_(b.and_(even, low), b.shl(odd, eight))
                highs = b.or_(b.lshr(even, eight), b.and_(odd, constant(shorts, 0xFF00)))
                at = b.add(to, ir.Constant(I64, 16 * (32 * half + column)))
                store(b, b.bitcast(lows, bytes_), at)
                store(b, b.bitcast(highs, bytes_), b.add(at, ir.Constant(I64, 4 * TILE)))


def _multiply(b, bits, numbers, prepared, found, meanwhile):
    """Four tiles of 16 rows of numbers times two prepared panels; the sums go to `found`. `meanwhile` makes what may be done
    between."""
    pointer, line = I8.as_pointer(), ir.Constant(I64, 64)

    def call(name, *arguments):
        call_llvm(b, f"llvm.x86.{name}", ir.VoidType(), *arguments)

    def tile(number):
        return ir.Constant(I8, number)

    def move(name, number, address, which):
        call(name, tile(number), b.inttoptr(b.add(address, ir.Constant(I64, TILE * which)), pointer), line)

    for number in range(4):
        call("tilezero", tile(number))
    for k in range(4):
        move("tileloadd64", _NUMBERS, numbers, k)
        for number in range(4):
            mine = _WEIGHTS[(4 * k + number) % 3]
            move("tileloadd64", mine, prepared, 4 * number + k)
            is_signed = bits == 6 and number % 2
            call("tdpbssd" if is_signed else "tdpbsud", tile(number), tile(_NUMBERS), tile(mine))
        meanwhile(k)
    for number in range(4):
        move("tilestored64", number, found, number)


class _Scales:
    """What the sums of a block are multiplied with, and what is taken off, as in `superblock_code`."""

    def __init__(self, b, bits, block):
        shorts, ints = vector_of(I16, 2 * LANES), vector_of(I32, LANES)
        self._bits = bits
        first, n_pairs = (32, 8) if bits == 6 else (192, 4)
        self._pairs = []
        for i in range(n_pairs):
            raw = load(b, b.add(block, ir.Constant(I64, first + 32 * i)), vector_of(I8, 2 * LANES), 1)
            self._pairs.append(b.bitcast(b.sext(raw, shorts) if bits == 6 else b.zext(raw, shorts), ints))
        self._top = from_half(b, load(b, block, vector_of(I16, LANES), 1))
        if bits != 6:
            self._low = from_half(b, load(b, b.add(block, ir.Constant(I64, 32)), vector_of(I16, LANES), 1))

    def add(self, b, sums, scale_at, groups_at, total_at):
        """To the total of a row (16 x f32) what its sums of the block make."""
        floats, ints = vector_of(F32, LANES), vector_of(I32, LANES)
        high = b.shl(load(b, b.add(sums, ir.Constant(I64, TILE)), ints, 4), constant(ints, 8))
        whole, least = b.add(load(b, sums, ints, 4), high), constant(ints, 0)
        for i, pair in enumerate(self._pairs):
            here = splat(b, load(b, b.add(groups_at, ir.Constant(I64, 4 * i)), I32, 1))
            least = call_llvm(b, "llvm.x86.avx512.vpdpwssd.512", ints, least, pair, here)
        scale = splat(b, load(b, scale_at, F32, 4))
        if self._bits == 6:
            whole = b.sub(whole, b.shl(least, constant(ints, 5)))
        total = fma(b, b.sitofp(whole, floats), b.fmul(self._top, scale), load(b, total_at, floats, 4))
        if self._bits != 6:
            minus = b.fsub(constant(floats, 0.0), b.fmul(self._low, scale))
            total = fma(b, b.sitofp(least, floats), minus, total)
        store(b, total, total_at)
