"""Asking for memory before it is read, as an LLVM intrinsic for Numba kernels."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from games.bits.llvm import BYTE, HALF, array_data

LINE_BYTES = 64
"""Bytes of a cache line, on every processor that this is likely to run on; a wrong guess costs time only."""


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        pointer = builder.gep(array_data(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        bytes_ = BYTE.as_pointer()
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [bytes_], ir.FunctionType(ir.VoidType(), [bytes_, HALF, HALF, HALF])
        )
        # To be read, soon and again, as data: to ask for it to write would take it from other threads that read it.
        builder.call(function, [builder.bitcast(pointer, bytes_), HALF(0), HALF(3), HALF(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


prefetch: Any = intrinsic(_prefetch)
"""`prefetch(array, index: int64)`: brings element number `index` of a contiguous array, counted over all dimensions,
towards the processor. Nothing waits for it, and an index outside the array does no harm."""
