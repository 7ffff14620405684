"""Building blocks of this folder's intrinsics, in LLVM IR."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

WORD = ir.IntType(64)
HALF = ir.IntType(32)
BYTE = ir.IntType(8)
BOOL = ir.IntType(1)


def call(builder: ir.IRBuilder, name: str, result: ir.Type, *arguments: Any) -> Any:
    """A call of the LLVM intrinsic or C function `name`."""
    signature = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), arguments)


def splat(builder: ir.IRBuilder, value: Any, count: int) -> Any:
    """The vector of `count` times `value`."""
    first = builder.insert_element(ir.Constant(ir.VectorType(value.type, count), ir.Undefined), value, HALF(0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(HALF, count), [0] * count))


def array_data(context: Any, builder: ir.IRBuilder, array_type: Any, array: Any) -> Any:
    """The pointer to the first element of a NumPy array."""
    return context.make_array(array_type)(context, builder, array).data


def load(builder: ir.IRBuilder, address: Any, type_: ir.Type, align: int) -> Any:
    """The value at an address (an integer)."""
    return builder.load(builder.inttoptr(address, type_.as_pointer()), align=align)


def store(builder: ir.IRBuilder, value: Any, address: Any, align: int) -> None:
    """Writes a value to an address (an integer)."""
    builder.store(value, builder.inttoptr(address, value.type.as_pointer()), align=align)
