"""A spin lock in a word of an array, for threads that share a tree without the GIL."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from agent.search.tree.store import LOCK


def _try_lock(typing_context: Any, array: Any, index: Any) -> Any:
    """`try_lock(array: int64[:], index) -> bool`: atomically turns a 0 into a 1."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        word = ir.IntType(64)
        pointer = builder.gep(data, [arguments[1]])
        result = builder.cmpxchg(pointer, ir.Constant(word, 0), ir.Constant(word, 1), "acquire", "monotonic")
        return builder.extract_value(result, 1)

    return types.boolean(array, types.int64), generate


def _unlock(typing_context: Any, array: Any, index: Any) -> Any:
    """`unlock(array: int64[:], index)`: sets the lock back to 0."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.gep(data, [arguments[1]])
        builder.store_atomic(ir.Constant(ir.IntType(64), 0), pointer, "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


def _give_way(typing_context: Any) -> Any:
    """`give_way()`: lets another thread have the core (POSIX sched_yield)."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), "sched_yield")
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


try_lock: Any = intrinsic(_try_lock)
unlock: Any = intrinsic(_unlock)
give_way: Any = intrinsic(_give_way)


@njit(cache=True, nogil=True)
def lock(tree):
    """Waits until the tree is this thread's; `unlock(tree.counts, LOCK)` gives it back."""
    spins = 0
    while not try_lock(tree.counts, LOCK):
        spins += 1
        if spins & 63 == 0:
            give_way()
