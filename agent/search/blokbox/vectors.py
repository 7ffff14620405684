"""What `net` adds its rows up with, as an LLVM intrinsic for Numba kernels. Addresses are `array.ctypes.data`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WIDTH = 32
"""Numbers in a row."""

_WORD = ir.IntType(64)
_ROW = ir.VectorType(ir.FloatType(), WIDTH)


def _load(builder: ir.IRBuilder, address: Any, type_: ir.Type) -> Any:
    return builder.load(builder.inttoptr(address, type_.as_pointer()), align=4)


def _sum_rows(typing_context: Any, *arguments: Any) -> Any:
    """`sum_rows(rows, bias, active, n, target)`: the bias and the active rows added up, in vector registers.

    All but `n` are addresses: of float32[..., WIDTH], float32[WIDTH], int32[n] and float32[WIDTH].
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows, bias, active, n, target = arguments
        total = cgutils.alloca_once_value(builder, _load(builder, bias, _ROW))
        with cgutils.for_range_slice(builder, _WORD(0), n, _WORD(1), _WORD) as (index, _):
            address = builder.add(active, builder.mul(index, _WORD(4)))
            row = builder.zext(_load(builder, address, ir.IntType(32)), _WORD)
            values = _load(builder, builder.add(rows, builder.mul(row, _WORD(4 * WIDTH))), _ROW)
            builder.store(builder.fadd(builder.load(total), values), total)
        builder.store(builder.load(total), builder.inttoptr(target, _ROW.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate


sum_rows: Callable[..., None] = intrinsic(
    lambda typing_context, rows, bias, active, n, target: _sum_rows(typing_context)
)
