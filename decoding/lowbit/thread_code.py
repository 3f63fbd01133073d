"""What threads of a team meet by (`team.py`): a counter that all of them add to, and waiting for it."""

from __future__ import annotations

import os

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from decoding.lowbit.vector_code import I32, I64, IS_X86, call_llvm

_PATIENCE = 2000
"""Looks at a counter before a waiting thread lets others run: a step on a busy machine must not spin a whole slice of time."""


@intrinsic
def add_to(context, address, more):
    """Adds to the int64 at an address, as one with what other threads do; what was there before."""
    signature = types.int64(types.intp, types.int64)

    def generate(context, b, signature, arguments):
        address, more = arguments
        return b.atomic_rmw("add", b.inttoptr(address, I64.as_pointer()), more, "acq_rel")

    return signature, generate


@intrinsic
def wait_for(context, address, least):
    """Until the int64 at an address is as large."""
    signature = types.void(types.intp, types.int64)

    def generate(context, b, signature, arguments):
        address, least = arguments
        place = b.inttoptr(address, I64.as_pointer())
        looks = cgutils.alloca_once(b, I64)
        b.store(ir.Constant(I64, 0), looks)
        look, pause, done = (b.append_basic_block(name) for name in ("look", "pause", "done"))
        b.branch(look)
        b.position_at_end(look)
        b.cbranch(b.icmp_signed("<", b.load_atomic(place, "acquire", 8), least), pause, done)
        b.position_at_end(pause)
        b.store(b.add(b.load(looks), ir.Constant(I64, 1)), looks)
        if IS_X86:
            call_llvm(b, "llvm.x86.sse2.pause", ir.VoidType())
        if os.name == "posix":
            with b.if_then(b.icmp_signed(">", b.load(looks), ir.Constant(I64, _PATIENCE))):
                call_llvm(b, "sched_yield", I32)
        b.branch(look)
        b.position_at_end(done)
        return context.get_dummy_value()

    return signature, generate
