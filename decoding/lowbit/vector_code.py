"""What vector code is built from, as LLVM IR: numba cannot make it out of loops.

The intrinsics made of it (`product_code`, `superblock_code`, `attention_code`, `thread_code`) take addresses (integers): the
caller owns the memory and its bounds. All sums have one fixed order, whatever the number of rows and whatever the CPU: in
float32, a lane for each result, or sixteen lanes that are added pairwise at the end; integer sums are exact. So a row's result
is the same, bit for bit, alone or among others, and on every CPU with fused multiply-add.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils

LANES = 16
BLOCK = 64
"""Weights that one step of a product takes: four neighbours of each of sixteen rows."""

I8, I16, I32, I64, F32 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType()
FEATURES = dict(binding.get_host_cpu_features())
IS_X86 = platform.machine().lower() in ("x86_64", "amd64")
INSTRUCTIONS = (
    "avx512_vnni"
    if FEATURES.get("avx512vnni") and FEATURES.get("avx512bw")
    else "avx2"
    if FEATURES.get("avx2") and FEATURES.get("fma")
    else "generic"
)
"""What the integer product is made of on this CPU."""
MOST_ROWS = 8 if INSTRUCTIONS == "avx512_vnni" else 4
"""Rows of numbers that one reading of the weights serves. Eight need 16 registers for their sums alone; AVX2 has 16, and is a
quarter slower with them than with four."""


def vector_of(element: Any, n: int) -> Any:
    return ir.VectorType(element, n)


def constant(vector: Any, value: float) -> Any:
    return ir.Constant(vector, [ir.Constant(vector.element, value)] * vector.count)


def indices(wanted: list[int]) -> Any:
    return ir.Constant(vector_of(I32, len(wanted)), [ir.Constant(I32, i) for i in wanted])


def undefined(vector: Any) -> Any:
    return ir.Constant(vector, ir.Undefined)


def pick(b: Any, value: Any, wanted: list[int]) -> Any:
    """The lanes `wanted` of one vector."""
    return b.shuffle_vector(value, undefined(value.type), indices(wanted))


def splat(b: Any, value: Any, n: int = LANES) -> Any:
    first = b.insert_element(undefined(vector_of(value.type, n)), value, ir.Constant(I32, 0))
    return pick(b, first, [0] * n)


def item_at(b: Any, address: Any, index: Any, size: int) -> Any:
    """`address` + `index` items of `size` bytes."""
    return b.add(address, b.mul(index, ir.Constant(I64, size)))


def load(b: Any, address: Any, kind: Any, align: int) -> Any:
    return b.load(b.inttoptr(address, kind.as_pointer()), align=align)


def store(b: Any, value: Any, address: Any) -> None:
    b.store(value, b.inttoptr(address, value.type.as_pointer()), align=4)


def opaque(b: Any, value: Any) -> Any:
    """The same integer, of whose origin LLVM knows nothing. An address stays in a register of its own, where LLVM would compute
    each one from the one before, a cycle later: products would wait for addresses."""
    return b.asm(ir.FunctionType(I64, [I64]), "", "=r,0", [value], side_effect=False)


_AHEAD = 2048
_FETCHED_FROM = 3
"""Rows from which on weights are asked for `_AHEAD` bytes before they are used. CPUs see by themselves what will be read next,
but not beyond a page of 4 KiB, and the products of many rows leave no room to wait; those of one or two are faster alone."""


def fetch(b: Any, n_rows: int, address: Any, n_bytes: int) -> None:
    """Ask memory for so many bytes of weights that lie `_AHEAD` behind an address; beyond the last ones that is no error."""
    if n_rows < _FETCHED_FROM:
        return
    kind = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), I32, I32, I32])
    function = cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0")
    for first in range(0, n_bytes, 64):
        place = b.inttoptr(b.add(address, ir.Constant(I64, _AHEAD + first)), I8.as_pointer())
        b.call(function, [place, *(ir.Constant(I32, value) for value in (0, 3, 1))])  # to be read, into all caches, data


def call_llvm(b: Any, name: str, result: Any, *arguments: Any) -> Any:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return b.call(cgutils.get_or_insert_function(b.module, kind, name), arguments)


def fma(b: Any, x: Any, y: Any, z: Any) -> Any:
    return call_llvm(b, f"llvm.fma.v{x.type.count}f32", x.type, x, y, z)


def total_of(b: Any, vector: Any) -> Any:
    """The sum of all lanes: halves added until one is left."""
    n = vector.type.count
    while n > 1:
        n //= 2
        vector = b.fadd(pick(b, vector, list(range(n))), pick(b, vector, list(range(n, 2 * n))))
    return b.extract_element(vector, ir.Constant(I32, 0))


def larger(b: Any, one: Any, other: Any) -> Any:
    """The larger one in each lane; NaN where either is."""
    return b.select(b.or_(b.fcmp_ordered(">", one, other), b.fcmp_unordered("uno", one, one)), one, other)


def largest_of(b: Any, vector: Any) -> Any:
    n = vector.type.count
    while n > 1:
        n //= 2
        low, high = pick(b, vector, list(range(n))), pick(b, vector, list(range(n, 2 * n)))
        vector = larger(b, low, high)
    return b.extract_element(vector, ir.Constant(I32, 0))


def for_each_size(b: Any, value: Any, sizes: Sequence[int], generate: Callable[[int], None]) -> None:
    """Code for each of some sizes, of which the one that `value` is runs: registers are counted when code is made."""
    for size in sizes:
        with b.if_then(b.icmp_signed("==", value, ir.Constant(I64, size))):
            generate(size)
