"""The integer dot product of weights and rows of 8 bits, with what the CPU has: AVX-512 VNNI, AVX2, or plain vector code (which
LLVM lowers for any CPU).

A vector holds four neighbours of each of sixteen rows of weights. The same four numbers of a row meet all of them, and what is
added to the sixteen lanes of sums is exact, so that the three ways give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from decoding.lowbit import vector_code
from decoding.lowbit.vector_code import (
    BLOCK,
    I8,
    I16,
    I32,
    I64,
    LANES,
    call_llvm,
    constant,
    indices,
    load,
    pick,
    splat,
    vector_of,
)


def more_fours(b: Any, sums: Any, weights: Any, rows: Any, bits: int) -> Any:
    """`sums`, <16 x i32>, plus those of four neighbours' products of weights <64 x i8>, 0..15 or -127..127, and rows <64 x i8>.

    VNNI multiplies unsigned by signed numbers: it takes weights of 8 bits plus 128, and `first_sums` has taken that off.
    """
    if vector_code.INSTRUCTIONS == "avx512_vnni":
        return vnni(b, sums, weights if bits == 4 else b.xor(weights, constant(weights.type, 128)), rows)
    if vector_code.INSTRUCTIONS == "avx2":
        return b.add(sums, _halves(b, weights, rows, _multiply_pairs if bits == 4 else _multiply_signed))
    wide = vector_of(I16, BLOCK)
    return b.add(sums, plain(b, b.zext(weights, wide) if bits == 4 else b.sext(weights, wide), rows))


def first_sums(b: Any, start: Any, bits: int) -> Any:
    """Where sums of `more_fours` begin; `start` is an address of -128 times the sum of the numbers that are to come."""
    if vector_code.INSTRUCTIONS == "avx512_vnni" and bits == 8:
        return splat(b, load(b, start, I32, 4))
    return constant(vector_of(I32, LANES), 0)


def vnni(b: Any, start: Any, weights: Any, rows: Any) -> Any:
    lanes = vector_of(I32, LANES)
    return call_llvm(b, "llvm.x86.avx512.vpdpbusd.512", lanes, start, b.bitcast(weights, lanes), b.bitcast(rows, lanes))


def _halves(b: Any, weights: Any, rows: Any, multiply: Callable[[Any, Any, Any], Any]) -> Any:
    """AVX2 has 32 bytes in a register."""
    parts = []
    for first in (0, 32):
        half = list(range(first, first + 32))
        parts.append(multiply(b, pick(b, weights, half), pick(b, rows, half)))
    return b.shuffle_vector(*parts, indices(list(range(LANES))))


def _multiply_pairs(b: Any, weights: Any, rows: Any) -> Any:
    """Unsigned by signed: two products fit into 16 bits as long as weights stay below 128."""
    pairs = call_llvm(b, "llvm.x86.avx2.pmadd.ub.sw", vector_of(I16, 16), weights, rows)
    return call_llvm(b, "llvm.x86.avx2.pmadd.wd", vector_of(I32, 8), pairs, constant(vector_of(I16, 16), 1))


def _multiply_signed(b: Any, weights: Any, rows: Any) -> Any:
    """|w| * (sign(w) * a): the absolute values are unsigned."""
    negative = b.icmp_signed("<", weights, constant(weights.type, 0))
    absolute = b.select(negative, b.neg(weights), weights)
    return _multiply_pairs(b, absolute, call_llvm(b, "llvm.x86.avx2.psign.b", rows.type, rows, weights))


def plain(b: Any, weights: Any, rows: Any) -> Any:
    products = b.mul(weights, b.sext(rows, weights.type))  # at most 127 * 127: they fit into 16 bits
    products = b.sext(products, vector_of(I32, BLOCK))
    parts = [pick(b, products, [4 * lane + k for lane in range(LANES)]) for k in range(4)]
    return b.add(b.add(parts[0], parts[1]), b.add(parts[2], parts[3]))


_AT_ONCE = {4: 8, 5: 4, 6: 2}
"""Products of two neighbours that may be added in 16 bits: so many times 2 * 127 times the largest weight
stays below 2^15."""


def sums_in_pairs(b, bits, lines, columns, pair, which, given):
    """The sums of a group (16 x i32 each row of numbers), times the `which`th scales of `pair`, with AVX2: products of
    neighbours are added in 16 bits, as many as fit, and meet their scale when they become 32."""
    shorts, half_ints, half_bytes = vector_of(I16, 16), vector_of(I32, 8), vector_of(I8, 32)
    scales = [pick(b, pair, [2 * (i // 2) + which for i in range(16 * half, 16 * half + 16)]) for half in range(2)]
    found = [[None, None] for _ in given]
    some = [[None, None] for _ in given]
    for i, (line, column) in enumerate(zip(lines, columns, strict=True)):
        parts = [pick(b, line, list(range(32 * half, 32 * half + 32))) for half in range(2)]
        for t, numbers in enumerate(given):
            four = splat(b, load(b, b.add(numbers, ir.Constant(I64, column)), I32, 1), 8)
            for half in range(2):
                two = call_llvm(b, "llvm.x86.avx2.pmadd.ub.sw", shorts, parts[half], b.bitcast(four, half_bytes))
                some[t][half] = two if some[t][half] is None else b.add(some[t][half], two)
        if (i + 1) % _AT_ONCE[bits] == 0:
            for t in range(len(given)):
                for half in range(2):
                    more = call_llvm(b, "llvm.x86.avx2.pmadd.wd", half_ints, some[t][half], scales[half])
                    found[t][half] = more if found[t][half] is None else b.add(found[t][half], more)
                    some[t][half] = None
    return [b.shuffle_vector(*halves, indices(list(range(LANES)))) for halves in found]
