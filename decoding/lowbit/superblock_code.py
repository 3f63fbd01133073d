"""Products of a `superblocks.SuperMatrix`: blocks of 256 columns whose groups have whole numbers as their scales.

A block, for sixteen rows: their scales in float16, with 4 and 5 bits also those of the least values; the groups' scales, two
neighbours of a row side by side, and behind all of them (4 and 5 bits) the groups' least values; then the weights.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from decoding.lowbit import vector_code
from decoding.lowbit.dot_code import plain, sums_in_pairs, vnni
from decoding.lowbit.vector_code import (
    BLOCK,
    F32,
    I8,
    I16,
    I32,
    I64,
    LANES,
    call_llvm,
    constant,
    fetch,
    fma,
    for_each_size,
    indices,
    item_at,
    load,
    opaque,
    pick,
    splat,
    store,
    vector_of,
)


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
            with b.if_then(b.icmp_signed("==", bits, ir.Constant(I64, known))):
                sizes = range(1, vector_code.MOST_ROWS + 1)
                for_each_size(b, n_rows, sizes, lambda size, known=known: _super_product(b, known, size, *others))
        return context.get_dummy_value()

    return signature, generate


def _super_product(b, bits, n_rows, weights, rows, row_scales, sums, out, n, to_row, to_scale, to_sums, to_out):
    """Sums over blocks of: row_scale * (d * sum of s_g * (q . a) - dmin * sum of m_g * sum(a)), g being the block's groups.

    Everything within a block is a whole number, exact in int32 (`wholes`, `leasts`); two float32 products a block are left.
    With 6 bits q is 32 too large and there is no m: what is taken off is 32 * s_g * sum(a), a shift by 5.
    """
    floats, ints = vector_of(F32, LANES), vector_of(I32, LANES)
    pairs_at, lines_at, line_bytes = (32, 288, 64 * 6) if bits == 6 else (64, 320, 64 * bits)
    n_pairs = 8 if bits == 6 else 4

    def add(address, offset):
        return b.add(address, ir.Constant(I64, offset))

    def of_row(address, step, t):
        return b.add(address, b.mul(step, ir.Constant(I64, t)))

    def cleared(kind):
        places = [cgutils.alloca_once(b, kind) for _ in range(n_rows)]
        zero = ir.Constant(kind, [ir.Constant(kind.element, 0)] * LANES)
        for place in places:
            b.store(zero, place)
        return places

    def pair_of(address, i):
        """Two neighbouring scales of each row, as (16 x 2) int16."""
        narrow, wide = load(b, add(address, 32 * i), vector_of(I8, 2 * LANES), 1), vector_of(I16, 2 * LANES)
        return b.sext(narrow, wide) if bits == 6 else b.zext(narrow, wide)

    def lines_of(address):
        found = dict(unpacked(b, bits, address))
        return [found[4 * i] for i in range(4)], [found[16 + 4 * i] for i in range(4)]

    totals = cleared(floats)
    wholes, leasts = cleared(ints), cleared(ints)
    own = lines_at + 8 * line_bytes
    with cgutils.for_range(b, n) as loop:
        s = loop.index
        block = item_at(b, weights, s, own)
        zero = constant(ints, 0)
        for place in (*wholes, *leasts):
            b.store(zero, place)
        numbers = [item_at(b, of_row(rows, to_row, t), s, 256) for t in range(n_rows)]
        own_sums = [item_at(b, of_row(sums, to_sums, t), s, 4 * n_pairs) for t in range(n_rows)]
        if bits == 4 and vector_code.INSTRUCTIONS == "avx2":
            _sum_of_nibbles(b, block, numbers, wholes)
            with cgutils.for_range(b, ir.Constant(I64, n_pairs)) as inner:
                pair = pair_of(b.add(add(block, pairs_at + 128), b.mul(inner.index, ir.Constant(I64, 32))), 0)
                for t in range(n_rows):
                    sum_pair = splat(b, load(b, item_at(b, own_sums[t], inner.index, 4), I32, 1))
                    b.store(b.add(b.load(leasts[t]), _times_pairs(b, pair, sum_pair)), leasts[t])
        elif vector_code.INSTRUCTIONS == "avx512_vnni":
            _sum_of_block(b, bits, block, numbers, own_sums, wholes, leasts)
        else:
            with cgutils.for_range(b, ir.Constant(I64, 4)) as inner:
                c = inner.index  # 64 columns
                scales_at = b.add(add(block, pairs_at), b.mul(c, ir.Constant(I64, 32 * n_pairs // 4)))
                lines = b.add(add(block, lines_at), b.mul(c, ir.Constant(I64, 2 * line_bytes)))
                given = [item_at(b, place, c, 64) for place in numbers]
                given_sums = [item_at(b, place, c, n_pairs) for place in own_sums]  # 4 bytes a pair, n_pairs / 4 pairs
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
                        sum_pair = splat(b, load(b, add(given_sums[t], 4 * i), I32, 1))
                        b.store(b.add(b.load(leasts[t]), _times_pairs(b, pair, sum_pair)), leasts[t])
        top = from_half(b, load(b, block, vector_of(I16, LANES), 1))
        low = None if bits == 6 else from_half(b, load(b, add(block, 32), vector_of(I16, LANES), 1))
        for t in range(n_rows):
            scale = splat(b, load(b, item_at(b, of_row(row_scales, to_scale, t), s, 4), F32, 4))
            whole, least = b.load(wholes[t]), b.load(leasts[t])
            if low is None:
                whole = b.sub(whole, b.shl(least, constant(ints, 5)))
            total = fma(b, b.sitofp(whole, floats), b.fmul(top, scale), b.load(totals[t]))
            if low is not None:
                minus = b.fsub(constant(floats, 0.0), b.fmul(low, scale))
                total = fma(b, b.sitofp(least, floats), minus, total)
            b.store(total, totals[t])
    for t, total in enumerate(totals):
        store(b, b.load(total), of_row(out, to_out, t))


def unpacked(b, bits, address):
    """Of 32 columns at an address: (column, line), a line being four columns of sixteen rows (64 x i8), unsigned. Each packed
    line is read when its first one is asked for, so that few of them are held at once."""
    bytes_ = vector_of(I8, BLOCK)

    def line_at(i):
        return load(b, b.add(address, ir.Constant(I64, 64 * i)), bytes_, 1)

    for i in range(4):
        packed = line_at(i)
        top = None if bits == 4 else line_at(4) if bits == 5 else line_at(4 + i // 2)
        for part in range(2):
            low = b.and_(packed, constant(bytes_, 15)) if part == 0 else _shifted(b, packed, 4, 15)
            if bits == 5:
                low = b.or_(low, _shifted(b, top, 4 * part + i - 4, 16))
            elif bits == 6:
                low = b.or_(low, _shifted(b, top, 4 * part + 2 * (i % 2) - 4, 48))
            yield 16 * part + 4 * i, low


def _sum_of_block(b, bits, block, numbers, sums, wholes, leasts):
    """Of a block, with VNNI. Rows take turns, so that no sum waits for its own last product; what is taken off comes behind all
    products, so that its sums do not hold registers meanwhile."""
    ints, shorts, bytes_ = vector_of(I32, LANES), vector_of(I16, 2 * LANES), vector_of(I8, BLOCK)
    pairs_at, lines_at = (32, 288) if bits == 6 else (64, 320)
    a_pair = 32 if bits == 6 else 64  # columns whose two scales lie side by side
    with cgutils.for_range(b, ir.Constant(I64, 256 // a_pair)) as inner:
        c = inner.index
        raw = load(b, item_at(b, b.add(block, ir.Constant(I64, pairs_at)), c, 32), vector_of(I8, 2 * LANES), 1)
        pair = b.sext(raw, shorts) if bits == 6 else b.zext(raw, shorts)
        lines = opaque(b, item_at(b, b.add(block, ir.Constant(I64, lines_at)), c, 2 * a_pair * bits))
        given = [opaque(b, item_at(b, place, c, a_pair)) for place in numbers]
        fetch(b, len(given), lines, 2 * a_pair * bits + 64 * (a_pair // 64))
        for half in range(a_pair // 32):
            found = [[constant(ints, 0) for _ in numbers] for _ in range(2)]
            for column, line in unpacked(b, bits, b.add(lines, ir.Constant(I64, 64 * bits * half))):
                group = column // 16 if bits == 6 else 0
                for t, place in enumerate(given):
                    here = load(b, b.add(place, ir.Constant(I64, 32 * half + column)), I32, 1)
                    found[group][t] = vnni(b, found[group][t], line, b.bitcast(splat(b, here), bytes_))
            for which, of in enumerate(found if bits == 6 else found[:1]):
                scale = b.sext(pick(b, pair, list(range(which if bits == 6 else half, 2 * LANES, 2))), ints)
                for whole, place in zip(of, wholes, strict=True):
                    b.store(b.add(b.load(place), b.mul(whole, scale)), place)
    _sum_of_pairs(b, bits, block, sums, leasts)


def _sum_of_pairs(b, bits, block, sums, leasts):
    """To `leasts` the sums of a block's rows times its least values, or with 6 bits its scales."""
    shorts = vector_of(I16, 2 * LANES)
    first, n_pairs = (32, 8) if bits == 6 else (192, 4)
    for i in range(n_pairs):
        raw = load(b, b.add(block, ir.Constant(I64, first + 32 * i)), vector_of(I8, 2 * LANES), 1)
        pair = b.bitcast(b.sext(raw, shorts) if bits == 6 else b.zext(raw, shorts), vector_of(I32, LANES))
        for t, place in enumerate(sums):
            here = splat(b, load(b, b.add(place, ir.Constant(I64, 4 * i)), I32, 1))
            so_far = b.load(leasts[t])
            b.store(call_llvm(b, "llvm.x86.avx512.vpdpwssd.512", so_far.type, so_far, pair, here), leasts[t])


def _sum_of_nibbles(b, block, numbers, wholes):
    """Of a block of 4 bits, with AVX2: one line of a group after the other in a loop that LLVM does not take apart, so that all
    sums stay in its sixteen registers."""
    shorts, half_bytes = vector_of(I16, 16), vector_of(I8, 32)
    n_rows = len(numbers)
    some = [[cgutils.alloca_once(b, shorts) for _ in range(2)] for _ in range(n_rows)]
    n_lines = opaque(b, ir.Constant(I64, 4))
    with cgutils.for_range(b, ir.Constant(I64, 8)) as groups:
        g = groups.index
        lines = b.add(b.add(block, ir.Constant(I64, 320)), b.mul(g, ir.Constant(I64, 256)))
        for row in some:
            for place in row:
                b.store(constant(shorts, 0), place)
        with cgutils.for_range(b, n_lines) as inner:
            line = item_at(b, lines, inner.index, 64)
            raw = [load(b, b.add(line, ir.Constant(I64, 32 * half)), half_bytes, 1) for half in range(2)]
            for high in range(2):
                parts = [_shifted(b, one, 4 * high, 15) for one in raw]
                for t in range(n_rows):
                    place = b.add(item_at(b, item_at(b, numbers[t], g, 32), inner.index, 4), ir.Constant(I64, 16 * high))
                    four = b.bitcast(splat(b, load(b, place, I32, 1), 8), half_bytes)
                    for half in range(2):
                        two = call_llvm(b, "llvm.x86.avx2.pmadd.ub.sw", shorts, parts[half], four)
                        b.store(b.add(b.load(some[t][half]), two), some[t][half])
        pair_at = b.add(b.add(block, ir.Constant(I64, 64)), b.mul(b.lshr(g, ir.Constant(I64, 1)), ir.Constant(I64, 32)))
        shift = b.mul(b.and_(g, ir.Constant(I64, 1)), ir.Constant(I64, 8))
        scales = []
        for half in range(2):
            both = b.zext(load(b, b.add(pair_at, ir.Constant(I64, 16 * half)), vector_of(I16, 8), 1), vector_of(I32, 8))
            by = splat(b, b.trunc(shift, I32), 8)
            one = b.and_(b.lshr(both, by), constant(vector_of(I32, 8), 255))
            scales.append(b.bitcast(b.or_(one, b.shl(one, constant(vector_of(I32, 8), 16))), shorts))
        for t in range(n_rows):
            more = [
                call_llvm(b, "llvm.x86.avx2.pmadd.wd", vector_of(I32, 8), b.load(some[t][half]), scales[half])
                for half in range(2)
            ]
            b.store(b.add(b.load(wholes[t]), b.shuffle_vector(*more, indices(list(range(LANES))))), wholes[t])


def _shifted(b, line, right, mask):
    """Bytes moved right by so many bits (left, where negative), of which `mask` is kept. CPUs shift 16 bits and no fewer."""
    if right:
        wide = b.bitcast(line, vector_of(I16, line.type.count // 2))
        by = constant(wide.type, abs(right))
        line = b.bitcast(b.lshr(wide, by) if right > 0 else b.shl(wide, by), line.type)
    return b.and_(line, constant(line.type, mask))


def _add_group(b, bits, lines, columns, pair, which, given, wholes):
    """To `wholes` (a place each row of numbers) the products of a group, times its scales: the `which`th ones of `pair`."""
    if vector_code.INSTRUCTIONS == "avx2":
        for place, found in zip(wholes, sums_in_pairs(b, bits, lines, columns, pair, which, given), strict=True):
            b.store(b.add(b.load(place), found), place)
        return
    ints = vector_of(I32, LANES)
    scale = b.sext(pick(b, pair, list(range(which, 2 * LANES, 2))), ints)
    for numbers, place in zip(given, wholes, strict=True):
        found = constant(ints, 0)
        for line, column in zip(lines, columns, strict=True):
            four = b.bitcast(splat(b, load(b, b.add(numbers, ir.Constant(I64, column)), I32, 1)), line.type)
            if vector_code.INSTRUCTIONS == "avx512_vnni":
                found = vnni(b, found, line, four)
            else:
                found = b.add(found, plain(b, b.zext(line, vector_of(I16, BLOCK)), four))
        b.store(b.add(b.load(place), b.mul(found, scale)), place)


def _times_pairs(b, pair, given):
    """For each row the sum of its two int16 of `pair` (16 x 2) times the two int16 that each lane of `given` (i32) is."""
    both = b.bitcast(given, pair.type)
    if vector_code.INSTRUCTIONS == "generic":
        wide = vector_of(I32, 2 * LANES)
        products = b.mul(b.sext(pair, wide), b.sext(both, wide))
        return b.add(pick(b, products, list(range(0, 2 * LANES, 2))), pick(b, products, list(range(1, 2 * LANES, 2))))
    parts = []
    for half in range(2):
        lanes = list(range(16 * half, 16 * half + 16))
        parts.append(call_llvm(b, "llvm.x86.avx2.pmadd.wd", vector_of(I32, 8), pick(b, pair, lanes), pick(b, both, lanes)))
    return b.shuffle_vector(*parts, indices(list(range(LANES))))


def from_half(b, halves):
    """float16, as (16 x i16), in float32; exact, and without an instruction that not every CPU has. None is infinite."""
    ints, floats = vector_of(I32, LANES), vector_of(F32, LANES)
    wide = b.zext(halves, ints)
    size = b.shl(b.and_(wide, constant(ints, 0x7FFF)), constant(ints, 13))
    value = b.fmul(b.bitcast(size, floats), constant(floats, 2.0**112))
    sign = b.shl(b.and_(wide, constant(ints, 0x8000)), constant(ints, 16))
    return b.bitcast(b.or_(b.bitcast(value, ints), sign), floats)
