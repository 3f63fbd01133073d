"""Attention and activations in float32: scores, softmax, the mix of values, and SiLU."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from decoding.lowbit.vector_code import (
    F32,
    I32,
    I64,
    LANES,
    call_llvm,
    constant,
    fma,
    for_each_size,
    item_at,
    larger,
    largest_of,
    load,
    splat,
    store,
    total_of,
    vector_of,
)

SIDE_BY_SIDE = 4
"""Vectors of keys that are scored at once."""


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
        for_each_size(b, n_rows, (1, 2, 3, 4), lambda size: _scores(b, size, *others))
        return context.get_dummy_value()

    return signature, generate


def _scores(b, n_rows, queries, keys, out, size, n_keys, capacity, to_out, scale):
    floats = vector_of(F32, LANES)
    lanes = ir.Constant(I64, LANES)
    totals = [cgutils.alloca_once(b, floats) for _ in range(n_rows * SIDE_BY_SIDE)]
    factor = splat(b, scale)
    n_vectors = b.udiv(b.add(n_keys, ir.Constant(I64, LANES - 1)), lanes)

    def some(first, n):
        """`n` vectors of keys from number `first` on: each line of keys is read once for all of them."""
        for total in totals[: n_rows * n]:
            b.store(constant(floats, 0.0), total)
        with cgutils.for_range(b, size) as inner:
            d = inner.index
            line = item_at(b, keys, b.add(b.mul(d, capacity), first), 4)
            columns = [load(b, item_at(b, line, ir.Constant(I64, c), 4 * LANES), floats, 4) for c in range(n)]
            for r in range(n_rows):
                place = item_at(b, queries, b.add(b.mul(size, ir.Constant(I64, r)), d), 4)
                q = splat(b, load(b, place, F32, 4))
                for c, column in enumerate(columns):
                    total = totals[r * n + c]
                    b.store(fma(b, q, column, b.load(total)), total)
        for r in range(n_rows):
            for c in range(n):
                place = b.add(b.mul(to_out, ir.Constant(I64, r)), b.add(first, ir.Constant(I64, c * LANES)))
                store(b, b.fmul(b.load(totals[r * n + c]), factor), item_at(b, out, place, 4))

    wide = b.udiv(n_vectors, ir.Constant(I64, SIDE_BY_SIDE))
    with cgutils.for_range(b, wide) as loop:
        some(b.mul(loop.index, ir.Constant(I64, SIDE_BY_SIDE * LANES)), SIDE_BY_SIDE)
    done = b.mul(wide, ir.Constant(I64, SIDE_BY_SIDE))
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
        for_each_size(b, n_rows, (1, 2, 3, 4), lambda size: _mixed(b, size, *others))
        return context.get_dummy_value()

    return signature, generate


def _mixed(b, n_rows, weights, values, out, n, size, to_row):
    floats, lanes = vector_of(F32, LANES), ir.Constant(I64, LANES)
    totals = [cgutils.alloca_once(b, floats) for _ in range(n_rows * SIDE_BY_SIDE)]

    def some(first, wide):
        """`wide` vectors of the results from dimension `first` on."""
        places = []
        for r in range(n_rows):
            line = item_at(b, out, b.add(b.mul(size, ir.Constant(I64, r)), first), 4)
            places += [item_at(b, line, ir.Constant(I64, c), 4 * LANES) for c in range(wide)]
        for total, place in zip(totals, places, strict=False):
            b.store(load(b, place, floats, 4), total)
        with cgutils.for_range(b, n) as inner:
            j = inner.index
            line = item_at(b, values, b.add(b.mul(j, size), first), 4)
            columns = [load(b, item_at(b, line, ir.Constant(I64, c), 4 * LANES), floats, 4) for c in range(wide)]
            for r in range(n_rows):
                share = load(b, item_at(b, weights, b.add(b.mul(to_row, ir.Constant(I64, r)), j), 4), F32, 4)
                for c, column in enumerate(columns):
                    total = totals[r * wide + c]
                    b.store(fma(b, splat(b, share), column, b.load(total)), total)
        for total, place in zip(totals, places, strict=False):
            store(b, b.load(total), place)

    n_vectors = b.udiv(size, lanes)
    whole = b.udiv(n_vectors, ir.Constant(I64, SIDE_BY_SIDE))
    with cgutils.for_range(b, whole) as loop:
        some(b.mul(loop.index, ir.Constant(I64, SIDE_BY_SIDE * LANES)), SIDE_BY_SIDE)
    done = b.mul(whole, ir.Constant(I64, SIDE_BY_SIDE))
    with cgutils.for_range(b, b.sub(n_vectors, done)) as loop:
        some(b.mul(b.add(done, loop.index), lanes), 1)


def _exp(b: Any, x: Any) -> Any:
    """e to the x, for x <= 88, to about 2e-7 (Cephes' polynomial); 0 below -64: next to 1 that is nothing, and the products of
    smaller numbers would be denormal, which is slow."""
    floats, ints = x.type, vector_of(I32, x.type.count)
    least = constant(floats, -64.0)
    tiny = b.fcmp_ordered("<", x, least)
    x = b.select(tiny, least, x)
    n = call_llvm(b, f"llvm.rint.v{floats.count}f32", floats, b.fmul(x, constant(floats, 1.4426950408889634)))
    rest = fma(b, n, constant(floats, -0.693359375), x)
    rest = fma(b, n, constant(floats, 2.12194440e-4), rest)
    value = constant(floats, 1.9875691500e-4)
    for c in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
        value = fma(b, value, rest, constant(floats, c))
    value = b.fadd(fma(b, value, b.fmul(rest, rest), rest), constant(floats, 1.0))
    power = b.shl(b.add(b.fptosi(n, ints), constant(ints, 127)), constant(ints, 23))
    return b.select(tiny, constant(floats, 0.0), b.fmul(value, b.bitcast(power, floats)))


@intrinsic
def softmax(context, scores, n):
    """Scores at an address -> their softmax, in place; the largest is taken off first, so that no exponential overflows. There
    is room for whole vectors; what fills the last one becomes 0."""
    signature = types.void(types.intp, types.intp)

    def generate(context, b, signature, arguments):
        scores, n = arguments
        floats, lanes = vector_of(F32, LANES), ir.Constant(I64, LANES)
        n_vectors = b.udiv(b.add(n, ir.Constant(I64, LANES - 1)), lanes)
        with cgutils.for_range(b, b.sub(b.mul(n_vectors, lanes), n)) as loop:
            store(b, ir.Constant(F32, float("-inf")), item_at(b, scores, b.add(n, loop.index), 4))
        most, total = cgutils.alloca_once(b, floats), cgutils.alloca_once(b, floats)
        b.store(constant(floats, float("-inf")), most)
        with cgutils.for_range(b, n_vectors) as loop:
            here, so_far = load(b, item_at(b, scores, loop.index, 4 * LANES), floats, 4), b.load(most)
            b.store(larger(b, here, so_far), most)
        top = splat(b, largest_of(b, b.load(most)))
        b.store(constant(floats, 0.0), total)
        with cgutils.for_range(b, n_vectors) as loop:
            place = item_at(b, scores, loop.index, 4 * LANES)
            raised = _exp(b, b.fsub(load(b, place, floats, 4), top))
            store(b, raised, place)
            b.store(b.fadd(b.load(total), raised), total)
        share = splat(b, b.fdiv(ir.Constant(F32, 1.0), total_of(b, b.load(total))))
        with cgutils.for_range(b, n_vectors) as loop:
            place = item_at(b, scores, loop.index, 4 * LANES)
            store(b, b.fmul(load(b, place, floats, 4), share), place)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def silu_times(context, gate, up, out, n):
    """out = gate / (1 + e^-gate) * up, n numbers (a multiple of 16)."""
    signature = types.void(*[types.intp] * 4)

    def generate(context, b, signature, arguments):
        gate, up, out, n = arguments
        floats = vector_of(F32, LANES)
        with cgutils.for_range(b, b.udiv(n, ir.Constant(I64, LANES))) as loop:
            x, y = (load(b, item_at(b, address, loop.index, 4 * LANES), floats, 4) for address in (gate, up))
            minus = b.fsub(constant(floats, 0.0), x)
            most = constant(floats, 88.0)
            below = b.fadd(constant(floats, 1.0), _exp(b, b.select(b.fcmp_ordered(">", minus, most), most, minus)))
            store(b, b.fmul(b.fdiv(x, below), y), item_at(b, out, loop.index, 4 * LANES))
        return context.get_dummy_value()

    return signature, generate
