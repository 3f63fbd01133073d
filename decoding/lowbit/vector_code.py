"""Vector code that numba cannot make out of loops, as LLVM IR: products of low-bit weights, attention, and the exponential.

Each function here is a numba intrinsic over addresses (integers): the caller owns the memory and its bounds. All sums have one
fixed order, whatever the number of rows and whatever the CPU: in float32, a lane for each result, or sixteen lanes that are
added pairwise at the end; integer sums are exact. So a row's result is the same, bit for bit, alone or among others, and on
every CPU with fused multiply-add.

The integer dot product uses what the CPU has: AVX-512 VNNI, AVX2, or plain vector code (which LLVM lowers for any CPU).
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16
SIDE_BY_SIDE = 4
"""Vectors of keys that are scored at once."""
BLOCK = 64
"""Weights that one step of a product takes: four neighbours of each of sixteen rows."""

_I8, _I16, _I32, _I64, _F32 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType()
_FEATURES = dict(binding.get_host_cpu_features())
_IS_X86 = platform.machine().lower() in ("x86_64", "amd64")
INSTRUCTIONS = (
    "avx512_vnni"
    if _FEATURES.get("avx512vnni") and _FEATURES.get("avx512bw")
    else "avx2"
    if _FEATURES.get("avx2") and _FEATURES.get("fma")
    else "generic"
)
"""What the integer product is made of on this CPU."""
MOST_ROWS = 8 if INSTRUCTIONS == "avx512_vnni" else 4
"""Rows of numbers that one reading of the weights serves. Eight need 16 registers for their sums alone; AVX2 has 16, and is a
quarter slower with them than with four."""


def _vector(element: Any, n: int) -> Any:
    return ir.VectorType(element, n)


def _constant(vector: Any, value: float) -> Any:
    return ir.Constant(vector, [ir.Constant(vector.element, value)] * vector.count)


def _indices(wanted: list[int]) -> Any:
    return ir.Constant(_vector(_I32, len(wanted)), [ir.Constant(_I32, i) for i in wanted])


def _undefined(vector: Any) -> Any:
    return ir.Constant(vector, ir.Undefined)


def _pick(b: Any, value: Any, wanted: list[int]) -> Any:
    """The lanes `wanted` of one vector."""
    return b.shuffle_vector(value, _undefined(value.type), _indices(wanted))


def _splat(b: Any, value: Any, n: int = LANES) -> Any:
    first = b.insert_element(_undefined(_vector(value.type, n)), value, ir.Constant(_I32, 0))
    return _pick(b, first, [0] * n)


def _at(b: Any, address: Any, index: Any, size: int) -> Any:
    """`address` + `index` items of `size` bytes."""
    return b.add(address, b.mul(index, ir.Constant(_I64, size)))


def _load(b: Any, address: Any, kind: Any, align: int) -> Any:
    return b.load(b.inttoptr(address, kind.as_pointer()), align=align)


def _store(b: Any, value: Any, address: Any) -> None:
    b.store(value, b.inttoptr(address, value.type.as_pointer()), align=4)


def _opaque(b: Any, value: Any) -> Any:
    """The same integer, of whose origin LLVM knows nothing. An address stays in a register of its own, where LLVM would compute
    each one from the one before, a cycle later: products would wait for addresses."""
    return b.asm(ir.FunctionType(_I64, [_I64]), "", "=r,0", [value], side_effect=False)


_AHEAD = 2048
_FETCHED_FROM = 3
"""Rows from which on weights are asked for `_AHEAD` bytes before they are used. CPUs see by themselves what will be read next,
but not beyond a page of 4 KiB, and the products of many rows leave no room to wait; those of one or two are faster alone."""


def _fetch(b: Any, n_rows: int, address: Any, n_bytes: int) -> None:
    """Ask memory for so many bytes of weights that lie `_AHEAD` behind an address; beyond the last ones that is no error."""
    if n_rows < _FETCHED_FROM:
        return
    kind = ir.FunctionType(ir.VoidType(), [_I8.as_pointer(), _I32, _I32, _I32])
    function = cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0")
    for first in range(0, n_bytes, 64):
        place = b.inttoptr(b.add(address, ir.Constant(_I64, _AHEAD + first)), _I8.as_pointer())
        b.call(function, [place, *(ir.Constant(_I32, value) for value in (0, 3, 1))])  # to be read, into all caches, data


def _call(b: Any, name: str, result: Any, *arguments: Any) -> Any:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return b.call(cgutils.get_or_insert_function(b.module, kind, name), arguments)


def _fma(b: Any, x: Any, y: Any, z: Any) -> Any:
    return _call(b, f"llvm.fma.v{x.type.count}f32", x.type, x, y, z)


def _total(b: Any, vector: Any) -> Any:
    """The sum of all lanes: halves added until one is left."""
    n = vector.type.count
    while n > 1:
        n //= 2
        vector = b.fadd(_pick(b, vector, list(range(n))), _pick(b, vector, list(range(n, 2 * n))))
    return b.extract_element(vector, ir.Constant(_I32, 0))


def _larger(b: Any, one: Any, other: Any) -> Any:
    """The larger one in each lane; NaN where either is."""
    return b.select(b.or_(b.fcmp_ordered(">", one, other), b.fcmp_unordered("uno", one, one)), one, other)


def _largest(b: Any, vector: Any) -> Any:
    n = vector.type.count
    while n > 1:
        n //= 2
        low, high = _pick(b, vector, list(range(n))), _pick(b, vector, list(range(n, 2 * n)))
        vector = _larger(b, low, high)
    return b.extract_element(vector, ir.Constant(_I32, 0))


# --- products of low-bit weights -----------------------------------------------------------------------------------------


def _more_fours(b: Any, sums: Any, weights: Any, rows: Any, bits: int) -> Any:
    """`sums`, <16 x i32>, plus those of four neighbours' products of weights <64 x i8>, 0..15 or -127..127, and rows <64 x i8>.

    VNNI multiplies unsigned by signed numbers: it takes weights of 8 bits plus 128, and `_first_sums` has taken that off.
    """
    if INSTRUCTIONS == "avx512_vnni":
        return _vnni(b, sums, weights if bits == 4 else b.xor(weights, _constant(weights.type, 128)), rows)
    if INSTRUCTIONS == "avx2":
        return b.add(sums, _halves(b, weights, rows, _multiply_pairs if bits == 4 else _multiply_signed))
    wide = _vector(_I16, BLOCK)
    return b.add(sums, _plain(b, b.zext(weights, wide) if bits == 4 else b.sext(weights, wide), rows))


def _first_sums(b: Any, start: Any, bits: int) -> Any:
    """Where sums of `_more_fours` begin; `start` is an address of -128 times the sum of the numbers that are to come."""
    if INSTRUCTIONS == "avx512_vnni" and bits == 8:
        return _splat(b, _load(b, start, _I32, 4))
    return _constant(_vector(_I32, LANES), 0)


def _vnni(b: Any, start: Any, weights: Any, rows: Any) -> Any:
    lanes = _vector(_I32, LANES)
    return _call(b, "llvm.x86.avx512.vpdpbusd.512", lanes, start, b.bitcast(weights, lanes), b.bitcast(rows, lanes))


def _halves(b: Any, weights: Any, rows: Any, multiply: Callable[[Any, Any, Any], Any]) -> Any:
    """AVX2 has 32 bytes in a register."""
    parts = []
    for first in (0, 32):
        half = list(range(first, first + 32))
        parts.append(multiply(b, _pick(b, weights, half), _pick(b, rows, half)))
    return b.shuffle_vector(*parts, _indices(list(range(LANES))))


def _multiply_pairs(b: Any, weights: Any, rows: Any) -> Any:
    """Unsigned by signed: two products fit into 16 bits as long as weights stay below 128."""
    pairs = _call(b, "llvm.x86.avx2.pmadd.ub.sw", _vector(_I16, 16), weights, rows)
    return _call(b, "llvm.x86.avx2.pmadd.wd", _vector(_I32, 8), pairs, _constant(_vector(_I16, 16), 1))


def _multiply_signed(b: Any, weights: Any, rows: Any) -> Any:
    """|w| * (sign(w) * a): the absolute values are unsigned."""
    negative = b.icmp_signed("<", weights, _constant(weights.type, 0))
    absolute = b.select(negative, b.neg(weights), weights)
    return _multiply_pairs(b, absolute, _call(b, "llvm.x86.avx2.psign.b", rows.type, rows, weights))


def _plain(b: Any, weights: Any, rows: Any) -> Any:
    products = b.mul(weights, b.sext(rows, weights.type))  # at most 127 * 127: they fit into 16 bits
    products = b.sext(products, _vector(_I32, BLOCK))
    parts = [_pick(b, products, [4 * lane + k for lane in range(LANES)]) for k in range(4)]
    return b.add(b.add(parts[0], parts[1]), b.add(parts[2], parts[3]))


FORMS = {4: (4, 32), 8: (8, 32), 16: (8, 16)}
"""Form of a matrix: its bits and groups."""


@intrinsic
def product(
    context,
    form,
    n_rows,
    weights,
    scales,
    mins,
    rows,
    row_scales,
    sums,
    starts,
    out,
    n,
    each,
    to_row,
    to_scale,
    to_group,
    to_out,
):
    """A panel of sixteen rows of weights of a form of `FORMS` (`matrix.LowBitMatrix`) times 1 to `MOST_ROWS` rows of numbers.

    All are addresses or counts: weights, their scales (float32, sixteen a group), mins (as scales; 0: there are none); rows
    (int8), what their stretches are multiplied with (float32), the sums of their groups (float32, unused without mins), -128
    times those of their whole numbers (int32); the results, sixteen side by side; stretches, and groups a stretch; and bytes
    from one row to the next, of rows, their scales, their sums and starts, and results.
    """
    signature = types.void(*[types.intp] * 16)

    def generate(context, b, signature, arguments):
        form, n_rows, *others = arguments
        for known, (bits, group) in FORMS.items():
            with b.if_then(b.icmp_signed("==", form, ir.Constant(_I64, known))):
                sizes = range(1, MOST_ROWS + 1)
                _for_each(b, n_rows, sizes, lambda size, bits=bits, group=group: _product(b, bits, group, size, *others))
        return context.get_dummy_value()

    return signature, generate


def _for_each(b: Any, value: Any, sizes: Sequence[int], generate: Callable[[int], None]) -> None:
    """Code for each of some sizes, of which the one that `value` is runs: registers are counted when code is made."""
    for size in sizes:
        with b.if_then(b.icmp_signed("==", value, ir.Constant(_I64, size))):
            generate(size)


def _product(
    b,
    bits,
    group,
    n_rows,
    weights,
    scales,
    mins,
    rows,
    row_scales,
    sums,
    starts,
    out,
    n,
    each,
    to_row,
    to_scale,
    to_group,
    to_out,
):
    floats, bytes_ = _vector(_F32, LANES), _vector(_I8, BLOCK)

    def zeros():
        places = [cgutils.alloca_once(b, floats) for _ in range(n_rows)]
        for place in places:
            b.store(_constant(floats, 0.0), place)
        return places

    def of_row(address, step, t):
        return b.add(address, b.mul(step, ir.Constant(_I64, t)))

    def fours(group_at):
        """The weights of a group, four columns of each of the sixteen rows at a time, with the first of the columns."""
        for line in range(group * bits // 32):
            packed = _load(b, b.add(group_at, ir.Constant(_I64, line * BLOCK)), bytes_, 1)
            if bits == 8:
                yield 4 * line, packed
            else:
                yield 4 * line, b.and_(packed, _constant(bytes_, 15))
                yield 4 * line + 16, b.lshr(packed, _constant(bytes_, 4))

    totals, parts = zeros(), [cgutils.alloca_once(b, floats) for _ in range(n_rows)]
    with cgutils.for_range(b, n) as stretch:
        for part in parts:
            b.store(_constant(floats, 0.0), part)
        with cgutils.for_range(b, each) as loop:
            i = b.add(b.mul(stretch.index, each), loop.index)
            scale_at = _at(b, scales, i, 4 * LANES)
            scale = _load(b, scale_at, floats, 4)
            numbers = [_at(b, of_row(rows, to_row, t), i, group) for t in range(n_rows)]
            _fetch(b, n_rows, _at(b, weights, i, LANES * group * bits // 8), LANES * group * bits // 8)
            _fetch(b, n_rows, scale_at, 4 * LANES)
            found = [_first_sums(b, _at(b, of_row(starts, to_group, t), i, 4), bits) for t in range(n_rows)]
            columns = list(fours(_at(b, weights, i, LANES * group * bits // 8)))
            if bits == 4 and INSTRUCTIONS == "avx2":
                ones = _constant(_vector(_I16, 2 * LANES), 1)
                found = _sums_in_pairs(b, 4, [four for _, four in columns], [at for at, _ in columns], ones, 0, numbers)
                columns = []
            for column, four in columns:
                for t, place in enumerate(numbers):
                    given = _splat(b, _load(b, b.add(place, ir.Constant(_I64, column)), _I32, 1))
                    found[t] = _more_fours(b, found[t], four, b.bitcast(given, bytes_), bits)
            for part, whole in zip(parts, found, strict=True):
                b.store(_fma(b, b.sitofp(whole, floats), scale, b.load(part)), part)
        for t, (part, total) in enumerate(zip(parts, totals, strict=True)):
            place = _at(b, of_row(row_scales, to_scale, t), stretch.index, 4)
            b.store(_fma(b, b.load(part), _splat(b, _load(b, place, _F32, 4)), b.load(total)), total)
    lows = zeros()
    with b.if_then(b.icmp_unsigned("!=", mins, ir.Constant(_I64, 0))), cgutils.for_range(b, b.mul(n, each)) as loop:
        least = _load(b, _at(b, mins, loop.index, 4 * LANES), floats, 4)
        for t, low in enumerate(lows):
            here = _splat(b, _load(b, _at(b, of_row(sums, to_group, t), loop.index, 4), _F32, 4))
            b.store(_fma(b, least, here, b.load(low)), low)
    for t, (total, low) in enumerate(zip(totals, lows, strict=True)):
        _store(b, b.fadd(b.load(total), b.load(low)), of_row(out, to_out, t))


@intrinsic
def largest(context, row, n):
    """The largest absolute value of n numbers (a multiple of 16) at an address; NaN where one is NaN."""
    signature = types.float32(types.intp, types.intp)

    def generate(context, b, signature, arguments):
        row, n = arguments
        floats = _vector(_F32, LANES)
        most = cgutils.alloca_once(b, floats)
        b.store(_constant(floats, 0.0), most)
        with cgutils.for_range(b, b.udiv(n, ir.Constant(_I64, LANES))) as loop:
            here = _call(b, f"llvm.fabs.v{LANES}f32", floats, _load(b, _at(b, row, loop.index, 4 * LANES), floats, 4))
            so_far = b.load(most)
            b.store(_larger(b, here, so_far), most)
        return _largest(b, b.load(most))

    return signature, generate


@intrinsic
def rounded_block(context, row, over, scale, numbers, sums, starts):
    """64 numbers times `over`, to the nearest whole number (int8); the sums of each 16, times `scale`, and times
    -128. `row`, `numbers`, `sums` and `starts` are addresses."""
    signature = types.void(types.intp, types.float32, types.float32, types.intp, types.intp, types.intp)

    def generate(context, b, signature, arguments):
        row, over, scale, numbers, sums, starts = arguments
        floats, ints = _vector(_F32, LANES), _vector(_I32, LANES)
        factor = _splat(b, over)
        for k in range(BLOCK // LANES):
            here = _load(b, _at(b, row, ir.Constant(_I64, k), 4 * LANES), floats, 4)
            nearest = _call(b, f"llvm.rint.v{LANES}f32", floats, b.fmul(here, factor))
            whole = b.fptosi(nearest, ints)
            _store(b, b.trunc(whole, _vector(_I8, LANES)), _at(b, numbers, ir.Constant(_I64, k), LANES))
            pairs = b.add(_pick(b, whole, list(range(0, LANES, 2))), _pick(b, whole, list(range(1, LANES, 2))))
            fours = b.add(_pick(b, pairs, list(range(0, 8, 2))), _pick(b, pairs, list(range(1, 8, 2))))
            two = b.add(_pick(b, fours, [0, 1]), _pick(b, fours, [2, 3]))
            total = b.add(*(b.extract_element(two, ir.Constant(_I32, lane)) for lane in (0, 1)))
            _store(b, b.fmul(b.sitofp(total, _F32), scale), _at(b, sums, ir.Constant(_I64, k), 4))
            _store(b, b.mul(total, ir.Constant(_I32, -128)), _at(b, starts, ir.Constant(_I64, k), 4))
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def call(context, address, arguments):
    """Calls the compiled function at an address with the address of its arguments (int64)."""
    signature = types.void(types.intp, types.intp)

    def generate(context, b, signature, arguments):
        address, given = arguments
        kind = ir.FunctionType(ir.VoidType(), [_I64.as_pointer()])
        b.call(b.inttoptr(address, kind.as_pointer()), [b.inttoptr(given, _I64.as_pointer())])
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def super_product(context, bits, n_rows, weights, rows, row_scales, sums, out, n, to_row, to_scale, to_sums, to_out):
    """A panel of a `superblocks.SuperMatrix` of so many bits times 1 to `MOST_ROWS` rows of numbers.

    All are addresses or counts: weights; rows (int8), what their blocks of 256 are multiplied with (float32), the sums of their
    groups (int16; 32 numbers, or 16 with 6 bits); the results, sixteen side by side; blocks; and bytes from one row to the
    next, of rows, their scales, their sums, and results.
    """
    signature = types.void(*[types.intp] * 12)

    def generate(context, b, signature, arguments):
        bits, n_rows, *others = arguments
        for known in (4, 5, 6):
            with b.if_then(b.icmp_signed("==", bits, ir.Constant(_I64, known))):
                sizes = range(1, MOST_ROWS + 1)
                _for_each(b, n_rows, sizes, lambda size, known=known: _super_product(b, known, size, *others))
        return context.get_dummy_value()

    return signature, generate


_AT_ONCE = {4: 8, 5: 4, 6: 2}
"""Products of two neighbours that may be added in 16 bits: so many times 2 * 127 times the largest weight
stays below 2^15."""


def _super_product(b, bits, n_rows, weights, rows, row_scales, sums, out, n, to_row, to_scale, to_sums, to_out):
    floats, ints = _vector(_F32, LANES), _vector(_I32, LANES)
    pairs_at, lines_at, line_bytes = (32, 288, 64 * 6) if bits == 6 else (64, 320, 64 * bits)
    n_pairs = 8 if bits == 6 else 4

    def add(address, offset):
        return b.add(address, ir.Constant(_I64, offset))

    def of_row(address, step, t):
        return b.add(address, b.mul(step, ir.Constant(_I64, t)))

    def cleared(kind):
        places = [cgutils.alloca_once(b, kind) for _ in range(n_rows)]
        zero = ir.Constant(kind, [ir.Constant(kind.element, 0)] * LANES)
        for place in places:
            b.store(zero, place)
        return places

    def pair_of(address, i):
        """Two neighbouring scales of each row, as (16 x 2) int16."""
        narrow, wide = _load(b, add(address, 32 * i), _vector(_I8, 2 * LANES), 1), _vector(_I16, 2 * LANES)
        return b.sext(narrow, wide) if bits == 6 else b.zext(narrow, wide)

    def lines_of(address):
        found = dict(_unpacked(b, bits, address))
        return [found[4 * i] for i in range(4)], [found[16 + 4 * i] for i in range(4)]

    totals = cleared(floats)
    wholes, leasts = cleared(ints), cleared(ints)
    own = lines_at + 8 * line_bytes
    with cgutils.for_range(b, n) as loop:
        s = loop.index
        block = _at(b, weights, s, own)
        zero = _constant(ints, 0)
        for place in (*wholes, *leasts):
            b.store(zero, place)
        numbers = [_at(b, of_row(rows, to_row, t), s, 256) for t in range(n_rows)]
        own_sums = [_at(b, of_row(sums, to_sums, t), s, 4 * n_pairs) for t in range(n_rows)]
        if bits == 4 and INSTRUCTIONS == "avx2":
            _sum_of_nibbles(b, block, numbers, wholes)
            with cgutils.for_range(b, ir.Constant(_I64, n_pairs)) as inner:
                pair = pair_of(b.add(add(block, pairs_at + 128), b.mul(inner.index, ir.Constant(_I64, 32))), 0)
                for t in range(n_rows):
                    sum_pair = _splat(b, _load(b, _at(b, own_sums[t], inner.index, 4), _I32, 1))
                    b.store(b.add(b.load(leasts[t]), _times_pairs(b, pair, sum_pair)), leasts[t])
        elif INSTRUCTIONS == "avx512_vnni":
            _sum_of_block(b, bits, block, numbers, own_sums, wholes, leasts)
        else:
            with cgutils.for_range(b, ir.Constant(_I64, 4)) as inner:
                c = inner.index  # 64 columns
                scales_at = b.add(add(block, pairs_at), b.mul(c, ir.Constant(_I64, 32 * n_pairs // 4)))
                lines = b.add(add(block, lines_at), b.mul(c, ir.Constant(_I64, 2 * line_bytes)))
                given = [_at(b, place, c, 64) for place in numbers]
                given_sums = [_at(b, place, c, n_pairs) for place in own_sums]  # 4 bytes a pair, n_pairs / 4 pairs
                for half in range(2):  # 32 columns
                    first, second = lines_of(add(lines, half * line_bytes))
                    if bits == 6:
                        pair = pair_of(scales_at, half)
                        for k, group in enumerate((first, second)):
                            columns = [32 * half + 16 * k + 4 * i for i in range(4)]
                            _add_group(b, bits, group, columns, pair, k, given, wholes)
                    else:
                        columns = [32 * half + 4 * i for i in range(8)]
                        _add_group(b, bits, [*first, *second], columns, pair_of(scales_at, 0), half, given, wholes)
                for i in range(n_pairs // 4):
                    # 6 bits: what has to be taken off is 32 times the scales; 4 and 5: the least values lie behind the scales
                    pair = pair_of(scales_at, i) if bits == 6 else pair_of(add(scales_at, 128), i)
                    for t in range(n_rows):
                        sum_pair = _splat(b, _load(b, add(given_sums[t], 4 * i), _I32, 1))
                        b.store(b.add(b.load(leasts[t]), _times_pairs(b, pair, sum_pair)), leasts[t])
        top = _from_half(b, _load(b, block, _vector(_I16, LANES), 1))
        low = None if bits == 6 else _from_half(b, _load(b, add(block, 32), _vector(_I16, LANES), 1))
        for t in range(n_rows):
            scale = _splat(b, _load(b, _at(b, of_row(row_scales, to_scale, t), s, 4), _F32, 4))
            whole, least = b.load(wholes[t]), b.load(leasts[t])
            if low is None:
                whole = b.sub(whole, b.shl(least, _constant(ints, 5)))
            total = _fma(b, b.sitofp(whole, floats), b.fmul(top, scale), b.load(totals[t]))
            if low is not None:
                minus = b.fsub(_constant(floats, 0.0), b.fmul(low, scale))
                total = _fma(b, b.sitofp(least, floats), minus, total)
            b.store(total, totals[t])
    for t, total in enumerate(totals):
        _store(b, b.load(total), of_row(out, to_out, t))


def _unpacked(b, bits, address):
    """Of 32 columns at an address: (column, line), a line being four columns of sixteen rows (64 x i8), unsigned. Each packed
    line is read when its first one is asked for, so that few of them are held at once."""
    bytes_ = _vector(_I8, BLOCK)

    def line_at(i):
        return _load(b, b.add(address, ir.Constant(_I64, 64 * i)), bytes_, 1)

    for i in range(4):
        packed = line_at(i)
        top = None if bits == 4 else line_at(4) if bits == 5 else line_at(4 + i // 2)
        for part in range(2):
            low = b.and_(packed, _constant(bytes_, 15)) if part == 0 else _shifted(b, packed, 4, 15)
            if bits == 5:
                low = b.or_(low, _shifted(b, top, 4 * part + i - 4, 16))
            elif bits == 6:
                low = b.or_(low, _shifted(b, top, 4 * part + 2 * (i % 2) - 4, 48))
            yield 16 * part + 4 * i, low


def _sum_of_block(b, bits, block, numbers, sums, wholes, leasts):
    """Of a block, with VNNI. Rows take turns, so that no sum waits for its own last product; what is taken off comes behind all
    products, so that its sums do not hold registers meanwhile."""
    ints, shorts, bytes_ = _vector(_I32, LANES), _vector(_I16, 2 * LANES), _vector(_I8, BLOCK)
    pairs_at, lines_at = (32, 288) if bits == 6 else (64, 320)
    a_pair = 32 if bits == 6 else 64  # columns whose two scales lie side by side
    with cgutils.for_range(b, ir.Constant(_I64, 256 // a_pair)) as inner:
        c = inner.index
        raw = _load(b, _at(b, b.add(block, ir.Constant(_I64, pairs_at)), c, 32), _vector(_I8, 2 * LANES), 1)
        pair = b.sext(raw, shorts) if bits == 6 else b.zext(raw, shorts)
        lines = _opaque(b, _at(b, b.add(block, ir.Constant(_I64, lines_at)), c, 2 * a_pair * bits))
        given = [_opaque(b, _at(b, place, c, a_pair)) for place in numbers]
        _fetch(b, len(given), lines, 2 * a_pair * bits + 64 * (a_pair // 64))
        for half in range(a_pair // 32):
            found = [[_constant(ints, 0) for _ in numbers] for _ in range(2)]
            for column, line in _unpacked(b, bits, b.add(lines, ir.Constant(_I64, 64 * bits * half))):
                group = column // 16 if bits == 6 else 0
                for t, place in enumerate(given):
                    here = _load(b, b.add(place, ir.Constant(_I64, 32 * half + column)), _I32, 1)
                    found[group][t] = _vnni(b, found[group][t], line, b.bitcast(_splat(b, here), bytes_))
            for which, of in enumerate(found if bits == 6 else found[:1]):
                scale = b.sext(_pick(b, pair, list(range(which if bits == 6 else half, 2 * LANES, 2))), ints)
                for whole, place in zip(of, wholes, strict=True):
                    b.store(b.add(b.load(place), b.mul(whole, scale)), place)
    _sum_of_pairs(b, bits, block, sums, leasts)


def _sum_of_pairs(b, bits, block, sums, leasts):
    """To `leasts` the sums of a block's rows times its least values, or with 6 bits its scales."""
    shorts = _vector(_I16, 2 * LANES)
    first, n_pairs = (32, 8) if bits == 6 else (192, 4)
    for i in range(n_pairs):
        raw = _load(b, b.add(block, ir.Constant(_I64, first + 32 * i)), _vector(_I8, 2 * LANES), 1)
        pair = b.bitcast(b.sext(raw, shorts) if bits == 6 else b.zext(raw, shorts), _vector(_I32, LANES))
        for t, place in enumerate(sums):
            here = _splat(b, _load(b, b.add(place, ir.Constant(_I64, 4 * i)), _I32, 1))
            so_far = b.load(leasts[t])
            b.store(_call(b, "llvm.x86.avx512.vpdpwssd.512", so_far.type, so_far, pair, here), leasts[t])


def _sum_of_nibbles(b, block, numbers, wholes):
    """Of a block of 4 bits, with AVX2: one line of a group after the other in a loop that LLVM does not take apart, so that all
    sums stay in its sixteen registers."""
    shorts, half_bytes = _vector(_I16, 16), _vector(_I8, 32)
    n_rows = len(numbers)
    some = [[cgutils.alloca_once(b, shorts) for _ in range(2)] for _ in range(n_rows)]
    opaque = _opaque(b, ir.Constant(_I64, 4))
    with cgutils.for_range(b, ir.Constant(_I64, 8)) as groups:
        g = groups.index
        lines = b.add(b.add(block, ir.Constant(_I64, 320)), b.mul(g, ir.Constant(_I64, 256)))
        for row in some:
            for place in row:
                b.store(_constant(shorts, 0), place)
        with cgutils.for_range(b, opaque) as inner:
            line = _at(b, lines, inner.index, 64)
            raw = [_load(b, b.add(line, ir.Constant(_I64, 32 * half)), half_bytes, 1) for half in range(2)]
            for high in range(2):
                parts = [_shifted(b, one, 4 * high, 15) for one in raw]
                for t in range(n_rows):
                    place = b.add(_at(b, _at(b, numbers[t], g, 32), inner.index, 4), ir.Constant(_I64, 16 * high))
                    four = b.bitcast(_splat(b, _load(b, place, _I32, 1), 8), half_bytes)
                    for half in range(2):
                        two = _call(b, "llvm.x86.avx2.pmadd.ub.sw", shorts, parts[half], four)
                        b.store(b.add(b.load(some[t][half]), two), some[t][half])
        pair_at = b.add(b.add(block, ir.Constant(_I64, 64)), b.mul(b.lshr(g, ir.Constant(_I64, 1)), ir.Constant(_I64, 32)))
        shift = b.mul(b.and_(g, ir.Constant(_I64, 1)), ir.Constant(_I64, 8))
        scales = []
        for half in range(2):
            both = b.zext(_load(b, b.add(pair_at, ir.Constant(_I64, 16 * half)), _vector(_I16, 8), 1), _vector(_I32, 8))
            by = _splat(b, b.trunc(shift, _I32), 8)
            one = b.and_(b.lshr(both, by), _constant(_vector(_I32, 8), 255))
            scales.append(b.bitcast(b.or_(one, b.shl(one, _constant(_vector(_I32, 8), 16))), shorts))
        for t in range(n_rows):
            more = [
                _call(b, "llvm.x86.avx2.pmadd.wd", _vector(_I32, 8), b.load(some[t][half]), scales[half]) for half in range(2)
            ]
            b.store(b.add(b.load(wholes[t]), b.shuffle_vector(*more, _indices(list(range(LANES))))), wholes[t])


def _shifted(b, line, right, mask):
    """Bytes moved right by so many bits (left, where negative), of which `mask` is kept. CPUs shift 16 bits and no fewer."""
    if right:
        wide = b.bitcast(line, _vector(_I16, line.type.count // 2))
        by = _constant(wide.type, abs(right))
        line = b.bitcast(b.lshr(wide, by) if right > 0 else b.shl(wide, by), line.type)
    return b.and_(line, _constant(line.type, mask))


def _add_group(b, bits, lines, columns, pair, which, given, wholes):
    """To `wholes` (a place each row of numbers) the products of a group, times its scales: the `which`th ones of `pair`."""
    if INSTRUCTIONS == "avx2":
        for place, found in zip(wholes, _sums_in_pairs(b, bits, lines, columns, pair, which, given), strict=True):
            b.store(b.add(b.load(place), found), place)
        return
    ints = _vector(_I32, LANES)
    scale = b.sext(_pick(b, pair, list(range(which, 2 * LANES, 2))), ints)
    for numbers, place in zip(given, wholes, strict=True):
        found = _constant(ints, 0)
        for line, column in zip(lines, columns, strict=True):
            four = b.bitcast(_splat(b, _load(b, b.add(numbers, ir.Constant(_I64, column)), _I32, 1)), line.type)
            if INSTRUCTIONS == "avx512_vnni":
                found = _vnni(b, found, line, four)
            else:
                found = b.add(found, _plain(b, b.zext(line, _vector(_I16, BLOCK)), four))
        b.store(b.add(b.load(place), b.mul(found, scale)), place)


def _sums_in_pairs(b, bits, lines, columns, pair, which, given):
    """The sums of a group (16 x i32 each row of numbers), times the `which`th scales of `pair`, with AVX2: products of
    neighbours are added in 16 bits, as many as fit, and meet their scale when they become 32."""
    shorts, half_ints, half_bytes = _vector(_I16, 16), _vector(_I32, 8), _vector(_I8, 32)
    scales = [_pick(b, pair, [2 * (i // 2) + which for i in range(16 * half, 16 * half + 16)]) for half in range(2)]
    found = [[None, None] for _ in given]
    some = [[None, None] for _ in given]
    for i, (line, column) in enumerate(zip(lines, columns, strict=True)):
        parts = [_pick(b, line, list(range(32 * half, 32 * half + 32))) for half in range(2)]
        for t, numbers in enumerate(given):
            four = _splat(b, _load(b, b.add(numbers, ir.Constant(_I64, column)), _I32, 1), 8)
            for half in range(2):
                two = _call(b, "llvm.x86.avx2.pmadd.ub.sw", shorts, parts[half], b.bitcast(four, half_bytes))
                some[t][half] = two if some[t][half] is None else b.add(some[t][half], two)
        if (i + 1) % _AT_ONCE[bits] == 0:
            for t in range(len(given)):
                for half in range(2):
                    more = _call(b, "llvm.x86.avx2.pmadd.wd", half_ints, some[t][half], scales[half])
                    found[t][half] = more if found[t][half] is None else b.add(found[t][half], more)
                    some[t][half] = None
    return [b.shuffle_vector(*halves, _indices(list(range(LANES)))) for halves in found]


def _times_pairs(b, pair, given):
    """For each row the sum of its two int16 of `pair` (16 x 2) times the two int16 that each lane of `given` (i32) is."""
    both = b.bitcast(given, pair.type)
    if INSTRUCTIONS == "generic":
        wide = _vector(_I32, 2 * LANES)
        products = b.mul(b.sext(pair, wide), b.sext(both, wide))
        return b.add(_pick(b, products, list(range(0, 2 * LANES, 2))), _pick(b, products, list(range(1, 2 * LANES, 2))))
    parts = []
    for half in range(2):
        lanes = list(range(16 * half, 16 * half + 16))
        parts.append(_call(b, "llvm.x86.avx2.pmadd.wd", _vector(_I32, 8), _pick(b, pair, lanes), _pick(b, both, lanes)))
    return b.shuffle_vector(*parts, _indices(list(range(LANES))))


def _from_half(b, halves):
    """float16, as (16 x i16), in float32; exact, and without an instruction that not every CPU has. None is infinite."""
    ints, floats = _vector(_I32, LANES), _vector(_F32, LANES)
    wide = b.zext(halves, ints)
    size = b.shl(b.and_(wide, _constant(ints, 0x7FFF)), _constant(ints, 13))
    value = b.fmul(b.bitcast(size, floats), _constant(floats, 2.0**112))
    sign = b.shl(b.and_(wide, _constant(ints, 0x8000)), _constant(ints, 16))
    return b.bitcast(b.or_(b.bitcast(value, ints), sign), floats)


# --- threads -------------------------------------------------------------------------------------------------------------

_PATIENCE = 2000
"""Looks at a counter before a waiting thread lets others run: a step on a busy machine must not spin a whole slice of time."""


@intrinsic
def add_to(context, address, more):
    """Adds to the int64 at an address, as one with what other threads do; what was there before."""
    signature = types.int64(types.intp, types.int64)

    def generate(context, b, signature, arguments):
        address, more = arguments
        return b.atomic_rmw("add", b.inttoptr(address, _I64.as_pointer()), more, "acq_rel")

    return signature, generate


@intrinsic
def wait_for(context, address, least):
    """Until the int64 at an address is as large."""
    signature = types.void(types.intp, types.int64)

    def generate(context, b, signature, arguments):
        address, least = arguments
        place = b.inttoptr(address, _I64.as_pointer())
        looks = cgutils.alloca_once(b, _I64)
        b.store(ir.Constant(_I64, 0), looks)
        look, pause, done = (b.append_basic_block(name) for name in ("look", "pause", "done"))
        b.branch(look)
        b.position_at_end(look)
        b.cbranch(b.icmp_signed("<", b.load_atomic(place, "acquire", 8), least), pause, done)
        b.position_at_end(pause)
        b.store(b.add(b.load(looks), ir.Constant(_I64, 1)), looks)
        if _IS_X86:
            _call(b, "llvm.x86.sse2.pause", ir.VoidType())
        if os.name == "posix":
            with b.if_then(b.icmp_signed(">", b.load(looks), ir.Constant(_I64, _PATIENCE))):
                _call(b, "sched_yield", _I32)
        b.branch(look)
        b.position_at_end(done)
        return context.get_dummy_value()

    return signature, generate


# --- attention -----------------------------------------------------------------------------------------------------------


@intrinsic
def scores(context, n_rows, queries, keys, out, size, n_keys, capacity, to_out, scale):
    """1 to 4 queries times many keys, scaled: out[r, j] = scale * sum over d of q[r, d] * keys[d, j].

    Keys are stored by dimension, (D, capacity), so that a vector holds sixteen of them; as many are computed, and written, as
    fill whole vectors. Arguments: addresses of queries (rows D apart), keys, results; D, keys, capacity, floats from one result
    row to the next; the scale.
    """
    signature = types.void(*[types.intp] * 8, types.float32)

    def generate(context, b, signature, arguments):
        n_rows, *others = arguments
        _for_each(b, n_rows, (1, 2, 3, 4), lambda size: _scores(b, size, *others))
        return context.get_dummy_value()

    return signature, generate


def _scores(b, n_rows, queries, keys, out, size, n_keys, capacity, to_out, scale):
    floats = _vector(_F32, LANES)
    lanes = ir.Constant(_I64, LANES)
    totals = [cgutils.alloca_once(b, floats) for _ in range(n_rows * SIDE_BY_SIDE)]
    factor = _splat(b, scale)
    n_vectors = b.udiv(b.add(n_keys, ir.Constant(_I64, LANES - 1)), lanes)

    def some(first, n):
        """`n` vectors of keys from number `first` on: each line of keys is read once for all of them."""
        for total in totals[: n_rows * n]:
            b.store(_constant(floats, 0.0), total)
        with cgutils.for_range(b, size) as inner:
            d = inner.index
            line = _at(b, keys, b.add(b.mul(d, capacity), first), 4)
            columns = [_load(b, _at(b, line, ir.Constant(_I64, c), 4 * LANES), floats, 4) for c in range(n)]
            for r in range(n_rows):
                place = _at(b, queries, b.add(b.mul(size, ir.Constant(_I64, r)), d), 4)
                q = _splat(b, _load(b, place, _F32, 4))
                for c, column in enumerate(columns):
                    total = totals[r * n + c]
                    b.store(_fma(b, q, column, b.load(total)), total)
        for r in range(n_rows):
            for c in range(n):
                place = b.add(b.mul(to_out, ir.Constant(_I64, r)), b.add(first, ir.Constant(_I64, c * LANES)))
                _store(b, b.fmul(b.load(totals[r * n + c]), factor), _at(b, out, place, 4))

    wide = b.udiv(n_vectors, ir.Constant(_I64, SIDE_BY_SIDE))
    with cgutils.for_range(b, wide) as loop:
        some(b.mul(loop.index, ir.Constant(_I64, SIDE_BY_SIDE * LANES)), SIDE_BY_SIDE)
    done = b.mul(wide, ir.Constant(_I64, SIDE_BY_SIDE))
    with cgutils.for_range(b, b.sub(n_vectors, done)) as loop:
        some(b.mul(b.add(done, loop.index), lanes), 1)


@intrinsic
def mixed(context, n_rows, weights, values, out, n, size, to_row):
    """For 1 to 4 rows: out[r, :] += sum over j of weights[r, j] * values[j, :], for j = 0..n-1 in this order.

    Arguments: addresses of weights, values (rows D apart), results (rows D apart); n, D (a multiple of 16), floats from one row
    of weights to the next.
    """
    signature = types.void(*[types.intp] * 7)

    def generate(context, b, signature, arguments):
        n_rows, *others = arguments
        _for_each(b, n_rows, (1, 2, 3, 4), lambda size: _mixed(b, size, *others))
        return context.get_dummy_value()

    return signature, generate


def _mixed(b, n_rows, weights, values, out, n, size, to_row):
    floats, lanes = _vector(_F32, LANES), ir.Constant(_I64, LANES)
    totals = [cgutils.alloca_once(b, floats) for _ in range(n_rows * SIDE_BY_SIDE)]

    def some(first, wide):
        """`wide` vectors of the results from dimension `first` on."""
        places = []
        for r in range(n_rows):
            line = _at(b, out, b.add(b.mul(size, ir.Constant(_I64, r)), first), 4)
            places += [_at(b, line, ir.Constant(_I64, c), 4 * LANES) for c in range(wide)]
        for total, place in zip(totals, places, strict=False):
            b.store(_load(b, place, floats, 4), total)
        with cgutils.for_range(b, n) as inner:
            j = inner.index
            line = _at(b, values, b.add(b.mul(j, size), first), 4)
            columns = [_load(b, _at(b, line, ir.Constant(_I64, c), 4 * LANES), floats, 4) for c in range(wide)]
            for r in range(n_rows):
                share = _load(b, _at(b, weights, b.add(b.mul(to_row, ir.Constant(_I64, r)), j), 4), _F32, 4)
                for c, column in enumerate(columns):
                    total = totals[r * wide + c]
                    b.store(_fma(b, _splat(b, share), column, b.load(total)), total)
        for total, place in zip(totals, places, strict=False):
            _store(b, b.load(total), place)

    n_vectors = b.udiv(size, lanes)
    whole = b.udiv(n_vectors, ir.Constant(_I64, SIDE_BY_SIDE))
    with cgutils.for_range(b, whole) as loop:
        some(b.mul(loop.index, ir.Constant(_I64, SIDE_BY_SIDE * LANES)), SIDE_BY_SIDE)
    done = b.mul(whole, ir.Constant(_I64, SIDE_BY_SIDE))
    with cgutils.for_range(b, b.sub(n_vectors, done)) as loop:
        some(b.mul(b.add(done, loop.index), lanes), 1)


def _exp(b: Any, x: Any) -> Any:
    """e to the x, for x <= 88, to about 2e-7 (Cephes' polynomial); 0 below -64: next to 1 that is nothing, and the products of
    smaller numbers would be denormal, which is slow."""
    floats, ints = x.type, _vector(_I32, x.type.count)
    least = _constant(floats, -64.0)
    tiny = b.fcmp_ordered("<", x, least)
    x = b.select(tiny, least, x)
    n = _call(b, f"llvm.rint.v{floats.count}f32", floats, b.fmul(x, _constant(floats, 1.4426950408889634)))
    rest = _fma(b, n, _constant(floats, -0.693359375), x)
    rest = _fma(b, n, _constant(floats, 2.12194440e-4), rest)
    value = _constant(floats, 1.9875691500e-4)
    for c in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
        value = _fma(b, value, rest, _constant(floats, c))
    value = b.fadd(_fma(b, value, b.fmul(rest, rest), rest), _constant(floats, 1.0))
    power = b.shl(b.add(b.fptosi(n, ints), _constant(ints, 127)), _constant(ints, 23))
    return b.select(tiny, _constant(floats, 0.0), b.fmul(value, b.bitcast(power, floats)))


@intrinsic
def softmax(context, scores, n):
    """Scores at an address -> their softmax, in place. There is room for whole vectors; what fills the last one becomes 0."""
    signature = types.void(types.intp, types.intp)

    def generate(context, b, signature, arguments):
        scores, n = arguments
        floats, lanes = _vector(_F32, LANES), ir.Constant(_I64, LANES)
        n_vectors = b.udiv(b.add(n, ir.Constant(_I64, LANES - 1)), lanes)
        with cgutils.for_range(b, b.sub(b.mul(n_vectors, lanes), n)) as loop:
            _store(b, ir.Constant(_F32, float("-inf")), _at(b, scores, b.add(n, loop.index), 4))
        most, total = cgutils.alloca_once(b, floats), cgutils.alloca_once(b, floats)
        b.store(_constant(floats, float("-inf")), most)
        with cgutils.for_range(b, n_vectors) as loop:
            here, so_far = _load(b, _at(b, scores, loop.index, 4 * LANES), floats, 4), b.load(most)
            b.store(_larger(b, here, so_far), most)
        top = _splat(b, _largest(b, b.load(most)))
        b.store(_constant(floats, 0.0), total)
        with cgutils.for_range(b, n_vectors) as loop:
            place = _at(b, scores, loop.index, 4 * LANES)
            raised = _exp(b, b.fsub(_load(b, place, floats, 4), top))
            _store(b, raised, place)
            b.store(b.fadd(b.load(total), raised), total)
        share = _splat(b, b.fdiv(ir.Constant(_F32, 1.0), _total(b, b.load(total))))
        with cgutils.for_range(b, n_vectors) as loop:
            place = _at(b, scores, loop.index, 4 * LANES)
            _store(b, b.fmul(_load(b, place, floats, 4), share), place)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def silu_times(context, gate, up, out, n):
    """out = gate / (1 + e^-gate) * up, n numbers (a multiple of 16)."""
    signature = types.void(*[types.intp] * 4)

    def generate(context, b, signature, arguments):
        gate, up, out, n = arguments
        floats = _vector(_F32, LANES)
        with cgutils.for_range(b, b.udiv(n, ir.Constant(_I64, LANES))) as loop:
            x, y = (_load(b, _at(b, address, loop.index, 4 * LANES), floats, 4) for address in (gate, up))
            minus = b.fsub(_constant(floats, 0.0), x)
            most = _constant(floats, 88.0)
            below = b.fadd(_constant(floats, 1.0), _exp(b, b.select(b.fcmp_ordered(">", minus, most), most, minus)))
            _store(b, b.fmul(b.fdiv(x, below), y), _at(b, out, loop.index, 4 * LANES))
        return context.get_dummy_value()

    return signature, generate
