"""Spin locks for threads that run without the GIL, as LLVM intrinsics for Numba kernels."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from games.bits.llvm import HALF, WORD, array_data, call


def _try_lock(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        pointer = builder.gep(array_data(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        result = builder.cmpxchg(pointer, WORD(0), WORD(1), "acquire", "monotonic")
        return builder.extract_value(result, 1)

    return types.boolean(array, types.int64), generate


def _unlock(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        pointer = builder.gep(array_data(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        builder.store_atomic(WORD(0), pointer, "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


def _yield_core(typing_context: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        call(builder, "sched_yield", HALF)
        return context.get_dummy_value()

    return types.void(), generate


def _fence(typing_context: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        builder.fence("acq_rel")
        return context.get_dummy_value()

    return types.void(), generate


try_lock: Any = intrinsic(_try_lock)
"""`try_lock(array: int64[:], index: int64) -> bool`: atomically turns a 0 into a 1; False if it was 1."""
unlock: Any = intrinsic(_unlock)
"""`unlock(array: int64[:], index: int64)`: resets the lock to 0."""
yield_core: Any = intrinsic(_yield_core)
"""`yield_core()`: yields the core to another thread (POSIX `sched_yield`)."""
fence: Any = intrinsic(_fence)
"""`fence()`: a thread that reads a later write, and calls it too before it reads on, sees every earlier one (an
acquire-release fence, which costs no instruction on x86)."""
