"""Products of a `matrix.LowBitMatrix`, whose groups have scales in float32, and of the rows that are rounded for them."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from decoding.lowbit import vector_code
from decoding.lowbit.dot_code import first_sums, more_fours, sums_in_pairs
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
    item_at,
    larger,
    largest_of,
    load,
    pick,
    splat,
    store,
    vector_of,
)

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
            with b.if_then(b.icmp_signed("==", form, ir.Constant(I64, known))):
                sizes = range(1, vector_code.MOST_ROWS + 1)
                for_each_size(b, n_rows, sizes, lambda size, bits=bits, group=group: _product(b, bits, group, size, *others))
        return context.get_dummy_value()

    return signature, generate


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
    """Sums over groups g of: row_scale * (scale_g * (q . a) + least_g * sum(a)), each row by sixteen rows of weights.

    q are the weights' whole numbers, a the row's, and q . a is exact in int32. `each` groups share a row's scale: within such a
    stretch sums meet the groups' scales alone, and row_scale once behind it. `sums` hold row_scale already. The least values
    come last, in a loop of their own, so that their sums hold no registers while weights are read.
    """
    floats, bytes_ = vector_of(F32, LANES), vector_of(I8, BLOCK)

    def zeros():
        places = [cgutils.alloca_once(b, floats) for _ in range(n_rows)]
        for place in places:
            b.store(constant(floats, 0.0), place)
        return places

    def of_row(address, step, t):
        return b.add(address, b.mul(step, ir.Constant(I64, t)))

    def fours(group_at):
        """The weights of a group, four columns of each of the sixteen rows at a time, with the first of the columns."""
        for line in range(group * bits // 32):
            packed = load(b, b.add(group_at, ir.Constant(I64, line * BLOCK)), bytes_, 1)
            if bits == 8:
                yield 4 * line, packed
            else:
                yield 4 * line, b.and_(packed, constant(bytes_, 15))
                yield 4 * line + 16, b.lshr(packed, constant(bytes_, 4))

    totals, parts = zeros(), [cgutils.alloca_once(b, floats) for _ in range(n_rows)]
    with cgutils.for_range(b, n) as stretch:
        for part in parts:
            b.store(constant(floats, 0.0), part)
        with cgutils.for_range(b, each) as loop:
            i = b.add(b.mul(stretch.index, each), loop.index)
            scale_at = item_at(b, scales, i, 4 * LANES)
            scale = load(b, scale_at, floats, 4)
            numbers = [item_at(b, of_row(rows, to_row, t), i, group) for t in range(n_rows)]
            fetch(b, n_rows, item_at(b, weights, i, LANES * group * bits // 8), LANES * group * bits // 8)
            fetch(b, n_rows, scale_at, 4 * LANES)
            found = [first_sums(b, item_at(b, of_row(starts, to_group, t), i, 4), bits) for t in range(n_rows)]
            columns = list(fours(item_at(b, weights, i, LANES * group * bits // 8)))
            if bits == 4 and vector_code.INSTRUCTIONS == "avx2":
                ones = constant(vector_of(I16, 2 * LANES), 1)
                found = sums_in_pairs(b, 4, [four for _, four in columns], [at for at, _ in columns], ones, 0, numbers)
                columns = []
            for column, four in columns:
                for t, place in enumerate(numbers):
                    given = splat(b, load(b, b.add(place, ir.Constant(I64, column)), I32, 1))
                    found[t] = more_fours(b, found[t], four, b.bitcast(given, bytes_), bits)
            for part, whole in zip(parts, found, strict=True):
                b.store(fma(b, b.sitofp(whole, floats), scale, b.load(part)), part)
        for t, (part, total) in enumerate(zip(parts, totals, strict=True)):
            place = item_at(b, of_row(row_scales, to_scale, t), stretch.index, 4)
            b.store(fma(b, b.load(part), splat(b, load(b, place, F32, 4)), b.load(total)), total)
    lows = zeros()
    with b.if_then(b.icmp_unsigned("!=", mins, ir.Constant(I64, 0))), cgutils.for_range(b, b.mul(n, each)) as loop:
        least = load(b, item_at(b, mins, loop.index, 4 * LANES), floats, 4)
        for t, low in enumerate(lows):
            here = splat(b, load(b, item_at(b, of_row(sums, to_group, t), loop.index, 4), F32, 4))
            b.store(fma(b, least, here, b.load(low)), low)
    for t, (total, low) in enumerate(zip(totals, lows, strict=True)):
        store(b, b.fadd(b.load(total), b.load(low)), of_row(out, to_out, t))


@intrinsic
def largest(context, row, n):
    """The largest absolute value of n numbers (a multiple of 16) at an address; NaN where one is NaN."""
    signature = types.float32(types.intp, types.intp)

    def generate(context, b, signature, arguments):
        row, n = arguments
        floats = vector_of(F32, LANES)
        most = cgutils.alloca_once(b, floats)
        b.store(constant(floats, 0.0), most)
        with cgutils.for_range(b, b.udiv(n, ir.Constant(I64, LANES))) as loop:
            here = call_llvm(b, f"llvm.fabs.v{LANES}f32", floats, load(b, item_at(b, row, loop.index, 4 * LANES), floats, 4))
            so_far = b.load(most)
            b.store(larger(b, here, so_far), most)
        return largest_of(b, b.load(most))

    return signature, generate


@intrinsic
def rounded_block(context, row, over, scale, numbers, sums, starts):
    """64 numbers times `over`, to the nearest whole number (int8); the sums of each 16, times `scale`, and times
    -128. `row`, `numbers`, `sums` and `starts` are addresses."""
    signature = types.void(types.intp, types.float32, types.float32, types.intp, types.intp, types.intp)

    def generate(context, b, signature, arguments):
        row, over, scale, numbers, sums, starts = arguments
        floats, ints = vector_of(F32, LANES), vector_of(I32, LANES)
        factor = splat(b, over)
        for k in range(BLOCK // LANES):
            here = load(b, item_at(b, row, ir.Constant(I64, k), 4 * LANES), floats, 4)
            nearest = call_llvm(b, f"llvm.rint.v{LANES}f32", floats, b.fmul(here, factor))
            whole = b.fptosi(nearest, ints)
            store(b, b.trunc(whole, vector_of(I8, LANES)), item_at(b, numbers, ir.Constant(I64, k), LANES))
            pairs = b.add(pick(b, whole, list(range(0, LANES, 2))), pick(b, whole, list(range(1, LANES, 2))))
            fours = b.add(pick(b, pairs, list(range(0, 8, 2))), pick(b, pairs, list(range(1, 8, 2))))
            two = b.add(pick(b, fours, [0, 1]), pick(b, fours, [2, 3]))
            total = b.add(*(b.extract_element(two, ir.Constant(I32, lane)) for lane in (0, 1)))
            store(b, b.fmul(b.sitofp(total, F32), scale), item_at(b, sums, ir.Constant(I64, k), 4))
            store(b, b.mul(total, ir.Constant(I32, -128)), item_at(b, starts, ir.Constant(I64, k), 4))
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def call(context, address, arguments):
    """Calls the compiled function at an address with the address of its arguments (int64)."""
    signature = types.void(types.intp, types.intp)

    def generate(context, b, signature, arguments):
        address, given = arguments
        kind = ir.FunctionType(ir.VoidType(), [I64.as_pointer()])
        b.call(b.inttoptr(address, kind.as_pointer()), [b.inttoptr(given, I64.as_pointer())])
        return context.get_dummy_value()

    return signature, generate
