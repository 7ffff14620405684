"""Memory prefetch as an LLVM intrinsic for Numba kernels."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from games.bits.llvm import BYTE, HALF, array_data

LINE_BYTES = 64
"""Bytes of a cache line; a wrong guess costs time only."""


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        pointer = builder.gep(array_data(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        bytes_ = BYTE.as_pointer()
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [bytes_], ir.FunctionType(ir.VoidType(), [bytes_, HALF, HALF, HALF])
        )
        # A read, of high locality, of data: a prefetch for writing would take the line from threads that read it.
        builder.call(function, [builder.bitcast(pointer, bytes_), HALF(0), HALF(3), HALF(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


prefetch: Any = intrinsic(_prefetch)
"""`prefetch(array, index: int64)`: prefetches an element of a contiguous array by its flat index. Nothing waits for it,
and an index outside the array does no harm."""
